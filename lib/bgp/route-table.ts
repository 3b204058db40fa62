// All routes of one node, updated object by object: the objects offer prefixes (`offers/`), and each prefix that is offered here has a class
// (`classes.ts`), which decides its attributes for each peer (`exports.ts`). In: references to changed objects. Out: the prefixes whose
// announcement changed. A full rebuild yields the same table. No I/O, no clock: the same state yields the same routes, in any order of changes.
import { byPrefix } from '../net/cidr.ts';
import { Classifier, type RouteClass } from './classes.ts';
import { crowdedOut, crowdedProblem } from './crowding.ts';
import { familyOfAddress } from './family.ts';
import type { AdvertisementSummary, BgpState, NotAnnounced, ObjectRef } from './objects.ts';
import { eipOffers } from './offers/eip.ts';
import {
  annotationAdvertisement,
  type Contribution,
  type ObjectOffers,
  type Offer,
  type Refusal,
} from './offers/offer.ts';
import { podOffers } from './offers/pod.ts';
import { remoteOffers } from './offers/remote.ts';
import { serviceOffers } from './offers/service.ts';
import { subnetOffers } from './offers/subnet.ts';
import { announcers, type View, viewOf } from './offers/view.ts';
import { allObjects } from './own-prefixes.ts';
import { BgpPolicies } from './policies.ts';
import type { Problem } from '../desired/problem.ts';

/** How this node announces; undefined if it has no instance, or is drained and announces nothing. */
export interface Announcing {
  readonly isLeaving: boolean;
}

interface Tally {
  /** Number of objects that offer each prefix. */
  readonly prefixes: Map<string, number>;
  readonly objects: Set<string>;
  readonly refusals: Map<string, readonly Refusal[]>;
  /** Number of refused objects by code. */
  readonly refused: Map<string, number>;
}

const none: ObjectOffers = { offers: [], refusals: [] };
const shownPrefixes = 100;
const shownRefusals = 20;

export class RouteTable {
  #view: View | undefined;
  #policies = new BgpPolicies([]);
  #classifier: Classifier | undefined;
  readonly #byObject = new Map<string, ObjectOffers>();
  readonly #byPrefix = new Map<string, Contribution[]>();
  readonly #tallies = new Map<string, Tally>();
  /** By prefix: advertisements that do not announce it, because its communities are too many or it is an EIP of another one, and why. */
  readonly #leftOut = new Map<string, ReadonlyMap<string, Problem>>();
  readonly #routes = new Map<string, RouteClass>();
  readonly #counts = new Map<string, { readonly routeClass: RouteClass; ipv4: number; ipv6: number }>();
  #changed = new Set<string>();

  /** Prefix → how this node announces it. */
  get routes(): ReadonlyMap<string, RouteClass> {
    return this.#routes;
  }

  /** Classes in use, with their number of prefixes per family. */
  get classes(): ReadonlyMap<
    string,
    { readonly routeClass: RouteClass; readonly ipv4: number; readonly ipv6: number }
  > {
    return this.#counts;
  }

