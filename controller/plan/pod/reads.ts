/** The pods whose ports or reports read a changed value. */
import { annotation } from '../../../lib/api/names.ts';
import type { Change } from '../../model/change.ts';
import { ingressNamedKeys, namedPortKey, selectedBy } from '../../../lib/policies/selection.ts';
import { isClusterPolicy } from '../../../lib/policies/policy.ts';
import { selectorOfText } from '../../../lib/store/selector-index.ts';
import type { Namespace, Node, Pod, Policy, Subnet } from '../../model/objects.ts';
import { podRuleStores } from '../../model/external-rules.ts';
import { nodePortGroup } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { isSameScope } from '../../settle/gateway/scope.ts';
import { verdictsReading } from '../external/rules.ts';
import { regrouped } from '../security-group/security-group.ts';
import { subnetsOfOtherMtu } from '../underlay/physical-mtu.ts';
import { mayHoldSomewhere, podsOfVip } from '../vip/virtual-port.ts';

export function* podsRead(change: Change, view: View): Generator<string> {
  const { kind, name } = change;
  if (kind === 'pods') yield* withSharers(view, name);
  else if (kind === 'ports') yield* ofPorts(view, name);
  else if (kind === 'externalRules' || kind === 'gatewayHolders')
    for (const store of podRuleStores) yield* verdictsReading(change, view, store);
  else if (kind === 'verdicts') yield* podIds(view.keysIn(name));
  else if (kind === 'subnets') {
    const isSame = portText(change.before) === portText(change.after) && isSameScope(change.before, change.after);
    if (!isSame) yield* podIds(view.keysIn(name));
  } else if (kind === 'nodes') {
    if (chassisText(change.before) !== chassisText(change.after))
      for (const id of view.indexes.podsByNode.of(name)) yield* withSharers(view, id);
    if (change.before === undefined || change.after === undefined) yield* ofNamesakes(view, name);
    yield* withOwnDhcp(view, subnetsOfOtherMtu(change, view));
  } else if (kind === 'securityGroups') {
    const portGroup = regrouped(change);
    if (portGroup !== undefined) yield* view.indexes.podsByPortGroup.of(portGroup);
  } else if (kind === 'vips' && specText(change.before) !== specText(change.after)) {
    const versions = [change.before, change.after];
    for (const [id, pod] of view.pods) if (versions.some((vip) => vip && mayHoldSomewhere(vip, pod))) yield id;
  } else if (kind === 'policies') {
    yield* underPolicy(view, change.before, change.after);
  } else if (kind === 'policyPeers') {
    yield* view.policies.podsMatching(selectorOfText(name));
  } else if (kind === 'namedPorts') {
    // Numbers that rules do not contain any more, or again.
    if (view.policies.isCrowded(name)) for (const [id, pod] of view.pods) if (hasNamedPort(pod, name)) yield id;
  } else if (kind === 'namespaces') {
    if (labelText(change.before) !== labelText(change.after)) yield* view.policies.podsOfNamespace(name);
  } else if (kind === 'attachments') {
    yield* view.indexes.podsWithAttachments.of('');
  }
}

function hasNamedPort({ namespace, namedPorts }: Pod, key: string): boolean {
  return namedPorts.some(({ protocol, name }) =>
    [namespace, undefined].some((scope) => namedPortKey(scope, protocol, name) === key),
  );
}

function labelText(namespace: Namespace | undefined): string {
  return JSON.stringify(namespace?.labels ?? null);
}

/** Pods whose memberships a change of a policy concerns: those that it selects or selected. */
function* underPolicy(view: View, before?: Policy, after?: Policy): Generator<string> {
  if (selectionText(before) === selectionText(after)) return;
  const texts = new Set([before, after].map((policy) => JSON.stringify(policy && selectedBy(policy))));
  for (const policy of [before, after]) {
    const selector = policy && selectedBy(policy);
    // The same pods once.
    if (selector !== undefined && texts.delete(JSON.stringify(selector))) yield* view.policies.podsMatching(selector);
  }
  // Pods of unknown Namespaces are closed while there are policies of the whole cluster.
  if ([before, after].some((policy) => policy && isClusterPolicy(policy)))
    for (const [id, pod] of view.pods) if (!view.namespaces.has(pod.namespace)) yield id;
}

/** The parts of a policy that the memberships of its pods depend on. */
function selectionText(policy: Policy | undefined): string {
  if (policy === undefined) return '';
  const { ingress, egress } = policy;
  const providers = isClusterPolicy(policy) ? undefined : policy.providers;
  const named = [...ingressNamedKeys(policy)];
  return JSON.stringify([selectedBy(policy), ingress === undefined, egress === undefined, providers, named]);
}

function specText(object: { readonly spec: unknown } | undefined): string {
  return JSON.stringify(object?.spec ?? null);
}

function* podIds(keys: Iterable<string>): Generator<string> {
  for (const key of keys) if (key.startsWith('pod/')) yield key.slice('pod/'.length);
}

function* ofPorts(view: View, key: string): Generator<string> {
  yield* podIds([key]);
  // The address of the router is the gateway of them all.
  if (key.startsWith('u2o/')) yield* podIds(view.keysIn(key.slice('u2o/'.length)));
  if (!key.startsWith('vip/')) return;
  const name = key.slice('vip/'.length);
  yield* podsOfVip(view, name, [view.vips.get(name)]);
}

/** The parts of a Subnet's spec that the ports of its pods depend on. */
function portText(subnet: Subnet | undefined): string {
  if (subnet === undefined) return '';
  const { vpc, mtu, enableDHCP, dhcpV4Options, dhcpV6Options } = subnet.spec;
  return JSON.stringify([vpc, mtu, enableDHCP, dhcpV4Options, dhcpV6Options]);
}

/** The parts of a node that a port's row depends on; undefined if there is no node. */
function chassisText(node: Node | undefined): string | undefined {
  return node && (node.annotations[annotation.chassis] ?? '');
}

/** Pods in these subnets that have DHCP options of their own, the MTU among them. */
function* withOwnDhcp(view: View, subnets: Iterable<string>): Generator<string> {
  const suffix = annotation.dhcpV4Options.slice(annotation.dhcpV4Options.indexOf('/'));
  for (const subnet of subnets)
    for (const id of podIds(view.keysIn(subnet)))
      if (Object.keys(view.pods.get(id)?.annotations ?? {}).some((key) => key.endsWith(suffix))) yield id;
}

/** Pods of other nodes that may have the port group of this one's name. */
function* ofNamesakes(view: View, node: string): Generator<string> {
  for (const other of view.indexes.nodesByTrait.of(nodePortGroup(node)))
    if (other !== node) yield* view.indexes.podsByNode.of(other);
}

/** A pod, and those that have its ports with it: one of them plans the rows. */
function* withSharers(view: View, id: string): Generator<string> {
  yield id;
  for (const { sharers } of view.ports(`pod/${id}`)) if (sharers.length > 1) yield* podIds(sharers);
}
