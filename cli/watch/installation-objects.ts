/** Parses workloads, pods, nodes and subnets for `isthmus status`. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { NodeReport, Rollout, RolloutPod } from '../model/installation.ts';

const componentLabel = 'app.kubernetes.io/name';

interface WorkloadSpec {
  readonly replicas?: number;
  readonly updateStrategy?: { readonly type?: string };
  readonly template?: { readonly spec?: { readonly nodeSelector?: Readonly<Record<string, string>> } };
}

interface WorkloadStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly desiredNumberScheduled?: number;
  readonly updatedNumberScheduled?: number;
  readonly currentNumberScheduled?: number;
  readonly numberAvailable?: number;
}

interface Counts {
  readonly desired: number;
  readonly updated: number;
  readonly total: number;
  readonly ready: number;
}

export function parseDaemonSet(raw: RawObject): Rollout {
  return rollout('DaemonSet', raw, (_, status) => ({
    desired: status.desiredNumberScheduled ?? 0,
    updated: status.updatedNumberScheduled ?? 0,
    // Nodes that have a pod; a pod of a former template counts as lacking in `updated`.
    total: status.updatedNumberScheduled ?? 0,
    ready: status.numberAvailable ?? 0,
  }));
}

export function parseDeployment(raw: RawObject): Rollout {
  return rollout('Deployment', raw, ({ replicas = 1 }, status) => ({
    desired: replicas,
    updated: status.updatedReplicas ?? 0,
    total: status.replicas ?? 0,
    ready: status.availableReplicas ?? 0,
  }));
}

export function parseStatefulSet(raw: RawObject): Rollout {
  return rollout('StatefulSet', raw, ({ replicas = 1 }, status) => ({
    desired: replicas,
    updated: status.updatedReplicas ?? 0,
    total: status.replicas ?? 0,
    ready: status.readyReplicas ?? 0,
  }));
}

function rollout(
  kind: Rollout['kind'],
  raw: RawObject,
  count: (spec: WorkloadSpec, status: WorkloadStatus) => Counts,
): Rollout {
  const spec = (raw['spec'] ?? {}) as WorkloadSpec;
  const status = (raw['status'] ?? {}) as WorkloadStatus;
  const counts = count(spec, status);
  const failure = status.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True');
  return {
    kind,
    name: raw.metadata.name,
    component: raw.metadata.labels?.[componentLabel] ?? raw.metadata.name,
    isObserved: (status.observedGeneration ?? 0) >= (raw.metadata.generation ?? 0),
    ...counts,
    updated: spec.updateStrategy?.type === 'OnDelete' ? undefined : counts.updated,
    obstacle:
      failure === undefined ? undefined : `its pods cannot be created: ${failure.message ?? failure.reason ?? ''}`,
    nodeSelector: spec.template?.spec?.nodeSelector ?? {},
  };
}

interface PodSpec {
  readonly nodeName?: string;
  readonly containers?: readonly { readonly name: string; readonly image: string }[];
}

interface ContainerStatus {
  readonly name: string;
  readonly imageID?: string;
  readonly ready?: boolean;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: Ended;
    readonly running?: object;
  };
  readonly lastState?: { readonly terminated?: Ended };
}

interface Ended {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
}

interface Reason {
  readonly why: string;
  readonly isPassing: boolean;
}

export function parsePod(raw: RawObject): RolloutPod {
  const spec = (raw['spec'] ?? {}) as PodSpec;
  const status = (raw['status'] ?? {}) as PodStatus;
  const { name, labels, deletionTimestamp } = raw.metadata;
  return {
    name,
    component: labels?.[componentLabel] ?? '',
    node: spec.nodeName ?? '',
    isReady: status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    isEnding: deletionTimestamp !== undefined,
    ...reasonOf(name, status),
    images: imagesOf(spec, status),
  };
}

function imagesOf({ containers = [] }: PodSpec, { containerStatuses = [] }: PodStatus): RolloutPod['images'] {
  const ids = new Map(containerStatuses.map(({ name, imageID = '' }) => [name, imageID]));
  return containers.flatMap(({ name, image }) => {
    const id = ids.get(name) ?? '';
    return id === '' ? [] : [{ name: image, id }];
  });
}

function reasonOf(pod: string, status: PodStatus): Reason {
  const { phase = 'Pending', reason, message = '', conditions = [] } = status;
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    const why = `cannot be scheduled: ${scheduled.message ?? scheduled.reason ?? ''}`;
    return { why, isPassing: false };
  }
  if (phase === 'Failed') return { why: `failed: ${[reason, message].filter(Boolean).join(': ')}`, isPassing: false };
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const reasons = containers.flatMap((one) => containerReason(pod, one) ?? []);
  return reasons.find(({ isPassing }) => !isPassing) ?? reasons[0] ?? { why: `is ${phase}`, isPassing: true };
}

/** Reasons before a container has run: kubelet creates it, or waits for init containers. */
const passing = new Set(['ContainerCreating', 'PodInitializing']);

function containerReason(pod: string, { name, ready, state, lastState }: ContainerStatus): Reason | undefined {
  const { waiting, terminated } = state ?? {};
  if (waiting !== undefined) {
    const { reason, message } = causeOf(waiting);
    if (passing.has(reason)) return { why: `container ${name}: ${reason}`, isPassing: true };
    const ended = lastState?.terminated;
    const why = ended === undefined ? message : endText(pod, name, ended);
    return { why: `container ${name}: ${reason}${why === '' ? '' : `: ${why}`}`, isPassing: false };
  }
  if (terminated !== undefined)
    return terminated.exitCode === 0
      ? undefined
      : { why: `container ${name} ended: ${endText(pod, name, terminated)}`, isPassing: false };
  return ready === true ? undefined : { why: `container ${name} runs and is not ready yet`, isPassing: true };
}

/** Attempts to pull an image alternate between two reasons, and the error contains the port of the attempt: all of them become one cause. */
function causeOf({ reason = 'waits', message = '' }: { readonly reason?: string; readonly message?: string }) {
  if (reason !== 'ErrImagePull' && reason !== 'ImagePullBackOff') return { reason, message };
  const cause = message.replace(/^Back-off pulling image "[^"]*": ErrImagePull: /, '');
  return { reason: cause === message ? reason : 'ErrImagePull', message: cause.replaceAll(/:\d+->/g, '->') };
}

function endText(pod: string, container: string, { exitCode, reason, message = '' }: Ended): string {
  const lastLine = message.trim().split('\n').at(-1) ?? '';
  const code = `exit code ${exitCode ?? 'unknown'}${reason === undefined || reason === 'Error' ? '' : ` (${reason})`}`;
  return lastLine === '' ? `${code}; kubectl logs ${pod} -c ${container} --previous has more` : `${code}: ${lastLine}`;
}

export function parseReport(raw: RawObject): NodeReport {
  const { conditions = [] } = (raw['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
  return { name: raw.metadata.name, labels: raw.metadata.labels ?? {}, conditions };
}
