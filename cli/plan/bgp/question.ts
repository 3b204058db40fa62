/**
 * The subject of a `why` query: the prefixes, their objects, what those objects offer, and the obstacles that apply to
 * all nodes and peers. Pure. Called by why.
 */
import { isAbout, type Miss, missesOf } from '../../../lib/bgp/misses.ts';
import type { Contribution, Refusal } from '../../../lib/bgp/offers/offer.ts';
import type { View } from '../../../lib/bgp/offers/view.ts';
import { holds, ownersOf, type OwnPrefix, ownPrefixesOf } from '../../../lib/bgp/own-prefixes.ts';
import { offersOf, type RouteTable } from '../../../lib/bgp/route-table.ts';
import type { BgpState, ObjectRef } from '../../../lib/bgp/objects.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp } from '../../../lib/net/ip.ts';
import { findObjects, objectName } from './object-names.ts';

export interface Target {
  readonly name: string;
  /** An address is reached through any prefix that contains it; a prefix or an object must be announced itself. */
  readonly kind: 'Address' | 'Prefix' | 'Object';
  /** The prefix; undefined for objects. */
  readonly prefix: string | undefined;
  readonly objects: readonly ObjectRef[];
}

/** One object, with the facts that matter to the query. */
export interface Subject {
  readonly ref: ObjectRef;
  /** Undefined if the object has no prefix. */
  readonly own: OwnPrefix | undefined;
  readonly contributions: readonly Contribution[];
  readonly refusals: readonly Refusal[];
  readonly misses: readonly Miss[];
}

export interface Question {
  /** Undefined if the query is about an object without a prefix. */
  readonly prefix: string | undefined;
  readonly subjects: readonly Subject[];
  /** Offered prefixes that contain the one in question, the narrowest first. */
  readonly holders: readonly string[];
  /** The holders whose announcement counts as a positive answer. */
  readonly answers: ReadonlySet<string>;
}

/** Undefined if the text is neither an address, nor a prefix, nor the name of an object. */
export function findTarget(state: BgpState, text: string): Target | undefined {
  const ip = parseIp(text);
  if (ip) {
    const prefix = `${formatIp(ip)}/${bitsOf(ip.family)}`;
    const objects = ownersOf(state, (own) => holds(own, prefix));
    return { name: formatIp(ip), kind: 'Address', prefix, objects };
  }
  const cidr = parseCidr(text);
  if (cidr) {
    const prefix = formatCidr(cidr);
    return { name: prefix, kind: 'Prefix', prefix, objects: ownersOf(state, (own) => own === prefix) };
  }
  const objects = findObjects(state, text);
  return objects.length === 0
    ? undefined
    : { name: objects.map(objectName).join(', '), kind: 'Object', prefix: undefined, objects };
}

export function questionsOf(view: View, table: RouteTable, { kind, prefix, objects }: Target): readonly Question[] {
  if (prefix !== undefined) {
    const subjects = objects.flatMap((ref) =>
      ownPrefixesOf(view.state, ref)
        .filter((own) => holds(own.prefix, prefix))
        .map((own) => subjectOf(view, ref, own)),
    );
    const holders = holdersOf(table, prefix);
    return [{ prefix, subjects, holders, answers: new Set(kind === 'Address' ? holders : [prefix]) }];
  }
  const subjects = objects.flatMap((ref) => {
    const owned = new Map(ownPrefixesOf(view.state, ref).map((own) => [own.prefix, own]));
    return owned.size === 0
      ? [subjectOf(view, ref, undefined)]
      : [...owned.values()].map((own) => subjectOf(view, ref, own));
  });
  const asked = new Map<string | undefined, Subject[]>();
  for (const subject of subjects) asked.set(subject.own?.prefix, [...(asked.get(subject.own?.prefix) ?? []), subject]);
  return [...asked].map(([own, about]) => ({
    prefix: own,
    subjects: about,
    holders: own === undefined ? [] : holdersOf(table, own),
    answers: new Set([
      ...(own === undefined ? [] : [own]),
      ...about.flatMap(({ contributions }) => contributions.map(({ offer }) => offer.prefix)),
    ]),
  }));
}

function subjectOf(view: View, ref: ObjectRef, own: OwnPrefix | undefined): Subject {
  const { offers, refusals } = offersOf(view, ref);
  const object = `${ref.source} ${ref.key}`;
  const taken = offers.filter(({ prefix }) => own !== undefined && holds(prefix, own.prefix));
  const takers = new Set(taken.map(({ advertisement }) => advertisement));
  return {
    ref,
    own,
    contributions: taken.map((offer) => ({ object, offer })),
    refusals: refusals.filter(
      (each) => isAbout(each, own) && (each.prefix !== undefined || !takers.has(each.advertisement)),
    ),
    misses: missesOf(view, ref, own),
  };
}

/** There are at most as many holders as an address has bits. */
function holdersOf(table: RouteTable, prefix: string): readonly string[] {
  const cidr = parseCidr(prefix);
  if (cidr === undefined) return [];
  const address = formatIp({ family: cidr.family, value: cidr.network });
  return Array.from({ length: cidr.prefix + 1 }, (_, at) => cidr.prefix - at).flatMap((length) => {
    const wider = parseCidr(`${address}/${length}`);
    const text = wider === undefined ? '' : formatCidr(wider);
    return table.contributions(text).length > 0 ? [text] : [];
  });
}
