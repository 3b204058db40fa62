/**
 * Which NetworkPolicies are in force, and what their rows depend on beside them. In: NetworkPolicies, Namespaces, pods and their ports. Out: for a
 * pod, the policies that select it and the peers that it is; for a namespace, the VPCs of its ports; the numbers that named ports have.
 * `plan/network-policy/network-policy.ts` reads these. Rule: a policy that is deleted while its namespace is being deleted stays in force until the
 * last port of the namespace is gone (CVE-2024-7598).
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
  isOfOneNamespace,
  namedKeys,
  namedPortKey,
  namespacePart,
  peersOf,
  policyLabels,
  selectorWithin,
} from '../../../lib/policies/selection.ts';
import type { NamedPort } from '../../../lib/policies/policy.ts';
import { wantsNetwork } from '../../model/interfaces.ts';
import type { NetworkPolicy, Pod } from '../../model/objects.ts';
import type { PolicyIndex, View } from '../../model/view.ts';

type Known = Pick<View, 'pods' | 'namespaces' | 'networkPolicies' | 'ports' | 'verdicts' | 'keysIn'>;

export interface PoliciesOptions {
  readonly view: Known;
  readonly onPolicy: (name: string, before: NetworkPolicy | undefined, after: NetworkPolicy | undefined) => void;
  /** The VPCs of the ports of a namespace changed. */
  readonly onVpcs: (namespace: string) => void;
  /** The VPCs in which a peer is named changed. */
  readonly onPeer: (peer: string) => void;
  /** The numbers of a named port changed, as `namedPortKey` names it. */
  readonly onNamedPort: (key: string) => void;
}

const noVpcs: readonly string[] = [];
/** Each is a port group or an address set of every policy that names the port, and any author of a pod may add one. */
const mostNumbers = 64;

function namedPortsOf({ namespace, ingress = [], egress = [] }: NetworkPolicy): readonly string[] {
  const byDestination = [
    [ingress, namespace],
    [egress, undefined],
  ] as const;
  return byDestination.flatMap(([rules, where]) => rules.flatMap((rule) => namedKeys(rule, where)));
}

/** How often each key has each member. */
class Counts {
  readonly #counts = new Map<string, Map<string, number>>();

  /** Whether the set of members of the key changed. */
  add(key: string, member: string, step: 1 | -1): boolean {
    const members = this.#counts.get(key) ?? new Map<string, number>();
    const before = members.get(member) ?? 0;
    const now = before + step;
    if (now > 0) members.set(member, now);
    else members.delete(member);
    if (members.size > 0) this.#counts.set(key, members);
    else this.#counts.delete(key);
    return now > 0 !== before > 0;
  }

  of(key: string): Iterable<string> {
    return this.#counts.get(key)?.keys() ?? [];
  }

  size(key: string): number {
    return this.#counts.get(key)?.size ?? 0;
  }

  has(key: string, member: string): boolean {
    return this.#counts.get(key)?.has(member) ?? false;
  }
}

