/**
 * Statuses of RoutePolicies: whether they are in force, and how many prefixes each rule decided. In: the compiled set
 * and the figures of the last round. Out: patches, only where the object differs. Figures alone are written at most
 * every five seconds; an event is recorded when a policy becomes invalid or valid again.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { RoutePolicyStatus } from '../../lib/api/kinds/route-policy.ts';
import { setCondition } from '../../lib/api/conditions.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import { apiVersionOf, routePolicies } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Judged, PolicySet } from '../../lib/route-policy/compile.ts';
import { readyOf } from '../../lib/route-policy/ready.ts';
import type { Hits, RoutePolicy } from '../../lib/route-policy/policy.ts';

const figuresEveryMs = 5000;

/** Figures of the last round over all clusters and transit switches. */
export interface PolicyFigures {
  readonly hits: Hits;
  /** Prefixes refused by `maxPrefixes`, by policy. */
  readonly overLimit: ReadonlyMap<string, number>;
}

/** Pure: the time comes by parameter. */
export function renderRoutePolicy(
  policy: RoutePolicy,
  judged: Judged,
  figures: PolicyFigures,
  nowIso: string,
): RoutePolicyStatus {
  const { applied, problem } = judged;
  const counts = figures.hits.get(policy.name);
  const hasLimit = applied?.spec.maxPrefixes !== undefined;
  const inForce = problem === undefined ? undefined : applied;
  return {
    conditions: [
      ...setCondition(
        policy.status.conditions,
        { ...readyOf(judged), type: 'Ready', observedGeneration: judged.generation },
        nowIso,
      ),
    ],
    rules: (applied?.rules ?? []).map(({ index }) => ({ index, prefixes: counts?.get(index) ?? 0 })),
    ...(hasLimit ? { overLimit: figures.overLimit.get(policy.name) ?? 0 } : {}),
    ...(inForce === undefined ? {} : { inForce: JSON.stringify(inForce.spec) }),
  };
}

export interface RoutePolicyReporterOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly events: Pick<EventRecorder, 'record'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface Round {
  readonly policies: ReadonlyMap<string, RoutePolicy>;
  readonly set: PolicySet;
  readonly figures: PolicyFigures;
}

export class RoutePolicyReporter {
  readonly #options: RoutePolicyReporterOptions;
  /** By name: the last status, and the version of the object it was written for. */
  readonly #reported = new Map<string, { readonly version: string; readonly status: RoutePolicyStatus }>();
  readonly #writtenMs = new Map<string, number>();
  #latest: Round | undefined;
  #later: NodeJS.Timeout | undefined;

  constructor(options: RoutePolicyReporterOptions) {
    this.#options = options;
  }

  /** To be called after each round, once the figures are those of everything that is known; `policies` by name. */
  report(policies: ReadonlyMap<string, RoutePolicy>, set: PolicySet, figures: PolicyFigures): void {
    this.#latest = { policies, set, figures };
    for (const name of this.#reported.keys()) if (!policies.has(name)) this.#forget(name);
    for (const [name, policy] of policies) {
      const judged = set.judged.get(name);
      if (judged?.generation === policy.generation && judged.uid === policy.uid) this.#report(policy, judged, figures);
    }
  }

  close(): void {
    clearTimeout(this.#later);
    this.#latest = undefined;
  }

  #report(policy: RoutePolicy, judged: Judged, figures: PolicyFigures): void {
    const { client, writer, now } = this.#options;
    const { name, uid, resourceVersion } = policy;
    const nowMs = now();
    const status = renderRoutePolicy(policy, judged, figures, new Date(nowMs).toISOString());
    const reported = this.#reported.get(name);
    // The answer to a write may arrive before the watch brings the object.
    const before = reported?.version === resourceVersion ? reported.status : policy.status;
    if (isDeepStrictEqual(withoutTimes(before), withoutTimes(status))) return;
    const dueMs = (this.#writtenMs.get(name) ?? Number.NEGATIVE_INFINITY) + figuresEveryMs;
    if (dueMs > nowMs && isDeepStrictEqual(withoutFigures(before), withoutFigures(status))) {
      this.#again(dueMs - nowMs);
      return;
    }
    this.#writtenMs.set(name, nowMs);
    this.#reported.set(name, { version: resourceVersion, status });
    const gone = Object.fromEntries(Object.keys({ ...policy.status, ...before }).map((key) => [key, null]));
    const patch = { metadata: { uid }, status: { ...gone, ...status } };
    void writer
      .enqueue(`RoutePolicy/${name}`, () =>
        client.patch(routePolicies, { name }, 'merge', patch, { subresource: 'status' }),
      )
      .then((outcome) => {
        if (outcome !== 'written' && this.#reported.get(name)?.status === status) this.#reported.delete(name);
      });
    this.#announce(policy, before.conditions, status.conditions);
  }

  #announce(
    { name, uid }: RoutePolicy,
    before: readonly Condition[] | undefined,
    after: readonly Condition[] | undefined,
  ): void {
    const was = readyIn(before);
    const is = readyIn(after);
    const isNews = is?.status === 'False' ? was?.message !== is.message : was?.status === 'False';
    if (is === undefined || !isNews) return;
    const subject = { apiVersion: apiVersionOf(routePolicies), kind: routePolicies.kind, name, uid };
    const type = is.status === 'True' ? 'Normal' : 'Warning';
    this.#options.events.record(subject, type, is.reason ?? 'Ready', is.message ?? is.status);
  }

  #again(delayMs: number): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      const round = this.#latest;
      if (round !== undefined) this.report(round.policies, round.set, round.figures);
    }, delayMs);
  }

  #forget(name: string): void {
    this.#reported.delete(name);
    this.#writtenMs.delete(name);
  }
}

function readyIn(conditions: readonly Condition[] | undefined): Condition | undefined {
  return conditions?.find(({ type }) => type === 'Ready');
}

function withoutTimes(status: RoutePolicyStatus): object {
  return { ...status, conditions: (status.conditions ?? []).map((one) => ({ ...one, lastTransitionTime: '' })) };
}

function withoutFigures({ conditions, inForce }: RoutePolicyStatus): object {
  return withoutTimes({ conditions, inForce });
}
