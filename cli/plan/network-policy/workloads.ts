/**
 * Groups the pods of a namespace. In: pods and policies. Out: workloads in the order of their labels. Rule: pods of one owner are one workload while
 * no selector, block or named port of a policy tells them apart, so that one of them answers for all. Pure.
 */
import type { LabelSelector } from '../../../lib/api/kinds/shared.ts';
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { familyOf } from '../../../lib/net/ip.ts';
import { isInBlock } from '../../../lib/policies/block.ts';
import type { AnyPolicy, BlockPeer, PolicyRule } from '../../../lib/policies/policy.ts';
import { peersOf, policyLabels, selectedBy } from '../../../lib/policies/selection.ts';
import type { NamespaceReading, OwnedPod } from '../../model/policy-reading.ts';

export interface Workload {
  readonly label: string;
  /** Their names, sorted. */
  readonly pods: readonly string[];
  readonly example: OwnedPod;
}

/** What of the policies may tell two pods apart. */
interface Distinctions {
  readonly selectors: readonly LabelSelector[];
  readonly blocks: readonly BlockPeer[];
  readonly portNames: ReadonlySet<string>;
}

/** With more workloads, those that policies treat alike are one node. */
const mostWorkloads = 20;

export function workloadsOf({ pods, policies, cluster }: NamespaceReading): readonly Workload[] {
  const distinctions = distinctionsOf([...policies.values(), ...cluster.policies.values()]);
  const byName = pods.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const owners = Map.groupBy(byName, ({ name, owner }) => JSON.stringify(owner ?? name));
  const workloads = [...owners.values()].flatMap((ofOwner) => {
    const groups = Map.groupBy(ofOwner, (pod) => traitsOf(pod, distinctions));
    return [...groups.values()].flatMap((group) => workloadOf(group, groups.size > 1));
  });
  const sorted = workloads.sort((a, b) => (a.label < b.label ? -1 : 1));
  if (sorted.length <= mostWorkloads) return sorted;
  return [...Map.groupBy(sorted, ({ example }) => traitsOf(example, distinctions)).values()].flatMap(joined);
}

/** Workloads that policies treat alike, as one. */
function joined(workloads: readonly Workload[]): readonly Workload[] {
  const [first, ...others] = workloads;
  if (first === undefined || others.length === 0) return workloads;
  const pods = workloads.flatMap((one) => one.pods);
  const labels = workloads.slice(0, mostNames).map(({ label }) => label.replace(/, \d+ pods?$/, ''));
  const left = workloads.length - labels.length;
  const label = `${labels.join(', ')}${left > 0 ? ` and ${left} more` : ''}: ${pods.length} pods`;
  return [{ label, pods: pods.toSorted(), example: first.example }];
}

function distinctionsOf(policies: readonly AnyPolicy[]): Distinctions {
  const rules = policies.flatMap(({ ingress = [], egress = [] }): readonly PolicyRule[] => [...ingress, ...egress]);
  const ports = rules.flatMap(({ ports: ofRule = [] }) => ofRule);
  return {
    selectors: policies.flatMap((policy) => [
      ...[selectedBy(policy) ?? []].flat(),
      ...[...peersOf(policy).values()].map(({ selector }) => selector),
    ]),
    blocks: rules.flatMap(({ peers }) => peers?.blocks ?? []),
    portNames: new Set(ports.flatMap(({ port }) => (typeof port === 'string' ? [port] : []))),
  };
}

/** A text that is equal for pods that policies treat alike. */
function traitsOf({ pod, addresses }: OwnedPod, { selectors, blocks, portNames }: Distinctions): string {
  const labels = policyLabels(pod, pod.namespaceLabels);
  const named = pod.namedPorts.filter(({ name }) => portNames.has(name));
  return JSON.stringify([
    pod.vpc,
    [4, 6].map((family) => addresses.some((address) => familyOf(address) === family)),
    selectors.map((one) => matchesSelector(one, labels)),
    blocks.map((block) => addresses.some((address) => isInBlock(block, address))),
    named.map(({ name, protocol, number }) => `${name}/${protocol}/${number}`).sort(),
  ]);
}

/** @param isPart whether the owner has pods in other groups */
function workloadOf(group: readonly OwnedPod[], isPart: boolean): readonly Workload[] {
  const [example] = group;
  if (example === undefined) return [];
  const pods = group.map(({ name }) => name);
  return [{ label: labelOf(example, pods, isPart), pods, example }];
}

/** Maximum number of pods that a label names. */
const mostNames = 3;

function labelOf({ name, owner }: OwnedPod, pods: readonly string[], isPart: boolean): string {
  if (owner === undefined) return `pod ${name}`;
  const count = `${owner.kind} ${owner.name}, ${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}`;
  if (!isPart) return count;
  const left = pods.length - mostNames;
  return `${count}: ${pods.slice(0, mostNames).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}
