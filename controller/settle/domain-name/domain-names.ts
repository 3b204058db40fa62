/**
 * The addresses of the domain names that policies name (`addresses.ts`), and what is wrong with a name. A name with `*` has the addresses of all names that it matches and that
 * pods asked for (`asked-names.ts`). In: policies in force, reports of such names, answers of the servers that answer pods, and the time. Out: for each name the addresses as rows keep them, and a problem. `plan/domain-name/domain-name.ts` reads these, and `watch/domain-resolver.ts` which names to ask about.
 * Rule: the rows are what a restart knows, so that it changes nothing until servers have answered.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { isDomainPattern } from '../../../lib/dns/name.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { domainsOf } from '../../../lib/policies/selection.ts';
import type { Change } from '../../model/change.ts';
import { pendingNames, type DomainAnswer, type DomainRecord } from '../../model/domain.ts';
import type { DomainIndex, View } from '../../model/view.ts';
import { DomainAddresses, mostAddresses, smallest, type Outcome } from './addresses.ts';
import { chooseNames, mostAskedNames, namesOfNode, type ChosenNames } from './asked-names.ts';
import { mostOfPattern, uniteRecords } from './pattern-record.ts';
import { refusedAs } from './refused-address.ts';

/** Names that are asked about; the policies that name them first are the oldest. */
export const mostNames = 1000;

export interface DomainNamesOptions {
  readonly view: View;
  /** The domain of the cluster's own names. */
  readonly clusterDomain: string;
  /** The addresses of a name changed. */
  readonly onAddresses: (name: string) => void;
  /** What is wrong with a name changed. */
  readonly onProblem: (name: string) => void;
}

type Families = Readonly<Record<Family, DomainAddresses>>;

const families = [4, 6] as const;
const noRecord: DomainRecord = { current: [], left: new Map() };

const notResolved = 'DomainNamesNotResolved';

function noServer(name: string): Problem {
  const message = `no server can be asked for ${name}, whose addresses stay as they are: the Service kube-system/kube-dns has no ready endpoint; if DNS of pods is another one, set --dns-servers of the controller`;
  return { code: notResolved, message };
}

/** What all servers agree on as a failure; undefined if one of them answered, or none was asked. */
function failureOf(outcomes: ReadonlyMap<string, Outcome>): string | undefined {
  const failures: string[] = [];
  for (const [server, outcome] of outcomes) {
    if (outcome.failure === undefined) return undefined;
    failures.push(`${server}: ${outcome.failure}`);
  }
  return smallest(failures);
}

export class DomainNames implements DomainIndex {
  readonly #options: DomainNamesOptions;
  readonly #names = new Map<string, Families>();
  readonly #problems = new Map<string, Problem | undefined>();
  /** By name with `*`: addresses of a former process, of which the name is not known, and those of names that are no longer asked about. */
  readonly #patterns = new Map<string, Families>();
  /** Names of each node that patterns match, in the order in which they count. */
  readonly #ofNodes = new Map<string, readonly string[]>();
  #chosenNames: ChosenNames = { names: new Map(), short: new Set() };
  /** The chosen names of each pattern. */
  #members: ReadonlyMap<string, readonly string[]> = new Map();
  /** Names that are no longer asked about, until their addresses are former ones. */
  readonly #leaving = new Map<string, { readonly addresses: Families; readonly patterns: readonly string[] }>();
  #servers: ReadonlySet<string> | undefined;
  #asked: ReadonlySet<string> | undefined;

  constructor(options: DomainNamesOptions) {
    this.#options = options;
  }

