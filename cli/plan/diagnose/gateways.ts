/** Steps within one cluster: whether gateway nodes exist, are chassis, have daemons that report, and may carry traffic. */
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { isTunnelDown } from '../../../lib/api/kinds/interconnect-gateway.ts';
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { plural } from '../../model/units.ts';
import {
  conditionOf,
  falseCondition,
  isHidden,
  specOf,
  type Gateway,
  type Node,
  type Snapshot,
} from '../../model/snapshot.ts';
import { conflictFix } from './refusals.ts';
import { cause, failedIf, judged, ok, unknown, warnIf, type Cause, type Outcome, type Side } from './step.ts';

/** Nodes that the Interconnect selects, in order of name. */
export function selectedNodes(snapshot: Snapshot): readonly Node[] {
  const spec = specOf(snapshot);
  if (spec === undefined) return [];
  return snapshot.nodes.filter(({ labels }) => matchesSelector(spec.gatewayNodeSelector, labels));
}

export function checkGatewayNodes({ near }: Side): Outcome {
  const spec = specOf(near);
  if (spec === undefined) return unknown('there is no spec that selects nodes');
  if (isHidden(near, 'nodes')) return unknown('no permission to read nodes');
  const nodes = selectedNodes(near);
  if (nodes.length === 0) {
    const selector = JSON.stringify(spec.gatewayNodeSelector);
    const fix =
      'label two nodes or more: kubectl label node NODE ovn.kubernetes.io/ic-gw=true (or what spec.gatewayNodeSelector asks for)';
    return failedIf(
      [cause('NoGateway', `no node of ${near.label} is selected by gatewayNodeSelector ${selector}`, fix)],
      '',
    );
  }
  return ok(nodes.map(({ name }) => name).join(', '));
}

/** Checks the nodes by the statuses of Kubernetes and the daemon. */
export function checkGatewayHealth({ near }: Side): Outcome | undefined {
  const nodes = selectedNodes(near);
  if (nodes.length === 0) return undefined;
  const causes = nodes.flatMap((node) => healthCauses(near, node));
  const stuck = stuckByReport(near, ['OvnControllerStuck']);
  if (stuck !== undefined && causes.length === 0) return stuck;
  return failedIf(causes, `${plural(nodes.length, 'gateway node')} well`);
}

/** Causes of a node, one for each program: if its node, its agent and its databases report the same program, it is listed once. */
function healthCauses(near: Snapshot, node: Node): readonly Cause[] {
  const causes = nodeCauses(near, node);
  const ailment = ailmentCause(near, node);
  const found =
    ailment === undefined || causes.some(({ code }) => code === ailment.code) ? causes : [...causes, ailment];
  // An ovn-controller cannot follow if its node is gone or its ovs-vswitchd is down.
  return found.length > 0 ? found : chassisCauses(near, node);
}

/** The agent's report about programs of the node and about the whole node. */
function ailmentCause(near: Snapshot, { name }: Node): Cause | undefined {
  const ready = readyOf(near, name);
  const fix = ready?.status === 'False' ? ailmentFixes[ready.reason ?? ''] : undefined;
  return fix === undefined
    ? undefined
    : cause(ready?.reason ?? '', ready?.message ?? `gateway ${name} has a problem`, fix);
}

function readyOf(near: Snapshot, node: string): Condition | undefined {
  return conditionOf(near.gateways.find((gateway) => gateway.node === node)?.status.conditions, 'Ready');
}

/** The agent's reason for daemons that have stopped checking their tunnels. */
export const daemonSilent = 'DaemonSilent';
const notMeasuring: readonly string[] = [daemonSilent, 'GatewayDown', 'OvsdbServerDown'];

/** Whether the daemon's tunnel states of a gateway are still valid. */
export function isMeasuring({ status }: Gateway): boolean {
  return !notMeasuring.includes(conditionOf(status.conditions, 'Ready')?.reason ?? '');
}

