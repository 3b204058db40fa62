/**
 * Addresses of the Subnet `external` that annotations of pods request. Whoever may create pods writes these annotations, so the Subnet, which
 * administrators write, says in which namespaces they count. Pure.
 */
import { annotation, externalSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, formatCidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Change } from '../../model/change.ts';
import { podEipId } from '../../model/external-objects.ts';
import { externalRuleKinds, hasOutside, outsideText, podRuleStores } from '../../model/external-rules.ts';
import type { PodRuleStore } from '../../model/external-rules.ts';
import { listOf } from '../../model/interfaces.ts';
import { nodeAddresses } from '../../model/node-traits.ts';
import type { Node, Pod, Subnet } from '../../model/objects.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';

/** As far as a message repeats an annotation. */
const longestText = 64;

function isAllowed({ annotations }: Subnet, namespace: string): boolean {
  const names = listOf(annotations[annotation.eipNamespaces] ?? '');
  return names.includes('*') || names.includes(namespace);
}

/** Why a pod may not have the address outside that its annotation requests, whether another object has it or not. */
export function outsideRefusal(view: View, pod: Pod, store: PodRuleStore): Problem | undefined {
  const text = outsideText(pod, store) ?? '';
  const field = externalRuleKinds[store].eipField;
  const subnet = view.subnets.get(externalSubnet);
  if (subnet !== undefined && !isAllowed(subnet, pod.namespace))
    return {
      code: 'NotPermitted',
      message: `${field}: Subnet ${externalSubnet} gives no addresses to pods of namespace ${pod.namespace}: remove the annotation, or have an administrator add the namespace to annotation ${annotation.eipNamespaces} of the Subnet`,
    };
  const ip = parseIp(text);
  if (ip === undefined) {
    const message = `${field}: '${text.slice(0, longestText)}' is not an IP address: name one address of Subnet ${externalSubnet}`;
    return { code: 'InvalidAddress', message };
  }
  const net = servedNet(view, externalSubnet);
  if (net === undefined) return undefined;
  const part = ip.family === 4 ? net.v4 : net.v6;
  const address = formatIp(ip);
  if (part === undefined || !cidrContains(part.cidr, ip)) {
    const cidrs = [net.v4, net.v6].flatMap((one) => (one === undefined ? [] : [formatCidr(one.cidr)])).join(', ');
    const message = `${field}: ${address} is not in Subnet ${externalSubnet}, which has ${cidrs}: name an address of it`;
    return { code: 'AddressOutOfRange', message };
  }
  const isExcluded = part.excluded.some(({ first, last }) => first <= ip.value && ip.value <= last);
  if (!isExcluded) return nodeConflict(view, pod, store, address);
  const message = `${field}: Subnet ${externalSubnet} excludes ${address} (spec.excludeIps, spec.vips), so only administrators assign it, by an OvnEip: name another address`;
  return { code: 'AddressExcluded', message };
}

/**
 * Nodes are often hosts of the network outside. A node that comes later takes nothing from a pod: its kubelet chooses the address that it reports.
 */
function nodeConflict(view: View, pod: Pod, store: PodRuleStore, address: string): Problem | undefined {
  const [node] = view.indexes.nodesByTrait.of(address);
  if (node === undefined || hasOutside(pod, store)) return undefined;
  const message = `${externalRuleKinds[store].eipField}: ${address} is the address of node ${node}: name another address`;
  return { code: 'AddressConflict', message };
}

/** The `id`s of addresses that a change of a node may take from pods, or give back. */
export function outsideOfNode(before: Node | undefined, after: Node | undefined): readonly string[] {
  const [old, now] = [before, after].map((node) => (node === undefined ? [] : nodeAddresses(node)));
  return old?.join() === now?.join() ? [] : [...(old ?? []), ...(now ?? [])].map(podEipId);
}

/** The port of a pod that an address outside stands for: that of its default interface. */
export function insidePort(view: View, pod: string): HeldPort | undefined {
  return view.ports(`pod/${pod}`).find(({ interface: { isDefault } }) => isDefault);
}

/** Pods that may have an address outside by their annotations, by its `id`. */
export function podsEntitled(view: View, id: string): readonly { readonly store: PodRuleStore; readonly pod: Pod }[] {
  return podRuleStores.flatMap((store) =>
    [...view.indexes.externalRulesByEip[store].of(id)].flatMap((name) => {
      const pod = view.pods.get(name);
      return pod === undefined || outsideRefusal(view, pod, store) !== undefined ? [] : [{ store, pod }];
    }),
  );
}

/** Whether the change may alter which pods may have addresses. */
export function altersRights(change: Change): boolean {
  if (change.name !== externalSubnet) return false;
  if (change.kind === 'verdicts') return true;
  return change.kind === 'subnets' && rightsText(change.before) !== rightsText(change.after);
}

/** The parts of the Subnet that the rights of pods depend on, beside its network in force. */
function rightsText(subnet: Subnet | undefined): string {
  return JSON.stringify(subnet && [subnet.isDeleting, subnet.annotations[annotation.eipNamespaces]]);
}
