/**
 * A lab of two nodes that serve Services, with clients and servers in pods, on nodes and behind two routers, for comparison with
 * test/model/services.ts. Each router enters the cluster through another node. Keeps the objects that the model reads as the API server returned them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { annotation } from '../../lib/api/names.ts';
import { apiVersionOf, endpointSlices, nodes, pods, services } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { takeDown } from '../lab/down.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { inNetns, run } from '../lab/run.ts';
import type { Client, Node, Pod, Service, Slice, SliceEndpoint } from '../model/services.ts';
import { Agent } from './service-agent.ts';
import { startOwnLab } from './own-lab.ts';
import { applyObjects, waitForPods } from './workload.ts';

const topology = join(import.meta.dirname, '../lab/topologies/services.yaml');
export const namespace = 'model';
const cluster = 'east';
/** What the servers listen on; those of the lab have 8080. */
export const ports = [9080, 9081] as const;
/** Of connections that stay open. */
export const keptPort = 9090;
const zoneLabel = 'topology.kubernetes.io/zone';
/** Addresses that load balancers and operators have, behind the nodes. */
const external = ['198.51.100.0/24', 'fd00:198::/64'] as const;

export const nodeNames = ['n1', 'n2'] as const;
export type NodeName = (typeof nodeNames)[number];

const podPlaces = [
  { name: 'a1', node: 'n1', http: 9080 },
  { name: 'a2', node: 'n1', http: 9081 },
  { name: 'b1', node: 'n2', http: 9080 },
  { name: 'b2', node: 'n2', http: 9081 },
] as const;

/** Clients with connections that stay open. */
const keepers = ['pod a2', 'pod b2', 'node n1', 'node n2'] as const;

export interface Place {
  readonly client: Client;
  readonly agent: Agent;
}

/** Processes that a fault may kill, with their place in the lab. */
export const victims = [
  ['east', 'controller'],
  ['east/n1', 'daemon'],
  ['east/n2', 'daemon'],
  ['east', 'northd'],
  ['east/n1', 'ovn-controller'],
  ['east/n2', 'ovn-controller'],
] as const;
export type Victim = (typeof victims)[number];

export class ServiceModelBed {
  readonly lab: LabHandle;
  readonly kube: KubeClient;
  /** The model's world, as the API server has it. */
  readonly services = new Map<string, Service>();
  readonly slices = new Map<string, Slice>();
  readonly pods = new Map<string, Pod>();
  readonly nodes = new Map<string, Node>();
  readonly places = new Map<string, Place>();
  readonly #name: string;
  #leaks: ChildProcess | undefined;
  #leaked = '';

  private constructor(name: string, lab: LabHandle) {
    this.#name = name;
    this.lab = lab;
    this.kube = this.lab.kube(cluster);
  }

