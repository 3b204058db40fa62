/**
 * Requests the release of a cluster's nodes, and removes what Isthmus wrote to them. In: a client. Out: changed Nodes, and the result for each node.
 */
import { annotation, leftReason } from '../../lib/api/names.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { daemonSets, jobs, leases, nodes, pods, services } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { CommandFailed } from '../command/failure.ts';
import { findApplier } from '../plan/hook.ts';
import type { ServiceTraces, Traces } from '../plan/traces.ts';

const daemonSet = 'isthmus-daemon';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export type Departing =
  /** `why` is the daemon's message. */
  | { readonly node: string; readonly state: 'left' | 'waiting'; readonly why: string }
  /** No daemon runs on the node that could answer. */
  | { readonly node: string; readonly state: 'silent'; readonly why: string };

/** The uid of the daemons' DaemonSet, which identifies this installation. @throws KubeApiError 404 if there is none */
export async function readInstallation(client: KubeClient, namespace: string): Promise<string> {
  const { metadata } = await client.get(daemonSets, { namespace, name: daemonSet });
  return metadata.uid;
}

/**
 * @param job undefined if a person runs the command
 * @throws CommandFailed if the hook's Job was applied by another program than helm, outside of an uninstallation
 */
export async function refuseAppliedHook(client: KubeClient, namespace: string, job: string | undefined): Promise<void> {
  if (job === undefined) return;
  const { metadata } = await client.get(jobs, { namespace, name: job });
  const applier = findApplier((metadata.managedFields ?? []).flatMap(({ manager }) => manager ?? []));
  if (applier === undefined) return;
  const message = `Job ${job} is a hook of helm uninstall, but ${applier} created it as part of the installation: nothing is done; exclude hooks (helm template --no-hooks) and delete the Jobs isthmus-leave and isthmus-forget`;
  throw new CommandFailed({ code: 'HookApplied', message });
}

/** Annotates every Node. A daemon that is down follows the request when it runs again. */
export async function askToLeave(client: KubeClient, installation: string): Promise<void> {
  const body = { metadata: { annotations: { [annotation.leave]: installation } } };
  for (const { metadata } of await client.list(nodes))
    await client.patch(nodes, { name: metadata.name }, 'merge', body);
}

export async function readDeparting(client: KubeClient, namespace: string): Promise<readonly Departing[]> {
  const [all, daemons] = await Promise.all([
    client.list(nodes),
    client.list(pods, { namespace, labelSelector: `app.kubernetes.io/name=${daemonSet}` }),
  ]);
  const running = new Set(daemons.filter(isRunning).map(({ spec }) => (spec as { nodeName?: string }).nodeName));
  return all.map((node): Departing => {
    const { name } = node.metadata;
    const { reason, message = '' } = conditionOf(node, 'NetworkUnavailable') ?? {};
    if (reason === leftReason) return { node: name, state: 'left', why: message };
    if (conditionOf(node, 'Ready')?.status === 'Unknown')
      return { node: name, state: 'silent', why: 'its kubelet does not answer' };
    if (!running.has(name)) return { node: name, state: 'silent', why: 'no daemon of Isthmus runs on it' };
    return { node: name, state: 'waiting', why: message };
  });
}

export async function removeTraces(
  client: KubeClient,
  { node, annotations, labels, hasCondition }: Traces,
): Promise<void> {
  const nothing = (keys: readonly string[]): object => Object.fromEntries(keys.map((key) => [key, null]));
  const metadata = { annotations: nothing(annotations), labels: nothing(labels) };
  if (annotations.length + labels.length > 0) await client.patch(nodes, { name: node }, 'merge', { metadata });
  if (!hasCondition) return;
  // A strategic merge patch merges the list by type; the other conditions belong to kubelet.
  const conditions = [{ $patch: 'delete', type: 'NetworkUnavailable' }];
  await client.patch(nodes, { name: node }, 'strategic', { status: { conditions } }, { subresource: 'status' });
}

/**
 * Removes the finalizer, which nothing would remove any more when the Service is deleted, the annotation and the conditions. The addresses in the
 * status stay: a later installation, or another program, keeps them. @throws KubeApiError
 */
export async function removeServiceTraces(
  client: KubeClient,
  { service, resourceVersion, finalizers, annotations, conditions }: ServiceTraces,
): Promise<void> {
  const metadata = {
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations.map((key) => [key, null])) }),
    // The list is replaced as a whole, so only in the version that was read.
    ...(finalizers !== undefined && { finalizers, resourceVersion }),
  };
  const isGone = (error: unknown): boolean => error instanceof KubeApiError && error.status === 404;
  try {
    if (conditions !== undefined) {
      const { metadata: after } = await client.patch(
        services,
        service,
        'merge',
        { metadata: { resourceVersion }, status: { conditions } },
        { subresource: 'status' },
      );
      if ('resourceVersion' in metadata) metadata.resourceVersion = after.resourceVersion;
    }
    if (Object.keys(metadata).length > 0) await client.patch(services, service, 'merge', { metadata });
  } catch (error) {
    // A Service that was deleted before goes with its finalizer.
    if (!isGone(error)) throw error;
  }
}

/**
 * Deletes the Leases: their holders lost the right to write them before they could release them. A later installation would wait until they expire.
 */
export async function removeLeases(client: KubeClient, namespace: string): Promise<void> {
  for (const name of ['isthmus-controller', 'isthmus-interconnect']) await client.delete(leases, { namespace, name });
}

function isRunning({ status, metadata }: RawObject): boolean {
  return (status as { phase?: string } | undefined)?.phase === 'Running' && metadata.deletionTimestamp === undefined;
}

function conditionOf({ status }: RawObject, type: string): Condition | undefined {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions.find((one) => one.type === type);
}
