/**
 * The ServiceImports of this cluster. In: the exports of this cluster and of the others, the namespaces that exist here, and which of them
 * changed. Out: the merged import of each Service that some cluster exports, with its exports and addresses, and which of them changed. An
 * import exists only in clusters that have its namespace; conflicts are decided for exports of any namespace.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { ExportedService } from '../../model/exported-service.ts';
import { ClusterSetIps, type FormerIps } from './clusterset-ips.ts';
import { mergeExports, type MergedImport } from './merge.ts';
import { clusterSetNetworks, type Occupied } from './networks.ts';

export interface ImportState {
  readonly merged: MergedImport;
  /** By cluster. */
  readonly exports: ReadonlyMap<string, ExportedService>;
  /** In the order of its families; empty for a headless Service. */
  readonly ips: readonly string[];
  /** Why it has no address in some family. */
  readonly problem: Problem | undefined;
}

export interface ImportInput {
  /** Cluster → its valid export of a Service, `namespace/name`, of this cluster too. */
  readonly exportsOf: (key: string) => ReadonlyMap<string, ExportedService>;
  readonly hasNamespace: (namespace: string) => boolean;
  /** `spec.clusterSetCIDR` of the Interconnect. */
  readonly clusterSetCidr: string;
  /** Networks of this cluster, which ClusterSet IPs must not be in. */
  readonly occupied: readonly Occupied[];
  /** Families of the pods here. */
  readonly families: ReadonlySet<Family>;
  /** Imports of the process before; read at the first step only. */
  readonly former: () => Iterable<FormerIps>;
  /** The exports of every member that the hub expects are known. Until then, an import without an export may have one. */
  readonly isComplete: boolean;
}

export class Imports {
  readonly #ips = new ClusterSetIps();
  /** Per import, the exports by cluster. */
  readonly #exports = new Map<string, ReadonlyMap<string, ExportedService>>();
  readonly #merged = new Map<string, MergedImport>();
  readonly #states = new Map<string, ImportState>();
  #networksText: string | undefined;
  #problems: ReadonlyMap<Family, Problem> = new Map();
  /** Imports of the process before whose addresses are kept for them until it is known whether they are exported. */
  #former: string[] = [];
  /** Imports without an address that they should have. */
  readonly #wanting = new Set<string>();

  get(key: string): ImportState | undefined {
    return this.#states.get(key);
  }
  keys(): MapIterator<string> {
    return this.#states.keys();
  }
  get size(): number {
    return this.#states.size;
  }
  /** By family: why no new import gets an address. */
  get networkProblems(): ReadonlyMap<Family, Problem> {
    return this.#problems;
  }
  /** The problem of an import for which there is no free address. */
  get exhaustion(): Problem | undefined {
    for (const key of this.#wanting) {
      const problem = this.#states.get(key)?.problem;
      if (problem?.code === exhaustedCode) return problem;
    }
    return undefined;
  }
  /** What the exports of a Service come to, also without an import here. */
  merged(key: string): MergedImport | undefined {
    return this.#merged.get(key);
  }

