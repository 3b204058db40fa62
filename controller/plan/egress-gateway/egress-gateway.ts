/**
 * VpcEgressGateways. In: the verdict on a gateway, and the addresses of its ports. Out: a router with a port outside for each address, and policies of the
 * router of the VPC that lead packets of networks and of selected pods to it; `members.ts` adds the pods. Rule: packets of a gateway that is closed leave by it or not at all.
 */
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { egressConflict, isDropping, isLeading } from '../../model/egress-gateway.ts';
import { egressSet, networksBeyondSet } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { egressGatewaysOf } from '../../settle/egress/of-vpc.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import { isOfNetworks } from '../underlay/own-cidrs.ts';
import { reportGateway } from './report.ts';
import { routerRows, sourcesOf } from './router-rows.ts';
import { servedGateway } from './served.ts';

const families = [4, 6] as const;

function setRows(key: string, vpc: string): readonly DesiredRow[] {
  return families.map((family) => ({
    table: 'Address_Set',
    key: egressSet(key, family),
    columns: { external_ids: { ...vendorIds, vpc } },
    collects: ['addresses'],
  }));
}

/** The policies of the router of the VPC, for packets to other networks than its own. */
function policyRows(
  vpc: string,
  router: string,
  {
    family,
    sources,
    action,
    isInConflict,
  }: {
    readonly family: Family;
    readonly sources: ReturnType<typeof sourcesOf>;
    readonly action: DesiredRow['columns'];
    readonly isInConflict: boolean;
  },
): readonly DesiredRow[] {
  const priorities = {
    pods: policyPriority.egressPod,
    networks: isInConflict ? policyPriority.egressConflict : policyPriority.egressNetwork,
  };
  return (['pods', 'networks'] as const).flatMap((of) => {
    const source = sources[of];
    if (source === undefined) return [];
    const match = `${source} && ${matchFamily(family)}.dst == $${networksBeyondSet(vpc, family)}`;
    return [
      {
        table: 'Logical_Router_Policy',
        key: `${vpc}/${router}/${of}/ipv${family}`,
        columns: { priority: priorities[of], match, ...action, external_ids: vendorIds },
        parent: { table: 'Logical_Router', key: vpc, column: 'policies' },
      },
    ];
  });
}

function planGateway(view: View, key: string): Desired {
  const gateway = view.egressGateways.get(key);
  const object = view.vpcEgressGateways.get(key);
  if (gateway === undefined || object === undefined || !(isLeading(gateway) || isDropping(gateway))) return nothing;
  const { vpc, isClosed, link, refusal } = gateway;
  const isInConflict = refusal?.code === egressConflict;
  if (!hasRouter(view, vpc)) return nothing;
  const served = servedGateway(view, key);
  const policies = families.flatMap((family) => {
    const isServed = served?.parts.some(({ cidr }) => cidr.family === family) === true;
    const hop = link.find((one) => one.family === family)?.far;
    const reroute = isServed && hop !== undefined ? { action: 'reroute', nexthops: [hop] } : undefined;
    const action = reroute ?? (isClosed ? { action: 'drop', nexthops: [] } : undefined);
    const sources = sourcesOf({ key, ...gateway }, family);
    return action === undefined ? [] : policyRows(vpc, key, { family, sources, action, isInConflict });
  });
  const rows = [...setRows(key, vpc), ...(served === undefined ? [] : routerRows(view, served)), ...policies];
  return { rows, createdMs: object.createdMs };
}

/** Keys: `namespace/name`. */
export const egressGatewayFeature: Feature = {
  name: 'egress-gateway',
  all: (view) => view.vpcEgressGateways.keys(),
  *reads(change, view) {
    const { kind, name } = change;
    if (kind === 'vpcEgressGateways' || kind === 'egressGateways') yield name;
    else if (kind === 'ports' && name.startsWith('egress-gateway/')) yield name.slice('egress-gateway/'.length);
    else if (view.vpcEgressGateways.size === 0) return;
    else if (kind === 'gatewayPorts') {
      const vpc = name.slice(0, name.indexOf('/'));
      for (const { key } of egressGatewaysOf(view, vpc)) yield key;
    } else if (isOfNetworks(change)) yield* view.egressGateways.keys();
  },
  plan: planGateway,
  report: reportGateway,
};
