/** Vips that several pods may hold, and the virtual port that OVN moves between the ports of these pods. */
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { annotation } from '../../../lib/api/names.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { annotationValue, listOf } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { Pod, Vip } from '../../model/objects.ts';
import { vipPort } from '../../model/ovn-names.ts';
import { addressPairsOf, vipSelector } from '../../model/selections.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { vendorIds } from '../names.ts';

function addressesOf(view: View, vip: string): readonly string[] {
  const allocation = view.ports(vipPort(vip))[0]?.allocation;
  return [allocation?.v4, allocation?.v6].filter((text) => text !== undefined);
}

function subnetOf(view: View, vip: string): string | undefined {
  return view.ports(vipPort(vip))[0]?.allocation.subnet;
}

function isSelected(vip: Vip, pod: Pod): boolean {
  const { namespace } = vip.spec;
  if (namespace !== '' && namespace !== pod.namespace) return false;
  const selector = vipSelector(vip);
  return selector !== undefined && matchesSelector(selector, pod.labels);
}

/** Vips that a pod may hold an address of, by its labels or its annotations. */
export function vipsNear(view: View, pod: Pod): readonly Vip[] {
  const names = new Set(view.indexes.vipSelectors.matching(pod.labels));
  for (const name of addressPairsOf(pod)) names.add(name);
  return [...names].flatMap((name) => view.vips.get(name) ?? []);
}

/** Whether a pod may hold the address of a Vip on one of its interfaces: the Vip selects it, or its annotation names the Vip. */
export function mayHold(vip: Vip, pod: Pod, network: Interface): boolean {
  if (vip.spec.type !== '') return false;
  if (isSelected(vip, pod)) return true;
  const isNear = vip.spec.namespace === '' || vip.spec.namespace === pod.namespace;
  return isNear && listOf(annotationValue(pod, network, annotation.addressPairs)).includes(vip.name);
}

/** Whether a pod may hold the address of a Vip on any interface it has or may come to have. */
export function mayHoldSomewhere(vip: Vip, pod: Pod): boolean {
  return vip.spec.type === '' && (addressPairsOf(pod).includes(vip.name) || isSelected(vip, pod));
}

/** Pods, as `namespace/name`, with addresses in the subnet of a Vip that they may hold; `versions` is the Vip before and after. */
export function* podsOfVip(view: View, name: string, versions: readonly (Vip | undefined)[]): Generator<string> {
  for (const key of view.keysIn(subnetOf(view, name) ?? versions.find((vip) => vip)?.spec.subnet ?? '')) {
    const id = key.startsWith('pod/') ? key.slice('pod/'.length) : '';
    const pod = view.pods.get(id);
    if (pod !== undefined && versions.some((vip) => vip !== undefined && mayHoldSomewhere(vip, pod))) yield id;
  }
}

/** Addresses of Vips that a port may hold beside its own. */
export function sharedAddresses(view: View, pod: Pod, { interface: network, allocation }: HeldPort): readonly Ip[] {
  const texts: string[] = [];
  for (const vip of vipsNear(view, pod)) {
    if (subnetOf(view, vip.name) === allocation.subnet && mayHold(vip, pod, network))
      texts.push(...addressesOf(view, vip.name));
  }
  const own = [allocation.v4, allocation.v6];
  return texts.sort().flatMap((text) => (own.includes(text) ? [] : (parseIp(text) ?? [])));
}

/** Ports that may hold a Vip's address, in order. */
function parentsOf(view: View, vip: Vip, subnet: string): readonly string[] {
  const parents = new Set<string>();
  for (const key of view.keysIn(subnet)) {
    const pod = key.startsWith('pod/') ? view.pods.get(key.slice('pod/'.length)) : undefined;
    if (pod === undefined) continue;
    for (const { port, interface: network, allocation } of view.ports(key)) {
      const isOwn = addressesOf(view, vip.name).some((text) => text === allocation.v4 || text === allocation.v6);
      if (allocation.subnet === subnet && !isOwn && mayHold(vip, pod, network)) parents.add(port);
    }
  }
  return [...parents].sort();
}

/** A virtual port for each family of a Vip that a port may hold: in OVN a virtual port has one address. */
export function virtualPorts(view: View, name: string): readonly DesiredRow[] {
  const vip = view.vips.get(name);
  const subnet = subnetOf(view, name);
  if (vip === undefined || subnet === undefined || vip.spec.type !== '') return [];
  const parents = parentsOf(view, vip, subnet);
  if (parents.length === 0) return [];
  return addressesOf(view, name).map((address, index) => ({
    table: 'Logical_Switch_Port',
    key: index === 0 ? name : `${name}.v6`,
    columns: {
      type: 'virtual',
      options: { 'virtual-ip': address, 'virtual-parents': parents.join(',') },
      external_ids: { ...vendorIds, ls: subnet, vip: name },
    },
    parent: { table: 'Logical_Switch', key: subnet, column: 'ports' },
  }));
}

/** Addresses of load balancers in a subnet, for which the router's port there answers. */
export function proxiedAddresses(view: View, subnet: string): readonly string[] {
  const lent = [...view.vips.values()].filter(
    ({ name, spec }) => spec.type === 'switch_lb_vip' && subnetOf(view, name) === subnet,
  );
  return lent.flatMap(({ name }) => addressesOf(view, name)).sort();
}
