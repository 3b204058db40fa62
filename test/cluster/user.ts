/**
 * Actions of an Isthmus user in a lab of kubelets: helm, kubectl and isthmus with the README's command lines, and workload pods.
 * Callers: `make cluster` and the scenarios beside this file.
 */
import { join } from 'node:path';
import { bgpManifests } from '../lab/cluster-objects.ts';
import { answerCommand, imageName } from '../lab/cri/image.ts';
import { namePods } from '../lab/kubelet/pods.ts';
import { checkout, type ClusterLayout } from '../lab/layout.ts';
import { managementAddress } from '../lab/network.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { run, type RunResult, tryRun } from '../lab/run.ts';
import { tool } from '../lab/tools.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

export const namespace = 'kube-system';
/** Of the kubelet, for each pod. */
export const probePeriodMs = 5000;
const chart = 'charts/isthmus';
/** Longer than any --timeout in a command line, so that the program itself reports the condition it waited for. */
const timeoutMs = 400_000;

export class User {
  readonly lab: LabHandle;

  constructor(lab: LabHandle) {
    this.lab = lab;
  }

  /** Runs a command line of the README in the checkout with the kubeconfig of a cluster. @throws Error unless it exits with 0 */
  run(cluster: string, argv: readonly string[]): Promise<string> {
    return run(commandOf(argv), { env: this.environment(cluster), timeoutMs });
  }

  tryRun(cluster: string, argv: readonly string[]): Promise<RunResult> {
    return tryRun(commandOf(argv), { env: this.environment(cluster), timeoutMs });
  }

  /** With the kubeconfig of a cluster, and the programs of the tools in the path. */
  environment(cluster: string): Record<string, string> {
    const path = `${join(tool('helm'), '..')}:${process.env['PATH'] ?? ''}`;
    return { KUBECONFIG: join(this.lab.cluster(cluster).dir, 'kubeconfig'), PATH: path };
  }

  helm(cluster: string, command: 'install' | 'upgrade', sets: readonly string[] = []): Promise<string> {
    const more = sets.flatMap((one) => ['--set', one]);
    const kept = command === 'upgrade' ? ['--reset-then-reuse-values'] : [];
    return this.run(cluster, ['helm', command, 'isthmus', join(checkout, chart), '-n', namespace, ...kept, ...more]);
  }

  uninstall(cluster: string): Promise<string> {
    return this.run(cluster, ['helm', 'uninstall', 'isthmus', '-n', namespace]);
  }

  /** Installs a cluster and labels its gateways and speakers; the first cluster also has the hub. `sets` are further values. */
  async install(cluster: string, sets: readonly string[] = []): Promise<void> {
    const { podCidr, nodes, kubeProxy } = this.lab.cluster(cluster);
    const [home] = this.lab.layout.clusters;
    const hub = [
      'hub.enabled=true',
      `hub.address=${this.#hubAddress()}`,
      'hub.storage.hostPath=/var/lib/isthmus/hub',
      `hub.nodeSelector.kubernetes\\.io/hostname=${nodes[0]?.name ?? ''}`,
    ];
    const values = [`clusterName=${cluster}`, `networking.podCIDR=${podCidr}`, 'networking.datapathType=netdev'];
    const services = [`apiServer.host=${managementAddress(this.lab.cluster(cluster))}`, 'services.nodes=on'];
    const own = [...(home?.name === cluster ? hub : []), ...(kubeProxy === 'none' ? services : [])];
    await this.helm(cluster, 'install', [...values, ...own, ...sets]);
    const labels = ['ovn.kubernetes.io/ic-gw=true', 'ovn.kubernetes.io/bgp=true'];
    const gateways = nodes.slice(-2).map(({ name }) => name);
    await this.run(cluster, ['kubectl', 'label', '--overwrite', 'node', ...gateways, ...labels]);
  }

  /** `host:port` of the hub, on the first node of the first cluster. */
  hub(): string {
    return `${this.#hubAddress()}:6650`;
  }

