/**
 * Conditions of the Interconnect while the agent cannot begin, because a database of its cluster does not answer. In:
 * the openings of both databases. Out: conditions, once an opening takes longer than an answer may. Called by main.ts;
 * ends with the last opening.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isKubeError } from '../../lib/kube/errors.ts';
import { interconnects } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { setCondition } from '../../lib/api/conditions.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { databasePatienceMs } from '../settle/ovn-lag.ts';
import { parseInterconnect } from '../watch/objects.ts';
import { canonicalName, type Interconnect } from '../model/objects.ts';
import { bad, summary } from './conditions.ts';
import { stuckProblems } from './stuck.ts';

export interface OpeningOptions {
  readonly client: Pick<KubeClient, 'get' | 'patch'>;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** How long an opening may take before it is reported, and the time between two looks. */
  readonly patienceMs?: number;
}

export interface Openings {
  readonly northbound: Promise<unknown>;
  readonly southbound: Promise<unknown>;
}

/** Never rejects: the callers that wait for an opening handle its error. */
export async function reportWhileOpening(openings: Openings, options: OpeningOptions): Promise<void> {
  const sinceMs = options.now();
  const pending = new Set<keyof Openings>(['northbound', 'southbound']);
  const ended = Promise.allSettled([...pending].map((name) => openings[name].finally(() => pending.delete(name)))).then(
    () => undefined,
  );
  const sinceOf = (name: keyof Openings): number | undefined => (pending.has(name) ? sinceMs : undefined);
  while (pending.size > 0 && !options.signal.aborted) {
    const pause = new AbortController();
    const rest = sleep(options.patienceMs ?? databasePatienceMs, undefined, { signal: pause.signal, ref: false });
    await Promise.race([rest.catch(() => undefined), ended]);
    pause.abort();
    if (pending.size > 0 && !(options.signal.aborted as boolean)) await report(sinceOf, options);
  }
}

async function report(
  sinceOf: (name: keyof Openings) => number | undefined,
  { client, signal, log, now }: OpeningOptions,
): Promise<void> {
  try {
    const name = { name: canonicalName };
    const object = parseInterconnect(await client.get(interconnects, name, { signal }));
    const silent = { northbound: sinceOf('northbound'), southbound: sinceOf('southbound') };
    const conditions = withSilence(object, silent, new Date(now()).toISOString());
    if (conditions === object.status.conditions) return;
    await client.patch(interconnects, name, 'merge', { status: { conditions } }, { subresource: 'status', signal });
  } catch (error) {
    // Without an Interconnect there is no status to write. After any other error the next check retries.
    if (signal.aborted) return;
    if (!isKubeError(error)) throw error;
    log.debug({ err: error }, 'the status of the Interconnect was not written');
  }
}

function withSilence(
  { generation, status }: Interconnect,
  silent: Readonly<Record<keyof Openings, number | undefined>>,
  nowIso: string,
): readonly Condition[] | undefined {
  const problems = stuckProblems({ ...silent, northd: undefined, controllers: new Map() });
  const [first] = problems;
  if (first === undefined) return status.conditions;
  const problem = { code: first.code, message: summary(problems) };
  return ['Ready', 'RoutesConverged'].reduce<readonly Condition[] | undefined>(
    (list, type) => setCondition(list, { ...bad(type, problem), observedGeneration: generation }, nowIso),
    status.conditions,
  );
}
