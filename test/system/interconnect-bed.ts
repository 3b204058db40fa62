/**
 * Clusters joined by OVN for interconnect.test.ts: real ovsdb-servers, northd, ovn-controllers and OVS in network
 * namespaces, a real API server for each cluster, and a hub and agents as processes that tests can kill. The bed writes the
 * rows and objects of other rooms (routers, ports, Nodes, Subnets). All names have the bed's prefix; `down` removes everything.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { annotation } from '../../lib/api/names.ts';
import { openKube } from '../../lib/kube/client.ts';
import type { KubeApiError } from '../../lib/kube/errors.ts';
import {
  hubMembers,
  interconnectGateways,
  interconnects,
  nodes,
  secrets,
  serviceExports,
  serviceImports,
  subnets,
} from '../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import { freePorts } from '../../lib/testing-ports.ts';
import { type ClusterPlan, OvnBed, words } from './ovn-bed.ts';
import { expiredSessions } from './bfd-sessions.ts';
import { TunnelReporter } from './tunnel-reporter.ts';
import { eventually } from '../../lib/testing-eventually.ts';

export type { ClusterPlan } from './ovn-bed.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

export class Bed {
  readonly dir = mkdtempSync(join(tmpdir(), 'ic-'));
  readonly prefix = `ic${process.pid.toString(36)}`;
  readonly #ovn = new OvnBed(this.dir, this.prefix);
  readonly #children = new Map<string, ChildProcess>();
  readonly #apiServers = new Map<string, TestApiServer>();
  readonly #starting: Promise<unknown>[] = [];
  readonly #clients = new Map<string, KubeClient>();
  readonly #reporters: TunnelReporter[] = [];
  hubPort = 0;
  #hubCluster = '';

  netns(name: string): string {
    return `${this.prefix}-${name}`;
  }
  socket(where: string, name: string): string {
    return `unix:${join(this.dir, where, `${name}.sock`)}`;
  }
  kube(cluster: string): KubeClient {
    const client = this.#clients.get(cluster);
    if (client === undefined) throw new Error(`no cluster ${cluster}`);
    return client;
  }
  kubeconfig(cluster: string): string {
    return this.#apiServers.get(cluster)?.kubeconfig ?? '';
  }

  nb(cluster: string, ...argv: string[]): string {
    return this.#ovn.nb(cluster, ...argv);
  }
  sb(cluster: string, ...argv: string[]): string {
    return words(`ovn-sbctl --db=${this.socket(cluster, 'sb')}`, ...argv);
  }

  async up(plans: readonly ClusterPlan[]): Promise<void> {
    this.#ovn.underlay();
    mkdirSync(join(this.dir, 'hub'));
    this.#ovn.database('hub', 'icnb', 'ovn-ic-nb');
    this.#ovn.database('hub', 'icsb', 'ovn-ic-sb');
    await Promise.all(plans.map((plan) => this.#cluster(plan)));
    // The hub stores its state in the first cluster.
    this.#hubCluster = plans[0]?.name ?? '';
    await this.serveHub();
  }

  async #cluster(plan: ClusterPlan): Promise<void> {
    const api = plan.isForeign === true ? undefined : this.#apiServer(plan.name);
    this.#ovn.cluster(plan);
    const server = await api;
    if (server === undefined) return;
    const client = openKube({ kubeconfig: server.kubeconfig, userAgent: 'test' });
    this.#clients.set(plan.name, client);
    await applyDefinitions(client);
    for (const node of plan.nodes) {
      const labels = plan.gateways.includes(node) ? { 'ovn.kubernetes.io/ic-gw': 'true' } : {};
      await client.create(nodes, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: node, labels, annotations: { 'ovn.kubernetes.io/chassis': node } },
      });
    }
    await this.subnet(plan.name, 'ovn-default', `10.${plan.octet}.0.0/16`);
  }

  #apiServer(name: string): Promise<TestApiServer> {
    const api = startApiServer().then((server) => {
      this.#apiServers.set(name, server);
      return server;
    });
    this.#starting.push(api);
    return api;
  }

  /** Attaches a foreign zone like its administrator does. */
  async attachForeign(plan: ClusterPlan, address: string): Promise<void> {
    this.#ovn.startForeign(plan);
    await eventually('ovn-ic makes the transit switch', () => this.nb(plan.name, 'ls-list').includes('(ts)'));
    this.#ovn.attachForeign(plan, address);
  }

  /** Creates a Subnet that the controller has accepted. */
  async subnet(cluster: string, name: string, cidrBlock: string, vpc = 'ovn-cluster'): Promise<void> {
    const client = this.kube(cluster);
    await client.create(subnets, {
      apiVersion: 'kubeovn.io/v1',
      kind: 'Subnet',
      metadata: { name, annotations: { [annotation.accepted]: `${cidrBlock} ${cidrBlock}` } },
      spec: { cidrBlock, vpc },
    });
  }

  /** Whether an object is Ready and has a finalizer of the program that reported it. */
  async isReady(cluster: string, resource: Resource, name: string): Promise<boolean> {
    const { metadata, ...rest } = await this.kube(cluster).get(resource, { name });
    const { conditions = [] } = (rest['status'] ?? {}) as { conditions?: { type: string; status: string }[] };
    const isWell = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    return isWell && metadata.finalizers !== undefined;
  }

  async serveHub(...argv: string[]): Promise<void> {
    if (this.hubPort === 0) [this.hubPort = 0] = await freePorts(1);
    this.#start('hub-serve', 'interconnect/hub/main.ts', [
      'serve',
      `--kubeconfig=${this.kubeconfig(this.#hubCluster)}`,
      `--listen=127.0.0.1:${this.hubPort}`,
      `--icnb=${this.socket('hub', 'icnb')}`,
      `--icsb=${this.socket('hub', 'icsb')}`,
      '--metrics-address=127.0.0.1:0',
      ...argv,
    ]);
    await eventually('the hub serves', () => this.count('hub-serve', '"serving"') > 0);
  }

  /** Replaces the hub's databases with empty ones. */
  async wipeHubDatabases(): Promise<void> {
    for (const [name, schema] of [
      ['icnb', 'ovn-ic-nb'],
      ['icsb', 'ovn-ic-sb'],
    ] as const) {
      this.signalPid(`hub/${name}`, 'SIGKILL');
      await sleep(200);
      for (const suffix of ['db', 'sock', 'pid', 'ctl'])
        rmSync(join(this.dir, 'hub', `${name}.${suffix}`), { force: true });
      this.#ovn.database('hub', name, schema);
    }
  }

  async token(cluster: string, ...argv: string[]): Promise<string> {
    const flags = [
      `--kubeconfig=${this.kubeconfig(this.#hubCluster)}`,
      `--hub=127.0.0.1:${this.hubPort}`,
      `--cluster=${cluster}`,
    ];
    const { stdout } = await run(process.execPath, [
      join(root, 'interconnect/hub/main.ts'),
      'token',
      ...flags,
      ...argv,
    ]);
    return stdout.trim();
  }

  /** Installs a member like the chart does: the Secret, the Interconnect, then the agent. */
  async join(cluster: string, token: string): Promise<void> {
    const client = this.kube(cluster);
    const name = 'isthmus-interconnect-token';
    await client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: 'kube-system' },
      stringData: { token },
    });
    const spec = { clusterName: cluster, hub: `127.0.0.1:${this.hubPort}`, tokenSecretRef: { name, key: 'token' } };
    await client.create(interconnects, {
      apiVersion: 'isthmus.network/v1alpha1',
      kind: 'Interconnect',
      metadata: { name: 'default' },
      spec,
    });
    this.startAgent(cluster);
  }

  startAgent(cluster: string): void {
    const databases = [`--nb=${this.socket(cluster, 'nb')}`, `--sb=${this.socket(cluster, 'sb')}`];
    this.#start(`agent-${cluster}`, 'interconnect/main.ts', [
      `--kubeconfig=${this.kubeconfig(cluster)}`,
      ...databases,
      `--identity=${cluster}`,
      '--metrics-address=127.0.0.1:0',
    ]);
  }

  /** Kills a process of Isthmus, like a crash, and waits for its end. */
  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#children.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  /** Freezes or thaws a process of Isthmus. */
  signal(name: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#children.get(name)?.kill(signal);
  }

  /** Signals a process that has a pid file: `hub/icsb`, `a1/vswitchd`. */
  signalPid(file: string, signal: NodeJS.Signals): void {
    process.kill(Number(readFileSync(join(this.dir, `${file}.pid`), 'utf8')), signal);
  }

  killOvs(node: string): void {
    this.signalPid(`${node}/vswitchd`, 'SIGKILL');
  }

  /** BFD sessions that expired since then according to the logs of ovs-vswitchd, like `a1 ovn-b1-0`. */
  expiredSessions(sinceMs: number): readonly string[] {
    const nodes = readdirSync(this.dir).map((name) => ({ name, log: join(this.dir, name, 'ovs-vswitchd.log') }));
    const found = nodes.filter(({ log }) => existsSync(log)).map(({ name, log }) => ({ name, logs: [log] }));
    return expiredSessions(found, sinceMs);
  }

  /** Reports Open vSwitch's tunnel states in the gateways' objects, in place of the cluster's daemons. */
  reportTunnels(cluster: string, gateways: readonly string[]): void {
    for (const node of gateways) {
      const siblings = gateways.filter((other) => other !== node);
      const reporter = new TunnelReporter(this.kube(cluster), node, this.socket(node, 'db'), siblings);
      this.#reporters.push(reporter);
      reporter.start();
    }
  }

  /** Drops Geneve packets from one node to another. */
  dropTunnel(from: string, to: string): void {
    const chain = 'add chain bridge cut forward { type filter hook forward priority 0; }';
    const rule = `add rule bridge cut forward iifname v-${from} oifname v-${to} udp dport 6081 drop`;
    this.#ovn.in('net', 'nft', `add table bridge cut; ${chain}; ${rule}`);
  }

  passTunnels(): void {
    this.#ovn.in('net', 'nft', 'delete table bridge cut');
  }

  startOvs(node: string): void {
    this.#ovn.startOvs(node);
  }

  async down(): Promise<void> {
    await Promise.all(this.#reporters.map((reporter) => reporter.stop()));
    for (const name of this.#children.keys()) this.signal(name, 'SIGCONT');
    for (const name of this.#children.keys()) await this.kill(name);
    for (const client of this.#clients.values()) await client.close();
    await Promise.allSettled(this.#starting);
    await Promise.all([...this.#apiServers.values()].map((server) => server.stop()));
    for (const part of readdirSync(this.dir, { recursive: true, encoding: 'utf8' })) {
      if (part.endsWith('.pid')) end(Number(readFileSync(join(this.dir, part), 'utf8')));
    }
    await sleep(200);
    const spaces = words('ip netns list')
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '');
    for (const name of spaces) if (name.startsWith(`${this.prefix}-`)) words(`ip netns del ${name}`);
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** How often the log of a process of Isthmus contains this text. */
  count(name: string, text: string): number {
    return readFileSync(join(this.dir, `${name}.log`), 'utf8').split(text).length - 1;
  }

  /** The logs of Isthmus's processes and the chassis of each port, for failure messages. */
  logs(): string {
    const logs = [...this.#children.keys()].map(
      (name) => `== ${name}\n${readFileSync(join(this.dir, `${name}.log`), 'utf8').slice(-3000)}`,
    );
    const ports = [...this.#clients.keys()].map((cluster) => `== ports of ${cluster}\n${this.#ports(cluster)}`);
    return [...logs, ...ports].join('\n');
  }

  #ports(cluster: string): string {
    const find = (table: string, columns: string, condition: string): string =>
      this.sb(cluster, '--format=table', `--columns=${columns}`, 'find', table, condition);
    const bindings = ['chassisredirect', 'remote'].map((type) =>
      find('Port_Binding', 'logical_port,chassis', `type=${type}`),
    );
    const chassis = this.sb(cluster, '--format=table', '--columns=_uuid,name', 'list', 'Chassis');
    return [...bindings, chassis, this.nb(cluster, 'list', 'Gateway_Chassis')].join('\n');
  }

  #start(name: string, file: string, argv: readonly string[]): void {
    const log = openSync(join(this.dir, `${name}.log`), 'a');
    this.#children.set(name, spawn(process.execPath, [join(root, file), ...argv], { stdio: ['ignore', log, log] }));
    closeSync(log);
  }
}

async function applyDefinitions(client: KubeClient): Promise<void> {
  for (const folder of ['crds', 'mcs-crds'].map((name) => join(root, 'charts/isthmus', name)))
    for (const file of readdirSync(folder)) {
      const definition: unknown = parse(readFileSync(join(folder, file), 'utf8'));
      await client.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    }
  for (const resource of [subnets, interconnects, interconnectGateways, hubMembers, serviceExports, serviceImports]) {
    await eventually(`${resource.plural} served`, () => client.list(resource));
  }
  const systemNamespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } };
  await client.request('POST', '/api/v1/namespaces', systemNamespace).catch((error: KubeApiError) => {
    if (error.status !== 409) throw error;
  });
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
