/** Ports of a rule as OVN and OpenFlow have them. */
import type { Port } from '../../model/network-policies.ts';

const portBits = 16;

/** A term of a match for TCP. */
export function networkPorts(ports: readonly Port[]): string {
  return ports
    .map(({ port = 0, endPort = port }) =>
      port === endPort ? `tcp.dst == ${String(port)}` : `${String(port)} <= tcp.dst <= ${String(endPort)}`,
    )
    .join(' || ');
}

/** Into how many values with masks OpenFlow splits them. */
export function portMasks(ports: readonly Port[]): number {
  return ports.reduce((sum, { port = 0, endPort = port }) => sum + masksOf(Number(port), Number(endPort)), 0);
}

/** Of a range: the largest aligned block from its begin that fits, and the same of the rest. */
function masksOf(first: number, last: number): number {
  if (first > last) return 0;
  let size = 1;
  while (size < 2 ** portBits && first % (size * 2) === 0 && first + size * 2 - 1 <= last) size *= 2;
  return 1 + masksOf(first + size, last);
}