  /**
   * `services`: Services whose exports changed; `namespaces`: those that came or went. Returns the imports that changed, also
   * removed ones.
   */
  step(
    input: ImportInput,
    dirty: { readonly services: Iterable<string>; readonly namespaces: Iterable<string> },
  ): ReadonlySet<string> {
    const isFirst = this.#networksText === undefined;
    const keys = new Set(dirty.services);
    for (const key of keys) this.#takeExports(key, input);
    for (const key of this.#setNetworks(input)) keys.add(key);
    if (isFirst) this.#former = this.#ips.restore(input.former());
    if (input.isComplete) for (const key of this.#former.splice(0)) if (!this.#exports.has(key)) this.#ips.release(key);
    const namespaces = new Set(dirty.namespaces);
    if (namespaces.size > 0)
      for (const key of this.#exports.keys()) if (namespaces.has(namespaceOf(key))) keys.add(key);
    const changed = new Set<string>();
    // Addresses that are given back first can be given again.
    for (const key of keys) if (!this.#isWanted(key, input)) this.#forget(key, changed);
    const freed = changed.size > 0;
    for (const key of [...keys, ...(freed ? this.#wanting : [])].sort())
      if (this.#isWanted(key, input)) this.#settle(key, input, changed);
    return changed;
  }

  /** This cluster is not a member any more. */
  clear(): void {
    this.#ips.clear();
    this.#exports.clear();
    this.#merged.clear();
    this.#states.clear();
    this.#wanting.clear();
    this.#former = [];
    this.#networksText = undefined;
  }

  #isWanted(key: string, { hasNamespace }: ImportInput): boolean {
    return this.#exports.has(key) && hasNamespace(namespaceOf(key));
  }

  #takeExports(key: string, { exportsOf }: ImportInput): void {
    const exports = exportsOf(key);
    const merged = mergeExports(exports);
    if (merged === undefined) {
      this.#exports.delete(key);
      this.#merged.delete(key);
      return;
    }
    this.#exports.set(key, new Map(exports));
    // An equal value stays the same object: only the endpoints of an export changed.
    const before = this.#merged.get(key);
    if (before === undefined || JSON.stringify(before) !== JSON.stringify(merged)) this.#merged.set(key, merged);
  }

  /** Returns the imports that another network, or another use of it, may change. */
  #setNetworks({ clusterSetCidr, occupied, families }: ImportInput): Iterable<string> {
    const { networks, problems } = clusterSetNetworks(clusterSetCidr, occupied);
    const text = JSON.stringify([clusterSetCidr, [...problems], [...families].sort((a, b) => a - b)]);
    if (text === this.#networksText) return [];
    this.#networksText = text;
    this.#problems = problems;
    this.#ips.setNetworks(networks);
    return this.#exports.keys();
  }

  #settle(key: string, { families }: ImportInput, changed: Set<string>): void {
    const [merged, exports] = [this.#merged.get(key), this.#exports.get(key)];
    if (merged === undefined || exports === undefined) return;
    const { ips, problem } = this.#addressesOf(key, merged, families);
    if (problem === undefined) this.#wanting.delete(key);
    else this.#wanting.add(key);
    const before = this.#states.get(key);
    const state: ImportState = { merged, exports, ips, problem };
    if (before !== undefined && isSame(before, state)) return;
    this.#states.set(key, state);
    changed.add(key);
  }

  #addressesOf(
    key: string,
    { type, ipFamilies }: MergedImport,
    families: ReadonlySet<Family>,
  ): Pick<ImportState, 'ips' | 'problem'> {
    // Addresses stay allocated to an import while it has no use for them: clients may keep them, and the cause may last only a moment.
    if (type === 'Headless') return { ips: [], problem: undefined };
    const served = ipFamilies.filter((family) => families.has(family));
    if (served.length === 0) {
      const named = ipFamilies.map((family) => `IPv${family}`).join(' and ');
      const message = `the Service has ${named || 'no'} addresses, and no Subnet of this cluster that takes part in the interconnect has`;
      return { ips: [], problem: { code: 'IPFamilyNotSupported', message } };
    }
    const problems: Problem[] = [];
    const ips = served.flatMap((family) => {
      const known = this.#ips.get(key, family);
      if (known !== undefined) return [known];
      const obstacle = this.#problems.get(family);
      const ip = obstacle === undefined ? this.#ips.take(key, family) : undefined;
      if (ip === undefined) problems.push(obstacle ?? exhausted(family));
      return ip === undefined ? [] : [ip];
    });
    return { ips, problem: problems[0] };
  }

  #forget(key: string, changed: Set<string>): void {
    this.#ips.release(key);
    this.#wanting.delete(key);
    if (this.#states.delete(key)) changed.add(key);
  }
}

const exhaustedCode = 'ClusterSetIPsExhausted';

function exhausted(family: Family): Problem {
  const message = `every IPv${family} address of spec.clusterSetCIDR of the Interconnect is in use: give it a larger network`;
  return { code: exhaustedCode, message };
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

function isSame(before: ImportState, after: ImportState): boolean {
  return (
    before.merged === after.merged &&
    before.exports.size === after.exports.size &&
    [...after.exports].every(([cluster, exported]) => before.exports.get(cluster) === exported) &&
    before.ips.join() === after.ips.join() &&
    before.problem?.message === after.problem?.message
  );
}
