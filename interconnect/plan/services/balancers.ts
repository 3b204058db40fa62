/**
 * The load balancers of an import. In: the import, the endpoints of this cluster, and which addresses of others are reached. Out: one
 * `Load_Balancer` for each VPC that takes part, protocol and family, in the load balancer group of the VPC. Pure. Endpoints of other clusters are
 * backends only while a route leads to them; without any backend, OVN rejects connections.
 */
import { ref, type Contribution, type Desired, type DesiredRow } from '../../../lib/desired/row.ts';
import { familyOf } from '../../../lib/net/ip.ts';
import { backendsText, balancerColumns, balancerGroup, vipText } from '../../../lib/services/balancer.ts';
import { ovnProtocols } from '../../../lib/services/vips.ts';
import type { ExportedEndpoint, ExportedPort } from '../../model/exported-service.ts';
import { keyOf } from '../../model/service-objects.ts';
import type { ImportState } from '../../settle/services/imports.ts';

export interface BalancerInput {
  readonly state: ImportState;
  /** Name of this cluster. */
  readonly cluster: string;
  /** VPCs that take part. */
  readonly vpcs: Iterable<string>;
  /** Endpoints of this cluster that serve in a VPC. */
  readonly ownEndpoints: (vpc: string) => readonly ExportedEndpoint[];
  /** Whether packets of a VPC for an address go to that cluster now. */
  readonly reaches: (vpc: string, cluster: string, address: string) => boolean;
  /** Whether this OVN can select backends by the IPv6 address of a client. */
  readonly ipv6Selection: boolean;
}

interface Backend {
  readonly address: string;
  readonly port: number;
}

export function planBalancers(input: BalancerInput): Desired {
  const { merged, ips } = input.state;
  const rows: DesiredRow[] = [];
  const contributions: Contribution[] = [];
  if (merged.type === 'Headless') return { rows };
  for (const vpc of [...input.vpcs].sort()) {
    const own = balancersIn(input, vpc, ips);
    rows.push(...own);
    const values = own.map(({ key }) => ref('Load_Balancer', key));
    if (values.length > 0)
      contributions.push({ table: 'Load_Balancer_Group', key: balancerGroup(vpc), column: 'load_balancer', values });
  }
  return { rows, contributions };
}

function balancersIn(input: BalancerInput, vpc: string, ips: readonly string[]): readonly DesiredRow[] {
  const { merged } = input.state;
  const groups = new Map<string, { readonly address: string; readonly ports: ExportedPort[] }>();
  for (const address of ips)
    for (const port of merged.ports) {
      const group = `${ovnProtocols[port.protocol]}/ipv${familyOf(address)}`;
      const held = groups.get(group) ?? { address, ports: [] };
      held.ports.push(port);
      groups.set(group, held);
    }
  const endpoints = servingIn(input, vpc);
  return [...groups].map(([group, { address, ports }]) => {
    const family = familyOf(address);
    const vips = ports.map((port): readonly [string, string] => [
      vipText({ family, address, port: { ...port, nodePort: 0 } }, false),
      // A policy that keeps clients on their own node is not implemented here: no endpoint is better than one elsewhere.
      merged.isInternalPolicyLocal ? '' : backendsText(backendsOf(endpoints, port, family)),
    ]);
    const [first] = ports;
    const facts = {
      protocol: ovnProtocols[first?.protocol ?? 'TCP'],
      family,
      vips: Object.fromEntries(vips),
      hasAffinity: merged.affinitySeconds > 0,
      isTemplate: false,
    };
    return {
      table: 'Load_Balancer',
      key: `clusterset/${vpc}/${keyOf(merged)}/${group}`,
      columns: balancerColumns(facts, input.ipv6Selection),
    };
  });
}

/** The endpoints that pods of a VPC reach, of all clusters. */
function servingIn({ state, cluster, ownEndpoints, reaches }: BalancerInput, vpc: string): readonly ExportedEndpoint[] {
  return [...state.exports].flatMap(([name, { endpoints }]) =>
    name === cluster ? ownEndpoints(vpc) : endpoints.filter(({ address }) => reaches(vpc, name, address)),
  );
}

/** Of a port: the ready ones, or if there are none, those that serve while terminating. Each once, in the order of addresses. */
function backendsOf(
  endpoints: readonly ExportedEndpoint[],
  { name, protocol }: ExportedPort,
  family: 4 | 6,
): readonly Backend[] {
  const ofFamily = endpoints.filter(({ address }) => familyOf(address) === family);
  const ready = portsOf(
    ofFamily.filter(({ isReady }) => isReady),
    { name, protocol },
  );
  if (ready.length > 0) return ready;
  return portsOf(
    ofFamily.filter((one) => one.isServingWhileTerminating),
    { name, protocol },
  );
}

function portsOf(
  endpoints: readonly ExportedEndpoint[],
  wanted: Pick<ExportedPort, 'name' | 'protocol'>,
): readonly Backend[] {
  const found = new Map<string, Backend>();
  for (const { address, ports } of endpoints)
    for (const { name, protocol, port } of ports)
      if (name === wanted.name && protocol === wanted.protocol) found.set(`${address} ${port}`, { address, port });
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, backend]) => backend);
}
