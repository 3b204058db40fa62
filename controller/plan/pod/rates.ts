/** Rate limits of an interface: annotations → QoS rows of its switch, or what is wrong with them. */
import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Pod } from '../../state/objects.ts';
import { vendorIds } from '../names.ts';
import type { HeldPort } from '../view.ts';
import { annotationOf, askedOf } from './interfaces.ts';
import type { Interface } from './interfaces.ts';

/** Of one direction, in kbit/s and kbit. */
export interface Rate {
  readonly direction: 'from-lport' | 'to-lport';
  readonly rate: number;
  readonly burst: number;
}

const kbitPerMbit = 1000;
/** The column holds 32 bits. */
const maxKbit = 4_294_967_295;
/** Of the rate, where no burst is asked for: what the tools of Kube-OVN's users count on. */
const defaultBurst = 0.8;
const qosPriority = 100;

const ends = [
  { direction: 'to-lport', rate: annotation.ingressRate, burst: annotation.ingressBurst },
  { direction: 'from-lport', rate: annotation.egressRate, burst: annotation.egressBurst },
] as const;

/** Kilobits of a number of megabits; zero where there is none, undefined where it is no such number. */
function kbitOf(text: string): number | undefined {
  if (text === '') return 0;
  if (!/^\d{1,7}(\.\d{1,3})?$/.test(text)) return undefined;
  const kbit = Math.round(Number(text) * kbitPerMbit);
  return kbit <= maxKbit ? kbit : undefined;
}

/** The limits an interface asks for; what cannot be read is left out and told. */
export function readRates(
  pod: Pod,
  network: Interface,
): { readonly rates: readonly Rate[]; readonly problems: readonly Problem[] } {
  const rates: Rate[] = [];
  const problems: Problem[] = [];
  const read = (key: string, unit: string): number | undefined => {
    const text = askedOf(pod, network, key);
    const kbit = kbitOf(text);
    if (kbit === undefined) {
      const message = `annotation ${annotationOf(network, key)}: '${text}' is no number of ${unit} such as 10 or 0.5`;
      problems.push({ code: 'InvalidAnnotation', message });
    }
    return kbit;
  };
  for (const { direction, rate: rateKey, burst: burstKey } of ends) {
    const [rate, burst] = [read(rateKey, 'Mbit/s'), read(burstKey, 'Mbit')];
    if (rate === undefined || rate === 0) {
      if (rate === 0 && burst !== undefined && burst > 0) {
        const message = `annotation ${annotationOf(network, burstKey)} limits nothing without ${annotationOf(network, rateKey)}: give both`;
        problems.push({ code: 'InvalidAnnotation', message });
      }
      continue;
    }
    // At least 1: the column takes no zero.
    rates.push({ direction, rate, burst: burst || Math.max(1, Math.round(rate * defaultBurst)) });
  }
  return { rates, problems };
}

/** Rules of the port's switch that police the port. */
export function rateRows(pod: Pod, { port, interface: network, allocation }: HeldPort): readonly DesiredRow[] {
  return readRates(pod, network).rates.map(({ direction, rate, burst }) => ({
    table: 'QoS',
    key: `${port}/${direction}`,
    columns: {
      priority: qosPriority,
      direction,
      match: `${direction === 'to-lport' ? 'outport' : 'inport'} == "${port}"`,
      bandwidth: { rate, burst },
      external_ids: { ...vendorIds, port },
    },
    parent: { table: 'Logical_Switch', key: allocation.subnet, column: 'qos_rules' },
  }));
}
