/**
 * Addresses that a Subnet reserves for pods that hold them in turn (`spec.vips`). Out: a virtual port for each, which OVN moves
 * to the pod that announces the address, among those whose annotation `port_vips` names it. Rule: an address that is allocated
 * to a port gets no virtual port.
 */
import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { Pod } from '../../model/objects.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { annotationValue, listOf } from '../../model/interfaces.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { isSameSpec } from './spec-change.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import { partsOf } from '../../model/net-parts.ts';
import { readVips } from '../../settle/subnet/vip-list.ts';
import type { ReadVips } from '../../settle/subnet/vip-list.ts';

function ownerOf(view: View, subnet: string, { family, value }: Ip): string | undefined {
  return view.pool(subnet)?.pool(family)?.owner(value);
}

function vipsOf(view: View, subnet: string): ReadVips {
  const net = servedNet(view, subnet);
  const spec = view.subnets.get(subnet)?.spec;
  return net === undefined || spec === undefined ? { ips: [], problems: [] } : readVips(spec, partsOf(net));
}

export function vipProblems(view: View, subnet: string): readonly Problem[] {
  const { ips, problems } = vipsOf(view, subnet);
  const taken = ips.flatMap((ip): Problem[] => {
    const owner = ownerOf(view, subnet, ip);
    const message = `spec.vips: ${formatIp(ip)} is in use by ${owner}: delete it or choose another address`;
    return owner === undefined ? [] : [{ code: 'VipInUse', message }];
  });
  return [...problems, ...taken];
}

function namedBy(pod: Pod, { interface: network }: HeldPort): ReadonlySet<string> {
  const texts = listOf(annotationValue(pod, network, annotation.portVips)).flatMap((text) => {
    const ip = parseIp(text);
    return ip === undefined ? [] : [formatIp(ip)];
  });
  return new Set(texts);
}

/** Addresses of its subnet's `vips` that a port may hold beside its own. */
export function subnetVipsOf(view: View, pod: Pod, held: HeldPort): readonly string[] {
  const { subnet } = held.allocation;
  if ((view.subnets.get(subnet)?.spec.vips.length ?? 0) === 0) return [];
  const named = namedBy(pod, held);
  const free = vipsOf(view, subnet).ips.filter((ip) => ownerOf(view, subnet, ip) === undefined);
  return free.map(formatIp).filter((text) => named.has(text));
}

/** Ports that may hold each address, in order. */
function parentsOf(view: View, subnet: string): ReadonlyMap<string, readonly string[]> {
  const parents = new Map<string, string[]>();
  for (const key of new Set(view.keysIn(subnet))) {
    const pod = key.startsWith('pod/') ? view.pods.get(key.slice('pod/'.length)) : undefined;
    if (pod === undefined) continue;
    for (const held of view.ports(key)) {
      if (held.allocation.subnet !== subnet) continue;
      for (const vip of namedBy(pod, held)) parents.set(vip, [...(parents.get(vip) ?? []), held.port]);
    }
  }
  return parents;
}

function planVips(view: View, subnet: string): Desired {
  const { ips } = vipsOf(view, subnet);
  if (ips.length === 0) return { rows: [] };
  const parents = parentsOf(view, subnet);
  const free = ips.filter((ip) => ownerOf(view, subnet, ip) === undefined).map(formatIp);
  const rows = free.map((ip): DesiredRow => {
    const holders = [...new Set(parents.get(ip))].sort();
    return {
      table: 'Logical_Switch_Port',
      key: `${subnet}-vip-${ip}`,
      columns: {
        type: 'virtual',
        options: {
          'virtual-ip': ip,
          ...(holders.length === 0 ? {} : { 'virtual-parents': holders.join(',') }),
        },
        external_ids: { ...vendorIds, ls: subnet },
      },
      parent: { table: 'Logical_Switch', key: subnet, column: 'ports' },
    };
  });
  return { rows };
}

function isHolder(pod: Pod | undefined): boolean {
  return Object.entries(pod?.annotations ?? {}).some(([key, value]) => key.includes('port_vips') && value !== '');
}

function* withVips(view: View): Generator<string> {
  for (const { name, spec } of view.subnets.values()) if (spec.vips.length > 0) yield name;
}

/** Keys: `<subnet>`. */
export const subnetVipsFeature: Feature = {
  name: 'subnet-vips',
  all: (view) => view.subnets.keys(),
  *reads(change, view) {
    if (change.kind === 'verdicts') yield change.name;
    else if (change.kind === 'subnets' && !isSameSpec(change)) yield change.name;
    else if (change.kind === 'usage' && (view.subnets.get(change.name)?.spec.vips.length ?? 0) > 0) yield change.name;
    else if (change.kind === 'pods' && (isHolder(change.before) || isHolder(change.after))) yield* withVips(view);
    else if (change.kind === 'ports' && isHolder(view.pods.get(change.name.slice('pod/'.length))))
      yield* withVips(view);
  },
  plan: planVips,
  statusOf: (subnet) => `subnet/${subnet}`,
};
