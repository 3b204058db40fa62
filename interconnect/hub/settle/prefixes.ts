/**
 * Which of a member's prefixes are accepted on one network. Pure. The first owner keeps a prefix. A prefix from routers
 * has no single owner: several members may offer it, and it gives way to the member whose own addresses it would take.
 */
import { cidrCovers, cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { specialUse } from '../../../lib/net/special-use.ts';
import { learnedOrigin } from '../../../lib/route-policy/policy.ts';
import type { Prefix, Rejection } from '../../model/messages.ts';
import type { Others } from '../model/holdings.ts';
import { clusterName, type Network } from '../model/record.ts';
import { isLegible } from './legible.ts';
import type { Refusals } from './refusals.ts';

/** Tags, or clusters in one list: more than there are clusters at the largest scale. */
const mostNames = 1024;
/** Prefixes that are checked beyond those that may be accepted: the hub does nothing else meanwhile. */
const mostInVain = 10_000;

/** The limits of a member, from its HubMember. */
export interface Limits {
  /** All when empty. */
  readonly allowedPrefixes: readonly string[];
  readonly maxPrefixes: number;
}

export interface PrefixFacts {
  readonly cluster: string;
  /** Name of its HubMember. */
  readonly handle: string;
  readonly network: Network;
  /** All networks of the hub. */
  readonly transits: readonly Pick<Network, 'name' | 'cidrs'>[];
  readonly others: Pick<Others, 'prefix' | 'cover'>;
  readonly limits: Limits;
  /** Normalised CIDRs that it has on this network, but for those of its routers. */
  readonly own: ReadonlySet<string>;
  /** How many more may be accepted. */
  readonly room: number;
}

const origins: ReadonlySet<string> = new Set(['connected', 'static', 'bgp', 'aggregate']);

export function admitPrefixes(requested: readonly Prefix[], facts: PrefixFacts, refusals: Refusals): readonly Prefix[] {
  const admitted = new Map<string, Prefix>();
  const allowed = facts.limits.allowedPrefixes.flatMap((text) => parseCidr(text) ?? []);
  // Prefixes that it has come first: one too many takes nothing from it. Prefixes of its routers take nothing from
  // its own.
  const rank = ({ cidr, origin }: Prefix): number => (origin === learnedOrigin ? 2 : facts.own.has(cidr) ? 0 : 1);
  const ordered = [...requested].sort((a, b) => rank(a) - rank(b));
  for (const [at, prefix] of ordered.entries()) {
    if (at >= facts.room + mostInVain) {
      refusals.add(rejectionOf(prefix.cidr, tooMany(facts), facts.network.name));
      continue;
    }
    const cidr = parseCidr(prefix.cidr);
    const key = cidr === undefined ? '' : formatCidr(cidr);
    if (admitted.has(key)) continue;
    const refused = refusePrefix(prefix, cidr, allowed, facts) ?? refuseMore(admitted.size, facts);
    if (refused === undefined) admitted.set(key, normalised(prefix, key));
    else refusals.add(rejectionOf(prefix.cidr, refused, facts.network.name));
  }
  return [...admitted.values()].sort((a, b) => (a.cidr < b.cidr ? -1 : 1));
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly holder?: string;
}

function refusePrefix(
  prefix: Prefix,
  cidr: Cidr | undefined,
  allowed: readonly Cidr[],
  facts: PrefixFacts,
): Refusal | undefined {
  const { network, transits, limits, own, others, cluster, handle } = facts;
  const text = prefix.cidr;
  const special = cidr === undefined ? undefined : specialUse(cidr);
  if (cidr === undefined || special !== undefined)
    return {
      code: 'PrefixInvalid',
      message: `"${text}" is not a prefix that can be shared between clusters${because(special)}`,
    };
  const { tags, via, only, except } = prefix;
  if (![tags, via, only, except].every((names) => names.length <= mostNames && names.every(isLegible))) {
    const message = `${text}: its tags and lists of clusters have at most ${mostNames} names, in plain text without control characters and of normal length; correct the RoutePolicy that sets them`;
    return { code: 'PrefixInvalid', message };
  }
  const transit = network.cidrs.flatMap((one) => parseCidr(one) ?? []);
  const has = network.cidrs.join(',');
  if (!transit.some(({ family }) => family === cidr.family)) {
    const message = `${text} cannot be reached over transit switch ${network.name} (${has}), which is of the other IP family`;
    return { code: 'FamilyUnsupported', message };
  }
  const inTheWay = transits.find(({ cidrs }) => cidrs.some((one) => overlaps(one, cidr)));
  if (inTheWay !== undefined) {
    const message = `${text} overlaps ${inTheWay.cidrs.join(',')}, the addresses of transit switch ${inTheWay.name}`;
    return { code: 'PrefixOverlap', message };
  }
  if (limits.allowedPrefixes.length > 0 && !allowed.some((one) => cidrCovers(one, cidr))) {
    const message = `${text} is not within what ${cluster} may offer (${limits.allowedPrefixes.join(', ')}); the administrator of the hub can change HubMember ${handle}`;
    return { code: 'PrefixNotAllowed', message };
  }
  if (prefix.origin === learnedOrigin) {
    const cover = others.cover(network.name, cidr);
    if (cover === undefined) return undefined;
    const message = `${text}, which ${cluster} has from a router, is within ${formatCidr(cover.cidr)} of ${cover.holder}`;
    return { code: 'PrefixOverlap', message, holder: cover.holder };
  }
  const clash = own.has(formatCidr(cidr)) ? undefined : others.prefix(network.name, cidr);
  if (clash === undefined) return undefined;
  const { holder } = clash;
  return {
    code: 'PrefixOverlap',
    message: `${text} overlaps ${formatCidr(clash.cidr)} of ${holder}, which had it first`,
    holder,
  };
}

function because(special: string | undefined): string {
  return special === undefined ? '' : `: it holds addresses for ${special}`;
}

function refuseMore(count: number, facts: PrefixFacts): Refusal | undefined {
  return count < facts.room ? undefined : tooMany(facts);
}

function tooMany({ limits, cluster, handle }: PrefixFacts): Refusal {
  const message = `${cluster} may offer ${limits.maxPrefixes} prefixes; the administrator of the hub can change HubMember ${handle}`;
  return { code: 'MaxPrefixes', message };
}

function rejectionOf(value: string, { code, message, holder = '' }: Refusal, transitSwitch: string): Rejection {
  return { kind: 'prefix', value, code, message, holder, transitSwitch };
}

function overlaps(text: string, cidr: Cidr): boolean {
  const other = parseCidr(text);
  return other !== undefined && cidrsOverlap(other, cidr);
}

/** A cluster without a usable name can be in no loop. */
function normalised({ origin, tags, via: given, only, except }: Prefix, cidr: string): Prefix {
  const via = given.filter((name) => clusterName.test(name));
  return { cidr, origin: origins.has(origin) ? origin : 'static', tags, via, only, except };
}
