/** Faults of gateways and the tunnels between them, and the cause that the diagnosis must name. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { spoil } from '../../testing-snapshots.ts';
import {
  tryFault,
  type Fault,
  tunnels,
  noIcmp,
  pathsAre,
  phaseIs,
  gone,
  unheard,
  chassisOf,
  ovnOf,
} from '../../testing-faults.ts';

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
    name: 'ovn-controller of a gateway is dead, says its daemon',
    make: ({ east }) => {
      const [node] = east.nodes;
      assert.ok(node);
      node.conditions = [
        {
          type: 'NetworkUnavailable',
          status: 'True',
          reason: 'ControllerDown',
          message: 'ovn-controller does not answer',
        },
      ];
    },
    code: 'NodeNetworkUnavailable',
    says: /e1 does not work.*ovn-controller does not answer/,
  },
  {
    name: 'ovn-controller of a gateway is frozen, say the databases',
    make: ({ east }) => (east.ovn = ovnOf({ chassis: [chassisOf('e1', { isCurrent: false }), chassisOf('e2')] })),
    code: 'OvnControllerStuck',
    says: /gateway node e1/,
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
          message: 'chassis e1 of e1 is no gateway yet: ovn-is-interconn is not set',
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
    says: /e1 does not say ovn-is-interconn=true/,
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
    says: /nothing of the other end arrives through the tunnel, though their addresses answer to ICMP/,
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
    says: /do not reach each other at all/,
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