  #hubAddress(): string {
    return this.lab.layout.clusters[0]?.nodes[0]?.address ?? '';
  }

  /** Waits until all nodes are Ready. @throws Error with kubectl's list of nodes after the timeout */
  async untilReady(cluster: string, patienceMs = 180_000): Promise<void> {
    const { nodes } = this.lab.cluster(cluster);
    await eventually(
      `all nodes of ${cluster} to be Ready`,
      async () => {
        const { stdout } = await this.tryRun(cluster, ['kubectl', 'get', 'nodes', '--no-headers']);
        return (stdout.match(/ Ready /g) ?? []).length === nodes.length || notYet(stdout);
      },
      patienceMs,
      500,
    );
  }

  /** Waits until all pods of a workload, `kind/name`, have its newest template and are ready. @throws Error with kubectl's output */
  async untilRolledOut(cluster: string, workload: string): Promise<void> {
    await this.lab.kubectl(cluster, ['-n', namespace, 'rollout', 'status', workload, '--timeout=120s']);
  }

  /** Waits until the output of `isthmus status` matches. @throws Error with the output after the timeout */
  async untilReported(cluster: string, report: RegExp): Promise<void> {
    await eventually(`isthmus status to report ${String(report)}`, async () => {
      const { stdout } = await this.tryRun(cluster, ['isthmus', 'status']);
      return report.test(stdout) || notYet(stdout);
    });
  }

  /** Waits until `isthmus ic verify` finds no problem in any cluster. @throws Error with its output after the timeout */
  async untilWell(): Promise<void> {
    const waits = this.lab.layout.clusters.map(({ name }) =>
      eventually(
        `isthmus ic verify to find all well in ${name}`,
        async () => {
          const { code, stdout } = await this.tryRun(name, ['isthmus', 'ic', 'verify']);
          return code === 0 || notYet(stdout);
        },
        120_000,
        1000,
      ),
    );
    await Promise.all(waits);
  }

  /** Makes a cluster a member of the hub. */
  async join(cluster: string): Promise<void> {
    const hub = this.hub();
    const home = this.lab.layout.clusters[0]?.name ?? '';
    const token = (await this.run(home, ['isthmus', 'ic', 'token', '--hub', hub, '--cluster', cluster])).trim();
    await this.helm(cluster, 'upgrade', [`interconnect.hub=${hub}`, `interconnect.token=${token}`]);
  }

  /**
   * Creates a pod on each node, web-1, web-2 …, that answers pings, and HTTP with its name; then names their network namespaces. `isProbed`: whether
   * the kubelet probes them, which does not reach pods of custom VPCs.
   */
  async runPods(cluster: string, space: string, isProbed = true): Promise<void> {
    const { nodes } = this.lab.cluster(cluster);
    const pods = nodes.map(({ name }, at) => podManifest(space, `web-${at + 1}`, name, isProbed));
    const objects = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: space } }, ...pods];
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await this.lab.kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(list));
    await this.namePods(this.lab.cluster(cluster), space);
  }

  async namePods(cluster: ClusterLayout, space: string): Promise<void> {
    const kube = this.lab.kube(cluster.name);
    try {
      await namePods(this.lab.layout, cluster, kube, { namespace: space });
    } finally {
      await kube.close();
    }
  }

  /** Applies an operator's BGP objects: each router is a peer, all subnets are announced. */
  async peer(cluster: string): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: bgpManifests(this.lab.layout, this.lab.cluster(cluster)) };
    await this.lab.kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(list));
  }
}

function commandOf(argv: readonly string[]): readonly string[] {
  const [program = '', ...rest] = argv;
  return [program === 'isthmus' ? join(checkout, 'cli/bin/isthmus') : tool(program), ...rest];
}

function podManifest(space: string, name: string, node: string, isProbed: boolean): object {
  const env = [{ name: 'POD_NAME', value: name }];
  const probe = { httpGet: { path: '/', port: 8080 }, periodSeconds: probePeriodMs / 1000 };
  const container = { name: 'web', image: imageName, imagePullPolicy: 'Never', command: answerCommand, env };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: space, labels: { app: 'web' } },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 1,
      containers: [{ ...container, ...(isProbed && { readinessProbe: probe }) }],
    },
  };
}
