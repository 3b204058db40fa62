/** This cluster's end of a path as NB rows, in the form ovn-ic and Kube-OVN give them, and what all paths need. Pure. */
import { defaultVpc } from '../../lib/api/names.ts';
import { ref, type Contribution, type Desired, type DesiredRow } from '../../lib/desired/row.ts';
import { tunnelBfd } from '../../lib/ovn/tunnel-bfd.ts';
import { transitRouterPort } from '../model/port-names.ts';
import type { LocalView } from '../model/local.ts';
import type { OwnNetwork, OwnPath } from '../model/networks.ts';
import { transitOwner } from '../model/owners.ts';

const highestPriority = 1000;
/** In the group that makes BFD run, this cluster's chassis stand above the others', so that one of them has the port. */
const otherPriority = 1;

/** Between Kube-OVN's policies for its subnets' gateways (29000) and those for local destinations (31000). */
const policyPriority = 29_500;
const cutPriority = policyPriority + 1;
export const exemptOwner = 'exempt/local';

/** The switch, its port and the group whose only purpose is BFD on the tunnels between gateways of all clusters. */
export const bfdGroup = 'isthmus-interconnect';
export const bfdOwner = 'bfd/local';
export const zoneOwner = 'zone/local';

/** The name of the availability zone and timers, for as long as the cluster is a member. */
export function planZone(cluster: string): Desired {
  const contributions: readonly Contribution[] = [
    { table: 'NB_Global', key: '.', column: 'name', value: cluster },
    { table: 'NB_Global', key: '.', column: 'options', entries: tunnelBfd },
  ];
  return { rows: [], contributions };
}

/** Prefixes of other clusters, by IP family. */
export function exemptSet(family: 4 | 6): string {
  return `isthmus.interconnect.v${family}`;
}

/** Prefixes among them that no path leads to now. */
export function cutSet(family: 4 | 6): string {
  return `isthmus.interconnect.cut.v${family}`;
}

/**
 * Without it the policies of subnets would send packets for other clusters to a node. Other VPCs have no such policies.
 * One policy covers all prefixes: one for each would be as many logical flows. Packets that no path leads to are
 * dropped here: a shorter prefix that was learned by BGP must not take them.
 */
export function planExemption(router: string): Desired {
  return {
    rows: ([4, 6] as const).flatMap((family) => [
      ...setPolicy(router, family, { set: exemptSet(family), priority: policyPriority, action: 'allow' }),
      ...setPolicy(router, family, { set: cutSet(family), priority: cutPriority, action: 'drop' }),
    ]),
  };
}

function setPolicy(
  router: string,
  family: 4 | 6,
  { set, priority, action }: { readonly set: string; readonly priority: number; readonly action: string },
): readonly DesiredRow[] {
  return [
    { table: 'Address_Set', key: set, columns: {}, collects: ['addresses'] },
    {
      table: 'Logical_Router_Policy',
      key: set,
      columns: { priority, match: `ip${family}.dst == $${set}`, action },
      parent: { table: 'Logical_Router', key: router, column: 'policies' },
    },
  ];
}

/**
 * Without an external port that has them in its group, ovn-controller runs no BFD on tunnels to other clusters. Gateways
 * of the others are added by the plans of those clusters (`otherBfdMember`).
 */
export function planBfd(chassis: readonly string[]): Desired {
  return {
    rows: [
      { table: 'Logical_Switch', key: bfdGroup, columns: {} },
      { table: 'HA_Chassis_Group', key: bfdGroup, columns: {} },
      {
        table: 'Logical_Switch_Port',
        key: bfdGroup,
        columns: { type: 'external', ha_chassis_group: ref('HA_Chassis_Group', bfdGroup) },
        parent: { table: 'Logical_Switch', key: bfdGroup, column: 'ports' },
      },
      ...chassis.map((name, index) => haChassis(bfdGroup, name, highestPriority - index)),
    ],
  };
}

export function otherBfdMember(chassis: string): DesiredRow {
  return haChassis(bfdGroup, chassis, otherPriority);
}

/** The group that an external port is bound by: its chassis in the order their cluster published. */
export function haGroup(name: string, order: readonly string[]): readonly DesiredRow[] {
  return [
    { table: 'HA_Chassis_Group', key: name, columns: {} },
    ...order.map((chassis, index) => haChassis(name, chassis, highestPriority - index)),
  ];
}

function haChassis(group: string, chassis: string, priority: number): DesiredRow {
  return {
    table: 'HA_Chassis',
    key: `${group}/${chassis}`,
    columns: { chassis_name: chassis, priority },
    parent: { table: 'HA_Chassis_Group', key: group, column: 'ha_chassis' },
  };
}

/**
 * The port is left out while no chassis can hold it: without one it would be on every chassis at once. `mtu`: the largest IP packet
 * that the path carries, which the router answers larger ones with; undefined: as large as pods send.
 */
export function planPath(handle: string, router: string, path: OwnPath, mtu?: number): Desired {
  const { switch: name, port, order } = path;
  const routerPort = transitRouterPort(handle, name);
  const rows: DesiredRow[] = [
    {
      table: 'Logical_Switch',
      key: name,
      columns: { other_config: { 'interconn-ts': name, 'requested-tnl-key': String(path.tunnelKey) } },
      shared: ['other_config'],
    },
  ];
  if (order.length === 0) return { rows };
  rows.push(
    {
      table: 'Logical_Switch_Port',
      key: port.logicalPort,
      columns: {
        type: 'router',
        addresses: ['router'],
        options: { 'router-port': routerPort, 'requested-tnl-key': String(port.tunnelKey) },
      },
      parent: { table: 'Logical_Switch', key: name, column: 'ports' },
    },
    {
      table: 'Logical_Router_Port',
      key: routerPort,
      columns: {
        mac: port.mac,
        networks: port.networks,
        gateway_chassis: order.map((chassis) => ref('Gateway_Chassis', `${routerPort}-${chassis}`)),
        ...(mtu === undefined ? {} : { options: { gateway_mtu: String(mtu) } }),
      },
      ...(mtu === undefined ? {} : { shared: ['options'] }),
      parent: { table: 'Logical_Router', key: router, column: 'ports' },
    },
  );
  for (const [index, chassis] of order.entries()) {
    rows.push({
      table: 'Gateway_Chassis',
      key: `${routerPort}-${chassis}`,
      columns: { chassis_name: chassis, priority: highestPriority - index },
    });
  }
  return { rows };
}

export interface OwnPart {
  readonly local: Pick<LocalView, 'cluster' | 'handle'>;
  /** Chassis that others have tunnels to. */
  readonly gateways: readonly string[];
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  /** The largest IP packet that paths carry, if some tunnels are encrypted. */
  readonly pathMtu?: number | undefined;
}

/** All rows that are no other cluster's, by owner. */
export function planOwn({ local, gateways, networks, pathMtu }: OwnPart): ReadonlyMap<string, Desired> {
  const plans = new Map([
    [zoneOwner, planZone(local.cluster)],
    [bfdOwner, planBfd(gateways)],
  ]);
  if (networks.values().some(({ vpc }) => vpc.router === defaultVpc)) plans.set(exemptOwner, planExemption(defaultVpc));
  for (const { vpc, paths } of networks.values())
    for (const path of paths) plans.set(transitOwner(path.switch), planPath(local.handle, vpc.router, path, pathMtu));
  return plans;
}
