/** Namespaces with pods for the scenario tests, and their conditions, events and pings. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import {
  interconnectGateways,
  interconnects,
  loadBalancerPools,
  remoteClusters,
  subnets,
  transitSwitches,
} from '../../lib/kube/resources.ts';
import { inNetns } from '../lab/run.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

export interface Workload {
  readonly namespace: string;
  readonly pods: readonly {
    readonly name: string;
    readonly node?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  }[];
  /** CIDR of a subnet for the namespace, with the same name. */
  readonly cidr?: string;
}

export function subnetManifest(name: string, spec: Readonly<Record<string, unknown>>): object {
  return { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', metadata: { name }, spec };
}

function manifests({ namespace, pods, cidr }: Workload): object[] {
  const subnet =
    cidr === undefined
      ? []
      : [subnetManifest(namespace, { cidrBlock: cidr, namespaces: [namespace], natOutgoing: true })];
  return [
    ...subnet,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...pods.map(({ name, node, annotations }) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, annotations: annotations ?? {} },
      spec: {
        // Deletion of a namespace takes at least half of the longest grace period of its pods.
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'registry.k8s.io/e2e-test-images/agnhost:2.53' }],
        ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
      },
    })),
  ];
}

export async function applyObjects(lab: LabHandle, cluster: string, objects: readonly object[]): Promise<void> {
  await lab.kubectl(cluster, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
}

export function addWorkload(lab: LabHandle, cluster: string, workload: Workload): Promise<void> {
  return applyObjects(lab, cluster, manifests(workload));
}

export async function removeWorkload(lab: LabHandle, cluster: string, namespace: string): Promise<void> {
  await lab.kubectl(cluster, ['delete', 'namespace', namespace, '--ignore-not-found', '--timeout=60s']);
  await lab.kubectl(cluster, ['delete', 'subnet', namespace, '--ignore-not-found', '--timeout=60s']);
}

export async function waitForPods(
  lab: LabHandle,
  cluster: string,
  namespace: string,
  count: number,
  timeoutMs = 120_000,
): Promise<void> {
  await eventually(
    `${String(count)} ready pods in ${cluster} ${namespace}`,
    async () => {
      const list = JSON.parse(await lab.kubectl(cluster, ['get', 'pods', '-n', namespace, '-o', 'json'])) as {
        items: { metadata: { name: string }; status: { conditions?: { type: string; status: string }[] } }[];
      };
      const ready = list.items.filter(({ status }) =>
        status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
      );
      return ready.length === count || notYet(`${String(ready.length)} of ${String(list.items.length)} are ready`);
    },
    timeoutMs,
    // Each look starts a kubectl.
    500,
  );
}

/** The address behind the router `tor`, which represents all networks outside the clusters. */
export function outsideOf(lab: LabHandle): string {
  return lab.router('tor').outside.replace(/\/.*$/, '');
}

/** A table of the events of all namespaces that match a field selector. */
export function eventsWith(lab: LabHandle, cluster: string, fields: string): Promise<string> {
  return lab.kubectl(cluster, ['get', 'events', '-A', '--field-selector', fields]);
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

const withConditions = {
  icgw: interconnectGateways,
  interconnect: interconnects,
  lbpool: loadBalancerPools,
  remotecluster: remoteClusters,
  subnet: subnets,
  transitswitch: transitSwitches,
} as const;

/** Without a kubectl, which takes longer than the answer: tests ask again and again. */
export async function conditionsOf(
  lab: LabHandle,
  cluster: string,
  kind: keyof typeof withConditions,
  name: string,
): Promise<readonly Condition[]> {
  const kube = lab.kube(cluster);
  try {
    const { status } = (await kube.get(withConditions[kind], { name })) as { status?: { conditions?: Condition[] } };
    return status?.conditions ?? [];
  } finally {
    await kube.close();
  }
}

/**
 * Pings every 50 ms while `action` runs and for `settleMs` after it. Returns the longest time between two answers, in ms, minus
 * the longest time between answers from localhost, which a busy machine causes.
 */
export async function longestGapMs(
  netns: string,
  address: string,
  action: () => Promise<unknown>,
  settleMs = 1500,
): Promise<number> {
  const pings = [address, '127.0.0.1'].map((target) => startPing(netns, target));
  await pause(500);
  await action();
  await pause(settleMs);
  const [measuredMs = 0, aloneMs = 0] = await Promise.all(pings.map((stop) => stop()));
  return Math.max(0, measuredMs - aloneMs);
}

/** Returns a function that stops the pings and returns the longest time between two answers, in ms. */
function startPing(netns: string, address: string): () => Promise<number> {
  const [command = '', ...args] = inNetns(netns, ['ping', '-n', '-D', '-i', '0.05', address]);
  const ping = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  ping.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(ping, 'close');
  return async () => {
    const endMs = Date.now();
    ping.kill('SIGINT');
    await ended;
    return longestOf(output, endMs, `${netns} → ${address}`);
  };
}

function longestOf(output: string, endMs: number, what: string): number {
  const answersMs = [...output.matchAll(/^\[(\d+\.\d+)\] \d+ bytes/gm)].map(([, seconds]) => Number(seconds) * 1000);
  if (answersMs.length < 10) throw new Error(`${what}: only ${String(answersMs.length)} answers\n${output}`);
  // The time since the last answer counts too: traffic that stopped permanently must not look like a short gap.
  return Math.max(...[...answersMs, endMs].map((at, index) => at - (answersMs[index - 1] ?? at)));
}
