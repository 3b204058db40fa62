/**
 * Faults between the clusters of a lab, and for each fault the codes of the causes that `isthmus ic diagnose` may list first, run
 * in `east` about `west`. `mend` repairs frozen and killed processes and dropped packets; `undo` repairs other faults.
 */
import { createHubAuthority } from '../../interconnect/link/certificate.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import {
  authority,
  between,
  certifyAt,
  drain,
  drop,
  eachWay,
  freeze,
  geneve,
  interconnectObject,
  killForGood,
  label,
  openVswitch,
  remove,
  replaceSecret,
  restart,
  restoreIdentity,
  restoreSecret,
  systemIdOf,
} from './diagnose-injections.ts';
import { applyObjects, subnetManifest } from './workload.ts';

export interface LabFault {
  readonly name: string;
  readonly inject: (lab: LabHandle) => Promise<void>;
  readonly undo?: (lab: LabHandle) => Promise<unknown>;
  /** Codes of the first cause, or of a notice if the fault is no failure. */
  readonly alone: readonly string[];
  /** The same codes if the other cluster can be read too. */
  readonly both: readonly string[];
  /** Only the databases of the cluster show this fault. */
  readonly needsDatabases?: boolean;
  /** The fault takes only seconds to inject, to detect and to repair: the system test covers these. */
  readonly isQuick?: boolean;
}

let westId = '';

