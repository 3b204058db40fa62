/**
 * Two nodes with OVN of their own, the controller and an API server, and pods as network namespaces: what services.test.ts sends
 * connections through. The userspace datapath; nothing but pods and `ovn0` is on a node, so that every packet there has a reason.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ovnEnvironment, schemaFile, startOvsdbServer, type TestServer } from 'ovsdb-client/testing';
import { apiVersionOf, endpointSlices, nodes, objectPath, pods, services } from '../../lib/kube/resources.ts';
import { conditionsOf } from '../../lib/api/conditions.ts';
import { gatePort, servedCondition } from '../../lib/api/names.ts';
import { fieldsOf } from '../../lib/kube/fields.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import { gateMac, gateNetwork } from '../../lib/services/gate.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { letGo, tryRun, type RunResult } from '../lab/run.ts';
import { ControllerBed, type PodOptions } from './controller-bed.ts';
import { words } from './ovn-bed.ts';

export const nodeNames = ['n1', 'n2'] as const;
/** Only some tests have the third one. */
export type NodeName = (typeof nodeNames)[number] | 'n3';
type Addresses = readonly string[];

export interface Wire {
  readonly namespace: string;
  /** IPv4, then IPv6. */
  readonly addresses: Addresses;
  readonly mac: string;
  readonly gateways: readonly string[];
}

/** Merged with the fields of an endpoint. */
type Fields = Readonly<Record<string, unknown>>;

/** Shorter than a client would try again, longer than a busy machine needs for an answer. */
const connectSeconds = 5;

export class ServiceBed {
  readonly controller: ControllerBed;
  readonly dir = mkdtempSync(join(tmpdir(), 'services-'));
  readonly #southbound: TestServer;
  readonly #prefix = `sv${process.pid}`;
  readonly #children: ChildProcess[] = [];
  readonly #switches = new Map<NodeName, ChildProcess>();
  #areSwitchesFavoured = false;
  readonly #namespaces: string[] = [];
  readonly #addresses = new Map<string, Addresses>();
  /** Programs that answer in a pod. */
  readonly #servers = new Map<string, ChildProcess[]>();

  private constructor(controller: ControllerBed, southbound: TestServer) {
    this.controller = controller;
    this.#southbound = southbound;
  }

  static async open(): Promise<ServiceBed> {
    const [controller, southbound] = await Promise.all([
      ControllerBed.open(),
      startOvsdbServer({ schema: schemaFile('ovn-sb') }),
    ]);
    const bed = new ServiceBed(controller, southbound);
    try {
      await bed.#start();
    } catch (error) {
      await bed.close();
      throw error;
    }
    return bed;
  }

