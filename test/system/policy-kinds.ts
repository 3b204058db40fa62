/** The kinds of the Network Policy API, without a schema: tests write what a later version of the API may have. */
import { customResourceDefinitions } from '../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import { eventually } from '../../lib/testing-eventually.ts';

/** Returns once the kind is served. */
export async function installKind(kube: KubeClient, resource: Resource): Promise<void> {
  const { group, plural, kind, version: name } = resource;
  const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: any, status: any } } };
  await kube.create(customResourceDefinitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: customResourceDefinitions.kind,
    metadata: {
      name: `${plural}.${group}`,
      // The API server takes groups of k8s.io with this annotation only.
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' },
    },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural, kind, singular: kind.toLowerCase() },
      versions: [{ name, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  });
  await eventually(`${plural} are served`, () => kube.list(resource));
}

/** Removes a kind with all its objects; returns once it is no longer served. */
export async function removeKind(kube: KubeClient, resource: Resource): Promise<void> {
  const { group, plural } = resource;
  await kube.delete(customResourceDefinitions, { name: `${plural}.${group}` });
  await eventually(`${plural} are no longer served`, () =>
    kube.list(resource).then(
      () => false,
      () => true,
    ),
  );
}
