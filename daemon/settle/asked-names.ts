/**
 * The domain names that pods of this node asked DNS for, as far as a policy names them with `*`. In: questions, the names with `*`, and the time. Out: what the daemon reports
 * of them (AskedDomains), for `domain-name/domain-names.ts` of the controller. Rules: the author of a pod can ask for any name, so that a pod, a Namespace and the node have limits, and a name is forgotten an hour after its last question.
 * Each Namespace has the names that its own pods ask for: the first Namespace that asks must not have the name in its turn alone.
 */
import { mostAskedOfNode, type AskedDomain } from '../../lib/api/kinds/asked-domains.ts';
import { patternsOf } from '../../lib/dns/name.ts';

export const limits = { pod: 100, namespace: 500, node: mostAskedOfNode } as const;
/** A pod that asks again within this time keeps the addresses of a name. */
export const rememberedMs = 3_600_000;

export interface AskingPod {
  readonly uid: string;
  readonly namespace: string;
}

function keyOf({ name, namespace }: Pick<AskedDomain, 'name' | 'namespace'>): string {
  return `${name} ${namespace}`;
}

/** What became of a question: its name counts already, counts from now on, is of no policy, or is one too many for the pod, the Namespace or the node. */
export type Noted = 'known' | 'new' | 'unnamed' | keyof typeof limits;

interface Asked {
  readonly entry: AskedDomain;
  /** Of the pod of the Namespace that asked first; undefined after a restart. */
  readonly uid: string | undefined;
  lastMs: number;
}

export class AskedNames {
  /** By name and Namespace. */
  readonly #names = new Map<string, Asked>();
  /** Names that count, by pod and by Namespace. */
  readonly #ofPod = new Map<string, number>();
  readonly #ofNamespace = new Map<string, number>();
  #patterns: ReadonlySet<string> = new Set();

  get patterns(): ReadonlySet<string> {
    return this.#patterns;
  }

  /** Sorted by name and Namespace. */
  get entries(): readonly AskedDomain[] {
    const sorted = [...this.#names].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([, { entry }]) => entry);
  }

  /** Takes what the former process reported, as if it had been asked for now. */
  restore(entries: readonly AskedDomain[], nowMs: number): void {
    for (const entry of entries)
      if (!this.#names.has(keyOf(entry))) this.#add({ entry, uid: undefined, lastMs: nowMs });
  }

  /** Sets the names with `*` of policies; names that none of them matches are forgotten. */
  setPatterns(patterns: ReadonlySet<string>): void {
    this.#patterns = patterns;
    for (const [key, { entry }] of this.#names) if (patternsOf(entry.name, patterns).length === 0) this.#remove(key);
  }

  /** Takes a question. @param name as `parseDomainName` returns it. @param nowMs since 1970 */
  note(name: string, { uid, namespace }: AskingPod, nowMs: number): Noted {
    const known = this.#names.get(keyOf({ name, namespace }));
    if (known !== undefined) {
      known.lastMs = nowMs;
      return 'known';
    }
    if (patternsOf(name, this.#patterns).length === 0) return 'unnamed';
    if ((this.#ofPod.get(uid) ?? 0) >= limits.pod) return 'pod';
    if ((this.#ofNamespace.get(namespace) ?? 0) >= limits.namespace) return 'namespace';
    if (this.#names.size >= limits.node) return 'node';
    this.#add({ entry: { name, namespace, since: Math.floor(nowMs / 1000) }, uid, lastMs: nowMs });
    return 'new';
  }

  /** Forgets names that no pod has asked for. @returns whether there were any */
  expire(nowMs: number): boolean {
    const before = this.#names.size;
    for (const [key, { lastMs }] of this.#names) if (nowMs - lastMs >= rememberedMs) this.#remove(key);
    return this.#names.size < before;
  }

  #add(asked: Asked): void {
    const { entry, uid } = asked;
    this.#names.set(keyOf(entry), asked);
    count(this.#ofNamespace, entry.namespace, 1);
    if (uid !== undefined) count(this.#ofPod, uid, 1);
  }

  #remove(key: string): void {
    const asked = this.#names.get(key);
    if (asked === undefined) return;
    this.#names.delete(key);
    count(this.#ofNamespace, asked.entry.namespace, -1);
    if (asked.uid !== undefined) count(this.#ofPod, asked.uid, -1);
  }
}

function count(counts: Map<string, number>, key: string, change: number): void {
  const after = (counts.get(key) ?? 0) + change;
  if (after > 0) counts.set(key, after);
  else counts.delete(key);
}
