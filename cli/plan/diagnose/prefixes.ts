/**
 * Steps of the prefixes: the decisions of policies, the prefixes that a cluster offers, and those that it accepts from
 * the others.
 */
import { cidrCovers, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { plural } from '../../model/units.ts';
import {
  conditionOf,
  isHidden,
  isProblem,
  specOf,
  type RemoteCluster,
  type Snapshot,
  type Subnet,
} from '../../model/snapshot.ts';
import { decisionOf } from '../policy.ts';
import { routesOf } from '../routes.ts';
import { meantRemotes } from './peers.ts';
import { cause, judged, unknown, type Cause, type Outcome, type Side } from './step.ts';

export function checkPolicy({ near }: Side): Outcome | undefined {
  if (near.policies.length === 0) return undefined;
  const failures = near.policies.flatMap(({ name, spec, status }) => {
    const ready = conditionOf(status.conditions, 'Ready');
    if (isProblem(spec)) return [cause(spec.code, `RoutePolicy ${name}: ${spec.message}`, 'correct it')];
    if (ready?.status === 'False')
      return [
        cause(
          ready.reason ?? 'PolicyInvalid',
          `RoutePolicy ${name}: ${ready.message ?? 'is not in force'}`,
          'correct it: an invalid policy is not applied',
        ),
      ];
    if ((status.overLimit ?? 0) === 0) return [];
    const message = `RoutePolicy ${name} refuses ${plural(status.overLimit ?? 0, 'prefix')} above its limit of ${spec.maxPrefixes ?? 0} a cluster`;
    return [cause('MaxPrefixes', message, 'raise spec.maxPrefixes, or let the other cluster aggregate')];
  });
  return judged(failures, [], near.policies.map(({ name }) => name).join(', '));
}

/** VPCs of this cluster that take part in a transit switch. */
export function joinedVpcs(near: Snapshot): ReadonlySet<string> {
  const spec = specOf(near);
  const named = near.transitSwitches.map(({ spec: wish, status }) => status.vpc ?? wish.vpc);
  return new Set([...(spec === undefined ? [] : [spec.vpc]), ...named]);
}

/** The reason why a subnet is not offered to other clusters; undefined if it is. */
export function whyNotOffered(near: Snapshot, subnet: Subnet): Cause | undefined {
  const { name, vpc } = subnet;
  const of = `subnet ${name} of ${near.label}`;
  if (subnet.isDisabled)
    return cause(
      'NotShared',
      `${of} is not shared: disableInterConnection is true`,
      `set spec.disableInterConnection to false: kubectl patch subnet ${name} --type=merge -p '{"spec":{"disableInterConnection":false}}'`,
    );
  if (!joinedVpcs(near).has(vpc))
    return cause(
      'OtherVpc',
      `${of} is in the VPC ${vpc}, which is attached to no transit switch`,
      `create a TransitSwitch with spec.vpc: ${vpc} in both clusters`,
    );
  if (subnet.isUnderlay)
    return cause(
      'Underlay',
      `${of} is reached through its physical network, not through OVN`,
      'set spec.logicalGateway if OVN is to be its gateway, or spec.u2oInterconnection without overlayOnlyRouting if OVN is to join the two',
    );
  const ready = conditionOf(subnet.conditions, 'Ready');
  if (subnet.cidrs.length === 0 || ready?.status === 'False') {
    if (ready?.reason === 'InterconnectOverlap')
      return cause(
        'PrefixOverlap',
        `${of} is not in force: ${ready.message ?? 'another cluster has its addresses'}`,
        `give it other addresses, or let the other cluster withdraw its prefix: kubectl describe subnet ${name}`,
      );
    const why = ready?.message === undefined || ready.message === '' ? 'its CIDR is not in force' : ready.message;
    return subnet.cidrs.length > 0
      ? undefined
      : cause('SubnetNotReady', `${of} (${subnet.wished}) is not ready: ${why}`, `kubectl describe subnet ${name}`);
  }
  return undefined;
}

/** RoutePolicies that keep a subnet from `cluster` on all transit switches; undefined if it is offered. */
export function deniedTo(cluster: string, near: Snapshot, { vpc }: Subnet, cidr: Cidr): string | undefined {
  const networks = near.transitSwitches.filter(({ spec, status }) => (status.vpc ?? spec.vpc) === vpc);
  const decisions = networks.map(({ name: transitSwitch }) =>
    decisionOf(near.policies, 'Export', { cidr, cluster, transitSwitch, vpc, origin: 'connected' }),
  );
  if (decisions.length === 0 || decisions.some((decision) => decision?.action !== 'Deny')) return undefined;
  return [...new Set(decisions.flatMap((decision) => decision?.policy ?? []))].join(', ');
}

/** Reasons that keep a subnet from being offered although its user wants it. */
const amiss = new Set(['SubnetNotReady', 'PrefixOverlap']);

export function checkOffer({ near, far }: Side): Outcome | undefined {
  const spec = specOf(near);
  if (spec === undefined) return undefined;
  if (isHidden(near, 'subnets')) return unknown('no permission to read Subnets');
  const failures: Cause[] = [];
  const warnings: Cause[] = [];
  const offered: Cidr[] = [];
  for (const subnet of near.subnets) {
    if (subnet.isJoin) continue;
    const found = whyNotOffered(near, subnet);
    if (found === undefined)
      offered.push(
        ...subnet.cidrs.filter((cidr) => far === undefined || deniedTo(far.label, near, subnet, cidr) === undefined),
      );
    else (amiss.has(found.code) ? failures : warnings).push(found);
  }
  if (offered.length === 0 && failures.length === 0)
    failures.push(
      cause(
        'NothingOffered',
        `${near.label} has no subnet that is shared with other clusters`,
        'create a Subnet in a joined VPC, or share an existing one (see below)',
      ),
    );
  failures.push(...unlearned(near, far, offered));
  return judged(failures, warnings, `${plural(offered.length, 'prefix')} offered`);
}

/** Prefixes that this cluster offers and the other cluster has not received. */
function unlearned(near: Snapshot, far: Snapshot | undefined, offered: readonly Cidr[]): readonly Cause[] {
  const us = far?.remotes.find(({ name }) => name === near.label);
  if (far === undefined || us === undefined) return [];
  const { unlisted = [] } = us.status;
  // Prefixes that are not listed for lack of space may still be known.
  if (unlisted.length > 0) return [];
  const heard = routesOf(us).flatMap(({ prefix }) => parseCidr(prefix) ?? []);
  // A prefix also counts as part of an aggregate.
  const missing = offered.filter((cidr) => !heard.some((one) => cidrCovers(one, cidr))).map(formatCidr);
  if (missing.length === 0) return [];
  const message = `${far.label} has not received ${missing.join(', ')} of ${near.label}`;
  return [
    cause(
      'NotLearned',
      message,
      `see NoConflicts and the export policies of ${near.label}, and allowedPrefixes of its HubMember`,
    ),
  ];
}

const routeFixes: Readonly<Record<string, string>> = {
  Overlap: 'one of the two needs other addresses; or do not share one: disableInterConnection: true',
  Denied: 'change the RoutePolicy that the message names, or keep it if intended',
  MaxPrefixes: 'raise spec.maxPrefixes of the RoutePolicy that the message names, or let the other cluster aggregate',
  NextHopDown: 'see the paths above',
  NextHopUnreachable: 'see that both clusters take part in the transit switch, and that the other has a gateway',
  NoGateway: 'label a gateway node: kubectl label node NODE ovn.kubernetes.io/ic-gw=true',
  PrefixInvalid: 'the other cluster must offer another prefix',
  FamilyUnsupported: 'give the transit network addresses of that IP family too',
};
/** Intended reasons: a user's policy, or the guard that prevents a prefix from returning to its origin. */
const intended = new Set(['Denied', 'Loop', 'NotPreferred']);

export function checkRoutes(side: Side): Outcome | undefined {
  const remotes = meantRemotes(side);
  if (remotes.length === 0) return undefined;
  if (remotes.every(({ status }) => status.routesActive === undefined))
    return unknown('the agent has not counted routes');
  const failures: Cause[] = [];
  const warnings: Cause[] = [];
  for (const remote of remotes) {
    // An intended refusal is no fault, unless no route of the cluster is left.
    const isUsed = (remote.status.routesActive ?? 0) > 0;
    for (const found of unusedRoutes(side.near, remote))
      (isUsed && intended.has(found.code) ? warnings : failures).push(found);
  }
  const active = remotes.reduce((sum, { status }) => sum + (status.routesActive ?? 0), 0);
  return judged(failures, warnings, `${plural(active, 'prefix')} in use`);
}

/** One cause for each reason, with its prefixes. */
function unusedRoutes(near: Snapshot, remote: RemoteCluster): readonly Cause[] {
  const { name, status } = remote;
  const { routesRejected = 0 } = status;
  const routes = routesOf(remote);
  const used = new Set(routes.filter(({ state }) => state === 'Active').map(({ prefix }) => prefix));
  const unused = routes.filter(({ prefix, reason }) => !used.has(prefix) && reason !== 'Loop');
  const causes = [...Map.groupBy(unused, ({ reason, state }) => reason ?? state)].map(([reason, members]) => {
    const detail = members.find(({ message }) => message !== undefined)?.message;
    const prefixes = [...new Set(members.map(({ prefix }) => prefix))];
    const message = `${near.label} does not use ${someOf(prefixes)} of ${name}${detail === undefined ? '' : `: ${detail}`}`;
    return cause(reason, message, routeFixes[reason] ?? 'the message names the cause');
  });
  if (causes.length === 0 && routes.length === 0 && routesRejected === 0 && status.routesActive === 0) {
    const fix = `look there, with isthmus ic diagnose ${near.label}: its subnets, its export policies, allowedPrefixes of its HubMember`;
    return [cause('NothingOffered', `${name} offers no prefix`, fix)];
  }
  if (causes.length > 0 || routesRejected === 0) return causes;
  // Of a truncated list, only the count is known.
  const message = `${near.label} does not use ${plural(routesRejected, 'prefix')} of ${name}`;
  return [cause('Rejected', message, `kubectl get remotecluster ${name} -o yaml`)];
}

const named = 3;

function someOf(prefixes: readonly string[]): string {
  const rest = prefixes.length - named;
  return `${prefixes.slice(0, named).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