  names(): Iterable<string> {
    return [...this.#names.keys(), ...this.#patterns.keys()];
  }

  /** The names to ask about. */
  get asked(): ReadonlySet<string> {
    this.#asked ??= this.#chosen();
    return this.#asked;
  }

  /** When addresses change next without an answer, in milliseconds since 1970; infinite if they do not. */
  get nextMs(): number {
    if (this.#leaving.size > 0) return 0;
    let next = Number.POSITIVE_INFINITY;
    for (const known of [...this.#names.values(), ...this.#patterns.values()])
      for (const family of families) next = Math.min(next, known[family].nextMs);
    for (const pattern of this.#patterns.keys()) if (this.#isAbandoned(pattern)) return 0;
    return next;
  }

  record(name: string): DomainRecord {
    const known = this.#names.get(name) ?? this.#patterns.get(name);
    if (known === undefined) return noRecord;
    const parts = [known, ...this.#partsOf(name)];
    const records = families.map((family) => uniteRecords(parts.map((part) => part[family])));
    return {
      current: records.flatMap(({ current }) => current),
      left: new Map(records.flatMap(({ left }) => [...left])),
    };
  }

  /** The addresses of the names that a pattern matches. */
  #partsOf(pattern: string): readonly Families[] {
    const members = (this.#members.get(pattern) ?? []).flatMap((name) => this.#names.get(name) ?? []);
    const leaving = [...this.#leaving.values()].filter(({ patterns }) => patterns.includes(pattern));
    return [...members, ...leaving.map(({ addresses }) => addresses)];
  }

  /** Whether a pattern has addresses for new connections, although no pod asks for a name of it any more. */
  #isAbandoned(pattern: string): boolean {
    const known = this.#patterns.get(pattern);
    const hasMembers = (this.#members.get(pattern) ?? []).length > 0;
    return known !== undefined && !hasMembers && !families.every((family) => known[family].isEmpty);
  }

  problem(name: string): Problem | undefined {
    return this.#problems.get(name);
  }

  get isAsking(): boolean {
    return this.#servers !== undefined;
  }

  /** Whether every server has answered about a name, or failed to. */
  isSettled(name: string): boolean {
    const known = this.#names.get(name);
    const count = this.#servers?.size ?? 0;
    return known === undefined || families.every((family) => known[family].outcomes.size >= count);
  }

  /** Takes the addresses of the rows of a former process, once all policies are known. */
  restore(records: ReadonlyMap<string, DomainRecord>, nowMs: number): void {
    for (const [name, record] of records) {
      const known = this.#names.get(name) ?? this.#patterns.get(name);
      if (known === undefined) continue;
      for (const family of families) {
        const isOwn = (address: string): boolean => address.includes(':') === (family === 6);
        const left = new Map([...record.left].filter(([address]) => isOwn(address)));
        known[family].restore(record.current.filter(isOwn), left, nowMs);
      }
    }
  }

  /** Sets the servers that are asked, as `address:port`. */
  setServers(servers: readonly string[]): void {
    if (this.#servers !== undefined && [...this.#servers].join() === servers.join()) return;
    const now = new Set(servers);
    this.#servers = now;
    for (const known of [...this.#names.values(), ...this.#patterns.values()])
      for (const family of families) known[family].setServers(now);
    this.#judgeAll();
  }

  /** Takes an answer. */
  answered({ name, family, server, answer }: DomainAnswer, nowMs: number): void {
    const known = this.#names.get(name);
    if (known === undefined || this.#servers?.has(server) !== true) return;
    const { view, clusterDomain, onAddresses } = this.#options;
    const isChanged = known[family].answered(server, answer, nowMs, (address) =>
      refusedAs(view, clusterDomain, name, address),
    );
    if (isChanged && this.isNamed(name)) onAddresses(name);
    for (const pattern of this.#chosenNames.names.get(name) ?? []) {
      const isHeard = this.#patterns.get(pattern)?.[family].heard(server, answer.kind !== 'failed', nowMs) === true;
      if (isChanged || isHeard) onAddresses(pattern);
      if (isChanged) this.#judgeOne(pattern);
    }
    this.#judge(name);
  }

  /** Ends what ends with the time. */
  advance(nowMs: number): void {
    const changed = new Set<string>();
    for (const { addresses, patterns } of this.#leaving.values())
      for (const pattern of patterns) {
        const heir = this.#patterns.get(pattern);
        for (const family of families) heir?.[family].inherit(addresses[family], nowMs);
        changed.add(pattern);
      }
    this.#leaving.clear();
    for (const [name, known] of this.#names) {
      if (families.filter((family) => known[family].expire(nowMs)).length === 0) continue;
      for (const concerned of [name, ...(this.#chosenNames.names.get(name) ?? [])]) changed.add(concerned);
    }
    for (const [pattern, known] of this.#patterns) {
      const isAbandoned = this.#isAbandoned(pattern);
      const ended = families.filter((family) => known[family].expire(nowMs));
      const retired = isAbandoned ? families.filter((family) => known[family].retire(nowMs)) : [];
      if (ended.length + retired.length > 0) changed.add(pattern);
    }
    for (const name of changed) {
      if (this.isNamed(name) || this.#patterns.has(name)) this.#options.onAddresses(name);
      this.#judge(name);
    }
  }

  changed(change: Change): void {
    if (change.kind === 'askedDomains') return this.#reported(change.name);
    if (change.kind === 'nodes' && (change.before === undefined) !== (change.after === undefined))
      return this.#reported(change.name);
    if (change.kind !== 'policies') return;
    const { before, after } = change;
    const named = [before, after].flatMap((policy) =>
      policy !== undefined && 'tier' in policy ? domainsOf(policy) : [],
    );
    if (named.length === 0) return;
    const patterns = named.filter(isDomainPattern);
    for (const name of new Set(named)) this.#setNamed(name);
    if (patterns.length > 0) {
      for (const node of this.#options.view.askedDomains.keys()) this.#sort(node);
      this.#choose();
    }
    this.#asked = undefined;
    this.#judgeAll();
  }

  /** Whether a policy names it, without `*`. */
  isNamed(name: string): boolean {
    return !isDomainPattern(name) && !isEmpty(this.#options.view.policies.ofDomain(name));
  }

  /** A pattern takes over the addresses of many names. */
  #newAddresses(isPattern = false): Families {
    const servers = this.#servers ?? new Set<string>();
    const most = isPattern ? mostOfPattern : mostAddresses;
    return { 4: new DomainAddresses(servers, most), 6: new DomainAddresses(servers, most) };
  }

  /** Begins or ends to know a name that a policy names or no longer names. */
  #setNamed(name: string): void {
    const isNamed = !isEmpty(this.#options.view.policies.ofDomain(name));
    const isPattern = isDomainPattern(name);
    const own = isPattern ? this.#patterns : this.#names;
    const isKept = isNamed || (!isPattern && this.#chosenNames.names.has(name));
    if (isKept && !own.has(name)) own.set(name, this.#newAddresses(isPattern));
    else if (!isKept) own.delete(name);
    this.#options.onAddresses(name);
  }

  /** The names that pods of a node asked for changed. */
  #reported(node: string): void {
    if (this.#patterns.size === 0) return;
    const before = this.#ofNodes.get(node) ?? [];
    this.#sort(node);
    if (before.join() === (this.#ofNodes.get(node) ?? []).join()) return;
    this.#choose();
    this.#asked = undefined;
    this.#judgeAll();
  }

  #sort(node: string): void {
    const { askedDomains, nodes } = this.#options.view;
    // An object may outlive its Node: then no daemon would ever take a name from it.
    const entries = nodes.get(node) === undefined ? undefined : askedDomains.get(node);
    const names = entries === undefined ? [] : namesOfNode(entries, this.#patterns);
    if (names.length === 0) this.#ofNodes.delete(node);
    else this.#ofNodes.set(node, names);
  }

  /** Chooses the names to ask about, and keeps the addresses of the others until they are former ones. */
  #choose(): void {
    const before = this.#chosenNames;
    // In an order that a restart has, too.
    const nodes = [...this.#ofNodes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, names]) => names);
    const chosen = chooseNames(nodes, this.#patterns);
    this.#chosenNames = chosen;
    const touched = new Set<string>();
    for (const [name, patterns] of before.names) {
      if (chosen.names.has(name)) continue;
      const addresses = this.#names.get(name);
      if (addresses !== undefined) this.#leaving.set(name, { addresses, patterns });
      if (!this.isNamed(name)) this.#names.delete(name);
      for (const pattern of patterns) touched.add(pattern);
    }
    for (const [name, patterns] of chosen.names) {
      if (!before.names.has(name)) for (const pattern of patterns) touched.add(pattern);
      if (this.#names.has(name)) continue;
      this.#names.set(name, this.#leaving.get(name)?.addresses ?? this.#newAddresses());
      this.#leaving.delete(name);
    }
    const members = new Map<string, string[]>();
    for (const [name, patterns] of chosen.names)
      for (const pattern of patterns) {
        const known = members.get(pattern);
        if (known === undefined) members.set(pattern, [name]);
        else known.push(name);
      }
    this.#members = members;
    for (const pattern of touched) if (this.#patterns.has(pattern)) this.#options.onAddresses(pattern);
  }

  /** The first names, by the age of the policies that name them. */
  #chosen(): ReadonlySet<string> {
    const observed = this.#chosenNames.names;
    const exact = [...this.#names.keys()].filter((name) => !observed.has(name) || this.isNamed(name));
    if (exact.length <= mostNames) return new Set(this.#names.keys());
    const { policies } = this.#options.view;
    const bornMs = (name: string): number =>
      Math.min(...[...policies.ofDomain(name)].map((policy) => policies.inForce.get(policy)?.createdMs ?? 0));
    const aged = exact.map((name) => ({ name, ms: bornMs(name) }));
    aged.sort((a, b) => a.ms - b.ms || (a.name < b.name ? -1 : 1));
    return new Set([...aged.slice(0, mostNames).map(({ name }) => name), ...observed.keys()]);
  }

  #judgeAll(): void {
    for (const name of new Set([...this.#problems.keys(), ...this.#names.keys(), ...this.#patterns.keys()]))
      this.#judgeOne(name);
  }

  #judge(name: string): void {
    if (!this.#judgeOne(name)) return;
    for (const pattern of this.#chosenNames.names.get(name) ?? []) this.#judgeOne(pattern);
  }

  /** @returns whether it has another problem than before */
  #judgeOne(name: string): boolean {
    const before = this.#problems.get(name);
    const after = this.#patterns.has(name) ? this.#problemOfPattern(name) : this.#problemOf(name);
    if (this.#names.has(name) || this.#patterns.has(name)) this.#problems.set(name, after);
    else this.#problems.delete(name);
    const isChanged = before?.code !== after?.code || before?.message !== after?.message;
    if (isChanged) this.#options.onProblem(name);
    return isChanged;
  }

  /** Names that pods made up make no problem by themselves. */
  #problemOfPattern(pattern: string): Problem | undefined {
    if (this.#servers === undefined) return undefined;
    if (this.#servers.size === 0) return noServer(pattern);
    const members = this.#members.get(pattern) ?? [];
    const problems = members.flatMap((name) => this.#problemOf(name) ?? []);
    if (members.length > 0 && problems.filter(({ code }) => code === notResolved).length === members.length)
      return problems[0];
    if (this.#chosenNames.short.has(pattern)) {
      const message = `pods ask for more names than are resolved, so that some that ${pattern} matches match nothing: of all names that match names with *, ${mostAskedNames} are resolved, and nodes and namespaces take turns`;
      return { code: 'TooManyDomainNames', message };
    }
    const first = problems.filter(({ code }) => code === 'AddressRefused' || code === 'TooManyAddresses');
    if (first.length > 0) return first.reduce((a, b) => (b.message < a.message ? b : a));
    const parts = this.#partsOf(pattern);
    const isLong = families.some((family) => {
      const count = parts.reduce((sum, part) => sum + [...part[family].current].length, 0);
      return count > mostOfPattern && uniteRecords(parts.map((part) => part[family])).isShort;
    });
    if (!isLong) return undefined;
    const message = `the names that ${pattern} matches have more than ${mostOfPattern} addresses of one family, and those beyond match nothing: use networks`;
    return { code: 'TooManyAddresses', message };
  }

  #problemOf(name: string): Problem | undefined {
    const known = this.#names.get(name);
    if (known === undefined || this.#servers === undefined) return undefined;
    if (!this.asked.has(name)) {
      const message = `${name} is not resolved: policies name more than ${mostNames} domain names, and the oldest policies come first`;
      return { code: 'TooManyDomainNames', message };
    }
    if (this.#servers.size === 0) return noServer(name);
    const failure = failureOf(known[4].outcomes) ?? failureOf(known[6].outcomes);
    if (failure !== undefined) {
      const message = `no DNS server answers for ${name}, whose addresses stay as they are (${failure}): check that the node of the controller reaches the DNS of pods`;
      return { code: notResolved, message };
    }
    return this.#addressProblem(name, known);
  }

  #addressProblem(name: string, known: Families): Problem | undefined {
    const outcomes = families.flatMap((family) => [...known[family].outcomes.values()]);
    const refused = smallest(outcomes.flatMap((outcome) => outcome.refused ?? []));
    if (refused !== undefined) {
      const message = `an address of ${name} is not accepted: ${refused}; use nodes, networks, namespaces or pods for destinations of the cluster`;
      return { code: 'AddressRefused', message };
    }
    if (outcomes.some(({ isShort }) => isShort)) {
      const message = `${name} has more than ${mostAddresses} addresses of one family, and those beyond match nothing: use networks`;
      return { code: 'TooManyAddresses', message };
    }
    if (families.some((family) => known[family].outcomes.size === 0)) {
      return { code: pendingNames, message: `the first answer for ${name} is not there yet` };
    }
    if (!families.every((family) => known[family].isEmpty)) return undefined;
    const isThere = outcomes.some(({ exists }) => exists === true);
    const message = isThere ? `${name} has no address` : `${name} does not exist`;
    return { code: 'DomainNameNotFound', message: `${message}, says the DNS of pods: check the name` };
  }
}

function isEmpty(values: Iterable<string>): boolean {
  for (const _ of values) return false;
  return true;
}