  static async open(): Promise<ServiceModelBed> {
    const name = `s${process.pid.toString(36)}`;
    try {
      const bed = new ServiceModelBed(name, await startOwnLab(name, topology));
      await bed.#start();
      return bed;
    } catch (error) {
      await takeDown(name);
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const { agent } of this.places.values()) await agent.stop();
    if (this.#leaks?.kill('SIGINT') === true) await once(this.#leaks, 'close');
    await this.kube.close();
    await takeDown(this.#name);
  }

  async #start(): Promise<void> {
    for (const [index, name] of nodeNames.entries()) await this.#addFamily(name, index + 11);
    await Promise.all(['tor1', 'tor2'].map((name, index) => this.#addRouter(name, index + 1)));
    await this.#addPods();
    for (const name of nodeNames) await this.#readNode(name);
    await this.#startAgents();
    await this.#watchLeaks();
  }

  /** The lab's own network is of IPv4 alone. */
  async #addFamily(name: NodeName, number: number): Promise<void> {
    const netns = this.lab.ns(cluster, name);
    const address = `fd00:30::${number}`;
    await run(['ip', '-n', netns, 'addr', 'add', `${address}/64`, 'dev', 'br-phys', 'nodad']);
    await run(['ip', '-n', netns, '-6', 'route', 'add', 'default', 'via', 'fd00:30::1']);
    // By default a node rejects a datagram a second.
    for (const limit of ['net.ipv4.icmp_ratelimit', 'net.ipv6.icmp.ratelimit'])
      await run(['sysctl', '-qw', `${limit}=0`], { netns });
    const { status } = (await this.kube.get(nodes, { name })) as { status?: { addresses?: readonly object[] } };
    const addresses = [...(status?.addresses ?? []), { type: 'InternalIP', address }];
    await this.kube.patch(nodes, { name }, 'merge', { status: { addresses } }, { subresource: 'status' });
  }

  async #addRouter(name: string, number: number): Promise<void> {
    const { netns } = this.lab.router(name);
    const node = this.lab.cluster(cluster).nodes[number - 1];
    const lines = [
      `addr add fd00:30::${number}/64 dev up0 nodad`,
      ...external.map(
        (cidr) => `route add ${cidr} via ${cidr.includes(':') ? `fd00:30::${number + 10}` : node?.address}`,
      ),
    ];
    await run(['ip', '-n', netns, '-batch', '-'], { input: lines.join('\n') });
    // It is no way between the nodes and addresses that nothing serves.
    const off = ['net.ipv4.ip_forward', 'net.ipv6.conf.all.forwarding'];
    // A node that does not serve an address yet forwards its packets to the other router, and would send this one there for good.
    const redirects = ['4', '6'].flatMap((family) =>
      ['all', 'up0'].map((device) => `net.ipv${family}.conf.${device}.accept_redirects`),
    );
    await run(['sysctl', '-qw', ...[...off, ...redirects].map((name) => `${name}=0`)], { netns });
  }

  async #addPods(): Promise<void> {
    const subnet = { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', metadata: { name: 'aside' } };
    const spec = { vpc: 'apart', cidrBlock: '10.77.0.0/24,fd00:77::/112', namespaces: ['apart'] };
    const pod = (name: string, space: string, node: string, http: number): object => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: space, labels: { app: 'none' } },
      spec: {
        nodeName: node,
        containers: [{ name: 'main', image: 'none', ports: [{ name: 'http', containerPort: http }] }],
      },
    });
    await applyObjects(this.lab, cluster, [
      { apiVersion: 'kubeovn.io/v1', kind: 'Vpc', metadata: { name: 'apart' }, spec: {} },
      { ...subnet, spec },
      ...[namespace, 'apart'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ]);
    await applyObjects(this.lab, cluster, [
      ...podPlaces.map(({ name, node, http }) => pod(name, namespace, node, http)),
      pod('c', 'apart', 'n1', 9080),
    ]);
    await waitForPods(this.lab, cluster, namespace, podPlaces.length);
    await waitForPods(this.lab, cluster, 'apart', 1);
    for (const { name, node, http } of podPlaces) {
      const addresses = await this.#addressesOf(`${namespace}/${name}`);
      this.pods.set(name, { node, addresses, labels: { app: 'none' }, isReady: true, ports: { http } });
    }
  }

  /**
   * Creates a Service with externalTrafficPolicy Local and this NodePort, whose endpoint is a pod on one node in a Subnet with its gateway on another.
   * The model does not know it. @returns what answers in the pod, and its address
   */
  async addBehindGateway(node: NodeName, gatewayNode: NodeName, nodePort: number): Promise<[Agent, string]> {
    const [space, name] = ['behind', 'far'];
    const subnet = { cidrBlock: '10.78.0.0/24', namespaces: [space], gatewayType: 'centralized', gatewayNode };
    const [port] = ports;
    await applyObjects(this.lab, cluster, [
      { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', metadata: { name: space }, spec: subnet },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: space } },
    ]);
    const labels = { app: name };
    const containers = [{ name: 'main', image: 'none', ports: [{ containerPort: port }] }];
    await applyObjects(this.lab, cluster, [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name, namespace: space, labels },
        spec: { nodeName: node, containers },
      },
      {
        apiVersion: 'v1',
        kind: services.kind,
        metadata: { name, namespace: space },
        spec: {
          type: 'NodePort',
          externalTrafficPolicy: 'Local',
          selector: labels,
          ports: [{ port: 80, targetPort: port, nodePort }],
        },
      },
    ]);
    await waitForPods(this.lab, cluster, space, 1);
    const address = await this.lab.addressOf(cluster, `${space}/${name}`);
    return [await Agent.start(this.lab.ns(cluster, `${space}/${name}`), [address], [port]), address];
  }

  #addressesOf(pod: string): Promise<readonly string[]> {
    return Promise.all(([4, 6] as const).map((family) => this.lab.addressOf(cluster, pod, family)));
  }

  async #readNode(name: NodeName): Promise<void> {
    const annotations = await eventually(`the addresses of ${name}`, async () => {
      const { metadata } = await this.kube.get(nodes, { name });
      const all = metadata.annotations ?? {};
      return all[annotation.serviceAddress] === undefined ? undefined : all;
    });
    const { address } = this.#layoutOf(name);
    this.nodes.set(name, {
      zone: undefined,
      addresses: [address, `fd00:30::${address.split('.')[3]}`],
      join: (annotations[annotation.ipAddress] ?? '').split(','),
      service: (annotations[annotation.serviceAddress] ?? '').split(','),
    });
  }

  #layoutOf(name: string): { readonly address: string } {
    const found = this.lab.cluster(cluster).nodes.find((node) => node.name === name);
    if (found === undefined) throw new Error(`no node ${name}`);
    return found;
  }

  async #startAgents(): Promise<void> {
    const add = async (name: string, netns: string, client: Client, served: readonly string[]): Promise<void> => {
      this.places.set(name, { client, agent: await Agent.start(netns, served, ports, keptPort) });
    };
    await Promise.all([
      ...[...this.pods].map(([name, { node, addresses }]) =>
        add(`pod ${name}`, this.netnsOf(name), { kind: 'pod', node, addresses }, addresses),
      ),
      ...[...this.nodes].map(([node, { addresses }]) =>
        add(`node ${node}`, this.lab.ns(cluster, node), { kind: 'node', node, addresses }, addresses),
      ),
      ...nodeNames.map((node, index) => {
        const { netns, address } = this.lab.router(`tor${index + 1}`);
        return add(
          `outside ${node}`,
          netns,
          { kind: 'outside', node, addresses: [address, `fd00:30::${index + 1}`] },
          [],
        );
      }),
      add('pod apart', this.lab.ns(cluster, 'apart/c'), { kind: 'apart' }, []),
    ]);
  }

  /** The first router is the default route of the nodes: packets to addresses of Services that come there have left the cluster. */
  async #watchLeaks(): Promise<void> {
    const { serviceCidr, serviceCidr6 = '' } = this.lab.cluster(cluster);
    const filter = `dst net ${serviceCidr} or dst net ${serviceCidr6}`;
    const argv = ['tcpdump', '--immediate-mode', '-lni', 'up0', filter];
    const [program = '', ...args] = inNetns(this.lab.router('tor1').netns, argv);
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#leaked += text));
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk: Buffer) => chunk.includes('listening') && resolve());
    });
    this.#leaks = child;
  }

  netnsOf(pod: string): string {
    return this.lab.ns(cluster, `${namespace}/${pod}`);
  }

  /** Opens so many connections from each of some clients, which stay open. @returns how many answered */
  async keep(address: string, port: number, count: number): Promise<readonly number[]> {
    await eventually('a first answer', async () => (await this.#keeper(0).ask('keep', address, port)) === 'alive');
    for (const at of keepers.keys())
      await Promise.all(Array.from({ length: count }, () => this.#keeper(at).ask('keep', address, port)));
    return this.keptConnections();
  }

  /** How many connections of each of these clients still answer. */
  keptConnections(): Promise<readonly number[]> {
    return Promise.all(keepers.map(async (_, at) => Number(await this.#keeper(at).ask('check'))));
  }

  #keeper(at: number): Agent {
    const found = this.places.get(keepers[at] ?? '');
    if (found === undefined) throw new Error(`no client ${at}`);
    return found.agent;
  }

  /** Packets to addresses of Services that left the cluster, as tcpdump prints them. */
  get leaked(): string {
    return this.#leaked;
  }

  /** Creates a Service or replaces its spec. */
  async setService(name: string, spec: object): Promise<void> {
    const object = { apiVersion: 'v1', kind: services.kind, metadata: { name, namespace }, spec };
    await this.#applied(
      name,
      this.kube.patch(services, { namespace, name }, 'apply', object, { fieldManager: 'test' }),
    );
  }

  async setBalancer(name: string, ingress: readonly object[]): Promise<void> {
    const body = { status: { loadBalancer: { ingress } } };
    await this.#applied(name, this.kube.patch(services, { namespace, name }, 'merge', body, { subresource: 'status' }));
  }

  async #applied(name: string, written: Promise<RawObject>): Promise<void> {
    const { spec, status } = (await written) as unknown as Service;
    this.services.set(name, { spec, ...(status === undefined ? {} : { status }) });
  }

  async deleteService(name: string): Promise<void> {
    await this.kube.delete(services, { namespace, name });
    this.services.delete(name);
  }

  async setSlice(name: string, { service, endpoints, ...slice }: Slice): Promise<void> {
    const labels = { 'kubernetes.io/service-name': service, 'endpointslice.kubernetes.io/managed-by': 'test' };
    const object = {
      apiVersion: apiVersionOf(endpointSlices),
      kind: endpointSlices.kind,
      metadata: { name, namespace, labels },
      endpoints: endpoints.map((endpoint) => ({ ...endpoint, ...this.#targetOf(endpoint) })),
      ...slice,
    };
    await this.kube.patch(endpointSlices, { namespace, name }, 'apply', object, { fieldManager: 'test' });
    this.slices.set(name, { service, endpoints, ...slice });
  }

  #targetOf({ addresses: [address = ''] }: SliceEndpoint): object {
    const pod = [...this.pods].find(([, { addresses }]) => addresses.includes(address));
    return pod === undefined ? {} : { targetRef: { kind: 'Pod', namespace, name: pod[0] } };
  }

  async deleteSlice(name: string): Promise<void> {
    await this.kube.delete(endpointSlices, { namespace, name });
    this.slices.delete(name);
  }

  /** Creates a Service that no change concerns, and that the model does not know. @returns its ClusterIP */
  async addSteady(name: string, port: object, endpoints: readonly string[]): Promise<string> {
    const spec = { ports: [port] };
    const service = { apiVersion: 'v1', kind: services.kind, metadata: { name, namespace }, spec };
    const created = await this.kube.create(services, service);
    await this.setSteady(name, port, endpoints);
    return (created['spec'] as { clusterIP: string }).clusterIP;
  }

  /** @param endpoints names of pods and nodes */
  async setSteady(name: string, port: object, endpoints: readonly string[]): Promise<void> {
    const { targetPort, ...rest } = port as { readonly targetPort: number };
    const slice = {
      apiVersion: apiVersionOf(endpointSlices),
      kind: endpointSlices.kind,
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports: [{ ...rest, port: targetPort }],
      endpoints: endpoints.map((one) => ({ addresses: [(this.pods.get(one) ?? this.nodes.get(one))?.addresses[0]] })),
    };
    await this.kube.patch(endpointSlices, { namespace, name }, 'apply', slice, { fieldManager: 'test' });
  }

  async setZone(name: NodeName, zone: string | undefined): Promise<void> {
    await this.kube.patch(nodes, { name }, 'merge', { metadata: { labels: { [zoneLabel]: zone ?? null } } });
    this.nodes.set(name, { ...(this.nodes.get(name) as Node), zone });
  }

  async setLabel(name: string, app: string): Promise<void> {
    await this.kube.patch(pods, { namespace, name }, 'merge', { metadata: { labels: { app } } });
    this.pods.set(name, { ...(this.pods.get(name) as Pod), labels: { app } });
  }

  async setReadiness(name: string, isReady: boolean): Promise<void> {
    const condition = { type: 'Ready', status: isReady ? 'True' : 'False' };
    const body = { status: { conditions: [condition] } };
    await this.kube.patch(pods, { namespace, name }, 'strategic', body, { subresource: 'status' });
    this.pods.set(name, { ...(this.pods.get(name) as Pod), isReady });
  }

  /** SIGKILL. The lab starts the processes of Isthmus again; `heal` starts the others. */
  async kill([place, component]: Victim): Promise<() => Promise<void>> {
    const pid = this.lab.pid(place, component);
    await this.lab.kill(place, component);
    const isOurs = component === 'controller' || component === 'daemon';
    return async () => {
      if (isOurs) await this.lab.waitForRestart(place, component, pid);
      else await this.lab.heal();
    };
  }
}