function nodeCauses(near: Snapshot, node: Node): readonly Cause[] {
  const found: Cause[] = [];
  const ready = conditionOf(node.conditions, 'Ready');
  if (ready !== undefined && ready.status !== 'True') {
    const fix = `look at its kubelet: kubectl describe node ${node.name}`;
    found.push(cause('NodeNotReady', `gateway node ${node.name} is not ready: ${ready.message ?? ready.status}`, fix));
  }
  const unavailable = conditionOf(node.conditions, 'NetworkUnavailable');
  if (unavailable?.status === 'True') {
    const message = `the network of gateway node ${node.name} does not work (${unavailable.reason ?? 'no reason'}): ${unavailable.message ?? ''}`;
    const code = programCodes[unavailable.reason ?? ''] ?? 'NodeNetworkUnavailable';
    found.push(cause(code, message, programFix(unavailable)));
  }
  const pod = near.workloads.find(
    (one) => one.component === 'isthmus-daemon' && one.node === node.name && !one.isReady,
  );
  if (pod !== undefined) {
    const message = `the daemon of gateway node ${node.name} does not run${pod.reason === '' ? '' : ` (${pod.reason})`}`;
    found.push(cause('DaemonNotRunning', message, `kubectl -n ${near.namespace} logs ${pod.pod}`));
  }
  return found;
}

/** The program that a node's daemon misses, by its reason. */
const programCodes: Readonly<Record<string, string>> = {
  SwitchDown: 'VswitchdDown',
  OvnControllerDown: 'OvnControllerDown',
};

function programFix({ message = '' }: Condition): string {
  if (/ovn-controller/.test(message)) return 'start ovn-controller on that node; its log says why it ended';
  if (/vswitchd|Open vSwitch|ovsdb/i.test(message))
    return 'start Open vSwitch on that node (ovsdb-server and ovs-vswitchd)';
  return 'the message names what is missing; the log of the daemon on that node has the details';
}

/** ovn-controllers that do not follow the database, if its sockets were given. */
function chassisCauses(near: Snapshot, node: Node): readonly Cause[] {
  const chassis = near.ovn?.chassis.find(({ name }) => name === chassisOf(near, node));
  // A chassis with a duplicate name cannot follow; the duplicate name is reported instead.
  if (chassis?.isCurrent !== false || chassis.isRemote || clashOf(near, node) !== undefined) return [];
  if (isUnheard(near, chassis.name)) {
    const message = `no BFD packets arrive from gateway ${node.name} (chassis ${chassis.name}), and its ovn-controller is behind: ovs-vswitchd on it is dead or frozen, or the node or its link is down`;
    return [cause('GatewayDown', message, lostGatewayFix)];
  }
  const message = `ovn-controller of gateway node ${node.name} (chassis ${chassis.name}) does not process changes of the southbound database`;
  return [
    cause(
      'OvnControllerStuck',
      message,
      'it is dead, frozen or cut off from the southbound database: look at its log on that node',
    ),
  ];
}

/** Whether no other gateway of the cluster hears it. */
function isUnheard(near: Snapshot, chassis: string): boolean {
  const words = near.gateways
    .filter((gateway) => gateway.status.chassis !== chassis && isMeasuring(gateway))
    .flatMap(({ status }) => status.siblingTunnels?.filter((tunnel) => tunnel.chassis === chassis) ?? []);
  return words.length > 0 && words.every(({ state }) => isTunnelDown(state));
}

function chassisOf(near: Snapshot, node: Node): string {
  return near.gateways.find((gateway) => gateway.node === node.name)?.status.chassis ?? node.chassis ?? '';
}

const duplicates = new Set(['DuplicateChassis', 'DuplicateEncap']);

export const lostGatewayFix =
  'look at ovs-vswitchd on that node first (with a userspace datapath the address of the node is lost with it), then at ovn-controller and the node itself';

