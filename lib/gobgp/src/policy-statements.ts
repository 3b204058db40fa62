// Statements as gobgpd's messages. A statement of gobgpd has one action on large communities, so one of ours that adds some and removes
// others becomes two in a row: the first, without a decision, adds; the second, with the same conditions, does all else. Adding
// first matters: the condition on a tag would not hold for the second once the first had removed the tag.
import { canonicalAddress } from './address.ts';
import { canonicalCommunity, canonicalLargeCommunity } from './communities.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { type AddressFamily, familyNumber, familyOfNumber } from './nlri.ts';
import type { PolicyActions, PolicyStatement } from './policies.ts';

interface CommunityActionMessage {
  readonly communities: readonly string[];
}

export interface StatementMessage {
  readonly name: string;
  readonly conditions?: {
    readonly prefix_set?: { readonly name: string } | null;
    readonly neighbor_set?: { readonly name: string } | null;
    readonly route_type?: string;
    readonly large_community_set?: { readonly name: string } | null;
    readonly afi_safi_in?: readonly { readonly afi: number; readonly safi: number }[];
  } | null;
  readonly actions?: {
    readonly route_action: string;
    readonly community?: CommunityActionMessage | null;
    readonly med?: { readonly value: number } | null;
    readonly as_prepend?: { readonly asn: number; readonly repeat: number } | null;
    readonly nexthop?: { readonly address: string } | null;
    readonly local_pref?: { readonly value: number } | null;
    readonly large_community?: CommunityActionMessage | null;
  } | null;
}

export const routeAction = { accept: 'ACTION_ACCEPT', reject: 'ACTION_REJECT' } as const;

/** Suffix of the name of the first of two messages for one statement. */
const additionSuffix = '+add';

/** The message for a statement, or two messages if one cannot express it. @throws GobgpInvalidArgument */
export function statementMessages(statement: PolicyStatement): StatementMessage[] {
  const { name, actions = {} } = statement;
  if (name.endsWith(additionSuffix))
    throw new GobgpInvalidArgument(`the name of statement '${name}' ends with ${additionSuffix}, which is kept`);
  checkActions(name, actions);
  const conditions = conditionsMessage(statement);
  const added = actions.addLargeCommunities?.map(canonicalLargeCommunity) ?? [];
  const removed = actions.removeLargeCommunities?.map(canonicalLargeCommunity) ?? [];
  const common = removed.find((community) => added.includes(community));
  if (common) throw new GobgpInvalidArgument(`statement '${name}' both adds and removes ${common}`);
  const adding = added.length > 0 && { large_community: { type: 'COMMUNITY_ADD', communities: added } };
  const removing = removed.length > 0 && {
    large_community: { type: 'COMMUNITY_REMOVE', communities: removed.map(exactly) },
  };
  const rest = { ...otherActions(actions), route_action: routeAction[statement.action] };
  if (!adding || !removing) return [{ name, conditions, actions: { ...rest, ...adding, ...removing } }];
  return [
    { name: `${name}${additionSuffix}`, conditions, actions: { route_action: 'ACTION_UNSPECIFIED', ...adding } },
    { name, conditions, actions: { ...rest, ...removing } },
  ];
}

/** The statements of these messages. */
export function statementsOf(messages: readonly StatementMessage[]): PolicyStatement[] {
  return messages.flatMap((message, at) => {
    const before = messages[at - 1];
    const next = messages[at + 1];
    if (next && isAdditionOf(message, next)) return [];
    return [
      statementOf(message, before && isAdditionOf(before, message) ? before.actions?.large_community : undefined),
    ];
  });
}

function isAdditionOf(first: StatementMessage, second: StatementMessage): boolean {
  return first.name === `${second.name}${additionSuffix}`;
}

function conditionsMessage(statement: PolicyStatement): NonNullable<StatementMessage['conditions']> {
  const { prefixSet, neighborSet, largeCommunitySet, family, isLocal, isInternal } = statement;
  const any = (name: string) => ({ type: 'MATCH_ANY', name });
  return {
    ...(prefixSet !== undefined && { prefix_set: any(prefixSet) }),
    ...(neighborSet !== undefined && { neighbor_set: any(neighborSet) }),
    ...(largeCommunitySet !== undefined && { large_community_set: any(largeCommunitySet) }),
    ...(family && { afi_safi_in: [familyNumber(family)] }),
    ...(isLocal && { route_type: 'ROUTE_LOCAL' }),
    ...(isInternal && { route_type: 'ROUTE_INTERNAL' }),
  };
}

