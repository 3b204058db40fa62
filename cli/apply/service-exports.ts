/** Creates and deletes ServiceExports. In: a client. Called by `ic export` and `ic unexport`. */
import { KubeApiError, orAbsent } from '../../lib/kube/errors.ts';
import { apiVersionOf, serviceExports, services } from '../../lib/kube/resources.ts';
import type { KubeClient, ObjectName, RawObject } from '../../lib/kube/types.ts';

export function getExport(client: KubeClient, name: ObjectName): Promise<RawObject | undefined> {
  return orAbsent(client.get(serviceExports, name));
}

export async function hasService(client: KubeClient, name: ObjectName): Promise<boolean> {
  return (await orAbsent(client.get(services, name))) !== undefined;
}

/** An export that exists stays as it is. Returns whether it is new. */
export async function createExport(client: KubeClient, name: ObjectName): Promise<boolean> {
  const object = { apiVersion: apiVersionOf(serviceExports), kind: serviceExports.kind, metadata: name };
  try {
    await client.create(serviceExports, object);
    return true;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 409) return false;
    throw error;
  }
}

export async function deleteExport(client: KubeClient, name: ObjectName): Promise<void> {
  await client.delete(serviceExports, name);
}
