/** Pods on two nodes that reach a Service by OVN, or by kube-proxy on their node, among a thousand other Services. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { apiVersionOf, endpointSlices, services } from '../../../lib/kube/resources.ts';
import { node24 } from '../../lab/rooms.ts';
import { inNetns } from '../../lab/run.ts';
import { type NodeName, ServiceBed } from '../../system/service-bed.ts';
import { KubeProxy } from './kube-proxy.ts';
import { createServices } from './objects.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

export const port = 9000;
const ready = { conditions: { ready: true } };
const leaving = { conditions: { ready: false, serving: true, terminating: true } };
export const nodeOf: Readonly<Record<string, NodeName>> = { a: 'n1', b: 'n1', c: 'n2' };
type Endpoint = 'b' | 'c';

/** A program in a pod. */
export class Traffic {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly lines: string[] = [];

  constructor(netns: string, ...args: readonly (string | number)[]) {
    const argv = [node24, join(import.meta.dirname, 'traffic.ts'), ...args.map(String)];
    const [program = '', ...rest] = inNetns(netns, argv);
    this.#child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('a program without output');
    this.#lines = createInterface(this.#child.stdout);
    this.#lines.on('line', (line) => this.lines.push(line));
  }

  /** The next line of those that come from now on. */
  async next<T>(): Promise<T> {
    const [line] = (await once(this.#lines, 'line')) as [string];
    return JSON.parse(line) as T;
  }

  /** The next line of those that is as wanted. */
  async until<T>(isWanted: (line: T) => boolean): Promise<T> {
    for (;;) {
      const line = await this.next<T>();
      if (isWanted(line)) return line;
    }
  }

  /** Ends its input, and waits for its last line. */
  async end<T>(): Promise<T> {
    const ended = once(this.#child, 'close');
    this.#child.stdin?.end();
    await ended;
    return JSON.parse(this.lines.at(-1) ?? 'null') as T;
  }

  async kill(): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

export class PathBed {
  readonly bed: ServiceBed;
  readonly #servers = new Map<string, Traffic>();
  readonly #forwards: ChildProcess[] = [];
  #proxy: KubeProxy | undefined;

  private constructor(bed: ServiceBed) {
    this.bed = bed;
  }

  /** @param others other Services, with one endpoint each */
  static async open(others: number): Promise<PathBed> {
    const path = new PathBed(await ServiceBed.open());
    try {
      // Its clients have addresses of their own.
      await path.bed.addPod('a', 'n1', { 'ovn.kubernetes.io/port_security': 'false' });
      path.bed.in('a', 'sysctl -qw', 'net.ipv4.ip_local_port_range=1024 65000');
      for (const name of ['b', 'c']) await path.bed.addPod(name, nodeOf[name] ?? 'n1');
      for (const name of ['b', 'c']) await path.serve(name);
      await createServices(path.bed.controller.kube, others, 1, 0);
      await eventually(
        'all load balancers',
        () => path.bed.controller.rows('Load_Balancer').length > others || notYet('some are missing'),
        120_000,
      );
    } catch (error) {
      await path.close();
      throw error;
    }
    return path;
  }

  async close(): Promise<void> {
    for (const name of this.#servers.keys()) await this.stopServing(name);
    await this.#proxy?.stop();
    for (const child of this.#forwards) {
      const ended = once(child, 'close');
      child.kill('SIGKILL');
      await ended;
    }
    await this.bed.close();
  }

  async serve(pod: string): Promise<void> {
    const server = new Traffic(this.bed.space(pod), 'serve', port, pod);
    await server.next();
    this.#servers.set(pod, server);
  }

  async stopServing(pod: string): Promise<void> {
    const server = this.#servers.get(pod);
    this.#servers.delete(pod);
    await server?.kill();
  }

  /** A program in the pod of the clients. */
  client(mode: string, address: string, to: number, ...rest: readonly (string | number)[]): Traffic {
    return new Traffic(this.bed.space('a'), mode, address, to, ...rest);
  }

  /** Creates a Service of one port, 80. */
  service(name: string, spec: object = {}): Promise<string> {
    return this.bed.service(name, { ports: [{ name: 'tcp', port: 80, targetPort: port }], ...spec });
  }

  async deleteService(name: string): Promise<void> {
    await this.bed.controller.kube.delete(services, { namespace: 'default', name });
  }

  /** Resolves when the API server has answered. The only slice is that of IPv4. */
  async endpoints(service: string, serving: readonly Endpoint[], terminating: readonly Endpoint[] = []): Promise<void> {
    const endpoint = (pod: Endpoint, state: object): object => ({
      addresses: [this.bed.addressesOf(pod)[0]],
      nodeName: nodeOf[pod],
      targetRef: { kind: 'Pod', namespace: 'default', name: pod },
      ...state,
    });
    const key = { namespace: 'default', name: service };
    await this.bed.controller.kube.patch(
      endpointSlices,
      key,
      'apply',
      {
        apiVersion: apiVersionOf(endpointSlices),
        kind: endpointSlices.kind,
        metadata: { ...key, labels: { 'kubernetes.io/service-name': service } },
        addressType: 'IPv4',
        ports: [{ name: 'tcp', protocol: 'TCP', port }],
        endpoints: [...serving.map((pod) => endpoint(pod, ready)), ...terminating.map((pod) => endpoint(pod, leaving))],
      },
      { fieldManager: 'bench' },
    );
  }

  /** Waits until connections of the clients get an answer of this pod, and of no other. */
  async untilOnly(address: string, pod: string): Promise<void> {
    await eventually(`only ${pod} to answer`, async () => {
      const names = await this.client('ask', address, 80, 10).end<readonly string[]>();
      return (names.length === 1 && names[0] === pod) || notYet(names.join());
    });
  }

  /** Packets for Services leave OVN, and kube-proxy translates them on the node of the clients. */
  async useKubeProxy(): Promise<void> {
    const { bed } = this;
    await bed.controller.stop();
    await bed.startController('--enable-lb=false');
    // Packets of Services come by ovn0 and leave by it.
    const settings = [
      'net.ipv4.ip_forward=1',
      ...['all', 'ovn0'].map((one) => `net.ipv4.conf.${one}.send_redirects=0`),
    ];
    bed.in('n1', 'sysctl -qw', ...settings);
    bed.in('n1', 'ip route replace 10.16.0.0/16 via 100.64.0.1 dev ovn0');
    const { api } = bed.controller;
    const socket = `${bed.dir}/api.sock`;
    this.#forward(undefined, `UNIX-LISTEN:${socket},fork`, `TCP:127.0.0.1:${api.port}`);
    this.#forward(bed.space('n1'), `TCP-LISTEN:${api.port},bind=127.0.0.1,fork,reuseaddr`, `UNIX-CONNECT:${socket}`);
    const place = { dir: bed.dir, kubeconfig: api.kubeconfig, node: 'n1', netns: bed.space('n1') };
    this.#proxy = await KubeProxy.start(place);
    await this.#proxy.untilRounds(1);
  }

  #forward(netns: string | undefined, ...ends: readonly string[]): void {
    const [program = '', ...args] = inNetns(netns, ['socat', ...ends]);
    this.#forwards.push(spawn(program, args, { stdio: 'ignore' }));
  }
}
