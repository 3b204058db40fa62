/**
 * Counts the packets of policies from readings of flows. Where ovn-controller removes a flow and adds it again, its counter begins at zero: what
 * was counted before stays. Where another logical flow takes over an equal match, Open vSwitch copies the counter: only what is added
 * counts for the new one. The number of counts is limited, because authors of policies decide how many rules there are.
 */
import type { AclOrigin, AclRules, AclVerdict } from '../../lib/policies/acl-text.ts';
import type { PolicyDirection } from '../../lib/policies/selection.ts';
import type { FlowCount } from '../model/flow-count.ts';

export interface CountLimits {
  /** Rules of one policy with a count of their own; the others share one. */
  readonly ofPolicy: number;
  /** All counts; further policies share one for each kind and verdict. */
  readonly all: number;
}

const defaultLimits: CountLimits = { ofPolicy: 100, all: 5000 };
/** In place of a name or a rule. */
const rest = 'other';

export interface RuleCount {
  readonly kind: string;
  readonly namespace: string;
  readonly policy: string;
  readonly direction: PolicyDirection;
  /** Places of the rules in their list, separated by commas. */
  readonly rule: string;
  readonly verdict: AclVerdict;
  packets: number;
}

/** A packet counts at each policy that isolates the pod. */
export interface IsolationCount {
  readonly namespace: string;
  readonly policy: string;
  readonly direction: PolicyDirection;
  packets: number;
}

export interface CountReading {
  /** Time of the reading, in milliseconds. */
  readonly atMs: number;
  readonly flows: readonly FlowCount[];
  /** By cookie. */
  readonly origins: ReadonlyMap<number, AclOrigin>;
  /** The NetworkPolicies that isolate the port of a flow. */
  readonly isolatedBy: (
    flow: FlowCount,
    direction: PolicyDirection,
  ) => readonly { readonly namespace: string; readonly name: string }[];
  /** Whether a NetworkPolicy exists. */
  readonly hasPolicy: (namespace: string, name: string) => boolean;
}

interface SeenFlow {
  readonly flow: FlowCount;
  readonly atMs: number;
}

/**
 * Time for which a flow is remembered that readings lack. ovn-controller and this daemon learn one after the other that a flow gets another
 * cookie, and a reading in between does not find it. Longer than two periods between readings.
 */
const memoryMs = 75_000;

type Labels = Omit<RuleCount, 'packets'>;

export class PolicyCounts {
  readonly #limits: CountLimits;
  /** Flows that had packets, by `flow`. */
  #seen = new Map<string, SeenFlow>();
  readonly #rules = new Map<string, RuleCount>();
  readonly #isolation = new Map<string, IsolationCount>();
  readonly #rulesOfPolicy = new Map<string, number>();

  constructor(limits: CountLimits = defaultLimits) {
    this.#limits = limits;
  }

  get rules(): Iterable<RuleCount> {
    return this.#rules.values();
  }

  get isolation(): Iterable<IsolationCount> {
    return this.#isolation.values();
  }

  take(reading: CountReading): void {
    const seen = new Map<string, SeenFlow>();
    const counts = new Map<number, RuleCount>();
    for (const flow of reading.flows) {
      const origin = reading.origins.get(flow.cookie);
      if (origin === undefined) continue;
      let count = counts.get(flow.cookie);
      if (count === undefined && origin.rules !== undefined) {
        count = this.#countOf(origin);
        counts.set(flow.cookie, count);
      }
      // An address set has a flow for each address, and most of them count nothing.
      if (flow.packets === 0) {
        this.#seen.delete(flow.flow);
        continue;
      }
      const added = addedTo(this.#seen.get(flow.flow)?.flow, flow);
      seen.set(flow.flow, { flow, atMs: reading.atMs });
      if (count !== undefined) count.packets += added;
      else if (added > 0) this.#countIsolation(reading.isolatedBy(flow, origin.direction), origin.direction, added);
    }
    for (const [key, one] of this.#seen) if (!seen.has(key) && reading.atMs - one.atMs < memoryMs) seen.set(key, one);
    this.#seen = seen;
    this.#prune(reading);
  }

  #countOf(origin: AclRules): RuleCount {
    const own = labelsOf(origin);
    return this.#rules.get(keyOf(own)) ?? this.#begin(own);
  }

  /** A count for labels that have none, or the one that they share with others. */
  #begin(own: Labels): RuleCount {
    const policy = policyKey(own);
    const ofPolicy = this.#rulesOfPolicy.get(policy) ?? 0;
    const isFull = this.#rules.size + this.#isolation.size >= this.#limits.all;
    const labels = isFull
      ? { ...own, namespace: '', policy: rest, rule: rest }
      : ofPolicy >= this.#limits.ofPolicy
        ? { ...own, rule: rest }
        : own;
    const key = keyOf(labels);
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    const count = { ...labels, packets: 0 };
    this.#rules.set(key, count);
    this.#rulesOfPolicy.set(policyKey(labels), (this.#rulesOfPolicy.get(policyKey(labels)) ?? 0) + 1);
    return count;
  }

  #countIsolation(
    policies: readonly { readonly namespace: string; readonly name: string }[],
    direction: PolicyDirection,
    added: number,
  ): void {
    for (const { namespace, name } of policies) {
      const key = `${namespace}/${name} ${direction}`;
      let count = this.#isolation.get(key);
      if (count === undefined) {
        if (this.#rules.size + this.#isolation.size >= this.#limits.all) continue;
        count = { namespace, policy: name, direction, packets: 0 };
        this.#isolation.set(key, count);
      }
      count.packets += added;
    }
  }

  /** Counts of what no longer exists end; a rule that has no flow at the moment keeps its count. */
  #prune({ origins, hasPolicy }: CountReading): void {
    const existing = new Set<string>();
    for (const origin of origins.values())
      if (origin.rules !== undefined) {
        const labels = labelsOf(origin);
        existing.add(keyOf(labels)).add(policyKey(labels));
      }
    for (const [key, count] of this.#rules) {
      const isShared = count.rule === rest && (count.policy === rest || existing.has(policyKey(count)));
      if (isShared || existing.has(key)) continue;
      this.#rules.delete(key);
      const policy = policyKey(count);
      const left = (this.#rulesOfPolicy.get(policy) ?? 1) - 1;
      if (left === 0) this.#rulesOfPolicy.delete(policy);
      else this.#rulesOfPolicy.set(policy, left);
    }
    for (const [key, { namespace, policy }] of this.#isolation)
      if (!hasPolicy(namespace, policy)) this.#isolation.delete(key);
  }
}

/**
 * Packets since the former reading. ovn-controller adds a flow again without removing it only to give it another cookie, and Open vSwitch then
 * keeps the counter but not the age. A flow that is younger with the same cookie was removed, and is a new one.
 */
function addedTo(before: FlowCount | undefined, now: FlowCount): number {
  if (before === undefined || now.packets < before.packets) return now.packets;
  const isNew = now.cookie === before.cookie && now.ageMs < before.ageMs;
  return isNew ? now.packets : now.packets - before.packets;
}

function labelsOf({ kind, namespace, name, direction, rules, verdict }: AclRules): Labels {
  return { kind, namespace, policy: name, direction, rule: rules.join(), verdict };
}

function policyKey({ kind, namespace, policy }: Labels): string {
  return `${kind} ${namespace}/${policy}`;
}

function keyOf(labels: Labels): string {
  return `${policyKey(labels)} ${labels.direction} ${labels.rule} ${labels.verdict}`;
}
