import { canonicalAddress, withoutZone } from './address.ts';
import { canonicalCommunity, canonicalLargeCommunity } from './communities.ts';
import { type AddressFamily, canonicalPrefix } from './nlri.ts';

/** A rule of a policy; all given conditions must hold. */
export interface PolicyStatement {
  /** Unique among all statements of all policies. */
  readonly name: string;
  /** Name of a prefix set. */
  readonly prefixSet?: string;
  /** Name of a neighbour set; on export the neighbour is the receiver. */
  readonly neighborSet?: string;
  /** Name of a large community set; the path must have one of its members. */
  readonly largeCommunitySet?: string;
  readonly family?: AddressFamily;
  /** Only paths added through this API. */
  readonly isLocal?: boolean;
  /** Only paths of neighbours of our own AS. */
  readonly isInternal?: boolean;
  readonly action: 'accept' | 'reject';
  /** Changes to an accepted path. */
  readonly actions?: PolicyActions;
}

export interface PolicyActions {
  /** `asn:value`. */
  readonly addCommunities?: readonly string[];
  /** `asn:value:value`; shares no member with `removeLargeCommunities`. */
  readonly addLargeCommunities?: readonly string[];
  readonly removeLargeCommunities?: readonly string[];
  readonly med?: number;
  /** 1 or more: gobgpd treats 0 as none. Sent on iBGP sessions only. */
  readonly localPref?: number;
  /** In front of gobgpd's own AS, 1 to 255 times; many routers refuse a path that does not begin with the sender's AS. */
  readonly prepend?: { readonly asn: number; readonly times: number };
  /** An address; an IPv6 address for an IPv4 prefix requires a peer that accepts it (RFC 8950). */
  readonly nextHop?: string;
}

/** All policies of a gobgpd. */
export interface RoutingPolicies {
  /** Exact prefixes, all of one family; never empty. */
  readonly prefixSets: Readonly<Record<string, readonly string[]>>;
  /** gobgpd compares addresses without interfaces: two neighbours with the same link-local address are the same neighbour. */
  readonly neighborSets: Readonly<Record<string, readonly string[]>>;
  /** Exact large communities, `asn:value:value`. */
  readonly largeCommunitySets: Readonly<Record<string, readonly string[]>>;
  readonly policies: Readonly<Record<string, readonly PolicyStatement[]>>;
  readonly import: PolicyAssignment;
  readonly export: PolicyAssignment;
}

export interface PolicyAssignment {
  readonly policies: readonly string[];
  readonly otherwise: 'accept' | 'reject';
}

/** Whether two policies decide the same; the order of set members and of the sets does not matter. */
export function isSamePolicies(left: RoutingPolicies, right: RoutingPolicies): boolean {
  return policiesFingerprint(left) === policiesFingerprint(right);
}

function policiesFingerprint(value: RoutingPolicies): string {
  const byName = <T, U>(record: Readonly<Record<string, T>>, map: (item: T) => U) =>
    Object.entries(record)
      .map(([name, item]) => [name, map(item)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    byName(value.prefixSets, (prefixes) => members(prefixes, canonicalPrefix)),
    byName(value.neighborSets, (addresses) => members(addresses, canonicalMember)),
    byName(value.largeCommunitySets, (communities) => members(communities, canonicalLargeCommunity)),
    byName(value.policies, (statements) => statements.map(statementFingerprint)),
    [value.import, value.export].map(({ policies, otherwise }) => [policies, otherwise]),
  ]);
}

/** Whether two statements decide the same; undefined is a missing statement. */
export function isSameStatement(left: PolicyStatement | undefined, right: PolicyStatement | undefined): boolean {
  if (!left || !right) return left === right;
  return JSON.stringify(statementFingerprint(left)) === JSON.stringify(statementFingerprint(right));
}

function statementFingerprint(statement: PolicyStatement): unknown {
  const { actions = {} } = statement;
  return [
    statement.name,
    statement.prefixSet ?? '',
    statement.neighborSet ?? '',
    statement.largeCommunitySet ?? '',
    statement.family ?? '',
    statement.isLocal ?? false,
    statement.isInternal ?? false,
    statement.action,
    members(actions.addCommunities, canonicalCommunity),
    members(actions.addLargeCommunities, canonicalLargeCommunity),
    members(actions.removeLargeCommunities, canonicalLargeCommunity),
    actions.med ?? '',
    actions.localPref ?? '',
    actions.prepend ? [actions.prepend.asn, actions.prepend.times] : '',
    actions.nextHop === undefined ? '' : canonicalAddress(actions.nextHop),
  ];
}

/** A neighbour's address in the form of set members. */
export function canonicalMember(address: string): string {
  return canonicalAddress(withoutZone(address));
}

function members(values: readonly string[] | undefined, canonical: (value: string) => string): readonly string[] {
  return [...new Set(values?.map(canonical))].toSorted();
}
