/** Rate limits: reads annotations into QoS rows of the port's switch, or problems. Pure. */
import { annotation } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { DesiredRow } from '../../lib/desired/row.ts';
import { defaultBurstOf, kbitOf } from '../model/rate.ts';
import { vendorIds } from './names.ts';

/** Of one direction, in kbit/s and kbit. */
export interface Rate {
  readonly direction: 'from-lport' | 'to-lport';
  readonly rate: number;
  readonly burst: number;
}

/** An annotation as written; an empty text if it is absent. */
export interface Asked {
  readonly name: string;
  readonly text: string;
}

const qosPriority = 100;

const ends = [
  { direction: 'to-lport', rate: annotation.ingressRate, burst: annotation.ingressBurst },
  { direction: 'from-lport', rate: annotation.egressRate, burst: annotation.egressBurst },
] as const;

/** The requested limits. An invalid limit is left out and reported as a problem. */
export function readRates(asked: (key: string) => Asked): {
  readonly rates: readonly Rate[];
  readonly problems: readonly Problem[];
} {
  const rates: Rate[] = [];
  const problems: Problem[] = [];
  const refuse = (message: string): number => problems.push({ code: 'InvalidAnnotation', message });
  const read = (key: string, unit: string): number | undefined => {
    const { name, text } = asked(key);
    const kbit = kbitOf(text);
    if (kbit === undefined) refuse(`annotation ${name}: '${text}' is not a number of ${unit} such as 10 or 0.5`);
    return kbit;
  };
  for (const { direction, rate: rateKey, burst: burstKey } of ends) {
    const [rate, burst] = [read(rateKey, 'Mbit/s'), read(burstKey, 'Mbit')];
    if (rate === 0 && burst !== undefined && burst > 0)
      refuse(`annotation ${asked(burstKey).name} has no effect without ${asked(rateKey).name}: give both`);
    if (rate === undefined || rate === 0) continue;
    rates.push({ direction, rate, burst: burst || defaultBurstOf(rate) });
  }
  return { rates, problems };
}

/** Rules of the port's switch that police the port. */
export function rateRows(rates: readonly Rate[], port: string, switchName: string): readonly DesiredRow[] {
  return rates.map(({ direction, rate, burst }) => ({
    table: 'QoS',
    key: `${port}/${direction}`,
    columns: {
      priority: qosPriority,
      direction,
      match: `${direction === 'to-lport' ? 'outport' : 'inport'} == "${port}"`,
      bandwidth: { rate, burst },
      external_ids: { ...vendorIds, port },
    },
    parent: { table: 'Logical_Switch', key: switchName, column: 'qos_rules' },
  }));
}
