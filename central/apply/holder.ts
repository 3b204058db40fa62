/**
 * The part of central that the holder of the Lease has: writes the plan, and what clients are told. In: Nodes and the ConfigMap. Out: its keys `plan`, `status` and `message`, and
 * the ConfigMap isthmus-ovn. Rules: a plan is written only over the version it was decided on, so that no two found; a request of an operator is answered once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isKubeError, KubeApiError } from '../../lib/kube/errors.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import { configMaps } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { planClients } from '../plan/clients.ts';
import { planMembers, type Candidate, type Decision, type MembersView } from '../plan/members.ts';
import { planRequest, type Answer } from '../plan/requests.ts';
import type { Scheme } from '../state/databases.ts';
import { newestPlan, type Plan } from '../state/plan.ts';
import { centralName, clientsName, recoverAnnotation, restoreAnnotation, type CentralMap } from '../watch/objects.ts';

/** Between two looks that nothing asked for: times run out. */
const pollMs = 1000;
/** After the API server refused or was away. */
const retryMs = 500;
const conflictMs = 20;

export interface HolderOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly scheme: Scheme;
  readonly replicas: number | 'auto';
  readonly replaceAfterMs: number;
  readonly events: EventRecorder;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly candidates: () => readonly Candidate[];
  /** Central's own ConfigMap; whoever reports makes it. */
  readonly map: () => CentralMap | undefined;
  /** What this node followed last. */
  readonly kept: () => Plan | undefined;
  /** The data of the clients' ConfigMap. */
  readonly told: () => Readonly<Record<string, string>> | undefined;
  /** Resolves when something may have changed. */
  readonly changed: (signal: AbortSignal) => Promise<void>;
}

/** Works until the Lease is lost or given back. */
export async function hold(options: HolderOptions, signal: AbortSignal): Promise<void> {
  const holder = new Holder(options);
  while (!signal.aborted) {
    try {
      await holder.round();
    } catch (error) {
      if (signal.aborted) return;
      if (!isKubeError(error)) throw error;
      // Somebody wrote since: what, comes with the watch.
      const isConflict = error instanceof KubeApiError && error.status === 409;
      if (!isConflict) options.log.warn({ error: error.message }, 'the plan cannot be written, trying again');
      await sleep(isConflict ? conflictMs : retryMs, undefined, { signal }).catch(() => undefined);
      continue;
    }
    const waiting = new AbortController();
    const pause = sleep(pollMs, undefined, { signal: AbortSignal.any([signal, waiting.signal]) });
    await Promise.race([pause, options.changed(waiting.signal)]).catch(() => undefined);
    waiting.abort();
  }
}

class Holder {
  readonly #options: HolderOptions;
  /** When it began to lead, or last saw a plan. */
  #sinceMs: number;
  #status: string | undefined;

  constructor(options: HolderOptions) {
    this.#options = options;
    this.#sinceMs = options.nowMs();
  }

  async round(): Promise<void> {
    const { nowMs, candidates, scheme, replicas, replaceAfterMs } = this.#options;
    const map = this.#options.map();
    if (map === undefined) return;
    if (map.planText !== undefined && map.plan === undefined) {
      await this.#write(map, map.plan, { status: 'the key `plan` cannot be read: mend it, or remove it' });
      return;
    }
    const kept = this.#options.kept();
    // Others that followed a later plan know better.
    const isLatest =
      kept !== undefined && map.reports.values().every(({ generation }) => generation <= kept.generation);
    const plan = newestPlan(map.plan, isLatest ? kept : undefined);
    if (plan !== undefined) this.#sinceMs = nowMs();
    const view: MembersView = {
      scheme,
      replicas,
      replaceAfterMs,
      candidates: candidates(),
      reports: map.reports,
      plan,
      nowMs: nowMs(),
      withoutPlanSinceMs: this.#sinceMs,
    };
    const answer = planRequest(view, map.requests);
    if (answer === undefined) await this.#follow(map, planMembers(view));
    else await this.#answer(map, answer);
  }

  async #follow(map: CentralMap, { plan, status }: Decision): Promise<void> {
    const { log } = this.#options;
    if (this.#status !== status) log.info({ status, generation: plan?.generation }, 'plan');
    this.#status = status;
    await this.#write(map, plan, { status });
    if (plan !== undefined) await this.#tellClients(plan, map);
  }

  async #answer(map: CentralMap, answer: Answer): Promise<void> {
    const { events, log, namespace } = this.#options;
    const isRefused = 'refused' in answer;
    const message = isRefused ? answer.refused : answer.message;
    const annotations = { [recoverAnnotation]: null, [restoreAnnotation]: null };
    await this.#write(map, isRefused ? undefined : answer.plan, { message }, annotations);
    log.info({ requests: map.requests, message }, isRefused ? 'request refused' : 'request taken');
    const subject = { apiVersion: 'v1', kind: 'ConfigMap', name: centralName, namespace, uid: map.uid };
    if (isRefused) events.record(subject, 'Warning', 'RequestRefused', message);
    else events.record(subject, 'Normal', 'NewGeneration', message);
  }

  /** Writes what differs, over the version that was read. @throws KubeApiError 409 where there is a later one */
  async #write(
    map: CentralMap,
    plan: Plan | undefined,
    texts: Readonly<Record<string, string>>,
    annotations?: Readonly<Record<string, null>>,
  ): Promise<void> {
    const { client, namespace } = this.#options;
    const wanted: Record<string, string> = { ...texts, ...(plan === undefined ? {} : { plan: JSON.stringify(plan) }) };
    const data = Object.fromEntries(Object.entries(wanted).filter(([key, text]) => map.data[key] !== text));
    if (Object.keys(data).length === 0 && annotations === undefined) return;
    const metadata = { resourceVersion: map.version, ...(annotations === undefined ? {} : { annotations }) };
    await client.patch(configMaps, { namespace, name: centralName }, 'merge', { metadata, data });
  }

  async #tellClients(plan: Plan, { reports }: CentralMap): Promise<void> {
    const { client, namespace, scheme, log } = this.#options;
    const name = { namespace, name: clientsName };
    const now = this.#options.told();
    const told = planClients({ scheme, plan, reports, told: now?.['nb'] ?? '' });
    if (told === undefined || Object.entries(told).every(([key, text]) => now?.[key] === text)) return;
    if (now === undefined) await client.create(configMaps, { metadata: name, data: told });
    else await client.patch(configMaps, name, 'merge', { data: told });
    log.info({ ...told }, 'clients are told');
  }
}
