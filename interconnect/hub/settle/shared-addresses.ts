/**
 * The addresses that Services have in all clusters. In: what members claim for the Services that they export. Out: the answer to each claim.
 * Pure. A Service has one address of each family, whichever members export it, and no two Services have the same. Rules: an agreement stays
 * as long as a member exports the Service. After a start, the hub reads the agreements from the claims, and of two that contradict
 * each other the older counts; before all members are known it makes none, and answers no Service that has one. A new address is the one that the name of the
 * Service points at, or the next free one, so that a released address is not given to another Service at once.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatIp, parseIp, type Family, type Ip } from '../../../lib/net/ip.ts';
import type { Range } from '../../../lib/net/range.ts';
import { digestOf } from '../../../lib/services/digest.ts';
import { parsePoolRange } from '../../../lib/services/load-balancer.ts';
import { claimText } from '../../model/export-change.ts';
import type { SharedAnswer } from '../../model/export-messages.ts';
import type { SharedClaim } from '../../model/exported-service.ts';

/** What a member claims for a Service. */
export interface MemberClaim extends SharedClaim {
  /** Of the Service. */
  readonly families: readonly Family[];
  /** Creation of the ServiceExport, milliseconds since 1970. */
  readonly createdMs: number;
  /** Why the member may have no address of these. */
  readonly refused: Problem | undefined;
}

/** One claim. */
export interface ClaimId {
  readonly member: string;
  /** `namespace/name`. */
  readonly key: string;
}

export interface SharedFacts {
  /** Members of which the hub does not know the claims yet. */
  readonly expected: readonly string[];
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** The prefix of a member that has the address. */
  readonly ownerOf: (ip: Ip) => Owner | undefined;
}

export interface Owner {
  /** With its cluster. */
  readonly name: string;
  /** The highest address of the prefix. */
  readonly last: bigint;
}

interface Judged extends MemberClaim {
  readonly member: string;
  /** Without overlaps, in order. */
  readonly space: readonly Range[];
  readonly heldIps: readonly Ip[];
  readonly requestedIps: readonly Ip[];
  /** Of the claim, to compare. */
  readonly text: string;
}

interface Agreement {
  readonly ip: Ip;
  readonly sinceMs: number;
}

/** A claim to an address, by an agreement of this hub or of a former one. */
interface Right extends Agreement {
  readonly key: string;
  /** This hub made or confirmed it, and knows all members. */
  readonly isOfHub: boolean;
}

/** Prefixes of pods and nodes that are passed over in the search of a free address. */
const mostOwned = 1024;
/** Clusters that a message names. */
const mostNamed = 5;

export class SharedAddresses {
  /** Service → member → its claim. */
  readonly #claims = new Map<string, Map<string, Judged>>();
  #agreed = new Agreements();
  readonly #answers = new Map<string, Map<string, SharedAnswer>>();
  /** Services of which a claim changed since the last call of `settle`. */
  readonly #dirty = new Set<string>();
  /** Services without an address that they should have. */
  readonly #waiting = new Map<string, Problem>();
  /** Addresses may be free that were not. */
  #isAnyFreed = false;
  /** All members were known at the last call: its agreements are not for discussion any more. */
  #isComplete = false;

  /** `claim`: undefined if the member has none. Returns whether it is another one; nothing follows from it before `settle`. */
  set({ member, key }: ClaimId, claim: MemberClaim | undefined): boolean {
    const claims = this.#claims.get(key) ?? new Map<string, Judged>();
    const before = claims.get(member);
    if (claim === undefined) claims.delete(member);
    else if (before?.text !== textOf(claim)) claims.set(member, judged(member, claim));
    if (claims.size > 0) this.#claims.set(key, claims);
    else this.#claims.delete(key);
    if (claims.get(member) === before) return false;
    this.#dirty.add(key);
    return true;
  }

  /** Members have other prefixes. Returns whether a Service waits for an address. */
  ownersChanged(): boolean {
    this.#isAnyFreed = true;
    return this.#waiting.size > 0;
  }