function otherActions({ addCommunities, med, localPref, prepend, nextHop }: PolicyActions): object {
  return {
    ...(addCommunities?.length && {
      community: { type: 'COMMUNITY_ADD', communities: addCommunities.map(canonicalCommunity) },
    }),
    ...(med !== undefined && { med: { type: 'MED_REPLACE', value: med } }),
    ...(localPref !== undefined && { local_pref: { value: localPref } }),
    ...(prepend && { as_prepend: { asn: prepend.asn, repeat: prepend.times } }),
    ...(nextHop !== undefined && { nexthop: { address: canonicalAddress(nextHop) } }),
  };
}

function statementOf(message: StatementMessage, added: CommunityActionMessage | null | undefined): PolicyStatement {
  const { name, conditions } = message;
  const family = familyOf(conditions?.afi_safi_in?.[0]);
  const actions = actionsOf(message, added);
  return {
    name,
    ...(conditions?.prefix_set && { prefixSet: conditions.prefix_set.name }),
    ...(conditions?.neighbor_set && { neighborSet: conditions.neighbor_set.name }),
    ...(conditions?.large_community_set && { largeCommunitySet: conditions.large_community_set.name }),
    ...(family && { family }),
    ...(conditions?.route_type === 'ROUTE_LOCAL' && { isLocal: true }),
    ...(conditions?.route_type === 'ROUTE_INTERNAL' && { isInternal: true }),
    action: message.actions?.route_action === routeAction.accept ? 'accept' : 'reject',
    ...(Object.keys(actions).length > 0 && { actions }),
  };
}

function actionsOf({ actions }: StatementMessage, added: CommunityActionMessage | null | undefined): PolicyActions {
  const large = actions?.large_community?.communities ?? [];
  // gobgpd 4 lists the type of this action one too low. A removal is listed as an expression, an addition as the community.
  const isRemoval = large.some((community) => community.startsWith('^'));
  const addLarge = added?.communities ?? (isRemoval ? [] : large);
  return {
    ...(actions?.community && { addCommunities: actions.community.communities }),
    ...(addLarge.length > 0 && { addLargeCommunities: addLarge }),
    ...(isRemoval && { removeLargeCommunities: large.map(inexactly) }),
    ...(actions?.med && { med: actions.med.value }),
    ...(actions?.local_pref && { localPref: actions.local_pref.value }),
    ...(actions?.as_prepend && { prepend: { asn: actions.as_prepend.asn, times: actions.as_prepend.repeat } }),
    ...(actions?.nexthop?.address && { nextHop: actions.nexthop.address }),
  };
}

/** Sets and removals of gobgpd are regular expressions; digits and colons stand for themselves in one. */
export function exactly(community: string): string {
  return `^${canonicalLargeCommunity(community)}$`;
}

/** The community that an expression of `exactly` stands for; gobgpd 3 lists it with anchors of its own around. */
export function inexactly(expression: string): string {
  return expression.replace(/^\^+/, '').replace(/\$+$/, '');
}

function familyOf(number: { readonly afi: number; readonly safi: number } | undefined): AddressFamily | undefined {
  return number && familyOfNumber(number.afi, number.safi);
}

function checkActions(name: string, { med, localPref, prepend }: PolicyActions): void {
  const check = (what: string, value: number, min: number, max: number) => {
    if (!Number.isInteger(value) || value < min || value > max)
      throw new GobgpInvalidArgument(`${what} of statement '${name}' is ${value}, not between ${min} and ${max}`);
  };
  if (med !== undefined) check('the MED', med, 0, 0xffffffff);
  if (localPref !== undefined) check('the local preference', localPref, 1, 0xffffffff);
  if (prepend) check('the AS to prepend', prepend.asn, 1, 0xffffffff);
  if (prepend) check('the number of prepended AS', prepend.times, 1, 255);
}
