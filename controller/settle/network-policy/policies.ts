/**
 * Which policies are in force, and what their rows depend on beside them. In: policies, Namespaces, pods and their ports. Out: for a pod, the policies that
 * select it and the peers that it is; for a policy, the VPCs of the ports in its namespaces, and the place of a policy of the whole cluster; the numbers that
 * named ports have. `plan/network-policy/network-policy.ts` and `plan/cluster-policy/cluster-policy.ts` read these. Rule: a policy that is deleted while its namespace is being deleted stays in force until
 * the last port of the namespace is gone (CVE-2024-7598).
 */
import { entryOf } from '../../../lib/desired/entry-of.ts';
import { addTo, allOf, removeFrom, type Few } from '../../../lib/desired/few.ts';
import type { LabelSelector } from '../../../lib/api/kinds/shared.ts';
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { index } from '../../../lib/store/index.ts';
import { selectorIndex, selectorOfText } from '../../../lib/store/selector-index.ts';
import { Store } from '../../../lib/store/store.ts';
import type { Change } from '../../model/change.ts';
import {
  destinationsOf,
  domainsOf,
  isOfOneNamespace,
  namedKeys,
  namedPortKey,
  namespacePart,
  peersOf,
  policyDirections,
  policyLabels,
  type PolicyDirection,
  selectedBy,
  selectionOf,
} from '../../../lib/policies/selection.ts';
import { lowestNumbers, mostNumbers } from '../../../lib/policies/numbers.ts';
import { isClusterPolicy } from '../../../lib/policies/policy.ts';
import { wantsNetwork } from '../../model/interfaces.ts';
import { clusterPolicyKey, isClusterKey, type ClusterPolicy, type Pod, type Policy } from '../../model/objects.ts';
import type { PolicyIndex, PolicyPlace, View } from '../../model/view.ts';
import { ClusterOrder } from './cluster-order.ts';
import { Counts } from './counts.ts';
import { IsolatedBefore } from './isolated-before.ts';
import { SelectedCounts } from './selected.ts';
import { servedPorts } from './served-ports.ts';

type Known = Pick<View, 'pods' | 'namespaces' | 'networkPolicies' | 'ports' | 'verdicts' | 'keysIn'>;
export interface PoliciesOptions {
  readonly view: Known;
  readonly onPolicy: (name: string, before: Policy | undefined, after: Policy | undefined) => void;
  /** The VPCs of the ports in the namespaces of a policy changed. */
  readonly onVpcs: (policy: string) => void;
  /** The place of a policy of the whole cluster changed. */
  readonly onPlace: (policy: string) => void;
  /** The VPCs in which a peer is named changed. */
  readonly onPeer: (peer: string) => void;
  /** The numbers of a named port changed, as `namedPortKey` names it. */
  readonly onNamedPort: (key: string) => void;
  /** Whether a policy selects any pod changed. */
  readonly onSelected: (policy: string) => void;
}

const noVpcs: readonly string[] = [];
const noNamespaces: readonly string[] = [];
/** The key of all policies of the whole cluster in an index. */
const all = '';

function namedPortsOf(policy: Policy): readonly string[] {
  return policyDirections.flatMap((direction) =>
    (policy[direction] ?? []).flatMap((rule) => namedKeys(rule, destinationsOf(policy, direction))),
  );
}

function hasNodes(policy: Policy): boolean {
  return isClusterPolicy(policy) && (policy.egress ?? []).some(({ nodes }) => nodes.length > 0);
}

function selectorsOf(policy: Policy): readonly LabelSelector[] {
  const selector = selectedBy(policy);
  return selector === undefined ? [] : [selector];
}

