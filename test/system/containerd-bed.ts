/** A node of the lab whose pods run in containerd, with fault injection, and the traces of its pods. */
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cniBin, cniConf } from '../lab/cni-folder.ts';
import { containerdSocket, runsContainerd, sandboxNamespaces } from '../lab/containerd.ts';
import { CriClient } from '../lab/cri/client.ts';
import type { Container, RuntimeCondition, Sandbox } from '../lab/cri/messages.ts';
import type { NodeLayout } from '../lab/layout.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { run } from '../lab/run.ts';
import { applyObjects } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

/** Traces of pods on the node and in the cluster, by kind; all empty when there are none. */
export type Traces = Readonly<Record<string, readonly string[]>>;

export class ContainerdBed {
  readonly lab: LabHandle;
  readonly cluster = 'east';
  readonly namespace: string;
  readonly node: NodeLayout;
  readonly cri: CriClient;
  #others: ReadonlySet<string> = new Set();

  constructor(lab: LabHandle, namespace: string) {
    const node = lab.cluster(this.cluster).nodes.find(runsContainerd);
    if (node === undefined) throw new Error('the lab has no node with a containerd in east');
    this.lab = lab;
    this.namespace = namespace;
    this.node = node;
    this.cri = new CriClient({ socket: containerdSocket(node) });
  }

  /** The lab's place of the node's processes. */
  get place(): string {
    return `${this.cluster}/${this.node.name}`;
  }

  netns(pod: string): string {
    return this.lab.ns(this.cluster, `${this.namespace}/${pod}`);
  }