/** Reasons why a gateway is not ready that the step of gateway health reports → what to do. */
const ailmentFixes: Readonly<Record<string, string>> = {
  VswitchdDown: 'start or resume ovs-vswitchd on that node; its log says why it ended',
  GatewayDown: lostGatewayFix,
  OvsdbServerDown: 'start or resume the ovsdb-server of Open vSwitch on that node; its log says why it ended',
  OvnControllerDown: 'start or resume ovn-controller on that node; its log says why it ended',
};

/** Reasons of GatewaysReady that other steps report: ports, drains, missing nodes, gateways among themselves, and their health. */
const ofOtherSteps = new Set([
  'NotClaimed',
  'NoGateway',
  'AllDrained',
  'WaitingForHub',
  'GatewaysCutOff',
  daemonSilent,
  ...Object.keys(ailmentFixes),
]);

export function checkChassis({ near }: Side): Outcome | undefined {
  const nodes = selectedNodes(near);
  if (nodes.length === 0) return undefined;
  const causes = nodes.flatMap((node) => unknownChassis(near, node));
  const condition = falseCondition(near, 'GatewaysReady');
  // The agent's own reason, if no more specific cause was found and no other step covers it.
  if (causes.length === 0 && condition !== undefined && !ofOtherSteps.has(condition.reason ?? '')) {
    const code = condition.reason ?? 'GatewaysNotReady';
    const fix = duplicates.has(code)
      ? conflictFix(code)
      : 'look at the daemon, ovn-controller and Open vSwitch of the nodes it names';
    return failedIf([cause(code, condition.message ?? 'GatewaysReady is False', fix)], '');
  }
  return failedIf(causes, nodes.map((node) => `${node.name}=${chassisOf(near, node)}`).join(', '));
}

/** The agent's condition about a duplicate name or tunnel address. */
function clashOf(near: Snapshot, node: Node): Condition | undefined {
  const gateway = near.gateways.find((one) => one.node === node.name);
  const ready = conditionOf(gateway?.status.conditions, 'Ready');
  return ready?.status === 'False' && duplicates.has(ready.reason ?? '') ? ready : undefined;
}

function unknownChassis(near: Snapshot, node: Node): readonly Cause[] {
  const clash = clashOf(near, node);
  if (clash !== undefined) {
    const { reason = '', message = `${node.name} clashes` } = clash;
    return [cause(reason, message, conflictFix(reason))];
  }
  const gateway = near.gateways.find((one) => one.node === node.name);
  const ready = conditionOf(gateway?.status.conditions, 'Ready');
  const name = chassisOf(near, node);
  const inOvn = near.ovn?.chassis.find((chassis) => chassis.name === name);
  // A node without a daemon or Open vSwitch does not become a gateway: the steps of the daemon and of Open vSwitch report the cause.
  if (hasEarlierCause(near, node)) return [];
  if (isUnheardOf(gateway)) {
    const message = `the daemon of gateway node ${node.name} has never reported, and only the daemon makes the node a gateway`;
    return [cause(daemonSilent, message, `check that the daemon runs there, and check its log`)];
  }
  if (inOvn?.isInterconnect === false && !inOvn.isRemote) {
    const message = `Open vSwitch of gateway node ${node.name} does not have ovn-is-interconn=true, so that OVN does not make it a gateway`;
    const fix = `the daemon sets it on selected nodes: look at its log on ${node.name}; by hand: ovs-vsctl set open . external_ids:ovn-is-interconn=true`;
    return [cause('NotInterconnect', message, fix)];
  }
  if (near.ovn !== undefined && near.ovn.chassis.length > 0 && name !== '' && inOvn === undefined) {
    const message = `the southbound database has no chassis ${name} (gateway node ${node.name})`;
    return [
      cause(
        'ChassisUnknown',
        message,
        `start ovn-controller on ${node.name}, and check which database it uses (ovn-remote)`,
      ),
    ];
  }
  if (name === '') {
    const message = `gateway node ${node.name} has no chassis: its daemon has not reported the system-id of Open vSwitch`;
    return [cause('ChassisUnknown', message, `look at the daemon, ovn-controller and Open vSwitch on ${node.name}`)];
  }
  if (ready?.status !== 'False' || isOfPaths(ready.reason) || ailmentFixes[ready.reason ?? ''] !== undefined) return [];
  const message = ready.message ?? `gateway ${node.name} is not ready`;
  if (ready.reason === 'Lost') return [cause('GatewayDown', message, lostGatewayFix)];
  return [cause(ready.reason ?? 'ChassisUnknown', message, chassisFix(node, ready))];
}

