/** Creates and deletes ServiceExports. In: a client. Called by `ic export` and `ic unexport`. Each request ends with its signal. */
import { KubeApiError, orAbsent } from '../../lib/kube/errors.ts';
import { apiVersionOf, serviceExports, services } from '../../lib/kube/resources.ts';
import type { KubeClient, ObjectName, RawObject } from '../../lib/kube/types.ts';

export function getExport(client: KubeClient, name: ObjectName, signal: AbortSignal): Promise<RawObject | undefined> {
  return orAbsent(client.get(serviceExports, name, { signal }));
}

export async function hasService(client: KubeClient, name: ObjectName, signal: AbortSignal): Promise<boolean> {
  return (await orAbsent(client.get(services, name, { signal }))) !== undefined;
}

/** An export that exists stays as it is. Returns whether it is new. */
export async function createExport(
  client: Pick<KubeClient, 'create'>,
  name: ObjectName,
  signal: AbortSignal,
): Promise<boolean> {
  const object = { apiVersion: apiVersionOf(serviceExports), kind: serviceExports.kind, metadata: name };
  try {
    await client.create(serviceExports, object, { signal });
    return true;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 409) return false;
    throw error;
  }
}

export async function deleteExport(client: KubeClient, name: ObjectName, signal: AbortSignal): Promise<void> {
  await client.delete(serviceExports, name, { signal });
}
