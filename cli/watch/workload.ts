/** Reads a workload of the installation, and the arguments of its programs. */
import { KubeApiError } from '../../lib/kube/errors.ts';
import { fieldsOf, recordsOf, textsOf } from '../../lib/kube/fields.ts';
import type { KubeClient, ObjectName, RawObject, Resource } from '../../lib/kube/types.ts';

/** Undefined if there is none. @throws KubeUnreachable, KubeApiError, or the signal's reason */
export async function findObject(
  client: Pick<KubeClient, 'get'>,
  resource: Resource,
  name: ObjectName,
  signal: AbortSignal,
): Promise<RawObject | undefined> {
  try {
    return await client.get(resource, name, { signal });
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** The value of `--<name>=<value>`; undefined if no container has it. */
export function argumentOf(workload: RawObject, name: string): string | undefined {
  const { spec } = fieldsOf(fieldsOf(workload['spec'])['template']);
  const all = recordsOf(fieldsOf(spec)['containers']).flatMap(({ args }) => textsOf(args));
  const prefix = `--${name}=`;
  return all.find((one) => one.startsWith(prefix))?.slice(prefix.length);
}
