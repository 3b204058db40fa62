/** Steps of the networks between clusters, and of conflicts between the identities of two members. */
import { cidrsOverlap, formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { plural } from '../../model/units.ts';
import {
  conditionOf,
  falseCondition,
  isHidden,
  specOf,
  type Snapshot,
  type TransitSwitch,
} from '../../model/snapshot.ts';
import { lostGatewayFix, stuckFixes, usableGateways } from './gateways.ts';
import { hubDatabasesFix } from './hub-databases.ts';
import { conflictFix } from './refusals.ts';
import { cause, failedIf, ok, unknown, type Cause, type Outcome, type Side } from './step.ts';

export function checkTransit({ near }: Side): Outcome {
  const causes: Cause[] = [];
  const spec = specOf(near);
  if (spec !== undefined && !isHidden(near, 'vpcs') && !near.vpcs.includes(spec.vpc))
    causes.push(
      cause(
        'VpcNotFound',
        `Interconnect default joins the VPC ${spec.vpc}, which ${near.label} does not have`,
        'create that Vpc, or correct spec.vpc',
      ),
    );
  for (const network of near.transitSwitches) causes.push(...networkCauses(near, network));
  if (causes.length === 0 && isHidden(near, 'transitswitches')) return unknown('no permission to read TransitSwitches');
  if (near.transitSwitches.length === 0)
    causes.push(
      cause(
        'NoTransitSwitch',
        `${near.label} has no TransitSwitch: the hub has not given it one`,
        'see the steps of the hub and the agent above',
      ),
    );
  return failedIf(
    causes,
    near.transitSwitches.map(({ name, status }) => `${name} ${status.cidr ?? ''}`.trim()).join(', '),
  );
}

function networkCauses(near: Snapshot, { name, spec, status }: TransitSwitch): readonly Cause[] {
  const causes: Cause[] = [];
  const vpc = status.vpc ?? spec.vpc;
  if (!isHidden(near, 'vpcs') && !near.vpcs.includes(vpc))
    causes.push(
      cause(
        'VpcNotFound',
        `TransitSwitch ${name} joins the VPC ${vpc}, which ${near.label} does not have`,
        `create that Vpc, or correct spec.vpc of TransitSwitch ${name}`,
      ),
    );
  for (const clash of transitClashes(near, status.cidr ?? ''))
    causes.push(
      cause(
        'TransitOverlap',
        `the addresses of transit switch ${name} (${status.cidr}) overlap ${clash} of ${near.label}`,
        'give the hub another --transit-cidr (hub.transitCIDR), or the TransitSwitch another spec.cidr',
      ),
    );
  const ready = conditionOf(status.conditions, 'Ready');
  // The next step reports whether a port is held.
  const isOfPorts = ready?.reason === 'NotClaimed' || ready?.reason === 'Unclaimed';
  if (causes.length === 0 && ready?.status === 'False' && !isOfPorts)
    causes.push(
      cause(
        ready.reason ?? 'NotReady',
        ready.message ?? `transit switch ${name} is not ready`,
        transitFix(ready.reason ?? '', name),
      ),
    );
  return causes;
}

function transitClashes(near: Snapshot, text: string): readonly string[] {
  const networks = text.split(',').flatMap((part) => parseCidr(part.trim()) ?? []);
  return near.subnets.flatMap(({ name, cidrs }) =>
    cidrs
      .filter((cidr) => networks.some((network) => cidrsOverlap(network, cidr)))
      .map((cidr) => `${formatCidr(cidr)} (subnet ${name})`),
  );
}

function transitFix(reason: string, name: string): string {
  if (reason === 'TransitNetworkInvalid')
    return `give TransitSwitch ${name} another spec.cidr: the message has the reason`;
  if (reason === 'TransitOverlap')
    return 'give the hub another --transit-cidr (hub.transitCIDR), or the TransitSwitch another spec.cidr';
  return `the message names the cause; kubectl get transitswitch ${name} -o yaml has the details`;
}

export function checkPorts({ near }: Side): Outcome | undefined {
  if (near.transitSwitches.length === 0) return undefined;
  const paths = near.transitSwitches.flatMap(({ name, status }) =>
    (status.paths ?? []).map((path) => ({ name, ...path })),
  );
  const idle = paths.filter(({ holder = '' }) => holder === '').map(({ name, path }) => `${name}/${path}`);
  const condition = falseCondition(near, 'GatewaysReady');
  const causes: Cause[] = [];
  if (idle.length > 0 || condition?.reason === 'NotClaimed') {
    const what =
      idle.length > 0 ? `no gateway of ${near.label} holds the port of ${idle.join(', ')}` : (condition?.message ?? '');
    const fix =
      'ovn-controller takes it on a gateway that northd has named: look at northd, and at ovn-controller of the gateways (with --nb and --sb this command checks them)';
    causes.push(cause('NotClaimed', what, fix));
  }
  if (condition?.reason === 'WaitingForHub')
    causes.push(
      cause(
        'WaitingForHub',
        condition.message ?? 'a path waits for the hub',
        'restore the hub: nothing moves while the other clusters cannot be informed',
      ),
    );
  if (paths.length === 0 && causes.length === 0) return undefined;
  return failedIf(causes, `${plural(paths.length, 'port')} held`);
}

/** Checks ports that the datapath has moved by itself, which it does if a gateway is not heard. */
export function checkFailover({ near }: Side): Outcome | undefined {
  const paths = near.transitSwitches.flatMap(({ name, status }) =>
    (status.paths ?? []).map((path) => ({ name, ...path })),
  );
  if (paths.length === 0) return undefined;
  const moved = paths.filter(({ state }) => state === 'FailedOver');
  const causes = [...Map.groupBy(moved, ({ gateways = [] }) => gateways[0] ?? '')].flatMap(([chassis, lost]) => {
    const gateway = near.gateways.find(({ status }) => status.chassis === chassis);
    // The step of the tunnels reports its daemon's more specific diagnostic.
    if (gateway?.status.tunnels?.some(({ diagnostic = '' }) => /vswitchd/.test(diagnostic)) === true) return [];
    const ports = lost.map(({ name, path, holder = '' }) => `${name}/${path} to ${holder}`).join(', ');
    const message = `gateway ${gateway?.node ?? chassis} of ${near.label} has lost ${ports}: ovs-vswitchd on it is dead or frozen, or the node or its link is down`;
    return [cause('GatewayDown', message, lostGatewayFix)];
  });
  return failedIf(causes, 'every port is where it should be');
}

/** Checks for refusals by the hub or the agent. */
export function checkConflicts({ near, far }: Side): Outcome {
  const condition = falseCondition(near, 'NoConflicts');
  const seen = far === undefined ? [] : duplicates(near, far);
  const causes: Cause[] =
    condition === undefined
      ? []
      : [
          cause(
            condition.reason ?? 'Conflict',
            condition.message ?? 'NoConflicts is False',
            conflictFix(condition.reason ?? ''),
          ),
        ];
  for (const one of seen) if (!causes.some(({ code }) => code === one.code)) causes.push(one);
  if (causes.length > 0) return failedIf(causes, '');
  if (conditionOf(near.interconnect?.status.conditions, 'NoConflicts') === undefined)
    return unknown('the agent has not reported');
  return ok('every name, address and prefix has one owner');
}

/** Values that both sides use, found in their own objects even before the hub has reported them. */
function duplicates(near: Snapshot, far: Snapshot): readonly Cause[] {
  const found: Cause[] = [];
  const nearName = specOf(near)?.clusterName;
  if (nearName !== undefined && nearName === specOf(far)?.clusterName)
    found.push(cause('ClusterNameTaken', `both clusters have the name ${nearName}`, conflictFix('ClusterNameTaken')));
  for (const ours of usableGateways(near))
    for (const theirs of usableGateways(far)) {
      const chassis = ours.status.chassis ?? '';
      const address = ours.status.address ?? '';
      if (chassis !== '' && chassis === theirs.status.chassis)
        found.push(
          cause(
            'DuplicateChassis',
            `gateway ${ours.node} of ${near.label} and ${theirs.node} of ${far.label} have the same system-id ${chassis}`,
            conflictFix('DuplicateChassis'),
          ),
        );
      if (address !== '' && address === theirs.status.address)
        found.push(
          cause(
            'DuplicateEncap',
            `gateway ${ours.node} of ${near.label} and ${theirs.node} of ${far.label} have the same tunnel address ${address}`,
            conflictFix('DuplicateEncap'),
          ),
        );
    }
  return found;
}

/** Checks whether decisions have reached the hub and the databases. */
export function checkConverged({ near }: Side): Outcome {
  const condition = conditionOf(near.interconnect?.status.conditions, 'RoutesConverged');
  if (condition === undefined) return unknown('the agent has not reported');
  if (condition.status === 'True') return ok(condition.message ?? 'the hub and the databases have the newest state');
  const message = condition.message ?? 'changes are on their way';
  const code = condition.reason ?? 'InProgress';
  return failedIf([behindHub(near, code) ?? cause(code, message, convergedFix(code, message))], '');
}

/** If this cluster's own databases follow, only the hub's databases can be the cause. */
function behindHub({ ovn, label }: Snapshot, code: string): Cause | undefined {
  if (code !== 'InProgress' || ovn?.isNorthdCurrent !== true) return undefined;
  const message = `changes that ${label} sends to the hub do not take effect, while its own databases are up to date: the IC databases are frozen, read-only or without a leader`;
  return cause('HubDatabasesStuck', message, hubDatabasesFix);
}

const convergedFixes: Readonly<Record<string, string>> = {
  ...stuckFixes,
  HubDatabasesStuck: hubDatabasesFix,
  VpcNotFound: 'create that Vpc, or correct spec.vpc',
};

function convergedFix(code: string, message: string): string {
  const fix = convergedFixes[code];
  if (fix !== undefined) return fix;
  if (/read.?only|permission/i.test(message))
    return 'the database is read-only or not the leader: give the agent (or the hub) a remote that may write';
  if (code === 'WaitingForHub')
    return 'restore the hub, or the connection to it; if it answers but has assigned nothing, look at its log and at the IC databases';
  if (code === 'InProgress')
    return 'if this continues: the IC databases at the hub are frozen, read-only or without a leader, or this cluster’s northbound or southbound database accepts no writes (with --nb and --sb this command can find out which)';
  return 'the message names what was refused and by which component; the log of the agent has the details';
}
