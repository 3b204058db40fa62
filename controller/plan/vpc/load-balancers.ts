/**
 * Kube-OVN's six load balancers of each VPC, and the switches that have load balancers. Services have rows of their own (`plan/service`);
 * the six stay, empty, because the status of a Vpc names them. The virtual addresses of a former Kube-OVN are removed last, once the rows
 * of all Services were written.
 */
import { defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import { ref } from '../../../lib/desired/row.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { groupOfSwitch } from '../service/group.ts';
import { routers, routersReading } from './router.ts';

const protocols = ['tcp', 'udp', 'sctp'] as const;

type Protocol = (typeof protocols)[number];

/** How long a client stays with its backend: the default of a Service with sessionAffinity, in seconds. */
const affinitySeconds = '10800';

/** The balancer of a protocol; the one with sessions keeps a client with its backend. */
export function loadBalancerName(vpc: string, protocol: Protocol, hasSessions: boolean): string {
  if (vpc === defaultVpc) return `cluster-${protocol}${hasSessions ? '-session' : ''}-loadbalancer`;
  return `vpc-${vpc}-${protocol}${hasSessions ? '-sess' : ''}-load`;
}

function rowOf(view: View, vpc: string, protocol: Protocol, hasSessions: boolean): DesiredRow {
  const sources = view.capabilities.ipv6Selection ? ['ip_src', 'ipv6_src'] : ['ip_src'];
  // Datagrams of a connection would go on to a backend that is gone.
  const flush: Record<string, string> = protocol === 'udp' ? { ct_flush: 'true' } : {};
  return {
    table: 'Load_Balancer',
    key: loadBalancerName(vpc, protocol, hasSessions),
    columns: {
      protocol,
      selection_fields: hasSessions ? sources : [],
      options: hasSessions ? { affinity_timeout: affinitySeconds } : flush,
      // Of SwitchLBRules of a former Kube-OVN.
      ip_port_mappings: {},
      health_check: [],
      external_ids: vendorIds,
    },
    // Without contributions: cleared after all plans were tried.
    collects: ['vips'],
  };
}

function planLoadBalancers(view: View, vpc: string): Desired {
  if (!view.capabilities.loadBalancers || !hasRouter(view, vpc)) return nothing;
  return { rows: protocols.flatMap((one) => [rowOf(view, vpc, one, false), rowOf(view, vpc, one, true)]) };
}

/** Names of a VPC's load balancers, for its status; empty if there are none. */
export function planLoadBalancerStatus(view: View, vpc: string): Readonly<Record<string, string>> {
  const isThere = view.capabilities.loadBalancers && hasRouter(view, vpc);
  const entries = protocols.flatMap((one) => [
    [`${one}LoadBalancer`, isThere ? loadBalancerName(vpc, one, false) : ''],
    [`${one}SessionLoadBalancer`, isThere ? loadBalancerName(vpc, one, true) : ''],
  ]);
  return Object.fromEntries(entries) as Readonly<Record<string, string>>;
}

function planSwitch(view: View, subnet: string): Desired {
  const vpc = view.verdicts.get(subnet)?.vpc;
  const isWanted = view.subnets.get(subnet)?.spec.enableLb ?? subnet !== joinSubnet;
  if (vpc === undefined || !isWanted || !view.capabilities.loadBalancers || servedNet(view, subnet) === undefined)
    return nothing;
  const names = protocols.flatMap((one) => [loadBalancerName(vpc, one, false), loadBalancerName(vpc, one, true)]);
  const values = names.map((name) => ref('Load_Balancer', name));
  const six = { table: 'Logical_Switch', key: subnet, column: 'load_balancer', values };
  return { rows: [], contributions: [six, groupOfSwitch(vpc, subnet)] };
}

/** Keys: the VPC. */
export const loadBalancerFeature: Feature = {
  name: 'load-balancer',
  all: routers,
  reads: routersReading,
  plan: planLoadBalancers,
  statusOf: (vpc) => `vpc/${vpc}`,
};

/** Keys: the Subnet. */
export const switchLoadBalancerFeature: Feature = {
  name: 'switch-load-balancer',
  all: (view) => view.subnets.keys(),
  reads: (change) => (change.kind === 'subnets' || change.kind === 'verdicts' ? [change.name] : []),
  plan: planSwitch,
  statusOf: (subnet) => `subnet/${subnet}`,
};
