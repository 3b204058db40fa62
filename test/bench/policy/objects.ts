/**
 * Ten thousand pods of a hundred applications in ten Namespaces, and a policy for each application of each Namespace: who reaches its pods, and whom they reach. Every
 * peer is named by more than one policy. Fewer pods have fewer applications: about ten pods have the same labels.
 */
import { apiVersionOf, networkPolicies, objectPath, pods } from '../../../lib/kube/resources.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { forAll, podAt, podManifest, type PodAt } from '../scale-pods.ts';
import { numbers } from './measurement.ts';

const namespaceCount = 10;
const labelsKey = 'app';

/** Applications of each Namespace, as there are policies. */
export const applicationCount = (policies: number): number => Math.ceil(policies / namespaceCount);
export const applicationName = (at: number): string => `app-${String(at)}`;

/** A pod with the number, of an application, in the Namespace that `podAt` chooses. */
export function placedPod(at: number, applications: number): PodAt & { readonly application: number } {
  return { ...podAt(at), application: Math.floor(at / namespaceCount) % applications };
}

export async function createPolicyPod(kube: KubeClient, pod: PodAt, application: number): Promise<void> {
  const manifest = podManifest(pod) as { readonly metadata: { readonly labels: object } };
  const labels = { ...manifest.metadata.labels, [labelsKey]: applicationName(application) };
  await kube.create(pods, { ...manifest, metadata: { ...manifest.metadata, labels } });
}

/** Makes it a pod of another application. Resolves when the API server has answered. */
export async function setApplication(kube: KubeClient, pod: PodAt, application: number): Promise<void> {
  const { namespace, name } = pod;
  const body = { metadata: { labels: { [labelsKey]: applicationName(application) } } };
  await kube.request('PATCH', objectPath(pods, { namespace, name }), body, {
    contentType: 'application/merge-patch+json',
  });
}

/** Its own Namespace's pods of one application, and another Namespace's of the same, reach an application; it reaches a third application and DNS. */
function policyManifest(at: number, applications: number): object {
  const [namespace, application] = [at % namespaceCount, Math.floor(at / namespaceCount)];
  const of = (step: number) => ({ matchLabels: { [labelsKey]: applicationName((application + step) % applications) } });
  const next = `team-${String((namespace + 1) % namespaceCount)}`;
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': next } };
  const tcp = (port: number) => ({ protocol: 'TCP', port });
  const spec = {
    podSelector: of(0),
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      { from: [{ podSelector: of(1) }, { namespaceSelector, podSelector: of(0) }], ports: [tcp(8080), tcp(8081)] },
      { from: [{ ipBlock: { cidr: '198.51.100.0/24', except: ['198.51.100.64/26'] } }], ports: [tcp(8081)] },
    ],
    egress: [
      { to: [{ podSelector: of(2) }], ports: [tcp(8080)] },
      {
        to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
        ports: [{ protocol: 'UDP', port: 53 }, tcp(53)],
      },
    ],
  };
  const metadata = { namespace: `team-${String(namespace)}`, name: applicationName(application) };
  return { apiVersion: apiVersionOf(networkPolicies), kind: networkPolicies.kind, metadata, spec };
}

/**
 * Sets and groups that a pod of IPv4 enters and leaves when it becomes a pod of another application: of the policies that select it a group for each direction, and the set of each of
 * its two names as a peer.
 */
export const rowsOfChange = 2 * (2 + 2);

export async function createPolicies(kube: KubeClient, count: number): Promise<void> {
  const applications = applicationCount(count);
  await forAll(numbers(count), (at) => kube.create(networkPolicies, policyManifest(at, applications)));
}

export async function createPolicyPods(kube: KubeClient, count: number, applications: number): Promise<void> {
  await forAll(numbers(count), (at) => {
    const { application, ...pod } = placedPod(at, applications);
    return createPolicyPod(kube, pod, application);
  });
}
