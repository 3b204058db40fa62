/** Faults of gateways and the tunnels between them, and the cause that the diagnosis must report. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { spoil, type Pair } from '../../testing-snapshots.ts';
import {
  tryFault,
  type Fault,
  tunnels,
  noIcmp,
  siblings,
  pathsAre,
  phaseIs,
  gone,
  unheard,
  chassisOf,
  ovnOf,
} from '../../testing-faults.ts';

/** The agent's status of the first gateway. */
function gatewayIs(east: Pair['east'], status: 'False' | 'Unknown', reason: string, message: string): void {
  const [gateway] = east.gateways;
  assert.ok(gateway);
  gateway.status.conditions = [{ type: 'Ready', status, reason, message }];
}

const faults: readonly Fault[] = [
  {
    name: 'no node is labelled',
    make: ({ east }) => {
      for (const node of east.nodes) node.labels = {};
      spoil(east, 'GatewaysReady', 'NoGateway', 'no node is selected');
    },
    code: 'NoGateway',
    says: /no node of east is selected/,
  },
  {
    name: 'one node is labelled: no other node would replace it',
    make: ({ east }) => {
      for (const node of east.nodes.slice(1)) node.labels = {};
    },
    code: 'OneGateway',
    says: /e1 is the only gateway of east/,
  },
  {
    name: 'the second gateway would take itself for cut off',
    make: ({ east }) => {
      for (const path of east.transitSwitches[0]?.status.paths ?? [])
        Object.assign(path, { state: 'Unprotected', reason: 'NoWitness', message: 'e2 would not take over the port' });
      spoil(east, 'DataplaneProtected', 'NoWitness', 'e2 would not take over the port');
    },
    code: 'NoWitness',
    says: /e2 would not take over the port/,
  },
  {
    name: 'the other cluster has one gateway',
    make: ({ east }) => spoil(east, 'DataplaneProtected', 'OnePathLeft', 'fewer than two paths to west'),
    code: 'OnePathLeft',
    says: /fewer than two paths to west/,
  },
  {
    name: 'ovn-controller of a gateway is dead, says its daemon',
    make: ({ east }) => {
      const [node] = east.nodes;
      assert.ok(node);
      node.conditions = [
        {
          type: 'NetworkUnavailable',
          status: 'True',
          reason: 'OvnControllerDown',
          message: 'ovn-controller does not answer',
        },
      ];
    },
    code: 'OvnControllerDown',
    says: /e1 does not work.*ovn-controller does not answer/,
  },
  {
    name: 'ovn-controller of a gateway is frozen, say the databases',
    make: ({ east }) => (east.ovn = ovnOf({ chassis: [chassisOf('e1', { isCurrent: false }), chassisOf('e2')] })),
    code: 'OvnControllerStuck',
    says: /gateway node e1/,
  },
  {
    name: 'ovn-controller of a gateway stands still because all of its node does, say the databases',
    make: ({ east }) => {
      east.ovn = ovnOf({ chassis: [chassisOf('e1', { isCurrent: false }), chassisOf('e2')] });
      for (const { status } of east.gateways.slice(1))
        for (const tunnel of status.siblingTunnels ?? []) Object.assign(tunnel, gone);
    },
    code: 'GatewayDown',
    says: /no BFD packets arrive from gateway e1/,
  },
  {
    name: 'ovs-vswitchd of a gateway is frozen, says the agent, and its ovn-controller follows no more',
    make: ({ east }) => {
      gatewayIs(east, 'False', 'VswitchdDown', 'ovs-vswitchd of gateway e1 does not answer');
      spoil(east, 'RoutesConverged', 'OvnControllerStuck', 'ovn-controller of gateway e1 has processed no changes');
      east.ovn = ovnOf({ chassis: [chassisOf('e1', { isCurrent: false }), chassisOf('e2')] });
    },
    code: 'VswitchdDown',
    says: /ovs-vswitchd of gateway e1/,
  },
  {
    name: 'the Open_vSwitch database of a gateway is frozen, says the agent',
    make: ({ east }) => gatewayIs(east, 'False', 'OvsdbServerDown', 'the Open_vSwitch database of gateway e1'),
    code: 'OvsdbServerDown',
    says: /database of gateway e1/,
  },
  {
    name: 'the daemon of a gateway is frozen, says the agent',
    make: ({ east }) => gatewayIs(east, 'Unknown', 'DaemonSilent', 'the daemon of gateway e1 has not looked'),
    code: 'DaemonSilent',
    says: /daemon of gateway e1/,
  },
  {
    name: 'a node is not a gateway, because there is no daemon that would make it one',
    make: ({ east }) => {
      const [gateway] = east.gateways;
      assert.ok(gateway);
      delete gateway.status.tunnels;
      gatewayIs(east, 'False', 'NotInterconnect', 'chassis e1 of e1 is not a gateway yet');
    },
    code: 'DaemonSilent',
    says: /the daemon of gateway node e1 has never reported/,
  },
  {
    name: 'two gateways of the cluster do not hear each other',
    make: ({ east }) => {
      siblings(east, gone, gone);
      spoil(
        east,
        'GatewaysReady',
        'GatewaysCutOff',
        'e1 and e2 are running but do not receive packets from each other',
      );
    },
    code: 'GatewaysCutOff',
    says: /e1 \(192\.0\.2\.11\) and e2 \(192\.0\.2\.12\) of this cluster are running but do not receive packets from each other: neither/,
  },
  {
    name: 'of two gateways of the cluster, nothing from one arrives at the other',
    make: ({ east }) => siblings(east, unheard, gone),
    code: 'GatewaysCutOff',
    says: /nothing from e1 \(192\.0\.2\.11\) arrives at e2/,
  },
  {
    name: 'two gateways of the cluster took ports from one another, and their daemons say nothing',
    make: ({ east }) =>
      spoil(
        east,
        'GatewaysReady',
        'GatewaysCutOff',
        'e1 and e2 are running but do not receive packets from each other',
      ),
    code: 'GatewaysCutOff',
    says: /^e1 and e2 are running/,
  },
  {
    name: 'northd is dead, say the databases',
    make: ({ east }) =>
      (east.ovn = ovnOf({
        isNorthdCurrent: false,
        chassis: [chassisOf('e1', { isCurrent: undefined }), chassisOf('e2', { isCurrent: undefined })],
      })),
    code: 'NorthdStuck',
    says: /ovn-northd of east/,
  },
  {
    name: 'the southbound database is frozen',
    make: ({ east }) =>
      (east.ovn = ovnOf({
        silent: [{ code: 'DatabaseSilent', message: 'OVN_Southbound did not answer at unix:sb.sock' }],
        chassis: [],
        isNorthdCurrent: false,
      })),
    code: 'DatabaseSilent',
    says: /OVN_Southbound/,
  },
  {
    name: 'a gateway has no chassis',
    make: ({ east }) => {
      const [gateway] = east.gateways;
      const [node] = east.nodes;
      assert.ok(gateway && node);
      node.chassis = undefined;
      gateway.status = {
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'ChassisUnknown',
            message: 'ovn-controller of e1 has not registered a chassis',
          },
        ],
      };
    },
    code: 'ChassisUnknown',
    says: /e1/,
  },
  {
    name: 'ovn-is-interconn is not set',
    make: ({ east }) => {
      const [gateway] = east.gateways;
      assert.ok(gateway);
      gateway.status.conditions = [
        {
          type: 'Ready',
          status: 'False',
          reason: 'NotInterconnect',
          message: 'chassis e1 of e1 is not a gateway yet: ovn-is-interconn is not set',
        },
      ];
      spoil(east, 'GatewaysReady', 'ChassisMissing', 'no chassis with ovn-is-interconn for e1');
    },
    code: 'NotInterconnect',
    says: /ovn-is-interconn is not set/,
  },
  {
    name: 'ovn-is-interconn is not set, say the databases',
    make: ({ east }) => (east.ovn = ovnOf({ chassis: [chassisOf('e1', { isInterconnect: false }), chassisOf('e2')] })),
    code: 'NotInterconnect',
    says: /e1 does not have ovn-is-interconn=true/,
  },
  {
    name: 'the daemon of a gateway reports nothing',
    make: ({ east }) => {
      const [gateway] = east.gateways;
      assert.ok(gateway);
      delete gateway.status.tunnels;
      delete gateway.status.probes;
    },
    code: 'DaemonSilent',
    says: /the daemon of gateway e1 reports no tunnel to w1 of west, w2 of west/,
  },
  {
    name: 'the daemon of a gateway is frozen',
    make: ({ east }) => {
      const [gateway] = east.gateways;
      if (gateway !== undefined)
        east.gateways = [{ ...gateway, measuredMs: east.nowMs - 120_000 }, ...east.gateways.slice(1)];
    },
    code: 'DaemonSilent',
    says: /the daemon of gateway e1 has measured nothing for 120 s/,
  },
  {
    name: 'the daemon of a gateway crashes',
    make: ({ east }) => {
      east.workloads = [
        {
          component: 'isthmus-daemon',
          pod: 'isthmus-daemon-1',
          node: 'e1',
          isReady: false,
          reason: 'CrashLoopBackOff',
        },
      ];
    },
    code: 'DaemonNotRunning',
    says: /e1 does not run \(CrashLoopBackOff\)/,
  },
  {
    name: 'udp 6081 from east to west is dropped, seen from east alone',
    make: ({ east }) => {
      tunnels(east, unheard);
      pathsAre(east, 'Down', 'TunnelDown');
    },
    code: 'TunnelBlockedOutgoing',
    says: /from east do not arrive at the other end/,
    isAlone: true,
  },
  {
    name: 'udp 6081 from west to east is dropped, seen from east alone',
    make: ({ east }) => {
      tunnels(east, gone);
      pathsAre(east, 'Down', 'TunnelDown');
    },
    code: 'TunnelDown',
    says: /nothing arrives from the other end through the tunnel, though their addresses answer to ICMP/,
    isAlone: true,
  },
  {
    name: 'udp 6081 from west to east is dropped, seen from both',
    make: ({ east, west }) => {
      tunnels(east, gone);
      tunnels(west, unheard);
      pathsAre(east, 'Down', 'TunnelDown');
    },
    code: 'TunnelBlockedIncoming',
    says: /do not arrive at east, while ours arrive there/,
  },
  {
    name: 'udp 6081 is dropped both ways, ICMP passes',
    make: ({ east, west }) => {
      tunnels(east, gone);
      tunnels(west, gone);
    },
    code: 'TunnelBlocked',
    says: /in neither direction/,
  },
  {
    name: 'the underlay between the gateways is gone',
    make: ({ east, west }) => {
      for (const side of [east, west]) {
        tunnels(side, gone);
        noIcmp(side);
      }
      phaseIs(east, 'Unreachable', 'AllPathsDown', 'the tunnels to all gateways of west are down');
    },
    code: 'UnderlayUnreachable',
    says: /cannot reach each other at all/,
  },
  {
    name: 'ovs-vswitchd of a gateway of ours is dead',
    make: ({ east }) => {
      const [gateway] = east.gateways;
      for (const tunnel of gateway?.status.tunnels ?? [])
        Object.assign(tunnel, { state: 'down', diagnostic: 'ovs-vswitchd is down' });
    },
    code: 'VswitchdDown',
    says: /gateway of east: e1/,
  },
  {
    name: 'ovs-vswitchd of a gateway of theirs is dead, says its daemon',
    make: ({ east, west }) => {
      tunnels(east, gone, 'w1');
      const [gateway] = west.gateways;
      for (const tunnel of gateway?.status.tunnels ?? [])
        Object.assign(tunnel, { state: 'down', diagnostic: 'ovs-vswitchd of this node does not answer' });
    },
    code: 'VswitchdDown',
    says: /gateway of west: w1$/,
  },
  {
    name: 'ovs-vswitchd of a gateway of theirs is frozen, and the address of the node with it',
    make: ({ east }) => {
      tunnels(east, gone, 'w1');
      noIcmp(east, 'w1');
    },
    code: 'GatewayDown',
    says: /^gateway west\/w1 \(192\.0\.2\.21\) answers no gateway of east.*ovs-vswitchd on it is dead or frozen/,
    isAlone: true,
  },
  {
    name: 'one gateway of theirs is not heard, though its address answers',
    make: ({ east }) => tunnels(east, gone, 'w1'),
    code: 'TunnelDown',
    says: /nothing arrives from gateway west\/w1 .* ovs-vswitchd on it is dead or frozen, or udp 6081 from it is dropped; with --peer/,
    isAlone: true,
  },
  {
    name: 'ovs-vswitchd of a gateway of ours is frozen, and its daemon is cut off with it',
    make: ({ east }) => {
      const [path] = east.transitSwitches[0]?.status.paths ?? [];
      assert.ok(path);
      Object.assign(path, { holder: 'e2', state: 'FailedOver' });
      pathsAre(east, 'Moving', 'FailedOver');
    },
    code: 'GatewayDown',
    says: /gateway e1 of east has lost ts\/0 to e2: ovs-vswitchd on it is dead or frozen/,
    isAlone: true,
  },
  {
    name: 'a gateway of ours stays away, says the agent',
    make: ({ east }) => {
      const [gateway] = east.gateways;
      assert.ok(gateway);
      gateway.status.conditions = [
        { type: 'Ready', status: 'False', reason: 'Lost', message: 'chassis e1 of e1 lost its port' },
      ];
      spoil(east, 'GatewaysReady', 'Lost', 'e1 lost a port to another gateway and has not come back');
    },
    code: 'GatewayDown',
    says: /e1 lost its port/,
  },
  {
    name: 'a gateway has the system-id of one of theirs, says the agent',
    make: ({ east }) => {
      tunnels(east, gone, 'w1');
      spoil(east, 'GatewaysReady', 'DuplicateChassis', 'node e1 and gateway w1 of west have one system-id');
    },
    code: 'DuplicateChassis',
    says: /have one system-id/,
    isAlone: true,
  },
  {
    name: 'BFD is off',
    make: ({ east }) => tunnels(east, { state: 'unknown' }),
    code: 'BfdOff',
    says: /no BFD runs/,
    as: 'warning',
  },
  {
    name: 'the MTU between two gateways is too small',
    make: ({ east }) => {
      const [probe] = east.gateways[0]?.status.probes ?? [];
      assert.ok(probe);
      probe.mtu = 1400;
    },
    code: 'PathMTUTooSmall',
    says: /above 1400 bytes do not pass, pods need 1500: east\/e1 .* west\/w1/,
  },
  {
    name: 'ICMP is dropped, tunnels are up: no verdict about the MTU',
    make: ({ east }) => noIcmp(east),
    code: 'IcmpBlocked',
    says: /loss and MTU are not known/,
    as: 'warning',
  },
];

describe('faults of gateways and tunnels', () => {
  for (const fault of faults) it(fault.name, () => tryFault(fault));
});
