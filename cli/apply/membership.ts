/** Creates and ends this cluster's membership: the token's Secret and the Interconnect. In: a client. Called by join and leave. */
import { interconnectFinalizer } from '../../lib/api/names.ts';
import { orAbsent } from '../../lib/kube/errors.ts';
import { apiVersionOf, hubMembers, interconnects, secrets } from '../../lib/kube/resources.ts';
import { encodeSecret } from '../../lib/kube/secret-data.ts';
import type { KubeClient, ObjectName, RawObject, Resource } from '../../lib/kube/types.ts';
import { canonicalName } from '../watch/read.ts';

/** The chart's name of the Secret. */
export const tokenSecret = 'isthmus-interconnect-token';

export interface Wish {
  readonly clusterName: string;
  readonly hub: string;
  readonly token: string;
  readonly namespace: string;
}

/** The HubMember of a member, in the cluster of the hub. */
export interface StoredMember {
  readonly handle: string;
  readonly uid: string;
}

export async function putToken(client: KubeClient, { namespace, token }: Wish): Promise<void> {
  const name = { namespace, name: tokenSecret };
  const data = encodeSecret({ token });
  if ((await orAbsent(client.patch(secrets, name, 'merge', { data }))) !== undefined) return;
  await client.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: name, type: 'Opaque', data });
}

/** Other fields that the user has set are kept. */
export async function putInterconnect(client: KubeClient, { clusterName, hub }: Wish): Promise<void> {
  const spec = { clusterName, hub, tokenSecretRef: { name: tokenSecret, key: 'token' } };
  if ((await orAbsent(client.patch(interconnects, { name: canonicalName }, 'merge', { spec }))) !== undefined) return;
  await client.create(interconnects, {
    apiVersion: apiVersionOf(interconnects),
    kind: interconnects.kind,
    metadata: { name: canonicalName },
    spec,
  });
}

export function getInterconnect(client: KubeClient): Promise<RawObject | undefined> {
  return getOrAbsent(client, interconnects, { name: canonicalName });
}

export async function deleteInterconnect(client: KubeClient): Promise<void> {
  await client.delete(interconnects, { name: canonicalName });
}

/** Deletes the HubMember that was read, and no later one of its name. */
export async function deleteMember(client: KubeClient, { handle, uid }: StoredMember): Promise<void> {
  await client.delete(hubMembers, { name: handle }, { uid });
}

export async function isMemberGone(client: KubeClient, { handle, uid }: StoredMember): Promise<boolean> {
  return (await getOrAbsent(client, hubMembers, { name: handle }))?.metadata.uid !== uid;
}

/** Removes our finalizer from an object whose agent cannot finish leaving. Other finalizers are kept. */
export async function dropFinalizer(client: KubeClient, raw: RawObject): Promise<void> {
  const finalizers = (raw.metadata.finalizers ?? []).filter((name) => name !== interconnectFinalizer);
  // With the resourceVersion, the patch fails if the list was changed meanwhile.
  const metadata = { finalizers, resourceVersion: raw.metadata.resourceVersion };
  await orAbsent(client.patch(interconnects, { name: canonicalName }, 'merge', { metadata }));
}

async function getOrAbsent(client: KubeClient, resource: Resource, name: ObjectName): Promise<RawObject | undefined> {
  return await orAbsent(client.get(resource, name));
}
