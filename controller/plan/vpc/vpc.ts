/**
 * VPCs: a router each. The user's routes, policies, links and load balancers are in files of their own beside this one.
 * In: Vpcs, and the networks in force of their Subnets. Out: rows by key. Rule: rows of other owners on a router are not
 * changed, and all valid items of a Vpc are served.
 */
import { defaultVpc, externalSubnet, joinSubnet } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { isDefaultRoute } from '../../settle/bgp/learned-route.ts';
import { gatewayPortNamed, gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { hasRouter, tablesOf } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { defaultRoute } from './default-route.ts';
import { routers, routersReading } from './router.ts';
import { gatewayIp } from '../../settle/subnet/subnet-net.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import type { View } from '../../model/view.ts';
import { reportVpc } from './report.ts';
import { userDefaults } from '../../settle/vpc/user-defaults.ts';

/** The router that joins the subnets of a VPC, and in the default one its routes towards the nodes. */
function planVpc(view: View, name: string): Desired {
  if (!hasRouter(view, name)) return nothing;
  const router: DesiredRow = {
    table: 'Logical_Router',
    key: name,
    columns: { options: optionsOf(view, name), external_ids: vendorIds },
    shared: ['options'],
  };
  return { rows: [router, ...(name === defaultVpc ? nodeRoutes(view) : [])] };
}

function optionsOf(view: View, name: string): Readonly<Record<string, string>> {
  const common = {
    // Otherwise a router would keep learned neighbours forever, even those it no longer resolves.
    mac_binding_age_threshold: '300',
    // Neighbours are resolved when needed: with many routers on one switch the alternative is a flow for each pair.
    dynamic_neigh_routers: 'true',
  };
  if (name === defaultVpc) return common;
  // ARP requests of pods for each other are broadcasts, which the router receives too. It learns from them only where hosts
  // other than pods may send requests. It always learns from replies to its own requests.
  const hasPeers =
    (view.vpcs.get(name)?.spec.vpcPeerings.length ?? 0) > 0 ||
    gatewayPortsOf(view, name).some(({ isPlaced }) => isPlaced);
  return { ...common, always_learn_from_arp_request: String(hasPeers) };
}

/** `<table>/<family>` of default routes that nodes learned by BGP. */
function learnedDefaults(view: View): readonly string[] {
  return ([4, 6] as const).flatMap((family) => {
    const { hops = [], tables = [] } = view.learned.get(family === 4 ? '0.0.0.0/0' : '::/0') ?? {};
    return hops.length === 0 ? [] : tables.map((table) => `${table}/${family}`);
  });
}

function nodeRoutes(view: View): readonly DesiredRow[] {
  const join = servedNet(view, joinSubnet);
  const gateways = [join?.v4, join?.v6].filter((part) => part !== undefined);
  const others = new Set([...userDefaults(view, defaultVpc), ...learnedDefaults(view)]);
  return gateways.flatMap((part) => {
    const { family } = part.cidr;
    // A second default route would get half of the traffic; the router that the first leads to is itself.
    const tables = [...tablesOf(view)].filter((table) => !others.has(`${table}/${family}`));
    // The policies choose the node; these routes are there so that packets are not dropped before them.
    const route = { vpc: defaultVpc, purpose: 'default', family, nexthop: gatewayIp(part) };
    return tables.sort().map((table) => defaultRoute({ ...route, table }));
  });
}

export const vpcFeature: Feature = {
  name: 'vpc',
  all: routers,
  *reads(change, view) {
    if (change.kind !== 'learned') yield* routersReading(change, view);
    else if (isDefaultRoute(change.name)) yield defaultVpc;
    // The status names the node that has a port outside.
    if (change.kind === 'gatewayHolders') {
      const port = gatewayPortNamed(view, change.name);
      if (port !== undefined) yield port.vpc;
      // Known for the first time, also of ports that no node has.
      if (change.name === '') for (const { vpc } of view.gatewayPorts.values()) yield vpc;
    }
    if (change.kind === 'externalConfigs' || (change.kind === 'verdicts' && change.name === externalSubnet))
      yield defaultVpc;
    // The status names the reason why the router has no address outside.
    if (change.kind === 'ports' && change.name.startsWith('eip/')) {
      const port = gatewayPortNamed(view, change.name.slice('eip/'.length));
      if (port !== undefined) yield port.vpc;
    }
    // A Subnet of another VPC may come to have a namespace that it names, or have it no more.
    if (['subnets', 'verdicts', 'namespaces'].includes(change.kind))
      for (const { name, spec } of view.vpcs.values()) if (spec.namespaces.length > 0) yield name;
  },
  plan: planVpc,
  report: reportVpc,
};