  /** Undefined without a claim. */
  answerTo({ member, key }: ClaimId): SharedAnswer | undefined {
    return this.#answers.get(key)?.get(member);
  }

  /** Services with an agreed address. */
  get size(): number {
    return this.#agreed.size;
  }

  /**
   * Returns the claims to which the answer is another one. The work follows the Services of which a claim changed, and those that wait where
   * an address was released; before all members are known, it is done for all Services.
   */
  settle(facts: SharedFacts): readonly ClaimId[] {
    const known = this.#agreed;
    const keys = this.#isComplete ? new Set(this.#dirty) : new Set([...this.#claims.keys(), ...this.#dirty]);
    this.#dirty.clear();
    const rights = inRank([...keys].flatMap((key) => this.#rightsOf(key, known.all(key))));
    if (!this.#isComplete) this.#agreed = new Agreements();
    else for (const key of keys) this.#release(key, rights);
    for (const { key, ...agreement } of rights) this.#agreed.take(key, agreement);
    const freed = this.#isAnyFreed ? [...this.#waiting.keys()] : [];
    this.#isAnyFreed = false;
    for (const key of freed) keys.add(key);
    const exhausted = new Map<string, Problem>();
    for (const [key, claims] of byAge([...keys].map((key) => [key, this.#ranked(key)] as const)))
      this.#allocate(key, claims, facts, exhausted);
    const changed = [...keys].flatMap((key) => this.#answer(key, facts));
    this.#isComplete ||= facts.expected.length === 0;
    return changed;
  }

  /** The claims that count, the first first. */
  #ranked(key: string): readonly Judged[] {
    return inOrder(this.#claims.get(key)?.values() ?? [], (claim) => this.#has(key, claim));
  }

  /** Whether the member has the agreed address. What it says of itself counts after a start only. */
  #has(key: string, { member, heldIps }: Judged): boolean {
    if (this.#isComplete) return (this.#answers.get(key)?.get(member)?.addresses.length ?? 0) > 0;
    return heldIps.some(({ family, value }) => this.#agreed.of(key, family)?.ip.value === value);
  }

  /** What the Service has by this hub, and what members say that it has, as far as one of them may still have it. */
  #rightsOf(key: string, known: readonly Agreement[]): readonly Right[] {
    const claims = this.#ranked(key);
    const families = familiesOf(claims);
    const own = known.map((one): Right => ({ ...one, key, isOfHub: this.#isComplete }));
    const held = claims.flatMap(({ heldIps, sinceMs }) =>
      heldIps.map((ip): Right => ({ key, ip, sinceMs, isOfHub: false })),
    );
    return [...own, ...held].filter(
      ({ ip }) => families.has(ip.family) && claims.some(({ space }) => isWithin(space, ip)),
    );
  }

  #release(key: string, rights: readonly Right[]): void {
    for (const { ip } of this.#agreed.release(key))
      this.#isAnyFreed ||= !rights.some((right) => right.key === key && right.ip.value === ip.value && right.isOfHub);
  }

  #allocate(
    key: string,
    claims: readonly Judged[],
    { expected, nowMs, ownerOf }: SharedFacts,
    exhausted: Taken['exhausted'],
  ): void {
    this.#waiting.delete(key);
    for (const family of familiesOf(claims)) {
      if (this.#agreed.of(key, family) !== undefined) continue;
      const taken = { agreed: this.#agreed, ownerOf, exhausted };
      const chosen = expected.length > 0 ? waitsFor(expected) : choose(key, family, claims, taken);
      if (chosen === undefined) continue;
      if ('value' in chosen) this.#agreed.take(key, { ip: chosen, sinceMs: nowMs });
      else if (!this.#waiting.has(key)) this.#waiting.set(key, chosen);
    }
  }

  #answer(key: string, { expected }: SharedFacts): readonly ClaimId[] {
    const claims = this.#claims.get(key);
    const before = this.#answers.get(key);
    if (claims === undefined) {
      this.#answers.delete(key);
      return [];
    }
    const [senior] = this.#ranked(key);
    const agreements = this.#agreed.all(key);
    // One that has the address keeps it, whomever others share their pools with now: no newcomer takes it away.
    const judgements = [...claims.values()].map((claim) =>
      judge(key, claim, senior, { agreements, has: this.#has(key, claim) }),
    );
    const after = new Map<string, SharedAnswer>();
    for (const { claim, given, problem } of judgements) {
      // Who else has the address is not known yet: what a member has written stays as it is.
      if (expected.length > 0 && claim.heldIps.length > 0) continue;
      const isShort = given.length < claim.families.length;
      const { code = '', message = '' } = problem ?? (isShort ? this.#waiting.get(key) : undefined) ?? {};
      const others = judgements.filter((one) => one.claim !== claim && one.given.length > 0);
      after.set(claim.member, {
        service: key,
        addresses: given.map(({ ip }) => formatIp(ip)),
        sinceMs: given.length === 0 ? 0 : Math.min(...given.map(({ sinceMs }) => sinceMs)),
        clusters: given.length === 0 ? [] : others.map((one) => one.claim.member).sort(),
        code,
        message,
      });
    }
    this.#answers.set(key, after);
    return [...after.keys()].flatMap((member) =>
      JSON.stringify(before?.get(member)) === JSON.stringify(after.get(member)) ? [] : [{ member, key }],
    );
  }
}

/** Rights in the order in which they count. */
function inRank(rights: readonly Right[]): readonly Right[] {
  return rights.toSorted(
    (a, b) =>
      Number(b.isOfHub) - Number(a.isOfHub) ||
      a.sinceMs - b.sinceMs ||
      (a.key === b.key ? compare(a.ip.value, b.ip.value) : a.key < b.key ? -1 : 1),
  );
}

/** The holder of each address, both ways. */
class Agreements {
  readonly #services = new Map<string, Map<Family, Agreement>>();
  /** Address → Service. */
  readonly #holders = new Map<string, string>();

  get size(): number {
    return this.#services.size;
  }
  /** Addresses of all Services. */
  get taken(): number {
    return this.#holders.size;
  }
  of(key: string, family: Family): Agreement | undefined {
    return this.#services.get(key)?.get(family);
  }
  all(key: string): readonly Agreement[] {
    return [...(this.#services.get(key)?.values() ?? [])].sort((a, b) => a.ip.family - b.ip.family);
  }
  holderOf(ip: Ip): string | undefined {
    return this.#holders.get(formatIp(ip));
  }

  /** Returns what the Service had. */
  release(key: string): readonly Agreement[] {
    const released = this.all(key);
    for (const { ip } of released) this.#holders.delete(formatIp(ip));
    this.#services.delete(key);
    return released;
  }

  /** Nothing, if the Service has an address of the family, or another Service has this one. */
  take(key: string, { ip, sinceMs }: Agreement): void {
    const text = formatIp(ip);
    if (this.#holders.has(text) || this.of(key, ip.family) !== undefined) return;
    this.#holders.set(text, key);
    const own = this.#services.get(key) ?? new Map<Family, Agreement>();
    this.#services.set(key, own.set(ip.family, { ip, sinceMs }));
  }
}

function judged(member: string, claim: MemberClaim): Judged {
  const ips = (texts: readonly string[]): readonly Ip[] => texts.flatMap((text) => parseIp(text) ?? []);
  const { ranges, held, requested } = claim;
  const text = textOf(claim);
  return { ...claim, member, space: merged(ranges), heldIps: ips(held), requestedIps: ips(requested), text };
}

function textOf({ families, createdMs, refused, ...claim }: MemberClaim): string {
  return JSON.stringify([claimText(claim), families, createdMs, refused]);
}

function merged(texts: readonly string[]): readonly Range[] {
  const sorted = texts
    .flatMap((text) => parsePoolRange(text) ?? [])
    .sort((a, b) => a.family - b.family || (a.first < b.first ? -1 : 1));
  const space: Range[] = [];
  for (const range of sorted) {
    const last = space.at(-1);
    if (last?.family !== range.family || last.last < range.first) space.push(range);
    else if (range.last > last.last) space[space.length - 1] = { ...last, last: range.last };
  }
  return space;
}

/** Without refused ones. Members that have the address come first, then the oldest export. */
function inOrder(claims: Iterable<Judged>, has: (claim: Judged) => boolean): readonly Judged[] {
  return Array.from(claims, (claim) => ({ claim, rank: has(claim) ? 0 : 1 }))
    .filter(({ claim }) => claim.refused === undefined)
    .sort(
      ({ claim: a, rank }, { claim: b, rank: other }) =>
        rank - other || a.createdMs - b.createdMs || (a.member < b.member ? -1 : 1),
    )
    .map(({ claim }) => claim);
}

function compare<T extends number | bigint>(a: T, b: T): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Services in the order in which they get new addresses. */
function byAge<T extends readonly [key: string, claims: readonly Judged[]]>(services: readonly T[]): readonly T[] {
  const age = (claims: readonly Judged[]): number => Math.min(...claims.map(({ createdMs }) => createdMs));
  return services.toSorted(([a, one], [b, other]) => compare(age(one), age(other)) || (a < b ? -1 : 1));
}

function familiesOf(claims: readonly Judged[]): ReadonlySet<Family> {
  return new Set(claims.flatMap(({ families }) => families));
}

function isWithin(space: readonly Range[], { family, value }: Ip): boolean {
  return space.some((range) => range.family === family && range.first <= value && value <= range.last);
}

/** What is not free. */
interface Taken {
  readonly agreed: Agreements;
  readonly ownerOf: SharedFacts['ownerOf'];
  /** Pools of members that have no address left, so that the next Service of the pool is not a search. */
  readonly exhausted: Map<string, Problem>;
}

/** A new address; undefined where the pool has none of the family, and the Service has to do without. */
function choose(key: string, family: Family, claims: readonly Judged[], taken: Taken): Ip | Problem | undefined {
  const [senior] = claims;
  if (senior === undefined) return undefined;
  const requester = claims.find(({ requestedIps }) => requestedIps.some((ip) => ip.family === family));
  const requested = requester?.requestedIps.find((ip) => ip.family === family);
  if (requester !== undefined && requested !== undefined) return check(requested, requester, senior, taken);
  const ranges = senior.space.filter((range) => range.family === family);
  const size = ranges.reduce((sum, { first, last }) => sum + last - first + 1n, 0n);
  if (size === 0n) {
    if (senior.families.some((one) => senior.space.some((range) => range.family === one))) return undefined;
    const message = `LoadBalancerPool ${senior.pool} of cluster ${senior.member} has no IPv${family} addresses: add some, or change spec.ipFamilies`;
    return { code: 'NoPoolOfFamily', message };
  }
  const start = BigInt(`0x${digestOf(key).slice(0, 16)}`) % size;
  const name = JSON.stringify([family, senior.member, senior.pool, senior.ranges]);
  const known = taken.exhausted.get(name);
  if (known !== undefined) return known;
  const most = taken.agreed.taken + mostOwned;
  let owner: string | undefined;
  let step = 0n;
  for (let tries = 0; step < size && tries < most; tries += 1) {
    const { value, last } = at(ranges, (start + step) % size);
    const ip = { family, value };
    const isHeld = taken.agreed.holderOf(ip) !== undefined;
    const found = isHeld ? undefined : taken.ownerOf(ip);
    if (!isHeld && found === undefined) return ip;
    owner ??= found?.name;
    const passed = found === undefined ? value : found.last < last ? found.last : last;
    step += passed - value + 1n;
  }
  const problem = noneFree(senior, family, owner);
  if (step >= size) taken.exhausted.set(name, problem);
  return problem;
}

function noneFree(senior: Judged, family: Family, owner: string | undefined): Problem {
  if (owner !== undefined) return ofCluster(`LoadBalancerPool ${senior.pool} of cluster ${senior.member}`, owner);
  const message = `LoadBalancerPool ${senior.pool} of cluster ${senior.member} has no free IPv${family} address: add addresses in each cluster that shares it, or delete a Service; the oldest waiting Service gets the next free one`;
  return { code: 'NoFreeAddress', message };
}

/** The address, and the last one of its range. */
function at(ranges: readonly Range[], offset: bigint): { readonly value: bigint; readonly last: bigint } {
  let rest = offset;
  for (const { first, last } of ranges) {
    if (first + rest <= last) return { value: first + rest, last };
    rest -= last - first + 1n;
  }
  throw new RangeError(`${offset} is beyond the last address`);
}

function ofCluster(what: string, owner: string): Problem {
  const message = `${what} is within ${owner}, which other clusters have routes to: choose addresses that no cluster has`;
  return { code: 'AddressInUse', message };
}

function check(ip: Ip, requester: Judged, senior: Judged, { agreed, ownerOf }: Taken): Ip | Problem {
  const text = formatIp(ip);
  if (!isWithin(senior.space, ip)) {
    const message = `${text}, which cluster ${requester.member} requests, is not in LoadBalancerPool ${senior.pool} of cluster ${senior.member}: add it there, or request another one`;
    return { code: 'AddressNotInPool', message };
  }
  const holder = agreed.holderOf(ip);
  const owner = ownerOf(ip)?.name;
  if (holder === undefined) return owner === undefined ? ip : ofCluster(text, owner);
  return {
    code: 'AddressInUse',
    message: `${text} is the address of Service ${holder} in the clusters that share it: request another one, or wait until this one is free`,
  };
}

function waitsFor(expected: readonly string[]): Problem {
  const more = expected.length > mostNamed ? ` and ${expected.length - mostNamed} more` : '';
  const names = expected.toSorted().slice(0, mostNamed).join(', ') + more;
  const message = `the hub has started again, and clusters that are not connected yet may have addresses of the pool (${names}): the Service gets its address once they are connected, given up, or removed from the hub`;
  return { code: 'MembersExpected', message };
}

interface Judgement {
  readonly claim: Judged;
  readonly given: readonly Agreement[];
  readonly problem: Problem | undefined;
}

interface Present {
  readonly agreements: readonly Agreement[];
  /** The member of the claim has the address. */
  readonly has: boolean;
}

/** Which of the agreed addresses the claim gets. */
function judge(key: string, claim: Judged, senior: Judged | undefined, { agreements, has }: Present): Judgement {
  const none = (problem: Problem | undefined): Judgement => ({ claim, given: [], problem });
  if (claim.refused !== undefined || senior === undefined) return none(claim.refused);
  const isListed = (a: Judged, b: Judged): boolean => a.clusters.length === 0 || a.clusters.includes(b.member);
  for (const [a, b] of [
    [senior, claim],
    [claim, senior],
  ] as const)
    if (!has && a !== b && !isListed(a, b)) {
      const message = `cluster ${senior.member} has the address of Service ${key}, and LoadBalancerPool ${a.pool} of cluster ${a.member} is not shared with cluster ${b.member}: add it to spec.shared.clusters there, or name another pool`;
      return none({ code: 'PoolNotShared', message });
    }
  const agreed = agreements.filter(({ ip }) => claim.families.includes(ip.family));
  const outside = agreed.filter(({ ip }) => !isWithin(claim.space, ip));
  if (outside.length === 0) return { claim, given: agreed, problem: undefined };
  const given = agreed.filter((one) => !outside.includes(one));
  const addresses = outside.map(({ ip }) => formatIp(ip)).join(', ');
  const message = `Service ${key} has ${addresses} in cluster ${senior.member}, and LoadBalancerPool ${claim.pool} of cluster ${claim.member} does not contain it: make spec.addresses of the pool equal in all clusters that share it`;
  return { claim, given, problem: { code: 'PoolDiffers', message } };
}
