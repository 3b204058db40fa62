/** Whether packets of the size that pods need pass between gateways. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { GatewayProbe } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { GatewayObject } from '../model/objects.ts';

export function probeOf(gateway: GatewayObject | undefined, other: string): GatewayProbe | undefined {
  return gateway?.probes.find(({ chassis }) => chassis === other);
}

/** `from` and `to` name the two gateways in the message. Undefined if it is enough, or where nothing was measured. */
export function mtuProblem(
  probe: GatewayProbe | undefined,
  wantedMtu: number,
  { from, to }: { readonly from: string; readonly to: string },
): Problem | undefined {
  // Without any size the probes were not answered, which is no statement about the MTU.
  if (probe?.mtu === undefined || probe.mtu >= wantedMtu) return undefined;
  const message = `packets of ${probe.mtu} bytes at most pass from ${from} to ${to}, ${wantedMtu} are needed: raise the MTU between them, or lower that of the pods and spec.mtu of the Interconnect`;
  return { code: 'PathMTUTooSmall', message };
}