/** Whether the step of the daemon or of Open vSwitch reports the cause. */
function hasEarlierCause(near: Snapshot, { name }: Node): boolean {
  const { reason = '' } = readyOf(near, name) ?? {};
  return reason === daemonSilent || ailmentFixes[reason] !== undefined;
}

/** The gateway has peers, but its daemon has never reported tunnels. */
function isUnheardOf(gateway: Gateway | undefined): boolean {
  const { peers = [], tunnels, checkedAt, conditions } = gateway?.status ?? {};
  const isNone = conditionOf(conditions, 'Ready')?.reason === 'NotInterconnect';
  return isNone && peers.length > 0 && tunnels === undefined && checkedAt === undefined;
}

function isOfPaths(reason: string | undefined): boolean {
  return reason === 'PathMTUTooSmall' || reason === 'Drained' || reason === 'NotClaimed';
}

function chassisFix(node: Node, { reason = '', message = '' }: Condition): string {
  if (duplicates.has(reason)) return conflictFix(reason);
  if (reason === 'NotInterconnect' || /is-interconn/.test(message))
    return `the daemon sets ovn-is-interconn on selected nodes: look at its log on ${node.name}`;
  return `look at the daemon, ovn-controller and Open vSwitch on ${node.name}`;
}

export function checkDrain({ near }: Side): Outcome | undefined {
  const gateways = usableGateways(near);
  if (gateways.length === 0) return undefined;
  const drained = gateways.filter(({ isDrained }) => isDrained).map(({ node }) => node);
  if (drained.length === 0) return ok('no gateway is drained');
  const undrain = `isthmus ic undrain ${drained[0]}`;
  if (drained.length === gateways.length) {
    const message = `every gateway of ${near.label} is drained (${drained.join(', ')}): the paths stay where they are, and maintenance would cut them`;
    return failedIf([cause('AllDrained', message, `undrain one: ${undrain}`)], '');
  }
  return warnIf(
    [cause('Drained', `${drained.join(', ')} of ${near.label} is drained`, `when the work there is done: ${undrain}`)],
    '',
  );
}

/** The InterconnectGateways of selected nodes; all of them if nodes cannot be read. */
export function usableGateways(near: Snapshot): readonly Gateway[] {
  if (isHidden(near, 'nodes')) return near.gateways;
  const selected = new Set(selectedNodes(near).map(({ name }) => name));
  return near.gateways.filter(({ node }) => selected.has(node));
}

/**
 * A daemon checks its tunnels every three seconds, and the agent reports if it does not; this limit is for the case that the agent does not report.
 */
const silenceMs = 30_000;
/** A daemon of a release without `checkedAt` writes its probes twice a minute, and less often with many peers. */
const probesMs = 60_000;
const fewPeers = 50;

/** How long the daemon has checked nothing, if that is too long and the clocks can be trusted. */
function silentMs(
  { lease, nowMs }: Snapshot,
  { measuredMs, status }: Pick<Gateway, 'measuredMs' | 'status'>,
): number | undefined {
  const isOld = status.checkedAt === undefined;
  const limitMs = isOld ? probesMs : silenceMs;
  const isTrusted = lease !== undefined && Math.abs(nowMs - lease.renewedMs) < limitMs / 3;
  if (!isTrusted || measuredMs === undefined) return undefined;
  if (isOld && (status.peers ?? []).length > fewPeers) return undefined;
  return nowMs - measuredMs > limitMs ? nowMs - measuredMs : undefined;
}

