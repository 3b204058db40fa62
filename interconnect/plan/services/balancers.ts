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
import { keyOf, type Affinity } from '../../model/service-objects.ts';
import { groupsOf } from '../../settle/services/distances.ts';
import type { ImportState } from '../../settle/services/imports.ts';

export interface BalancerInput {
  readonly state: ImportState;
  /** Name of this cluster. */
  readonly cluster: string;
  /** VPCs that take part. */
  readonly vpcs: Iterable<string>;
  /** Endpoints of this cluster that serve in a VPC, also where it does not share them. */
  readonly ownEndpoints: (vpc: string) => readonly ExportedEndpoint[];
  /** Whether packets of a VPC for an address go to that cluster now. */
  readonly reaches: (vpc: string, cluster: string, address: string) => boolean;
  /** Which endpoints clients of this cluster get as long as one of them is ready. */
  readonly affinity: Affinity;
  /** Round-trip time to another cluster; undefined if it is not known. */
  readonly distanceOf: (cluster: string) => number | undefined;
  /** The zone of all clients; empty if there is no single one. */
  readonly zone: string;
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
  const choices = choicesIn(input, vpc);
  return [...groups].map(([group, { address, ports }]) => {
    const family = familyOf(address);
    const vips = ports.map((port): readonly [string, string] => [
      vipText({ family, address, port: { ...port, nodePort: 0 } }, false),
      // A policy that keeps clients on their own node is not implemented here: no endpoint is better than one elsewhere.
      merged.isInternalPolicyLocal ? '' : backendsText(backendsOf(choices, port, family)),
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

/** Values of `trafficDistribution` by which clients prefer endpoints of their own zone. */
const zonal: readonly string[] = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];

/** The endpoints that pods of a VPC reach, of all clusters: those of a later list only serve while no earlier one has a ready endpoint. */
function choicesIn(input: BalancerInput, vpc: string): readonly (readonly ExportedEndpoint[])[] {
  const { state, cluster, ownEndpoints, reaches, affinity, zone, distanceOf } = input;
  const local = ownEndpoints(vpc);
  const others = new Map(
    [...state.exports].flatMap(([name, { endpoints }]) =>
      name === cluster ? [] : [[name, endpoints.filter(({ address }) => reaches(vpc, name, address))] as const],
    ),
  );
  const remote = [...others.values()].flat();
  const byDistance = (): (readonly ExportedEndpoint[])[] =>
    groupsOf(others.keys(), distanceOf).map((names) => names.flatMap((name) => others.get(name) ?? []));
  const all = {
    local: () => [local, remote],
    remote: () => [remote, local],
    nearest: () => [local, ...byDistance()],
    none: () => [[...local, ...remote]],
  }[affinity]();
  if (zone === '' || !zonal.includes(state.merged.trafficDistribution)) return all;
  return all.flatMap((list) => {
    const { near = [], far = [] } = Object.groupBy(list, (one) => (one.zone === zone ? 'near' : 'far'));
    return [near, far];
  });
}

/**
 * Of a port: the ready ones of the first choice that has any, or if none has, those that serve while terminating. Each once, in the order of addresses.
 */
function backendsOf(
  choices: readonly (readonly ExportedEndpoint[])[],
  { name, protocol }: ExportedPort,
  family: 4 | 6,
): readonly Backend[] {
  const states = [
    ({ isReady }: ExportedEndpoint) => isReady,
    ({ isServingWhileTerminating }: ExportedEndpoint) => isServingWhileTerminating,
  ];
  for (const isMeant of states)
    for (const choice of choices) {
      const meant = choice.filter((one) => familyOf(one.address) === family && isMeant(one));
      const found = portsOf(meant, { name, protocol });
      if (found.length > 0) return found;
    }
  return [];
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
