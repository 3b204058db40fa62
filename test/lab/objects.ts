/**
 * Puts objects into a cluster as `kubectl apply --server-side` does, without starting it: in order of dependence, and
 * custom resources once their kind is served. Callers: lab-up with the chart's objects, the demo with examples.
 */
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../../lib/kube/types.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** The kinds that the lab applies by itself, in their order; for the rest there is kubectl. */
const kinds: readonly { readonly kind: string; readonly plural: string; readonly isNamespaced: boolean }[] = [
  { kind: 'Namespace', plural: 'namespaces', isNamespaced: false },
  { kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions', isNamespaced: false },
  { kind: 'ServiceAccount', plural: 'serviceaccounts', isNamespaced: true },
  { kind: 'ClusterRole', plural: 'clusterroles', isNamespaced: false },
  { kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', isNamespaced: false },
  { kind: 'Role', plural: 'roles', isNamespaced: true },
  { kind: 'RoleBinding', plural: 'rolebindings', isNamespaced: true },
  { kind: 'ValidatingAdmissionPolicy', plural: 'validatingadmissionpolicies', isNamespaced: false },
  { kind: 'ValidatingAdmissionPolicyBinding', plural: 'validatingadmissionpolicybindings', isNamespaced: false },
  { kind: 'Secret', plural: 'secrets', isNamespaced: true },
  { kind: 'ConfigMap', plural: 'configmaps', isNamespaced: true },
  { kind: 'Node', plural: 'nodes', isNamespaced: false },
  { kind: 'Vpc', plural: 'vpcs', isNamespaced: false },
  { kind: 'ProviderNetwork', plural: 'provider-networks', isNamespaced: false },
  { kind: 'Vlan', plural: 'vlans', isNamespaced: false },
  { kind: 'Subnet', plural: 'subnets', isNamespaced: false },
  { kind: 'IP', plural: 'ips', isNamespaced: false },
  { kind: 'IPPool', plural: 'ippools', isNamespaced: false },
  { kind: 'SecurityGroup', plural: 'security-groups', isNamespaced: false },
  { kind: 'Vip', plural: 'vips', isNamespaced: false },
  { kind: 'Interconnect', plural: 'interconnects', isNamespaced: false },
  { kind: 'BgpInstance', plural: 'bgpinstances', isNamespaced: false },
  { kind: 'BgpPeer', plural: 'bgppeers', isNamespaced: false },
  { kind: 'BgpAdvertisement', plural: 'bgpadvertisements', isNamespaced: false },
  { kind: 'Pod', plural: 'pods', isNamespaced: true },
];

/** All objects of a YAML text with several documents. @throws Error on broken YAML, naming the source. */
export function parseManifests(text: string, source: string): Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw new Error(`${source}: ${error.message}`);
    const value = document.toJS() as Manifest | null;
    return value === null ? [] : [value];
  });
}

export function readManifests(file: string): Manifest[] {
  return parseManifests(readFileSync(file, 'utf8'), file);
}

export function isLabKind(manifest: Manifest): boolean {
  return kinds.some((entry) => entry.kind === manifest.kind);
}

/** Applies objects. Those of one kind go at once. @throws KubeApiError if the API refuses one; Error on a kind the lab does not know. */
export async function applyAll(kube: KubeClient, manifests: readonly Manifest[]): Promise<void> {
  const unknown = manifests.find((manifest) => !isLabKind(manifest));
  if (unknown)
    throw new Error(`${unknown.kind} ${unknown.metadata.name}: the lab does not apply this kind, use kubectl`);
  for (const { kind } of kinds) {
    const ofKind = manifests.filter((manifest) => manifest.kind === kind);
    await Promise.all(ofKind.map((manifest) => applyOne(kube, manifest)));
    if (kind === 'CustomResourceDefinition')
      await Promise.all(ofKind.map((crd) => waitUntilServed(kube, crd.metadata.name)));
  }
}

async function applyOne(kube: KubeClient, manifest: Manifest): Promise<void> {
  const body = { ...manifest };
  await kube.request('PATCH', `${pathOf(manifest)}?fieldManager=lab&force=true`, body, {
    contentType: 'application/apply-patch+yaml',
  });
}

function pathOf(manifest: Manifest): string {
  const kind = kinds.find((entry) => entry.kind === manifest.kind);
  if (kind === undefined) throw new Error(`unknown kind ${manifest.kind}`);
  const base = manifest.apiVersion.includes('/') ? `/apis/${manifest.apiVersion}` : `/api/${manifest.apiVersion}`;
  const scope = kind.isNamespaced ? `/namespaces/${manifest.metadata.namespace ?? 'default'}` : '';
  return `${base}${scope}/${kind.plural}/${manifest.metadata.name}`;
}

async function waitUntilServed(kube: KubeClient, name: string): Promise<void> {
  await eventually(`custom resource ${name}`, async () => {
    const crd = (await kube.request('GET', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`)) as {
      status?: { conditions?: { type: string; status: string; message?: string }[] };
    };
    const established = crd.status?.conditions?.find((condition) => condition.type === 'Established');
    return established?.status === 'True' || notYet(established?.message ?? 'not established yet');
  });
}
