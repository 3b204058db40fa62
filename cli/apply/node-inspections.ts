/**
 * Runs `isthmus nodes inspect` on nodes, in a pod each, and takes the pods away again whatever happens. In: a client, nodes, an image.
 * Out: what each node said, or why it said nothing. Who calls: `isthmus check --on-nodes`.
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
/** A pod whose command nobody could take away, because that machine was switched off, ends by itself. */
const longestSeconds = 600;
const cleanupMs = 15_000;

export async function inspectNodes(options: InspectOptions): Promise<readonly InspectedNode[]> {
  // What an earlier run left, which was ended by force.
  await removePods(options);
  try {
    const made = new Map<string, InspectedNode>();
    for (const node of options.nodes) {
      const refused = await makePod(options, node);
      if (refused !== undefined) made.set(node, { node, look: undefined, why: refused });
    }
    const all = await untilEnded(options, options.nodes.length - made.size);
    for (const raw of all) {
      const told = await resultOf(options, raw);
      made.set(told.node, told);
    }
    return options.nodes.map((node) => made.get(node) ?? { node, look: undefined, why: 'its pod was taken away' });
  } finally {
    await removePods(options);
  }
}

/** @returns why the API server would not have it */
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
      // Past the scheduler: nodes without a network take no pods otherwise.
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
            // The folder of CNI configurations is root's alone on some systems; of root's powers nothing is left.
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
    return `its pod could not be made: ${error.message}`;
  }
}

/** The pods, once all have ended or the time is over. */
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
  return silent(`its pod said something else (${why}): ${String(answer).slice(0, 200)}`);
}

/** Undefined for what is no JSON. */
function asJson(answer: unknown): unknown {
  if (typeof answer !== 'string') return answer;
  try {
    return JSON.parse(answer) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** With a signal of its own: also after Ctrl-C nothing is left. */
async function removePods({ client, namespace }: InspectOptions): Promise<void> {
  const signal = AbortSignal.timeout(cleanupMs);
  for (const { metadata } of await client.list(pods, { namespace, labelSelector, signal })) {
    const path = objectPath(pods, { namespace, name: metadata.name });
    try {
      // Without grace: what it does needs no end, and a kubelet that is away would keep it for ever.
      await client.request('DELETE', path, { gracePeriodSeconds: 0 }, { signal });
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status !== 404) throw error;
    }
  }
}