  /** Prefixes whose announcement changed since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** Evaluates all objects again. @param announcing undefined: this node announces nothing */
  rebuild(
    state: BgpState,
    announcing: Announcing | undefined,
    policies = new BgpPolicies(state.policies.values()),
  ): void {
    this.#view = viewOf(state);
    this.#policies = policies;
    this.#classifier = announcing && new Classifier(state, policies, announcing.isLeaving);
    this.#byObject.clear();
    this.#byPrefix.clear();
    this.#tallies.clear();
    this.#leftOut.clear();
    for (const name of [annotationAdvertisement, ...this.#view.byName.keys()]) this.#tally(name);
    for (const ref of allObjects(state)) this.#put(`${ref.source} ${ref.key}`, offersOf(this.#view, ref));
    this.#decideAll();
  }

  /** Computes the table of another node from the same objects, in a fraction of the time of a rebuild. */
  moveTo(node: string, announcing: Announcing | undefined): void {
    if (!this.#view) throw new TypeError('a table is built before it is moved');
    const state = { ...this.#view.state, node };
    this.#view = { ...this.#view, state };
    this.#classifier = announcing && new Classifier(state, this.#policies, announcing.isLeaving);
    this.#decideAll();
  }

  /** Evaluates these objects again; everything else, such as advertisements, nodes and subnets, stays as at the last rebuild. */
  update(state: BgpState, refs: Iterable<ObjectRef>): void {
    if (!this.#view) throw new TypeError('a table is built before it is updated');
    this.#view = { ...this.#view, state };
    const touched = new Set<string>();
    for (const ref of refs) {
      const object = `${ref.source} ${ref.key}`;
      for (const { prefix } of this.#byObject.get(object)?.offers ?? []) touched.add(prefix);
      const offers = offersOf(this.#view, ref);
      for (const { prefix } of offers.offers) touched.add(prefix);
      this.#put(object, offers);
    }
    for (const prefix of touched) this.#decide(prefix);
  }

  /** Objects and advertisements that contribute the prefix, on any node. */
  contributions(prefix: string): readonly Contribution[] {
    return this.#byPrefix.get(prefix) ?? [];
  }

  /** Nodes that announce the advertisement's prefixes. */
  announcers(advertisement: string): ReadonlySet<string> {
    return this.#view ? announcers(this.#view, advertisement) : new Set();
  }

  /** Why objects of an advertisement are not announced, by object. */
  refusals(advertisement: string): ReadonlyMap<string, readonly Refusal[]> {
    return this.#tallies.get(advertisement)?.refusals ?? new Map();
  }

  /** Number of objects that are not or only partly announced, by advertisement and code; counted incrementally. */
  *refused(): Generator<readonly [advertisement: string, code: string, objects: number]> {
    for (const [advertisement, { refused }] of this.#tallies)
      for (const [code, objects] of refused) yield [advertisement, code, objects];
    const leftOut = [...this.#leftOut.values()].flatMap((problems) =>
      [...problems].map(([name, { code }]) => ({ name, code })),
    );
    for (const each of Map.groupBy(leftOut, ({ name, code }) => `${name} ${code}`).values())
      for (const { name, code } of each.slice(0, 1)) yield [name, code, each.length];
  }

  /** Why advertisements of the prefix do not announce it. */
  leftOut(prefix: string): readonly Problem[] {
    return [...(this.#leftOut.get(prefix)?.values() ?? [])];
  }

  /** The prefixes that an advertisement announces from all nodes together. */
  summary(advertisement: string): AdvertisementSummary {
    const tally = this.#tallies.get(advertisement);
    const notAnnounced = [...(tally?.refusals ?? [])].flatMap(([object, refusals]) => {
      // Each address of an object may have the same refusal.
      const byMessage = new Map(refusals.map((refusal) => [refusal.message, refusal]));
      return [...byMessage.values()].map(({ code, message }): NotAnnounced => ({ object, reason: code, message }));
    });
    const leftOut = [...this.#leftOut].flatMap(([prefix, problems]) => {
      const problem = problems.get(advertisement);
      return problem === undefined ? [] : [{ prefix, problem }];
    });
    for (const { prefix, problem } of leftOut)
      for (const { object, offer } of this.contributions(prefix))
        if (offer.advertisement === advertisement)
          notAnnounced.push({ object, reason: problem.code, message: problem.message });
    const missing = new Set(leftOut.map(({ prefix }) => prefix));
    const all = tally?.prefixes.keys() ?? [];
    return {
      objects: tally?.objects.size ?? 0,
      prefixCount: (tally?.prefixes.size ?? 0) - missing.size,
      prefixes: byPrefix(
        smallest(missing.size === 0 ? all : new Set(all).difference(missing), shownPrefixes),
        (prefix) => prefix,
      ),
      notAnnounced: notAnnounced.toSorted((a, b) => (a.object < b.object ? -1 : 1)).slice(0, shownRefusals),
    };
  }

  #tally(advertisement: string): Tally {
    const known = this.#tallies.get(advertisement);
    if (known) return known;
    const made: Tally = { prefixes: new Map(), objects: new Set(), refusals: new Map(), refused: new Map() };
    this.#tallies.set(advertisement, made);
    return made;
  }

  #put(object: string, next: ObjectOffers): void {
    const before = this.#byObject.get(object) ?? none;
    for (const { advertisement } of before.refusals) this.#tally(advertisement).refusals.delete(object);
    for (const { advertisement, code } of codesOf(before)) add(this.#tally(advertisement).refused, code, -1);
    for (const { advertisement, code } of codesOf(next)) add(this.#tally(advertisement).refused, code, 1);
    for (const { advertisement, prefix } of before.offers) {
      const tally = this.#tally(advertisement);
      tally.objects.delete(object);
      add(tally.prefixes, prefix, -1);
      const others = (this.#byPrefix.get(prefix) ?? []).filter((each) => each.object !== object);
      if (others.length > 0) this.#byPrefix.set(prefix, others);
      else this.#byPrefix.delete(prefix);
    }
    if (next.offers.length + next.refusals.length > 0) this.#byObject.set(object, next);
    else this.#byObject.delete(object);
    for (const refusal of next.refusals) {
      const { refusals } = this.#tally(refusal.advertisement);
      refusals.set(object, [...(refusals.get(object) ?? []), refusal]);
    }
    for (const offer of next.offers) {
      const tally = this.#tally(offer.advertisement);
      tally.objects.add(object);
      add(tally.prefixes, offer.prefix, 1);
      const contributions = this.#byPrefix.get(offer.prefix);
      if (contributions) contributions.push({ object, offer });
      else this.#byPrefix.set(offer.prefix, [{ object, offer }]);
    }
  }

  #decideAll(): void {
    for (const prefix of this.#byPrefix.keys()) this.#decide(prefix);
    for (const prefix of this.#routes.keys()) if (!this.#byPrefix.has(prefix)) this.#decide(prefix);
  }

  #decide(prefix: string): void {
    this.#leaveOut(prefix);
    const before = this.#routes.get(prefix);
    const here = this.#contributedHere(prefix);
    const after = here.length === 0 ? undefined : this.#classifier?.classOf(prefix, here);
    if (before?.id === after?.id) return;
    if (before) this.#count(before, prefix, -1);
    if (after) {
      this.#count(after, prefix, 1);
      this.#routes.set(prefix, after);
    } else this.#routes.delete(prefix);
    this.#changed.add(prefix);
  }

  #contributedHere(prefix: string): readonly Contribution[] {
    const view = this.#view;
    if (!view) return [];
    const leftOut = this.#leftOut.get(prefix);
    return (this.#byPrefix.get(prefix) ?? []).filter(
      ({ offer }) => leftOut?.has(offer.advertisement) !== true && isOfferedHere(view, offer),
    );
  }

  /** Judges all contributions, so that the result is the same on all nodes. */
  #leaveOut(prefix: string): void {
    const contributions = this.#byPrefix.get(prefix) ?? [];
    const problems = contributions.length < 2 ? new Map<string, Problem>() : displacedProblems(prefix, contributions);
    const names = contributions.length < 2 ? [] : [...new Set(contributions.map(({ offer }) => offer.advertisement))];
    const rest = names.filter((name) => !problems.has(name));
    for (const name of crowdedOut(rest, this.#view?.state.advertisements ?? new Map()))
      problems.set(name, crowdedProblem(name, prefix));
    if (problems.size > 0) this.#leftOut.set(prefix, problems);
    else this.#leftOut.delete(prefix);
  }

  #count(routeClass: RouteClass, prefix: string, by: 1 | -1): void {
    const counted = this.#counts.get(routeClass.id) ?? { routeClass, ipv4: 0, ipv6: 0 };
    counted[familyOfAddress(prefix)] += by;
    if (counted.ipv4 + counted.ipv6 > 0) this.#counts.set(routeClass.id, counted);
    else this.#counts.delete(routeClass.id);
  }
}

/** What else has the address of an EIP, such as a Service by an overlapping LoadBalancerPool, would take over its traffic. */
function displacedProblems(prefix: string, contributions: readonly Contribution[]): Map<string, Problem> {
  const eip = contributions.find(({ offer }) => offer.gateway !== undefined);
  if (eip === undefined) return new Map();
  const names = (isOfEip: boolean) =>
    new Set(
      contributions
        .filter(({ offer }) => (offer.gateway !== undefined) === isOfEip)
        .map(({ offer }) => offer.advertisement),
    );
  const message = `${prefix} is the address of ${eip.object.slice('Eip '.length)}, which has it from a Subnet outside`;
  return new Map([...names(false).difference(names(true))].map((name) => [name, { code: 'AddressInUse', message }]));
}

function add(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

/** Each code of each advertisement once: an object may have several refusals with the same code. */
function codesOf({ refusals }: ObjectOffers): readonly Refusal[] {
  const isSame = (a: Refusal, b: Refusal) => a.advertisement === b.advertisement && a.code === b.code;
  return refusals.filter((each, at) => refusals.findIndex((other) => isSame(each, other)) === at);
}

/** Whether advertisement and object allow the offer to be announced by the node of the view's state. */
export function isOfferedHere(view: View, { advertisement, nodes }: Offer): boolean {
  const { node } = view.state;
  return announcers(view, advertisement).has(node) && nodes?.includes(node) !== false;
}

/** The first `count` texts in order, sorted. Called every second with ten thousand texts, of which most are no candidates. */
function smallest(texts: Iterable<string>, count: number): string[] {
  const found: string[] = [];
  for (const text of texts) {
    if (found.length === count && text >= (found[count - 1] ?? '')) continue;
    let [low, high] = [0, found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((found[middle] ?? '') < text) low = middle + 1;
      else high = middle;
    }
    found.splice(low, 0, text);
    if (found.length > count) found.pop();
  }
  return found;
}

/** The offers and refusals of one object. */
export function offersOf(view: View, { source, key }: ObjectRef): ObjectOffers {
  const { state } = view;
  const judged = <T>(object: T | undefined, judge: (view: View, object: T) => ObjectOffers) =>
    object === undefined ? none : judge(view, object);
  switch (source) {
    case 'Subnet':
      return judged(state.subnets.get(key), subnetOffers);
    case 'Pod':
      return judged(state.pods.get(key), podOffers);
    case 'Service':
      return judged(state.services.get(key), serviceOffers);
    case 'Eip':
      return judged(state.eips.get(key), eipOffers);
    case 'Interconnect':
      return judged(state.remotes.get(key), remoteOffers);
  }
}