export const faults: readonly LabFault[] = [
  {
    name: 'udp 6081 from here is dropped',
    inject: (lab) => drop(lab, [`${between(lab, 'east', 'west')} ${geneve}`]),
    alone: ['TunnelBlockedOutgoing'],
    both: ['TunnelBlockedOutgoing'],
    isQuick: true,
  },
  {
    name: 'udp 6081 to here is dropped',
    inject: (lab) => drop(lab, [`${between(lab, 'west', 'east')} ${geneve}`]),
    alone: ['TunnelDown'],
    both: ['TunnelBlockedIncoming', 'TunnelBlockedOutgoing'],
  },
  {
    name: 'udp 6081 is dropped both ways',
    inject: (lab) => drop(lab, eachWay(lab, geneve)),
    alone: ['TunnelDown'],
    both: ['TunnelBlocked'],
  },
  {
    name: 'nothing passes between the clusters',
    inject: (lab) => drop(lab, eachWay(lab, '')),
    alone: ['UnderlayUnreachable'],
    both: ['UnderlayUnreachable'],
  },
  {
    name: 'the MTU is too small',
    inject: (lab) => drop(lab, eachWay(lab, 'ip length > 1400')),
    alone: ['PathMTUTooSmall'],
    both: ['PathMTUTooSmall'],
  },
  {
    name: 'ICMP is blocked',
    inject: (lab) => drop(lab, eachWay(lab, 'ip protocol icmp')),
    alone: ['IcmpBlocked'],
    both: ['IcmpBlocked'],
  },
  {
    name: 'packets are lost',
    inject: (lab) => drop(lab, eachWay(lab, 'numgen random mod 100 < 10')),
    alone: ['PacketLoss'],
    both: ['PacketLoss'],
  },
  {
    name: 'one system-id twice',
    inject: async (lab) => {
      westId = await systemIdOf(lab, 'west', 'n2');
      await openVswitch(lab, 'n2', 'system-id', await systemIdOf(lab, 'east', 'n1'));
    },
    undo: (lab) => openVswitch(lab, 'n2', 'system-id', westId),
    alone: ['DuplicateChassis'],
    both: ['DuplicateChassis'],
  },
  {
    name: 'one tunnel address twice',
    inject: (lab) => openVswitch(lab, 'n2', 'ovn-encap-ip', lab.cluster('east').nodes[0]?.address ?? ''),
    undo: (lab) => openVswitch(lab, 'n2', 'ovn-encap-ip', lab.cluster('west').nodes[1]?.address ?? ''),
    alone: ['DuplicateEncap'],
    both: ['DuplicateEncap'],
  },
  {
    name: 'a subnet overlaps the other cluster',
    inject: (lab) => applyObjects(lab, 'east', [subnetManifest('overlap', { cidrBlock: '10.17.4.0/24' })]),
    undo: (lab) => remove(lab, 'east', 'subnet', 'overlap'),
    alone: ['PrefixOverlap'],
    both: ['PrefixOverlap'],
    isQuick: true,
  },
  {
    name: 'the certificate has expired',
    inject: (lab) => certifyAt(lab, -100),
    undo: restoreIdentity,
    alone: ['CertificateExpired'],
    both: ['CertificateExpired'],
  },
  {
    name: 'the certificate is not valid yet',
    inject: (lab) => certifyAt(lab, 30),
    undo: restoreIdentity,
    alone: ['CertificateNotYetValid'],
    both: ['CertificateNotYetValid'],
  },
  {
    name: 'the hub is dead',
    inject: (lab) => killForGood(lab, 'hub', 'hub'),
    alone: ['HubDown'],
    both: ['HubDown'],
    isQuick: true,
  },
  {
    name: 'the hub is frozen',
    inject: (lab) => freeze(lab, 'hub', 'hub'),
    alone: ['HubFrozen', 'HubSilent'],
    both: ['HubFrozen', 'HubSilent'],
  },
  {
    name: 'the hub has another authority',
    inject: async (lab) => {
      const { key, certificate } = await createHubAuthority(Date.now());
      await replaceSecret(lab, authority, { 'tls.key': key, 'tls.crt': certificate });
      await restart(lab, 'hub', 'hub');
    },
    undo: async (lab) => {
      await restoreSecret(lab, authority);
      await restart(lab, 'hub', 'hub');
    },
    alone: ['HubNotTrusted'],
    both: ['HubNotTrusted'],
  },
  {
    name: 'the interconnect databases are frozen',
    inject: async (lab) => {
      await freeze(lab, 'hub', 'icnb', 'icsb');
      await applyObjects(lab, 'east', [subnetManifest('news', { cidrBlock: '10.60.0.0/24' })]);
    },
    undo: (lab) => remove(lab, 'east', 'subnet', 'news'),
    alone: ['HubDatabasesStuck', 'HubDatabasesDown', 'InProgress'],
    both: ['HubDatabasesStuck', 'HubDatabasesDown', 'InProgress'],
  },
  {
    name: 'no node is a gateway',
    inject: (lab) => label(lab, 'east', '-'),
    undo: (lab) => label(lab, 'east', '=true'),
    alone: ['NoGateway'],
    both: ['NoGateway'],
  },
  {
    name: 'all gateways are drained',
    inject: (lab) => drain(lab, true),
    undo: (lab) => drain(lab, false),
    alone: ['AllDrained'],
    both: ['AllDrained'],
    isQuick: true,
  },
  {
    name: 'northd is frozen',
    inject: (lab) => freeze(lab, 'east', 'northd'),
    alone: ['NorthdStuck'],
    both: ['NorthdStuck'],
    needsDatabases: true,
    isQuick: true,
  },
  {
    name: 'ovn-controller of a gateway is frozen',
    inject: (lab) => freeze(lab, 'east/n1', 'ovn-controller'),
    alone: ['OvnControllerStuck', 'OvnControllerDown'],
    both: ['OvnControllerStuck', 'OvnControllerDown'],
    needsDatabases: true,
  },
  {
    name: 'ovn-controller of a gateway is dead',
    inject: (lab) => lab.kill('east/n1', 'ovn-controller'),
    alone: ['OvnControllerDown'],
    both: ['OvnControllerDown'],
  },
  {
    name: 'ovs-vswitchd of a gateway here is frozen',
    inject: (lab) => freeze(lab, 'east/n1', 'ovs-vswitchd'),
    alone: ['GatewayDown', 'VswitchdDown'],
    both: ['GatewayDown', 'VswitchdDown'],
  },
  {
    name: 'ovs-vswitchd of a gateway here is dead',
    inject: (lab) => lab.kill('east/n2', 'ovs-vswitchd'),
    alone: ['GatewayDown', 'VswitchdDown'],
    both: ['GatewayDown', 'VswitchdDown'],
  },
  {
    name: 'ovs-vswitchd of a gateway there is dead',
    inject: (lab) => lab.kill('west/n2', 'ovs-vswitchd'),
    alone: ['GatewayDown', 'VswitchdDown'],
    both: ['GatewayDown', 'VswitchdDown'],
  },
  {
    name: 'ovs-vswitchd of a gateway there is frozen',
    inject: (lab) => freeze(lab, 'west/n1', 'ovs-vswitchd'),
    alone: ['GatewayDown', 'VswitchdDown'],
    both: ['GatewayDown', 'VswitchdDown'],
  },
  {
    name: 'the daemon of a gateway is dead',
    inject: (lab) => killForGood(lab, 'east/n1', 'daemon'),
    alone: ['DaemonSilent', 'DaemonNotRunning'],
    both: ['DaemonSilent', 'DaemonNotRunning'],
  },
  {
    name: 'the daemon of a gateway is frozen',
    inject: (lab) => freeze(lab, 'east/n1', 'daemon'),
    alone: ['DaemonSilent'],
    both: ['DaemonSilent'],
    isQuick: true,
  },
  {
    name: 'the Open_vSwitch database of a gateway is frozen',
    inject: (lab) => freeze(lab, 'east/n1', 'ovsdb-server'),
    alone: ['OvsdbServerDown', 'GatewayDown'],
    both: ['OvsdbServerDown', 'GatewayDown'],
  },
  {
    name: 'the agent is dead',
    inject: (lab) => killForGood(lab, 'east', 'interconnect'),
    alone: ['AgentNotRunning'],
    both: ['AgentNotRunning'],
  },
  {
    name: 'the agent there is dead',
    inject: (lab) => killForGood(lab, 'west', 'interconnect'),
    alone: ['PeerStale'],
    both: ['AgentNotRunning'],
  },
  {
    name: 'a policy denies the other cluster',
    inject: (lab) =>
      applyObjects(lab, 'east', [
        interconnectObject('RoutePolicy', 'deny-west', {
          direction: 'Import',
          rules: [{ match: { clusters: ['west'] }, action: 'Deny' }],
        }),
      ]),
    undo: (lab) => remove(lab, 'east', 'routepolicy', 'deny-west'),
    alone: ['Denied'],
    both: ['Denied'],
    isQuick: true,
  },
  {
    name: 'more prefixes than a policy lets in',
    inject: async (lab) => {
      await applyObjects(lab, 'west', [subnetManifest('second', { cidrBlock: '10.61.0.0/24' })]);
      await applyObjects(lab, 'east', [
        interconnectObject('RoutePolicy', 'few', { direction: 'Import', maxPrefixes: 1 }),
      ]);
    },
    undo: async (lab) => {
      await remove(lab, 'east', 'routepolicy', 'few');
      await remove(lab, 'west', 'subnet', 'second');
    },
    alone: ['MaxPrefixes'],
    both: ['MaxPrefixes'],
  },
  {
    name: 'a transit switch overlaps a subnet',
    inject: (lab) =>
      applyObjects(lab, 'east', [interconnectObject('TransitSwitch', 'clash', { cidr: '10.16.64.0/20' })]),
    undo: (lab) => remove(lab, 'east', 'transitswitch', 'clash'),
    alone: ['TransitNetworkInvalid'],
    both: ['TransitNetworkInvalid'],
  },
  {
    name: 'the VPC of a transit switch is missing',
    inject: (lab) => applyObjects(lab, 'east', [interconnectObject('TransitSwitch', 'blue', { vpc: 'nowhere' })]),
    undo: (lab) => remove(lab, 'east', 'transitswitch', 'blue'),
    alone: ['VpcNotFound'],
    both: ['VpcNotFound'],
  },
  {
    name: 'a subnet is not ready',
    inject: (lab) => applyObjects(lab, 'east', [subnetManifest('ill', { cidrBlock: '10.16.8.0/24' })]),
    undo: (lab) => remove(lab, 'east', 'subnet', 'ill'),
    alone: ['SubnetNotReady'],
    both: ['SubnetNotReady'],
  },
];