export class Policies implements PolicyIndex {
  readonly inForce = new Store<Policy>();
  readonly #options: PoliciesOptions;
  readonly #byNamespace = index(this.inForce, (policy) => (isClusterPolicy(policy) ? [] : [policy.namespace]));
  readonly #ofCluster = index(this.inForce, (policy) => (isClusterPolicy(policy) ? [all] : []));
  readonly #ofNodes = index(this.inForce, (policy) => (hasNodes(policy) ? [all] : []));
  readonly #byPeer = index(this.inForce, (policy) => peersOf(policy).keys());
  readonly #byDomain = index(this.inForce, domainsOf);
  readonly #byNamedPort = index(this.inForce, namedPortsOf);
  readonly #bySelection = index(this.inForce, (policy) => {
    const selection = selectionOf(policy);
    return selection === undefined ? [] : [selection];
  });
  readonly #selectors = selectorIndex(this.inForce, selectorsOf);
  readonly #peerSelectors = selectorIndex(this.inForce, (policy) =>
    [...peersOf(policy).values()].map(({ selector }) => selector),
  );
  readonly #order = new ClusterOrder();
  readonly #podsByNamespace = new Map<string, Few>();
  /** The VPCs of a pod's ports, while it has any. */
  readonly #vpcsOfPod = new Map<string, readonly string[]>();
  readonly #lists = new Map<string, readonly string[]>();
  readonly #vpcsOfNamespace = new Counts();
  /** Each namespace of the policy counts once. */
  readonly #vpcsOfPolicy = new Counts();
  readonly #vpcsOfPeer = new Counts();
  readonly #namedPortsOfPeer = new Counts();
  readonly #numbers = new Counts();
  /** What `numbers` returns, until it changes. */
  readonly #lowest = new Map<string, readonly number[]>();
  readonly #selected: SelectedCounts;
  readonly #isolatedBefore = new IsolatedBefore();

  constructor(options: PoliciesOptions) {
    this.#options = options;
    this.#selected = new SelectedCounts(options.onSelected);
  }

  place(policy: string): PolicyPlace | undefined {
    return this.#order.place(policy);
  }

  ofNodes(): Iterable<string> {
    return this.#ofNodes.of(all);
  }

  ofNamedPort(key: string): Iterable<string> {
    return this.#byNamedPort.of(key);
  }

  selections(): Iterable<string> {
    return this.#bySelection.keys();
  }

  ofSelection(selection: string): Iterable<string> {
    return this.#bySelection.of(selection);
  }

  ofDomain(name: string): Iterable<string> {
    return this.#byDomain.of(name);
  }

  selecting(pod: Pod): readonly string[] {
    if (this.inForce.size === 0) return [];
    return this.#selections(pod).toSorted();
  }

  selectsPods(policy: string): boolean {
    return this.#selected.has(policy, () => this.#allSelections());
  }

  wasIsolated({ namespace }: Pod, port: string, direction: PolicyDirection): boolean {
    return this.#isolatedBefore.has(namespace, port, direction);
  }

  /** @param ports those that a former process isolated, by direction. To be called once all Namespaces are known. */
  restoreIsolated(ports: ReadonlyMap<PolicyDirection, ReadonlySet<string>>): void {
    const { namespaces } = this.#options.view;
    this.#isolatedBefore.restore(
      ports,
      [...namespaces.keys()].filter((name) => namespaces.get(name)?.isDeleting === true),
    );
  }

  isIdle(policy: string): boolean {
    return !this.selectsPods(policy) && !this.#selected.hasLeft(policy);
  }

  /** Whether the last pod of a policy went, and `forgetPods` was not called since. */
  hasLeft(policy: string): boolean {
    return this.#selected.hasLeft(policy);
  }

  /** Takes a policy that selects no pod as one that did until now. */
  rememberPods(policy: string): void {
    if (!this.selectsPods(policy)) this.#selected.remember(policy);
  }

  /** The while is over in which pods may come back. */
  forgetPods(policy: string): void {
    if (this.#selected.forget(policy)) this.#options.onSelected(policy);
  }

  peersOf(pod: Pod): readonly string[] {
    if (this.inForce.size === 0) return [];
    return this.#peerSelectors
      .texts(this.#labelsOf(pod))
      .filter((text) => this.#isJudged(text, pod.namespace))
      .sort();
  }

  peersOfPolicy(name: string): Iterable<string> {
    const policy = this.inForce.get(name);
    return policy === undefined ? [] : peersOf(policy).keys();
  }

  peers(): Iterable<string> {
    return this.#byPeer.keys();
  }

  ofPeer(peer: string): Iterable<string> {
    return this.#byPeer.of(peer);
  }

  isPeerOfCluster(peer: string): boolean {
    for (const policy of this.#byPeer.of(peer)) if (isClusterKey(policy)) return true;
    return false;
  }

  podsOfNamespace(namespace: string): Iterable<string> {
    return allOf(this.#podsByNamespace.get(namespace));
  }

  podsMatching(selector: LabelSelector): readonly string[] {
    const { pods } = this.#options.view;
    const found: string[] = [];
    for (const namespace of this.#podsByNamespace.keys()) {
      if (!this.#isInside(selector, namespace)) continue;
      for (const key of this.podsOfNamespace(namespace)) {
        const pod = pods.get(key);
        if (pod !== undefined && matchesSelector(selector, this.#labelsOf(pod))) found.push(key);
      }
    }
    return found;
  }

  isUnknown({ namespace }: Pod): boolean {
    return !this.#options.view.namespaces.has(namespace) && !this.#hasNone();
  }

  vpcs(policy: string): readonly string[] {
    return this.#vpcsOfPolicy.of(policy);
  }

  peerVpcs(peer: string): readonly string[] {
    return this.#vpcsOfPeer.of(peer);
  }

  namedPortsOfPeer(peer: string): readonly string[] {
    return this.#namedPortsOfPeer.of(peer);
  }

  hasMoreNumbers(key: string): boolean {
    return this.#numbers.size(key) > mostNumbers;
  }

  isCrowded(key: string): boolean {
    return this.#numbers.size(key) >= mostNumbers;
  }

  hasNumber(key: string, number: number): boolean {
    return !this.hasMoreNumbers(key) || this.numbers(key).includes(number);
  }

  isPeerIn(peer: string, vpc: string): boolean {
    return this.#vpcsOfPeer.has(peer, vpc);
  }

  numbers(key: string): readonly number[] {
    return entryOf(this.#lowest, key, () => lowestNumbers(this.#numbers.of(key).map(Number)));
  }

  changed(change: Change): void {
    const { kind, name } = change;
    if (kind === 'networkPolicies') {
      if (change.after !== undefined || !this.#isHeld(change.before?.namespace ?? '')) this.#put(name, change.after);
    } else if (
      kind === 'clusterNetworkPolicies' ||
      kind === 'adminNetworkPolicies' ||
      kind === 'baselineAdminNetworkPolicies'
    )
      this.#clusterPolicyChanged(clusterPolicyKey(kind, name), change.after);
    else if (kind === 'pods') this.#podChanged(name, change.before, change.after);
    else if (kind === 'namespaces') {
      this.#labelsChanged(name, change.before?.labels, change.after?.labels);
      if (change.after?.isDeleting === false) this.#isolatedBefore.forget(name);
    } else if (kind === 'ports') {
      if (name.startsWith('pod/')) this.#portsChanged(name.slice('pod/'.length));
    } else if (kind === 'verdicts' && change.before?.vpc !== change.after?.vpc) {
      for (const key of this.#options.view.keysIn(name))
        if (key.startsWith('pod/')) this.#portsChanged(key.slice('pod/'.length));
    }
  }

  #hasNone(): boolean {
    for (const _ of this.#ofCluster.of(all)) return false;
    return true;
  }

  /** Whether the labels that a peer's selector asks for are known: a namespace that was not seen yet may have any. */
  #isJudged(peer: string, namespace: string): boolean {
    return this.#options.view.namespaces.has(namespace) || isOfOneNamespace(selectorOfText(peer));
  }

  /** Whether pods of the namespace may match a selector; those of one that was not seen yet only by its name. */
  #isInside(selector: LabelSelector, namespace: string): boolean {
    if (!this.#options.view.namespaces.has(namespace) && !isOfOneNamespace(selector)) return false;
    return matchesSelector(namespacePart(selector), this.#labelsOf({ namespace, labels: noLabels }));
  }

  /** Whether ports are left in a namespace that is being deleted. */
  #isHeld(namespace: string): boolean {
    const { namespaces } = this.#options.view;
    return namespaces.get(namespace)?.isDeleting !== false && this.#vpcsOfNamespace.size(namespace) > 0;
  }

  #clusterPolicyChanged(name: string, after: ClusterPolicy | undefined): void {
    const before = this.inForce.get(name);
    if (before !== undefined && after !== undefined && rulesText(before) === rulesText(after)) return;
    this.#put(name, after);
    for (const policy of this.#order.put(name, after)) this.#options.onPlace(policy);
  }

  #put(name: string, after: Policy | undefined): void {
    const before = this.inForce.get(name);
    if (before === undefined && after === undefined) return;
    if (after === undefined) this.inForce.delete(name);
    else this.inForce.set(name, after);
    const vpcsBefore = this.vpcs(name);
    for (const [policy, step] of [
      [after, 1],
      [before, -1],
    ] as const)
      for (const namespace of this.#namespacesOf(policy))
        for (const vpc of this.#vpcsOfNamespace.of(namespace)) this.#vpcsOfPolicy.add(name, vpc, step);
    if (before === undefined || after === undefined || selectionOf(before) !== selectionOf(after))
      this.#recount(name, after);
    // Their owners belong to those of policies of the whole cluster, or no longer do.
    const changed = new Set(
      isClusterKey(name) ? [before, after].flatMap((one) => (one ? [...peersOf(one).keys()] : [])) : [],
    );
    for (const [policy, vpcs, step] of [
      [after, this.vpcs(name), 1],
      [before, vpcsBefore, -1],
    ] as const)
      for (const [peer, { namedPorts }] of policy === undefined ? [] : peersOf(policy)) {
        for (const key of namedPorts) if (this.#namedPortsOfPeer.add(peer, key, step)) changed.add(peer);
        for (const vpc of vpcs) if (this.#vpcsOfPeer.add(peer, vpc, step)) changed.add(peer);
      }
    for (const peer of changed) this.#options.onPeer(peer);
    this.#options.onPolicy(name, before, after);
  }

  /** Namespaces with ports in which a policy may select pods. */
  #namespacesOf(policy: Policy | undefined): readonly string[] {
    if (policy === undefined) return noNamespaces;
    if (!isClusterPolicy(policy)) return [policy.namespace];
    return [...this.#vpcsOfNamespace.keys()].filter((namespace) => this.#isWithin(policy, namespace));
  }

  #isWithin(policy: Policy | undefined, namespace: string): boolean {
    const selector = policy && selectedBy(policy);
    return selector !== undefined && this.#isInside(selector, namespace);
  }

  /** Counts a VPC of one of the policy's namespaces. */
  #countVpc(policy: string, vpc: string, step: 1 | -1): void {
    if (!this.#vpcsOfPolicy.add(policy, vpc, step)) return;
    for (const peer of this.peersOfPolicy(policy))
      if (this.#vpcsOfPeer.add(peer, vpc, step)) this.#options.onPeer(peer);
    this.#options.onVpcs(policy);
  }

  /** Counts a namespace that comes to policies of the whole cluster by its labels, or leaves them. */
  #labelsChanged(namespace: string, before: Labels | undefined, after: Labels | undefined): void {
    for (const name of this.#ofCluster.of(all)) {
      const selector = selectedBy(this.inForce.get(name) as Policy);
      if (selector === undefined) continue;
      const part = namespacePart(selector);
      const [was, is] = [before, after].map(
        (labels) =>
          labels !== undefined && matchesSelector(part, policyLabels({ namespace, labels: noLabels }, labels)),
      );
      if (was === is) continue;
      const selected = this.#countWithin(namespace, selector, (is === true ? after : before) as Labels);
      this.#selected.change(name, is === true ? selected : -selected);
      for (const vpc of this.#vpcsOfNamespace.of(namespace)) this.#countVpc(name, vpc, is === true ? 1 : -1);
    }
  }

  #podChanged(key: string, before: Pod | undefined, after: Pod | undefined): void {
    if (before === undefined && after !== undefined) addTo(this.#podsByNamespace, after.namespace, key);
    if (after === undefined && before !== undefined) removeFrom(this.#podsByNamespace, before.namespace, key);
    this.#countSelections(before, after);
    const [is, was] = [after, before].map(servedPorts);
    if (is === was) return;
    const changed = new Set<string>();
    for (const [ports = [], step] of [
      [is, 1],
      [was, -1],
    ] as const)
      for (const { protocol, name, number } of ports)
        for (const namespace of [(after ?? before)?.namespace, undefined]) {
          const port = namedPortKey(namespace, protocol, name);
          if (this.#numbers.add(port, String(number), step)) changed.add(port);
        }
    for (const port of changed) {
      const were = this.#lowest.get(port)?.join();
      this.#lowest.delete(port);
      // Nothing depends on the numbers above the lowest ones.
      if (were === undefined || were !== this.numbers(port).join() || this.#numbers.size(port) <= mostNumbers + 1)
        this.#options.onNamedPort(port);
      if (this.#numbers.size(port) === 0) this.#lowest.delete(port);
    }
  }

  /** The policies that select each pod with the network of the cluster. */
  *#allSelections(): Generator<Iterable<string>> {
    for (const pod of this.#options.view.pods.values()) if (wantsNetwork(pod)) yield this.#selections(pod);
  }

  #selections(pod: Pod): readonly string[] {
    const isKnown = !this.isUnknown(pod);
    return [...this.#selectors.matching(this.#labelsOf(pod))].filter((name) => isKnown || !isClusterKey(name));
  }

  #countSelections(before: Pod | undefined, after: Pod | undefined): void {
    if (!this.#selected.isKept) return;
    const [was, is] = [before, after].map((pod) => (pod !== undefined && wantsNetwork(pod) ? pod : undefined));
    if (was?.labels === is?.labels) return;
    if (is !== undefined) this.#selected.add(this.#selections(is), 1);
    if (was !== undefined) this.#selected.add(this.#selections(was), -1);
  }

  /** A policy came, went or changed, or namespaces came to it. */
  #recount(name: string, policy: Policy | undefined): void {
    if (!this.#selected.isKept) return;
    const selector = policy && selectedBy(policy);
    const isServed = (key: string): boolean => this.#servedPod(key) !== undefined;
    this.#selected.set(name, selector === undefined ? 0 : this.podsMatching(selector).filter(isServed).length);
    // What its author has just written is judged at once.
    this.#selected.forget(name);
  }

  #servedPod(key: string): Pod | undefined {
    const pod = this.#options.view.pods.get(key);
    return pod !== undefined && wantsNetwork(pod) ? pod : undefined;
  }

  /** Pods of a namespace with these labels that a selector matches. */
  #countWithin(namespace: string, selector: LabelSelector, labels: Labels): number {
    if (!this.#selected.isKept) return 0;
    const pods = [...this.podsOfNamespace(namespace)].flatMap((key) => this.#servedPod(key) ?? []);
    return pods.filter((pod) => matchesSelector(selector, policyLabels(pod, labels))).length;
  }

  #portsChanged(key: string): void {
    const { view } = this.#options;
    const namespace = key.slice(0, key.indexOf('/'));
    const before = this.#vpcsOfPod.get(key) ?? noVpcs;
    const ports = view.ports(`pod/${key}`);
    const after = this.#shared(
      new Set(ports.flatMap(({ allocation }) => view.verdicts.get(allocation.subnet)?.vpc ?? [])),
    );
    if (before === after) return;
    if (after.length > 0) this.#vpcsOfPod.set(key, after);
    else this.#vpcsOfPod.delete(key);
    for (const [vpcs, step] of [
      [after, 1],
      [before, -1],
    ] as const)
      for (const vpc of vpcs) {
        if (!this.#vpcsOfNamespace.add(namespace, vpc, step)) continue;
        for (const policy of this.#policiesOf(namespace)) this.#countVpc(policy, vpc, step);
      }
    if (this.#vpcsOfNamespace.size(namespace) === 0) this.#release(namespace);
  }

  /** Policies that may select pods of the namespace. */
  *#policiesOf(namespace: string): Generator<string> {
    yield* this.#byNamespace.of(namespace);
    for (const name of this.#ofCluster.of(all)) if (this.#isWithin(this.inForce.get(name), namespace)) yield name;
  }

  /** Ends the policies that were deleted while their namespace still had ports. */
  #release(namespace: string): void {
    const names = [...this.#byNamespace.of(namespace)];
    for (const name of names) if (!this.#options.view.networkPolicies.has(name)) this.#put(name, undefined);
  }

  /** The one copy of a list that the pods of most namespaces share. */
  #shared(vpcs: ReadonlySet<string>): readonly string[] {
    const sorted = [...vpcs].sort();
    return entryOf(this.#lists, sorted.join('\n'), () => (sorted.length === 0 ? noVpcs : sorted));
  }

  #labelsOf(pod: Pick<Pod, 'namespace' | 'labels'>): Labels {
    return policyLabels(pod, this.#options.view.namespaces.get(pod.namespace)?.labels ?? noLabels);
  }
}

type Labels = Readonly<Record<string, string>>;

/** All of a policy but its status. */
function rulesText(policy: Policy): string {
  if (!isClusterPolicy(policy)) return '';
  const { tier, priority, createdMs, subject, ingress, egress } = policy;
  return JSON.stringify([tier, priority, createdMs, subject, ingress, egress]);
}

const noLabels: Labels = {};
