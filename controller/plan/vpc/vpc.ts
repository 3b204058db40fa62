import { defaultSubnet, defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { gatewayIp } from '../subnet/subnet-net.ts';
import { servedNet } from '../subnet/subnet.ts';
import type { View } from '../view.ts';
import { vpcNameOf } from './default-subnet.ts';

/** Subnets of a VPC that have rows, by name. */
export function subnetsOf(view: View, vpc: string): readonly string[] {
  const names = [...view.verdicts].filter(([name, verdict]) => verdict.vpc === vpc && servedNet(view, name) !== undefined);
  return names.map(([name]) => name).sort();
}

/** The router that joins the subnets of a VPC, and in the default one its routes towards the nodes. */
function planVpc(view: View, name: string): Desired {
  const vpc = view.vpcs.get(name);
  // A router goes with the last of its subnets; the default one stays whatever happens to its object.
  const isThere = name === defaultVpc || (vpc !== undefined && (!vpc.isDeleting || subnetsOf(view, name).length > 0));
  if (!isThere) return { rows: [] };
  const router: DesiredRow = {
    table: 'Logical_Router',
    key: name,
    columns: {
      // Neighbours are resolved when needed and forgotten when idle: with many routers on one switch the
      // alternative is a flow for each pair.
      options: { mac_binding_age_threshold: '300', dynamic_neigh_routers: 'true' },
      external_ids: vendorIds,
    },
    shared: ['options'],
  };
  return { rows: [router, ...(name === defaultVpc ? nodeRoutes(view) : [])] };
}

function nodeRoutes(view: View): readonly DesiredRow[] {
  const join = servedNet(view, joinSubnet);
  const gateways = [join?.v4, join?.v6].filter((part) => part !== undefined);
  return gateways.map((part): DesiredRow => {
    const family = part.cidr.family;
    return {
      table: 'Logical_Router_Static_Route',
      key: `${defaultVpc}/default/ipv${family}`,
      // The policies choose the node; this route is there so that the packet is not dropped before them.
      columns: {
        ip_prefix: family === 4 ? '0.0.0.0/0' : '::/0',
        nexthop: gatewayIp(part),
        policy: 'dst-ip',
        external_ids: vendorIds,
      },
      parent: { table: 'Logical_Router', key: defaultVpc, column: 'static_routes' },
    };
  });
}

/** Status of a Vpc besides conditions. */
export function planVpcStatus(view: View, name: string): Readonly<Record<string, unknown>> {
  const isDefault = name === defaultVpc;
  return {
    standby: true,
    default: isDefault,
    defaultLogicalSwitch: isDefault ? defaultSubnet : '',
    router: name,
    subnets: subnetsOf(view, name),
  };
}

export const vpcFeature: Feature = {
  name: 'vpc',
  all: (view) => new Set([defaultVpc, ...view.vpcs.keys()]),
  reads(change, view) {
    if (change.kind === 'vpcs') return [change.name];
    if (change.kind === 'subnets') return [change.before, change.after].flatMap((one) => (one ? [vpcNameOf(one.spec)] : []));
    return change.kind === 'verdicts' ? new Set([defaultVpc, ...view.vpcs.keys()]) : [];
  },
  plan: planVpc,
};