export function checkReports({ near }: Side): Outcome | undefined {
  if (isHidden(near, 'interconnectgateways')) return unknown('no permission to read InterconnectGateways');
  const gateways = usableGateways(near);
  const nodes = selectedNodes(near);
  const failures: Cause[] = [];
  for (const { name } of nodes) {
    if (gateways.some(({ node }) => node === name)) continue;
    const fix =
      'the agent creates one for each selected node: check its log and its permission to create interconnectgateways';
    failures.push(cause('GatewayObjectMissing', `there is no InterconnectGateway ${name}`, fix));
  }
  for (const { node, measuredMs, status } of gateways) {
    const ready = readyOf(near, node);
    const isReportedSilent = ready?.status === 'Unknown' && ready.reason === daemonSilent;
    const peers = status.peers ?? [];
    const reported = new Set((status.tunnels ?? []).map(({ chassis }) => chassis));
    const silent = peers.filter(({ chassis }) => !reported.has(chassis));
    const agedMs = silentMs(near, { measuredMs, status });
    if (silent.length === 0 && agedMs === undefined && !isReportedSilent) continue;
    const fix = `see that the daemon runs there: kubectl -n ${near.namespace} get pods -l app.kubernetes.io/name=isthmus-daemon --field-selector spec.nodeName=${node}; then ovs-vsctl show on ${node}`;
    if (isReportedSilent) {
      failures.push(cause(daemonSilent, ready.message ?? `the daemon of gateway ${node} does not report`, fix));
      continue;
    }
    if (silent.length === 0 && agedMs !== undefined) {
      const message = `the daemon of gateway ${node} has measured nothing for ${Math.round(agedMs / 1000)} s; its reports of tunnels are that old`;
      failures.push(cause('DaemonSilent', message, fix));
      continue;
    }
    const names = silent.map(({ chassis, cluster }) => `${chassis} of ${cluster}`).join(', ');
    const message = `the daemon of gateway ${node} reports no tunnel to ${names}`;
    failures.push(cause('DaemonSilent', message, fix));
  }
  if (gateways.length === 0 && failures.length === 0) return undefined;
  return judged(failures, [], `${plural(gateways.length, 'daemon')} reporting`);
}

/** The agent's findings on whether OVN follows: code → what to do. */
export const stuckFixes: Readonly<Record<string, string>> = {
  NorthboundSilent: 'start or resume the ovsdb-server of the northbound database; its log says why it ended',
  SouthboundSilent: 'start or resume the ovsdb-server of the southbound database; its log says why it ended',
  NorthdStuck: 'it is dead, frozen or cut off from a database: look at its process and log',
  OvnControllerStuck:
    'it is dead, frozen or cut off from the southbound database: look at its log on the node that is named',
};

function stuckByReport(near: Snapshot, codes: readonly string[]): Outcome | undefined {
  const condition = falseCondition(near, 'RoutesConverged');
  const { reason = '', message = 'RoutesConverged is False' } = condition ?? {};
  return codes.includes(reason) ? failedIf([cause(reason, message, stuckFixes[reason] ?? '')], '') : undefined;
}

/** Checks the cluster's own databases: through the sockets if given, otherwise by the agent's report. */
export function checkDatabases({ near }: Side): Outcome | undefined {
  if (near.ovn === undefined) return stuckByReport(near, ['NorthboundSilent', 'SouthboundSilent', 'NorthdStuck']);
  const causes = near.ovn.silent.map(({ code, message }) =>
    cause(code, message, 'start or resume that ovsdb-server; its log says why it ended'),
  );
  // Without a database northd cannot follow.
  if (near.ovn.isNorthdCurrent === false && causes.length === 0) {
    const message = `ovn-northd of ${near.label} does not process changes of the northbound database`;
    causes.push(
      cause('NorthdStuck', message, 'it is dead, frozen or cut off from a database: look at its process and log'),
    );
  }
  return failedIf(causes, near.ovn.isNorthdCurrent === true ? 'northd follows' : 'the databases answer');
}