export class Policies implements PolicyIndex {
  readonly inForce = new Store<NetworkPolicy>();
  readonly #options: PoliciesOptions;
  readonly #byNamespace = index(this.inForce, ({ namespace }) => [namespace]);
  readonly #byPeer = index(this.inForce, (policy) => peersOf(policy).keys());
  readonly #byNamedPort = index(this.inForce, namedPortsOf);
  readonly #selectors = selectorIndex(this.inForce, ({ namespace, pods }) => [selectorWithin(namespace, pods)]);
  readonly #peerSelectors = selectorIndex(this.inForce, (policy) =>
    [...peersOf(policy).values()].map(({ selector }) => selector),
  );
  readonly #podsByNamespace = new Map<string, Few>();
  /** The VPCs of a pod's ports, while it has any. */
  readonly #vpcsOfPod = new Map<string, readonly string[]>();
  readonly #lists = new Map<string, readonly string[]>();
  readonly #vpcsOfNamespace = new Counts();
  readonly #vpcsOfPeer = new Counts();
  readonly #namedPortsOfPeer = new Counts();
  readonly #numbers = new Counts();

  constructor(options: PoliciesOptions) {
    this.#options = options;
  }

  ofNamespace(namespace: string): Iterable<string> {
    return this.#byNamespace.of(namespace);
  }

  ofNamedPort(key: string): Iterable<string> {
    return this.#byNamedPort.of(key);
  }

  selecting(pod: Pod): readonly string[] {
    return this.inForce.size === 0 ? [] : [...this.#selectors.matching(this.#labelsOf(pod))].sort();
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

  podsOfNamespace(namespace: string): Iterable<string> {
    return allOf(this.#podsByNamespace.get(namespace));
  }

  isMatch(selector: LabelSelector, pod: Pod): boolean {
    return matchesSelector(selector, this.#labelsOf(pod));
  }

  podsOfPeer(peer: string): readonly string[] {
    const selector = selectorOfText(peer);
    const ofNamespaces = namespacePart(selector);
    const { pods } = this.#options.view;
    const found: string[] = [];
    for (const namespace of this.#podsByNamespace.keys()) {
      if (!this.#isJudged(peer, namespace)) continue;
      if (!matchesSelector(ofNamespaces, this.#labelsOf({ namespace, labels: noLabels }))) continue;
      for (const key of this.podsOfNamespace(namespace)) {
        const pod = pods.get(key);
        if (pod !== undefined && this.isMatch(selector, pod)) found.push(key);
      }
    }
    return found;
  }

  vpcs(namespace: string): readonly string[] {
    return [...this.#vpcsOfNamespace.of(namespace)].sort();
  }

  peerVpcs(peer: string): readonly string[] {
    return [...this.#vpcsOfPeer.of(peer)].sort();
  }

  namedPortsOfPeer(peer: string): readonly string[] {
    return [...this.#namedPortsOfPeer.of(peer)].sort();
  }

  hasMoreNumbers(key: string): boolean {
    return this.#numbers.size(key) > mostNumbers;
  }

  isPeerIn(peer: string, vpc: string): boolean {
    return this.#vpcsOfPeer.has(peer, vpc);
  }

  numbers(key: string): readonly number[] {
    return [...this.#numbers.of(key)]
      .map(Number)
      .sort((a, b) => a - b)
      .slice(0, mostNumbers);
  }

  changed(change: Change): void {
    const { kind, name } = change;
    if (kind === 'networkPolicies') {
      if (change.after !== undefined || !this.#isHeld(change.before?.namespace ?? '')) this.#put(name, change.after);
    } else if (kind === 'pods') this.#podChanged(name, change.before, change.after);
    else if (kind === 'ports') {
      if (name.startsWith('pod/')) this.#portsChanged(name.slice('pod/'.length));
    } else if (kind === 'verdicts' && change.before?.vpc !== change.after?.vpc) {
      for (const key of this.#options.view.keysIn(name))
        if (key.startsWith('pod/')) this.#portsChanged(key.slice('pod/'.length));
    }
  }

  /** Whether the labels that a peer's selector asks for are known: a namespace that was not seen yet may have any. */
  #isJudged(peer: string, namespace: string): boolean {
    return this.#options.view.namespaces.has(namespace) || isOfOneNamespace(peer);
  }

  /** Whether ports are left in a namespace that is being deleted. */
  #isHeld(namespace: string): boolean {
    const { namespaces } = this.#options.view;
    return namespaces.get(namespace)?.isDeleting !== false && this.vpcs(namespace).length > 0;
  }

  #put(name: string, after: NetworkPolicy | undefined): void {
    const before = this.inForce.get(name);
    if (before === undefined && after === undefined) return;
    if (after === undefined) this.inForce.delete(name);
    else this.inForce.set(name, after);
    const namespace = (after ?? before)?.namespace ?? '';
    const changed = new Set<string>();
    for (const [policy, step] of [
      [after, 1],
      [before, -1],
    ] as const)
      for (const [peer, { namedPorts }] of policy === undefined ? [] : peersOf(policy)) {
        for (const key of namedPorts) if (this.#namedPortsOfPeer.add(peer, key, step)) changed.add(peer);
        for (const vpc of this.vpcs(namespace)) if (this.#vpcsOfPeer.add(peer, vpc, step)) changed.add(peer);
      }
    for (const peer of changed) this.#options.onPeer(peer);
    this.#options.onPolicy(name, before, after);
  }

  #countPeer(peer: string, vpc: string, step: 1 | -1): void {
    if (this.#vpcsOfPeer.add(peer, vpc, step)) this.#options.onPeer(peer);
  }

  #podChanged(key: string, before: Pod | undefined, after: Pod | undefined): void {
    if (before === undefined && after !== undefined) addTo(this.#podsByNamespace, after.namespace, key);
    if (after === undefined && before !== undefined) removeFrom(this.#podsByNamespace, before.namespace, key);
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
    for (const port of changed) this.#options.onNamedPort(port);
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
    let isChanged = false;
    for (const [vpcs, step] of [
      [after, 1],
      [before, -1],
    ] as const)
      for (const vpc of vpcs) {
        if (!this.#vpcsOfNamespace.add(namespace, vpc, step)) continue;
        isChanged = true;
        for (const policy of this.ofNamespace(namespace))
          for (const peer of this.peersOfPolicy(policy)) this.#countPeer(peer, vpc, step);
      }
    if (!isChanged) return;
    this.#options.onVpcs(namespace);
    if (this.vpcs(namespace).length === 0) this.#release(namespace);
  }

  /** Ends the policies that were deleted while their namespace still had ports. */
  #release(namespace: string): void {
    const names = [...this.ofNamespace(namespace)];
    for (const name of names) if (!this.#options.view.networkPolicies.has(name)) this.#put(name, undefined);
  }

  /** The one copy of a list that the pods of most namespaces share. */
  #shared(vpcs: ReadonlySet<string>): readonly string[] {
    const sorted = [...vpcs].sort();
    return entryOf(this.#lists, sorted.join('\n'), () => (sorted.length === 0 ? noVpcs : sorted));
  }

  #labelsOf(pod: Pick<Pod, 'namespace' | 'labels'>): Readonly<Record<string, string>> {
    return policyLabels(pod, this.#options.view.namespaces.get(pod.namespace)?.labels ?? noLabels);
  }
}

const noLabels: Readonly<Record<string, string>> = {};
const noPorts: readonly NamedPort[] = [];

/** The named ports of a pod that has the network of the cluster now. */
function servedPorts(pod: Pod | undefined): readonly NamedPort[] {
  return pod !== undefined && wantsNetwork(pod) ? pod.namedPorts : noPorts;
}
