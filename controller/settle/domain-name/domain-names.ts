/**
 * The addresses of the domain names that policies name (`addresses.ts`), and what is wrong with a name. In: policies in force, answers of the servers that answer
 * pods, and the time. Out: for each name the addresses as rows keep them, and a problem. `plan/domain-name/domain-name.ts` reads these, and `watch/domain-resolver.ts` which names to ask about.
 * Rule: the rows are what a restart knows, so that it changes nothing until servers have answered.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { domainsOf } from '../../../lib/policies/selection.ts';
import type { Change } from '../../model/change.ts';
import { pendingNames, type DomainAnswer, type DomainRecord } from '../../model/domain.ts';
import type { DomainIndex, View } from '../../model/view.ts';
import { DomainAddresses, mostAddresses, smallest, type Outcome } from './addresses.ts';
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
  #servers: ReadonlySet<string> | undefined;
  #asked: ReadonlySet<string> | undefined;

  constructor(options: DomainNamesOptions) {
    this.#options = options;
  }

  names(): Iterable<string> {
    return this.#names.keys();
  }

  /** The names to ask about. */
  get asked(): ReadonlySet<string> {
    this.#asked ??= this.#chosen();
    return this.#asked;
  }

  /** When addresses change next without an answer, in milliseconds since 1970; infinite if they do not. */
  get nextMs(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const known of this.#names.values())
      for (const family of families) next = Math.min(next, known[family].nextMs);
    return next;
  }

  record(name: string): DomainRecord {
    const known = this.#names.get(name);
    if (known === undefined) return noRecord;
    return {
      current: families.flatMap((family) => [...known[family].current].sort()),
      left: new Map(families.flatMap((family) => [...known[family].left].sort(([a], [b]) => (a < b ? -1 : 1)))),
    };
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
      const known = this.#names.get(name);
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
    for (const known of this.#names.values()) for (const family of families) known[family].setServers(now);
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
    if (isChanged) onAddresses(name);
    this.#judge(name);
  }

  /** Ends what ends with the time. */
  advance(nowMs: number): void {
    for (const [name, known] of this.#names) {
      const changed = families.filter((family) => known[family].expire(nowMs));
      if (changed.length === 0) continue;
      this.#options.onAddresses(name);
      this.#judge(name);
    }
  }

  changed(change: Change): void {
    if (change.kind !== 'policies') return;
    const { before, after } = change;
    const named = [before, after].flatMap((policy) =>
      policy !== undefined && 'tier' in policy ? domainsOf(policy) : [],
    );
    if (named.length === 0) return;
    const { policies } = this.#options.view;
    for (const name of new Set(named)) {
      const isNamed = !isEmpty(policies.ofDomain(name));
      if (isNamed === this.#names.has(name)) continue;
      if (isNamed) {
        const servers = this.#servers ?? new Set<string>();
        this.#names.set(name, { 4: new DomainAddresses(servers), 6: new DomainAddresses(servers) });
      } else this.#names.delete(name);
      this.#options.onAddresses(name);
    }
    this.#asked = undefined;
    this.#judgeAll();
  }

  /** The first names, by the age of the policies that name them. */
  #chosen(): ReadonlySet<string> {
    if (this.#names.size <= mostNames) return new Set(this.#names.keys());
    const { policies } = this.#options.view;
    const bornMs = (name: string): number =>
      Math.min(...[...policies.ofDomain(name)].map((policy) => policies.inForce.get(policy)?.createdMs ?? 0));
    const aged = [...this.#names.keys()].map((name) => ({ name, ms: bornMs(name) }));
    aged.sort((a, b) => a.ms - b.ms || (a.name < b.name ? -1 : 1));
    return new Set(aged.slice(0, mostNames).map(({ name }) => name));
  }

  #judgeAll(): void {
    for (const name of new Set([...this.#problems.keys(), ...this.#names.keys()])) this.#judge(name);
  }

  #judge(name: string): void {
    const before = this.#problems.get(name);
    const after = this.#problemOf(name);
    if (this.#names.has(name)) this.#problems.set(name, after);
    else this.#problems.delete(name);
    if (before?.code !== after?.code || before?.message !== after?.message) this.#options.onProblem(name);
  }

  #problemOf(name: string): Problem | undefined {
    const known = this.#names.get(name);
    if (known === undefined || this.#servers === undefined) return undefined;
    if (!this.asked.has(name)) {
      const message = `${name} is not resolved: policies name more than ${mostNames} domain names, and the oldest policies come first`;
      return { code: 'TooManyDomainNames', message };
    }
    if (this.#servers.size === 0) {
      const message = `no server can be asked for ${name}, whose addresses stay as they are: the Service kube-system/kube-dns has no ready endpoint; if DNS of pods is another one, set --dns-servers of the controller`;
      return { code: 'DomainNamesNotResolved', message };
    }
    const failure = failureOf(known[4].outcomes) ?? failureOf(known[6].outcomes);
    if (failure !== undefined) {
      const message = `no DNS server answers for ${name}, whose addresses stay as they are (${failure}): check that the node of the controller reaches the DNS of pods`;
      return { code: 'DomainNamesNotResolved', message };
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