  /** Creates a pod on the node with one container; `container` overrides its fields. */
  async create(pod: string, container: object = {}): Promise<void> {
    const spec = {
      nodeName: this.node.name,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'registry.k8s.io/e2e-test-images/agnhost:2.53', ...container }],
    };
    const metadata = { name: pod, namespace: this.namespace };
    await applyObjects(this.lab, this.cluster, [{ apiVersion: 'v1', kind: 'Pod', metadata, spec }]);
  }

  async untilReady(pod: string, timeoutSeconds = 120): Promise<void> {
    await this.kubectl('wait', '--for=condition=Ready', `pod/${pod}`, `--timeout=${String(timeoutSeconds)}s`);
  }

  async delete(...pods: readonly string[]): Promise<void> {
    await this.kubectl('delete', 'pod', ...pods, '--ignore-not-found', '--timeout=60s');
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.lab.kubectl(this.cluster, ['-n', this.namespace, ...args]);
  }

  address(pod: string): Promise<string> {
    return this.lab.addressOf(this.cluster, `${this.namespace}/${pod}`);
  }

  async sandboxes(pod: string): Promise<Sandbox[]> {
    return this.cri.listPodSandbox({
      'io.kubernetes.pod.name': pod,
      'io.kubernetes.pod.namespace': this.namespace,
    });
  }

  /** The pod's only container. @throws Error if there is none or more than one */
  async container(pod: string): Promise<Container> {
    const sandboxes = await this.sandboxes(pod);
    const containers = await Promise.all(sandboxes.map(({ id }) => this.cri.listContainers(id)));
    const [only, ...more] = containers.flat();
    if (only === undefined || more.length > 0)
      throw new Error(`${pod}: ${String(containers.flat().length)} containers`);
    return only;
  }

  async condition(type: string): Promise<RuntimeCondition> {
    const found = (await this.cri.conditions()).find((condition) => condition.type === type);
    if (found === undefined) throw new Error(`containerd tells nothing of ${type}`);
    return found;
  }

  signal(component: string, signal: NodeJS.Signals): void {
    process.kill(this.lab.pid(this.place, component), signal);
  }

  /** Runs `act` while the ADD of a new pod hangs: its port is in Open vSwitch, and ovn-controller is frozen. */
  async whileAdding(pod: string, act: () => Promise<unknown>): Promise<void> {
    this.signal('ovn-controller', 'SIGSTOP');
    try {
      await this.create(pod);
      const find = ['--bare', '--columns=name', 'find', 'Interface', `external_ids:pod_name=${pod}`];
      await eventually(
        `the port of ${pod}`,
        async () => (await this.#vsctl(find)) !== '' || notYet('none'),
        undefined,
        50,
      );
      await act();
    } finally {
      this.signal('ovn-controller', 'SIGCONT');
    }
  }

  /** The messages of a pod's events with this reason. */
  async events(pod: string, reason: string): Promise<string[]> {
    const fields = `involvedObject.name=${pod},reason=${reason}`;
    const list = JSON.parse(await this.kubectl('get', 'events', '--field-selector', fields, '-o', 'json')) as {
      items: { message: string }[];
    };
    return list.items.map(({ message }) => message);
  }

  /** Replaces the node's CNI plugin with another program while `act` runs. */
  async withPlugin(program: string, act: () => Promise<unknown>): Promise<void> {
    const link = join(cniBin(this.node), 'isthmus');
    const own = await run(['readlink', link]);
    const point = (target: string): void => {
      rmSync(link);
      symlinkSync(target, link);
    };
    point(program);
    try {
      await act();
    } finally {
      point(own.trim());
    }
  }

  /** The files with CNI network configurations. */
  networkConfigurations(): string[] {
    const folder = cniConf(this.node);
    return readdirSync(folder).map((name) => join(folder, name));
  }

  /** Excludes the traces that the node has now from later results. */
  async begin(): Promise<void> {
    this.#others = new Set(Object.values(await this.traces()).flat());
  }

  /** The traces of the namespace's pods on the node. */
  async traces(): Promise<Traces> {
    const entries = Object.entries(await this.#allTraces());
    return Object.fromEntries(entries.map(([kind, found]) => [kind, found.filter((name) => !this.#others.has(name))]));
  }

  async #allTraces(): Promise<Traces> {
    const { node, namespace } = this;
    const links = JSON.parse(await run(['ip', '-n', node.netns, '-j', 'link'])) as { ifname: string }[];
    const ports = await this.#vsctl(['list-ports', 'br-int']);
    const rows = await this.#vsctl([
      '--bare',
      '--columns=name',
      'find',
      'Interface',
      `external_ids:pod_namespace=${namespace}`,
    ]);
    const switchPorts = await this.lab.nbctl(this.cluster, ['--bare', '--columns=name', 'list', 'Logical_Switch_Port']);
    const ips = await this.lab.kubectl(this.cluster, ['get', 'ips', '-o', 'name']);
    const rules = await run(['nft', 'list', 'ruleset'], { netns: node.netns });
    return {
      sandboxes: (await this.cri.listPodSandbox()).map(({ id }) => id),
      'network namespaces of containerd': sandboxNamespaces(node).map((path) => basename(path)),
      'named network namespaces': namesBelow('/run/netns').filter((name) => name.startsWith(this.netns(''))),
      links: links.map(({ ifname }) => ifname).filter(isPodLink),
      ports: ports.split('\n').filter(isPodLink),
      rows: lines(rows),
      'logical ports': lines(switchPorts).filter((name) => name.endsWith(`.${namespace}`)),
      addresses: lines(ips).filter((name) => name.endsWith(`.${namespace}`)),
      'rules of hostPorts': lines(rules).filter((line) => line.includes(' dnat ') && line.includes('comment')),
      'cached results': namesBelow('/var/lib/cni/results').filter((name) =>
        readFileSync(join('/var/lib/cni/results', name), 'utf8').includes(`${node.dir}/`),
      ),
    };
  }

  /** Waits until the namespace's pods have no traces on the node. */
  async untilClean(): Promise<void> {
    await eventually('nothing to be left of the pods', async () => {
      const left = Object.entries(await this.traces()).filter(([, found]) => found.length > 0);
      return left.length === 0 || notYet(JSON.stringify(Object.fromEntries(left)));
    });
  }

  #vsctl(args: readonly string[]): Promise<string> {
    return this.lab.vsctl(this.cluster, this.node.name, args);
  }
}

function isPodLink(name: string): boolean {
  return name.endsWith('_h');
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}

function namesBelow(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
