/** Pods as the controller leaves them: with addresses of a Subnet it has accepted, running, ready or not. */
import { annotation } from '../../../lib/api/names.ts';
import { apiVersionOf, pods, subnets } from '../../../lib/kube/resources.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { forAll } from '../scale-pods.ts';

export const node = 'n1';
export const subnet = { name: 'bench', cidrBlock: '10.128.0.0/15', gateway: '10.128.0.1' } as const;
const namespace = 'default';
const groupLabel = 'bench/group';

/** BGP_PODS=number: fewer of them, to try a measurement. */
const all = Number(process.env['BGP_PODS'] ?? 10_000);

/** Groups of pods, by which advertisements take them: the first is always announced, so that there is a route. */
export const groups = { first: 1, hundred: 100, thousand: 899, rest: all - 1000 } as const;
/** The number of the first pod of none of them. */
export const firstSingle: number = Object.values(groups).reduce((sum, each) => sum + each, 0);
export type Group = keyof typeof groups | 'single';

/** Of a pod's number: those of the ten thousand come first, then single ones. */
export function groupOf(at: number): Group {
  let before = 0;
  for (const [group, count] of Object.entries(groups) as [Group, number][]) {
    before += count;
    if (at < before) return group;
  }
  return 'single';
}

export function addressOf(at: number): string {
  const host = at + 256;
  return `10.${128 + (host >> 16)}.${(host >> 8) & 255}.${host & 255}`;
}

export const prefixOf = (at: number): string => `${addressOf(at)}/32`;
const nameOf = (at: number): string => `web-7d4b9c6f5d-${at}`;

/** A selector that takes these groups, and the single pods. */
export function selectorOf(taken: readonly Group[]): object {
  return { matchExpressions: [{ key: groupLabel, operator: 'In', values: [...taken, 'single'] }] };
}

export async function createSubnet(kube: KubeClient): Promise<void> {
  const { name, cidrBlock, gateway } = subnet;
  const annotations = { [annotation.accepted]: `${cidrBlock} ${gateway}` };
  await kube.create(subnets, {
    apiVersion: apiVersionOf(subnets),
    kind: subnets.kind,
    metadata: { name, annotations },
    spec: { cidrBlock, vpc: 'ovn-cluster' },
  });
}

/** Pods `from` to before `to`. */
export async function createPods(kube: KubeClient, from: number, to: number, isReady: boolean): Promise<void> {
  const all = Array.from({ length: to - from }, (_, at) => from + at);
  await forAll(all, async (at) => {
    await kube.create(pods, podManifest(at));
    await setReady(kube, at, isReady);
  });
}

/** Resolves with the API's answer. */
export async function setReady(kube: KubeClient, at: number, isReady: boolean): Promise<void> {
  const status = {
    phase: 'Running',
    podIP: addressOf(at),
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  };
  await kube.patch(pods, { namespace, name: nameOf(at) }, 'merge', { status }, { subresource: 'status' });
}

function podManifest(at: number): object {
  const annotations = {
    [annotation.allocated]: 'true',
    [annotation.routed]: 'true',
    [annotation.ipAddress]: addressOf(at),
    [annotation.macAddress]: '0a:00:00:00:00:01',
    [annotation.cidr]: subnet.cidrBlock,
    [annotation.gateway]: subnet.gateway,
    [annotation.logicalSwitch]: subnet.name,
    [annotation.logicalRouter]: 'ovn-cluster',
  };
  const labels = { app: 'web', 'pod-template-hash': '7d4b9c6f5d', [groupLabel]: groupOf(at) };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: nameOf(at), namespace, labels, annotations },
    spec: { nodeName: node, containers: [{ name: 'app', image: 'registry.example.org/web:1' }] },
  };
}