  async #start(): Promise<void> {
    const remotes = [`--ovnnb-db=${this.controller.server.remote}`, `--ovnsb-db=${this.#southbound.remote}`];
    this.#run('northd', ['ovn-northd', ...remotes, `--unixctl=${this.dir}/northd.ctl`]);
    for (const name of nodeNames) this.#addSpace(name);
    const [near, far] = nodeNames.map((name) => this.space(name));
    words(`ip link add up0 netns ${near} type veth peer name up0 netns ${far}`);
    for (const name of nodeNames) await this.#addNode(name, underlayOf(name));
    await this.startController();
    for (const name of nodeNames) await this.#plugNode(name);
  }

  /** Both families, externalIPs allowed; with further flags. */
  startController(...flags: readonly string[]): Promise<void> {
    const cidrs = ['--default-cidr=10.16.0.0/16,fd00:10::/112', '--join-cidr=100.64.0.0/16,fd00:64::/112'];
    return this.controller.start([...cidrs, '--external-ips=Allow', `--sb=${this.#southbound.remote}`, ...flags]);
  }

  async close(): Promise<void> {
    for (const child of this.#children.toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await once(child, 'exit');
    }
    for (const name of this.#namespaces) words(`ip netns del ${name}`);
    await this.controller.close();
    await this.#southbound.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Lets the switches go before other processes, for tests that count packets: on a busy machine they lose some. */
  favourSwitches(): void {
    this.#areSwitchesFavoured = true;
    for (const { pid = 0 } of this.#switches.values()) letGo(pid, 'first');
  }

  /** A third node, reached through n1, that is never a gateway: a gateway that reaches no other node takes itself for cut off. */
  async addWitness(): Promise<void> {
    const name = 'n3';
    this.#addSpace(name);
    words(`ip link add up0 netns ${this.space(name)} type veth peer name up3 netns ${this.space('n1')}`);
    this.in('n1', 'ethtool -K up3 tx off');
    this.in('n1', 'ip link set up3 up');
    this.#vsctl('n1', 'add-port', 'br-phys', 'up3');
    await this.#addNode(name, underlayOf(name));
    await this.#plugNode(name);
  }

  /** The switches that ended by themselves, each with the last line of its log. */
  get crashes(): readonly string[] {
    return [...this.#switches].flatMap(([node, { signalCode }]) => {
      if (signalCode === null || signalCode === 'SIGKILL') return [];
      const log = readFileSync(join(this.dir, `${node}-ovs-vswitchd.log`), 'utf8');
      return [`ovs-vswitchd of ${node} ended with ${signalCode}: ${log.trimEnd().split('\n').at(-1) ?? ''}`];
    });
  }

  /** Ends the switch of a node, as a crash that leaves its links up. */
  killSwitch(node: NodeName): void {
    const { pid } = this.#switches.get(node) ?? {};
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }

  /** Starts the switch of a node again; its interfaces were kept by the kernel. */
  async reviveSwitch(node: NodeName): Promise<void> {
    const child = this.#switches.get(node);
    if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit');
    this.#startSwitch(node);
  }

  /** Remote of the southbound database. */
  get southbound(): string {
    return this.#southbound.remote;
  }

  /** OpenFlow socket of the integration bridge. */
  bridgeSocket(node: NodeName): string {
    return join(this.dir, node, 'br-int.mgmt');
  }

  /** Number of the pod's port in the bridge of its node. */
  portOf(pod: string, node: NodeName): number {
    return Number(this.#vsctl(node, 'get', 'interface', `${pod}_h`, 'ofport'));
  }

  space(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  in(name: string, command: string, ...argv: string[]): string {
    return words(`ip netns exec ${this.space(name)} ${command}`, ...argv);
  }

  /** Runs lines of `ip -batch` in a namespace. */
  batch(name: string, lines: readonly string[]): void {
    const argv = ['-n', this.space(name), '-batch', '-'];
    const { status, stderr } = spawnSync('ip', argv, { input: lines.join('\n'), encoding: 'utf8' });
    if (status !== 0) throw new Error(`ip ${argv.join(' ')}: ${stderr}`);
  }

  /** IPv4 and IPv6 address of a pod. */
  addressesOf(pod: string): Addresses {
    return this.#addresses.get(pod) ?? [];
  }

  /** A pod that answers at 8080 with its name and the client's address, over TCP and UDP. */
  async addPod(name: string, node: NodeName, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.plugPod(name, node, { annotations });
    this.serve(name);
  }

  /** A pod in which nothing runs; its name is unique among all namespaces. */
  async plugPod(name: string, node: NodeName, options: Omit<PodOptions, 'node'> = {}): Promise<void> {
    const { namespace = 'default' } = options;
    await this.controller.createPod(name, { node, ...options });
    const addresses = (await this.controller.address(name, namespace)).split(',');
    const { 'ovn.kubernetes.io/mac_address': mac = '', 'ovn.kubernetes.io/gateway': gateways = '' } =
      await this.controller.annotations(pods, name, namespace);
    this.wirePod(name, node, { namespace, addresses, mac, gateways: gateways.split(',') });
  }

  /** The interface of a pod, which may be created later with these addresses: OVN has it from the start. */
  wirePod(name: string, node: NodeName, { namespace, addresses, mac, gateways }: Wire): void {
    this.#addresses.set(name, addresses);
    this.#addSpace(name);
    words(`ip link add eth0 netns ${this.space(name)} type veth peer name ${name}_h netns ${this.space(node)}`);
    this.in(node, `ip link set ${name}_h up`);
    this.in(name, `ip link set eth0 address ${mac} mtu 1400`);
    // Else the userspace datapath sees packets with unfinished checksums.
    this.in(name, 'ethtool -K eth0 tx off');
    this.in(name, 'ip link set eth0 up');
    for (const address of addresses) {
      const isV6 = address.includes(':');
      this.in(name, `ip addr add ${address}/${isV6 ? '112 nodad' : '16'} dev eth0`);
    }
    for (const gateway of gateways) this.in(name, `ip route add default via ${gateway}`);
    this.#plug(node, `${name}_h`, `${name}.${namespace}`);
  }

  /** Removes what `wirePod` made. */
  unwirePod(name: string, node: NodeName): void {
    this.#vsctl(node, 'del-port', 'br-int', `${name}_h`);
    words(`ip netns del ${this.space(name)}`);
    this.#namespaces.splice(this.#namespaces.indexOf(this.space(name)), 1);
  }

  /** The pod answers from now on. */
  serve(name: string, port = 8080): void {
    // Closing a connection with a request that was not read resets it, and the client may lose the answer.
    const tell = `SYSTEM:read line; echo ${name} $SOCAT_PEERADDR`;
    this.#serve(name, [`TCP6-LISTEN:${port},ipv6only=0,reuseaddr,fork`, tell]);
    this.#serve(name, [`UDP6-RECVFROM:${port},ipv6only=0,fork`, tell]);
  }

  /** Nothing in the pod answers any more, as after a crash of its containers. */
  async stopServing(name: string): Promise<void> {
    for (const child of this.#servers.get(name) ?? []) {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await once(child, 'exit');
    }
    this.#servers.delete(name);
  }

  #serve(name: string, ends: readonly string[]): void {
    const child = this.#run(`${name}-${ends[0]?.slice(0, 3)}`, [
      'ip',
      'netns',
      'exec',
      this.space(name),
      'socat',
      `-t${connectSeconds}`,
      ...ends,
    ]);
    this.#servers.set(name, [...(this.#servers.get(name) ?? []), child]);
  }

  /** Creates a Service of both families; gives its first cluster address. */
  async service(name: string, spec: object = {}): Promise<string> {
    return (await this.dualService(name, spec))[0];
  }

  /** Gives its cluster addresses, that of IPv4 first. */
  async dualService(name: string, spec: object = {}): Promise<readonly [v4: string, v6: string]> {
    const ports = [
      { name: 'tcp', port: 80, targetPort: 8080 },
      { name: 'udp', port: 80, targetPort: 8080, protocol: 'UDP' },
    ];
    const body = {
      apiVersion: 'v1',
      kind: services.kind,
      metadata: { name, namespace: 'default' },
      spec: { ports, ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'], ...spec },
    };
    const created = await this.controller.kube.create(services, body);
    const [four = '', six = ''] = (created['spec'] as { clusterIPs: readonly string[] }).clusterIPs;
    return [four, six];
  }

  /** Waits for a message of the condition Served. */
  async untilServed(name: string, message: RegExp): Promise<void> {
    await eventually(`condition ${servedCondition} of ${name} says ${message}`, async () => {
      const { status } = await this.controller.kube.get(services, { namespace: 'default', name });
      const condition = conditionsOf(fieldsOf(status)).find(({ type }) => type === servedCondition);
      if (!message.test(condition?.message ?? '')) throw new Error(condition?.message ?? 'no condition');
      return true;
    });
  }

  /** The endpoints of a Service, in one slice for each family: pods, with further fields of each. */
  async endpoints(service: string, all: Readonly<Record<string, Fields>>, target = 8080): Promise<void> {
    for (const [index, addressType] of ['IPv4', 'IPv6'].entries()) {
      const endpoints = Object.entries(all).map(([name, fields]) => ({
        addresses: [this.addressesOf(name)[index]],
        targetRef: { kind: 'Pod', namespace: 'default', name },
        ...fields,
      }));
      const ports = ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: target }));
      const name = `${service}-${addressType.toLowerCase()}`;
      // Kubernetes labels the slices of headless Services, such as those of SwitchLBRules.
      const headless = service.startsWith('slr-') ? { 'service.kubernetes.io/headless': '' } : {};
      const labels = { 'kubernetes.io/service-name': service, ...headless };
      const metadata = { name, namespace: 'default', labels };
      const body = {
        apiVersion: apiVersionOf(endpointSlices),
        kind: endpointSlices.kind,
        metadata,
        addressType,
        endpoints,
        ports,
      };
      const path = objectPath(endpointSlices, { namespace: 'default', name });
      await this.controller.kube.request('PATCH', `${path}?fieldManager=test&force=true`, body, {
        contentType: 'application/apply-patch+yaml',
      });
    }
  }

  /** A gate of the VPC on a node, as the daemon makes it, that answers at 53 itself: with `gate-<node>` and the client's address. */
  addGate(vpc: string, node: NodeName): void {
    const name = `gate-${node}`;
    this.#addSpace(name);
    words(`ip link add vpc0 netns ${this.space(name)} type veth peer name ${vpc}_g netns ${this.space(node)}`);
    this.in(node, `ip link set ${vpc}_g up`);
    this.in(name, `ip link set vpc0 address ${gateMac} mtu 1400`);
    this.in(name, 'ethtool -K vpc0 tx off');
    this.in(name, 'ip link set vpc0 up');
    for (const { gate, prefix, router } of Object.values(gateNetwork)) {
      this.in(name, `ip addr add ${gate}/${prefix} dev vpc0${gate.includes(':') ? ' nodad' : ''}`);
      this.in(name, `ip route add default via ${router}`);
    }
    this.#plug(node, `${vpc}_g`, gatePort(vpc));
    this.serve(name, 53);
  }

  /** One connection: the name of the pod that answers and the address that it saw, or why there is no answer within `seconds`. */
  async connect(
    from: string,
    address: string,
    protocol: 'TCP' | 'UDP' = 'TCP',
    port = 80,
    seconds = connectSeconds,
  ): Promise<string> {
    const host = address.includes(':') ? `[${address}]` : address;
    const target = `${protocol}${address.includes(':') ? 6 : 4}:${host}:${port}`;
    const options = protocol === 'TCP' ? `,connect-timeout=${seconds}` : '';
    // Without -t it waits half a second for the answer, which is too short for a busy machine.
    const argv = ['socat', `-T${seconds}`, `-t${seconds}`, '-', `${target}${options}`];
    // No datagram says that it is the last one: the client would wait for more of them as long as for the first.
    const isDoneByLine = protocol === 'UDP';
    const { stdout, stderr }: RunResult = await tryRun(argv, { netns: this.space(from), input: 'who\n', isDoneByLine });
    const [name = '', seen = ''] = stdout.trim().split(' ');
    if (name !== '') return `${name} ${canonical(seen)}`;
    return /refused/.test(stderr) ? 'refused' : 'silence';
  }

  /** Waits until a connection ends as expected. */
  async until(
    from: string,
    address: string,
    expected: RegExp,
    protocol: 'TCP' | 'UDP' = 'TCP',
    port = 80,
  ): Promise<string> {
    // A datagram that comes too early is not sent again.
    let seconds = protocol === 'TCP' || expected.test('silence') ? connectSeconds : 0;
    return eventually(`${protocol} from ${from} to ${address} gives ${expected}`, async () => {
      seconds = Math.min(seconds + 1, connectSeconds);
      const answer = await this.connect(from, address, protocol, port, seconds);
      if (!expected.test(answer)) throw new Error(answer);
      return answer;
    });
  }

  /** What a program in a pod or on a node does meanwhile is seen by tcpdump on `device`; gives what it saw. */
  async packets(place: string, device: string, filter: string, meanwhile: () => Promise<unknown>): Promise<string> {
    const argv = ['ip', 'netns', 'exec', this.space(place), 'tcpdump', '--immediate-mode', '-nli', device, filter];
    const [program = '', ...rest] = argv;
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    let seen = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (seen += text));
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk: Buffer) => chunk.includes('listening') && resolve());
    });
    await meanwhile();
    child.kill('SIGINT');
    await once(child, 'close');
    return seen.trim();
  }

  /** Waits until the controller has written what a change of an object leads to, and the nodes have it. */
  async untilWritten(before: number): Promise<void> {
    await this.controller.untilWritten(before);
    words(`ovn-nbctl --timeout=60 --wait=hv --db=${this.controller.server.remote} sync`);
  }

  /** Empties the caches of the datapaths: each flow is made anew from what OVN wants now. */
  forgetFlows(): void {
    for (const node of nodeNames)
      words(`ovs-appctl --timeout=60 --target=${this.dir}/${node}/vswitchd.ctl revalidator/purge`);
  }

  #run(name: string, [program = '', ...argv]: readonly string[], dir = this.dir): ChildProcess {
    const log = openSync(join(this.dir, `${name}.log`), 'a');
    const env = { ...ovnEnvironment(), OVS_RUNDIR: dir, OVS_DBDIR: dir, OVS_SYSCONFDIR: dir, OVN_RUNDIR: dir };
    const child = spawn(program, argv, { env, stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#children.push(child);
    return child;
  }

  #addSpace(name: string): void {
    words(`ip netns add ${this.space(name)}`);
    this.#namespaces.push(this.space(name));
    this.in(name, 'ip link set lo up');
  }

  #startSwitch(node: NodeName): void {
    const dir = join(this.dir, node);
    const argv = [`unix:${dir}/db.sock`, '--disable-system', `--unixctl=${dir}/vswitchd.ctl`];
    const command = ['ip', 'netns', 'exec', this.space(node), 'ovs-vswitchd', ...argv];
    const child = this.#run(`${node}-ovs-vswitchd`, command, dir);
    this.#switches.set(node, child);
    if (this.#areSwitchesFavoured) letGo(child.pid ?? 0, 'first');
  }

  #vsctl(node: string, ...argv: string[]): string {
    return words(`ovs-vsctl --no-wait --timeout=60 --db=unix:${this.dir}/${node}/db.sock`, ...argv).trim();
  }

  #plug(node: string, device: string, port: string, ...more: string[]): void {
    const id = `external_ids:iface-id=${port}`;
    this.#vsctl(node, 'add-port', 'br-int', device, '--', 'set', 'interface', device, id, ...more);
  }

  async #addNode(node: NodeName, address: string): Promise<void> {
    const dir = join(this.dir, node);
    mkdirSync(dir);
    this.in(node, 'ethtool -K up0 tx off');
    this.in(node, 'ip link set up0 up');
    words(`ovsdb-tool create ${dir}/conf.db ${schemaFile('vswitch')}`);
    const start = (name: string, ...argv: string[]): ChildProcess =>
      this.#run(`${node}-${name}`, ['ip', 'netns', 'exec', this.space(node), name, ...argv], dir);
    start('ovsdb-server', `${dir}/conf.db`, `--remote=punix:${dir}/db.sock`, `--unixctl=${dir}/db.ctl`);
    await eventually('the database of the switch', () => this.#vsctl(node, 'init'));
    this.#startSwitch(node);
    const ids = {
      'system-id': `chassis-${node}`,
      'ovn-remote': this.#southbound.remote,
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': address,
    };
    const settings = Object.entries(ids).map(([key, value]) => `external_ids:${key}="${value}"`);
    this.#vsctl(node, 'set', 'open', '.', ...settings);
    for (const bridge of ['br-phys', 'br-int'])
      this.#vsctl(node, 'add-br', bridge, '--', 'set', 'bridge', bridge, 'datapath_type=netdev');
    // Otherwise it takes the lowest address of its devices: that of another one in some runs, to which the tunnels of other nodes do not go.
    this.#vsctl(node, 'set', 'bridge', 'br-phys', `other_config:hwaddr="02:00:00:00:08:0${node.slice(1)}"`);
    this.#vsctl(node, 'set', 'bridge', 'br-int', 'fail_mode=secure', '--', 'add-port', 'br-phys', 'up0');
    start('ovn-controller', `unix:${dir}/db.sock`);
    await this.#untilLink(node, 'br-phys');
    this.in(node, `ip addr add ${address}/24 dev br-phys`);
    this.in(node, 'ip link set br-phys up');
    await this.controller.createNode(node, address);
    const annotations = { 'ovn.kubernetes.io/chassis': `chassis-${node}` };
    const metadata = { annotations, labels: { 'topology.kubernetes.io/zone': `zone-${node}` } };
    await this.controller.kube.patch(nodes, { name: node }, 'merge', { metadata });
  }

  /** The node's own port, which packets without another way come to. */
  async #plugNode(node: string): Promise<void> {
    const annotations = await eventually(`the address of ${node}`, async () => {
      const all = await this.controller.annotations(nodes, node);
      return all['ovn.kubernetes.io/allocated'] === 'true' ? all : undefined;
    });
    this.#plug(node, 'ovn0', `node-${node}`, 'type=internal');
    await this.#untilLink(node, 'ovn0');
    this.in(node, `ip link set ovn0 address ${annotations['ovn.kubernetes.io/mac_address'] ?? ''} up`);
    const addresses = (annotations['ovn.kubernetes.io/ip_address'] ?? '').split(',');
    for (const address of addresses)
      this.in(node, `ip addr add ${address}/${address.includes(':') ? '112 nodad' : '16'} dev ovn0`);
  }

  async #untilLink(place: string, device: string): Promise<void> {
    const show = ['-n', this.space(place), 'link', 'show', device];
    await eventually(`${device} of ${place}`, () => spawnSync('ip', show).status === 0);
  }
}

/** The end of tunnels. */
export function underlayOf(node: NodeName): string {
  return `172.31.8.${node.slice(1)}`;
}

/** An address as socat prints it, in its usual form. */
function canonical(text: string): string {
  const ip = parseIp(text.replace(/[[\]]/g, ''));
  if (ip === undefined) throw new Error(`${text} is not an address`);
  const isMapped = ip.family === 6 && ip.value >> 32n === 0xffffn;
  return formatIp(isMapped ? { family: 4, value: ip.value & 0xffff_ffffn } : ip);
}
