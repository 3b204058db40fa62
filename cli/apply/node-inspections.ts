/**
 * Runs `isthmus nodes inspect` in one pod per node, and always deletes the pods. In: a client, nodes, an image. Out: each node's inspection, or the
 * reason why it has none. Called by `isthmus check --on-nodes`.
 */
import { KubeApiError } from '../../lib/kube/errors.ts';
import { objectPath, pods } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { nodeInspection, type InspectedNode } from '../model/node-inspection.ts';
import { parsePod } from '../watch/installation-objects.ts';
import { waitFor } from './wait.ts';

export interface InspectOptions {
  readonly client: Pick<KubeClient, 'create' | 'list' | 'request'>;
  readonly namespace: string;
  readonly nodes: readonly string[];
  readonly image: string;
  readonly pullPolicy: string;
  readonly pullSecrets: readonly { readonly name: string }[];
  readonly confDir: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const name = 'isthmus-check';
const labelSelector = `app.kubernetes.io/name=${name}`;
/** Time after which a pod ends by itself, if the command could not delete it because its machine was switched off. */
const longestSeconds = 600;
const cleanupMs = 15_000;

export async function inspectNodes(options: InspectOptions): Promise<readonly InspectedNode[]> {
  // Removes the pods of an earlier run that was killed.
  await removePods(options);
  try {
    const made = new Map<string, InspectedNode>();
    for (const node of options.nodes) {
      const refused = await makePod(options, node);
      if (refused !== undefined) made.set(node, { node, look: undefined, why: refused });
    }
    const all = await untilEnded(options, options.nodes.length - made.size);
    for (const raw of all) {
      const inspection = await resultOf(options, raw);
      made.set(inspection.node, inspection);
    }
    return options.nodes.map((node) => made.get(node) ?? { node, look: undefined, why: 'its pod was deleted' });
  } finally {
    await removePods(options);
  }
}

/** @returns the API server's reason for a refusal */
async function makePod(
  { client, namespace, signal, ...wish }: InspectOptions,
  node: string,
): Promise<string | undefined> {
  const labels = { 'app.kubernetes.io/name': name };
  const mounts = [
    { name: 'modules', mountPath: '/host/modules', readOnly: true },
    { name: 'cni', mountPath: '/host/cni', readOnly: true },
  ];
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: `${name}-`, namespace, labels },
    spec: {
      // Bypasses the scheduler, because nodes without a network accept no pods otherwise.
      nodeName: node,
      hostNetwork: true,
      restartPolicy: 'Never',
      activeDeadlineSeconds: longestSeconds,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      tolerations: [{ operator: 'Exists' }],
      imagePullSecrets: wish.pullSecrets,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'inspect',
          image: wish.image,
          imagePullPolicy: wish.pullPolicy,
          command: ['node', '/opt/isthmus/isthmus.mjs', 'nodes', 'inspect'],
          args: ['--modules-dir=/host/modules', '--cni-conf-dir=/host/cni'],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            // On some systems only root can read the folder of CNI configurations; the pod has no capabilities.
            runAsUser: 0,
            capabilities: { drop: ['ALL'] },
          },
          volumeMounts: mounts,
        },
      ],
      volumes: [
        { name: 'modules', hostPath: { path: '/lib/modules', type: 'DirectoryOrCreate' } },
        { name: 'cni', hostPath: { path: wish.confDir, type: 'DirectoryOrCreate' } },
      ],
    },
  };
  try {
    await client.create(pods, pod, { signal });
    return undefined;
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    return `its pod could not be created: ${error.message}`;
  }
}

/** Returns the pods once all have ended or the timeout has passed. */
async function untilEnded({ client, namespace, timeoutMs, signal }: InspectOptions, count: number) {
  let last: readonly RawObject[] = [];
  const look = async (): Promise<true | undefined> => {
    last = await client.list(pods, { namespace, labelSelector, signal });
    return last.filter(hasEnded).length >= count ? true : undefined;
  };
  await waitFor(look, { timeoutMs, signal });
  return last;
}

function phaseOf({ status }: RawObject): string {
  return (status as { readonly phase?: string } | undefined)?.phase ?? 'Pending';
}

function hasEnded(raw: RawObject): boolean {
  return phaseOf(raw) === 'Succeeded' || phaseOf(raw) === 'Failed';
}

async function resultOf({ client, namespace, signal }: InspectOptions, raw: RawObject): Promise<InspectedNode> {
  const { node, why } = parsePod(raw);
  const silent = (reason: string): InspectedNode => ({ node, look: undefined, why: reason });
  if (!hasEnded(raw)) return silent(`its pod did not end in time: ${why}`);
  const path = `${objectPath(pods, { namespace, name: raw.metadata.name })}/log`;
  let answer: unknown;
  try {
    answer = await client.request('GET', path, undefined, { signal });
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    return silent(`the log of its pod could not be read: ${error.message}`);
  }
  const parsed = nodeInspection.safeParse(asJson(answer));
  if (parsed.success) return { node, look: parsed.data, why: '' };
  return silent(`its pod returned an unexpected answer (${why}): ${String(answer).slice(0, 200)}`);
}

/** Undefined if the value is not JSON. */
function asJson(answer: unknown): unknown {
  if (typeof answer !== 'string') return answer;
  try {
    return JSON.parse(answer) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Uses its own signal, so that the pods are deleted after Ctrl-C too. */
async function removePods({ client, namespace }: InspectOptions): Promise<void> {
  const signal = AbortSignal.timeout(cleanupMs);
  for (const { metadata } of await client.list(pods, { namespace, labelSelector, signal })) {
    const path = objectPath(pods, { namespace, name: metadata.name });
    try {
      // Without a grace period: the program needs no shutdown, and an unreachable kubelet would delay the deletion indefinitely.
      await client.request('DELETE', path, { gracePeriodSeconds: 0 }, { signal });
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status !== 404) throw error;
    }
  }
}
