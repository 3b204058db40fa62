/**
 * The part of central that only the holder of the Lease runs. In: Nodes and central's ConfigMap. Out: the keys `plan`, `status` and `message` of that
 * ConfigMap, and the ConfigMap isthmus-ovn for clients. Rules: a plan is written only over the version of the ConfigMap that it was decided on, so
 * that two holders never found a cluster; each operator request is answered once.
 */
import { isKubeError, KubeApiError } from '../../lib/kube/errors.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import { configMaps } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { planClients } from '../plan/clients.ts';
import { decideMembers } from '../settle/members.ts';
import type { Decision, MembersView } from '../settle/view.ts';
import type { Candidate } from '../model/candidate.ts';
import { answerRequest, type Answer } from '../settle/requests.ts';
import type { Scheme } from '../model/databases.ts';
import { type Plan } from '../model/plan.ts';
import { newestPlan } from '../settle/newest-plan.ts';
import {
  centralName,
  clientsName,
  recoverAnnotation,
  restoreAnnotation,
  type CentralMap,
} from '../model/central-map.ts';

/** Time between two rounds without a change: decisions also depend on time. */
const pollMs = 1000;
/** Time until the next attempt after the API server refused a write or was unreachable. */
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
  /** Central's own ConfigMap; the first node that publishes a report creates it. */
  readonly map: () => CentralMap | undefined;
  /** The plan that this node followed last. */
  readonly kept: () => Plan | undefined;
  /** The data of the clients' ConfigMap. */
  readonly clientsMap: () => Readonly<Record<string, string>> | undefined;
  /** Calls `onChange` after each change of a round's input; returns a function that unsubscribes. */
  readonly subscribe: (onChange: () => void) => () => void;
}

/** Runs until the Lease is lost or released. */
export async function hold(options: HolderOptions, signal: AbortSignal): Promise<void> {
  const holder = new Holder(options);
  const engine = new RoundEngine({
    run: async () => {
      try {
        await holder.round();
        engine.wakeAfter(pollMs);
      } catch (error) {
        if (signal.aborted) return;
        if (!isKubeError(error)) throw error;
        // The watch delivers the later version of the ConfigMap.
        const isConflict = error instanceof KubeApiError && error.status === 409;
        if (!isConflict) options.log.warn({ error: error.message }, 'the plan cannot be written, trying again');
        engine.wakeAfter(isConflict ? conflictMs : retryMs);
      }
    },
  });
  const unsubscribe = options.subscribe(() => engine.request());
  try {
    await engine.run(signal);
  } finally {
    unsubscribe();
  }
}

class Holder {
  readonly #options: HolderOptions;
  /** Time at which this instance began to lead, or last saw a plan. */
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
      await this.#write(map, map.plan, { status: 'the key `plan` cannot be read: correct or remove it' });
      return;
    }
    const kept = this.#options.kept();
    // The kept plan counts only if no node reports a later generation.
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
    const answer = answerRequest(view, map.requests);
    if (answer === undefined) await this.#follow(map, decideMembers(view));
    else await this.#answer(map, answer);
  }

  async #follow(map: CentralMap, { plan, status }: Decision): Promise<void> {
    const { log } = this.#options;
    if (this.#status !== status) log.info({ status, generation: plan?.generation }, 'plan');
    this.#status = status;
    await this.#write(map, plan, { status });
    if (plan !== undefined) await this.#publishRemotes(plan, map);
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

  /** Writes the differences over the version that was read. @throws KubeApiError 409 if there is a later version */
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

  async #publishRemotes(plan: Plan, { reports }: CentralMap): Promise<void> {
    const { client, namespace, scheme, log } = this.#options;
    const name = { namespace, name: clientsName };
    const now = this.#options.clientsMap();
    const wanted = planClients({ scheme, plan, reports, published: now?.['nb'] ?? '' });
    if (wanted === undefined || Object.entries(wanted).every(([key, text]) => now?.[key] === text)) return;
    if (now === undefined) await client.create(configMaps, { metadata: name, data: wanted });
    else await client.patch(configMaps, name, 'merge', { data: wanted });
    log.info({ ...wanted }, 'remotes for clients are published');
  }
}
