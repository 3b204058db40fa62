/**
 * Two nodes with one pod each and OVN's databases. `images/ovn/run-switch` runs the switches, like in the chart's pods, with the
 * userspace datapath. The names of network namespaces begin with the prefix. Used by switch-restart.test.ts.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, globSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ovnEnvironment, ovnProgram, schemaFile } from 'ovsdb-client/testing';
import { socketAnswers } from '../lab/component.ts';
import { letGo } from '../lab/run.ts';
import { words } from './ovn-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const scripts = join(import.meta.dirname, '../../images/ovn');

/** The containers of the pod isthmus-ovs, in order. */
export type Container = 'database' | 'vswitchd' | 'controller';
const containers: readonly Container[] = ['database', 'vswitchd', 'controller'];

export const podAddress = { a: '10.9.0.11', b: '10.9.0.12' } as const;
export type NodeName = keyof typeof podAddress;

export class SwitchBed {
  readonly script = join(scripts, 'run-switch');
  readonly dir = mkdtempSync(join(tmpdir(), 'switch-'));
  readonly #prefix = `sw${process.pid}`;
  readonly #children = new Map<string, ChildProcess>();
  readonly #namespaces: string[] = [];

  space(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  in(name: string, command: string, ...argv: string[]): string {
    return words(`ip netns exec ${this.space(name)} ${command}`, ...argv);
  }

  nbctl(...argv: string[]): string {
    return words(`ovn-nbctl --db=unix:${this.dir}/nb.sock`, ...argv);
  }

  vsctl(node: NodeName, ...argv: string[]): string {
    return words(`ovs-vsctl --no-wait --timeout=60 --db=unix:${this.dir}/${node}/db.sock`, ...argv).trim();
  }

  /** The OpenFlow flows of the integration bridge, without counters. */
  flows(node: NodeName): readonly string[] {
    const flows = words(
      `ovs-ofctl -O OpenFlow15 --no-names --no-stats dump-flows unix:${this.dir}/${node}/br-int.mgmt`,
    );
    return flows
      .split('\n')
      .filter((line) => line.includes('actions='))
      .sort();
  }

  log(node: NodeName, container: Container): string {
    return readFileSync(`${this.dir}/${node}/${container}.log`, 'utf8');
  }

  async start(): Promise<void> {
    for (const [name, schema] of [
      ['nb', 'ovn-nb'],
      ['sb', 'ovn-sb'],
    ] as const) {
      const file = join(this.dir, `${name}.db`);
      words(`ovsdb-tool create ${file} ${schemaFile(schema)}`);
      this.#run(name, ['ovsdb-server', file, `--remote=punix:${this.dir}/${name}.sock`, ...this.#files('', name)]);
      await eventually(`database ${name}`, socketAnswers(`${this.dir}/${name}.sock`));
    }
    const remotes = [`--ovnnb-db=unix:${this.dir}/nb.sock`, `--ovnsb-db=unix:${this.dir}/sb.sock`];
    this.#run('northd', ['ovn-northd', ...remotes, ...this.#files('', 'northd')]);
    for (const name of ['a', 'b', 'pa', 'pb']) this.#addSpace(name);
    this.#cable('a', 'up0', 'b', 'up0');
    for (const node of ['a', 'b'] as const) await this.#addNode(node);
    this.#network();
    await eventually('the pods to reach each other', () => this.reaches());
  }

  /** Sets how long a starting ovn-controller keeps the existing flows of the bridge. */
  setKept(node: NodeName, ms: number): void {
    this.vsctl(node, 'set', 'open', '.', `external_ids:ovn-ofctrl-wait-before-clear=${ms}`);
  }

  reaches(): boolean {
    const argv = ['netns', 'exec', this.space('pa'), 'ping', '-c1', '-W1', podAddress.b];
    return spawnSync('ip', argv).status === 0;
  }

  /** Starts the pod like the kubelet: one container after the other, without waiting for the one before. */
  startPod(node: NodeName): void {
    for (const container of containers) this.startContainer(node, container);
  }

  /** @param programs a folder to put first in PATH */
  startContainer(node: NodeName, container: Container, programs?: string): void {
    const dir = `${this.dir}/${node}`;
    const db = `unix:${dir}/db.sock`;
    const command = {
      database: [
        join(scripts, 'run-ovn'),
        'database',
        schemaFile('vswitch'),
        `${dir}/conf.db`,
        `--remote=punix:${dir}/db.sock`,
      ],
      vswitchd: [this.script, 'vswitchd', db, 'netdev', '--disable-system'],
      controller: [this.script, 'controller', db],
    }[container];
    const name = { database: 'ovsdb-server', vswitchd: 'ovs-vswitchd', controller: 'ovn-controller' }[container];
    // ovn-controller of OVN 23.03 has no --unixctl.
    const files = this.#files(node, name).filter((flag) => container !== 'controller' || !flag.startsWith('--unixctl'));
    const argv = [...command, ...files, '-vconsole:info', '-vsyslog:off'];
    const child = this.#run(`${node}/${container}`, ['ip', 'netns', 'exec', this.space(node), ...argv], dir, programs);
    letGo(child.pid ?? 0, 'first');
  }

  /** Starts ovs-vswitchd without `run-switch`. */
  startSwitch(node: NodeName): void {
    const dir = join(this.dir, node);
    const flags = ['--disable-system', ...this.#files(node, 'ovs-vswitchd'), '-vconsole:info', '-vsyslog:off'];
    const argv = ['ip', 'netns', 'exec', this.space(node), ovnProgram('ovs-vswitchd'), `unix:${dir}/db.sock`, ...flags];
    this.#run(`${node}/vswitchd`, argv, dir);
  }

  /** Runs the readiness probe of a container. */
  isReady(node: NodeName, container: 'vswitchd' | 'controller'): boolean {
    const dir = join(this.dir, node);
    const socket = globSync(join(dir, 'ovn-controller*.ctl')).at(-1) ?? '';
    const place = container === 'vswitchd' ? dir : socket;
    return spawnSync(this.script, ['ready', container, place], { env: this.environment(dir) }).status === 0;
  }

  /** The answer of ovs-vswitchd; empty while it does not answer. */
  control(node: NodeName, ...command: readonly string[]): string {
    const target = `--target=${join(this.dir, node, 'ovs-vswitchd.ctl')}`;
    return spawnSync('ovs-appctl', ['--timeout=2', target, ...command], { encoding: 'utf8' }).stdout;
  }

  /** Stops the pod like the kubelet: all containers at the same time, each after its preStop hook. */
  async endPod(node: NodeName): Promise<void> {
    const dir = `${this.dir}/${node}`;
    const hooks: Readonly<Record<Container, readonly string[]>> = {
      database: ['leave', 'database', dir, `${dir}/conf.db`],
      vswitchd: ['leave', 'vswitchd', dir],
      controller: [],
    };
    const ended = containers.map(async (container) => {
      if (hooks[container].length > 0) {
        const hook = this.#run(`${node}/${container}-hook`, [this.script, ...hooks[container]], dir);
        await once(hook, 'exit');
      }
      await this.kill(node, container, 'SIGTERM');
    });
    await Promise.all(ended);
  }

  async kill(node: NodeName, container: Container, signal: NodeJS.Signals): Promise<void> {
    await this.#kill(`${node}/${container}`, signal);
  }

  async stop(): Promise<void> {
    for (const name of [...this.#children.keys()].toReversed()) await this.#kill(name, 'SIGKILL');
    for (const name of this.#namespaces) words(`ip netns del ${name}`);
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #kill(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#children.get(name);
    this.#children.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    // All processes of a container end together.
    if (signal === 'SIGKILL') process.kill(-(child.pid ?? 0), signal);
    else child.kill(signal);
    await once(child, 'exit');
  }

  #run(
    name: string,
    [program = '', ...argv]: readonly string[],
    dir: string = this.dir,
    programs?: string,
  ): ChildProcess {
    const log = openSync(join(this.dir, `${name}.log`), 'a');
    const env = this.environment(dir);
    if (programs !== undefined) env['PATH'] = `${programs}:${env['PATH'] ?? ''}`;
    const child = spawn(program, argv, { env, stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    this.#children.set(name, child);
    return child;
  }

  /** The environment of programs whose sockets are in this folder. */
  environment(dir: string): NodeJS.ProcessEnv {
    return { ...ovnEnvironment(), OVS_RUNDIR: dir, OVS_DBDIR: dir, OVS_SYSCONFDIR: dir, OVN_RUNDIR: dir };
  }

  #files(node: string, name: string): readonly string[] {
    const path = join(this.dir, node, name);
    return [`--unixctl=${path}.ctl`, `--pidfile=${path}.pid`];
  }

  #addSpace(name: string): void {
    words(`ip netns add ${this.space(name)}`);
    this.#namespaces.push(this.space(name));
    this.in(name, 'ip link set lo up');
  }

  #cable(from: string, fromName: string, to: string, toName: string): void {
    const [near, far] = [this.space(from), this.space(to)];
    words(`ip link add ${fromName} netns ${near} type veth peer name ${toName} netns ${far}`);
    for (const [space, name] of [
      [from, fromName],
      [to, toName],
    ] as const) {
      // Otherwise the userspace datapath receives packets with incomplete checksums.
      this.in(space, `ethtool -K ${name} tx off`);
      this.in(space, `ip link set ${name} up`);
    }
  }

  async #addNode(node: NodeName): Promise<void> {
    mkdirSync(join(this.dir, node));
    const address = `172.31.9.${node === 'a' ? 1 : 2}`;
    this.startContainer(node, 'database');
    this.startContainer(node, 'vswitchd');
    await eventually('the database', () => existsSync(`${this.dir}/${node}/ovs-vswitchd.pid`));
    const ids = {
      'system-id': node,
      'ovn-remote': `unix:${this.dir}/sb.sock`,
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': address,
    };
    const settings = Object.entries(ids).map(([key, value]) => `external_ids:${key}="${value}"`);
    this.vsctl(node, 'set', 'open', '.', ...settings);
    for (const bridge of ['br-phys', 'br-int'])
      this.vsctl(node, 'add-br', bridge, '--', 'set', 'bridge', bridge, 'datapath_type=netdev');
    this.vsctl(node, 'set', 'bridge', 'br-int', 'fail_mode=secure', '--', 'add-port', 'br-phys', 'up0');
    this.startContainer(node, 'controller');
    await eventually(
      'br-phys',
      () => spawnSync('ip', ['-n', this.space(node), 'link', 'show', 'br-phys']).status === 0,
    );
    this.in(node, `ip addr add ${address}/24 dev br-phys`);
    this.in(node, 'ip link set br-phys up');
    const pod = `p${node}`;
    this.#cable(pod, 'eth0', node, `${pod}_h`);
    this.in(pod, `ip link set eth0 address 00:00:00:00:09:0${node} mtu 1400`);
    this.in(pod, `ip addr add ${podAddress[node]}/24 dev eth0`);
    const port = `${pod}_h`;
    this.vsctl(node, 'add-port', 'br-int', port, '--', 'set', 'interface', port, `external_ids:iface-id=${pod}`);
  }

  /** Creates a logical switch whose flows use conjunctions, groups, a meter and tunnel options. */
  #network(): void {
    const port = (node: NodeName): string[] => {
      const addresses = `00:00:00:00:09:0${node} ${podAddress[node]}`;
      return ['--', 'lsp-add', 'net', `p${node}`, '--', 'lsp-set-addresses', `p${node}`, addresses];
    };
    this.nbctl('ls-add', 'net', ...port('a'), ...port('b'));
    this.nbctl('meter-add', 'slow', 'drop', '10', 'pktps');
    const match = 'ip4.src == {10.9.0.11, 10.9.0.12, 10.9.0.13} && udp.dst == {7000, 7001, 7002}';
    for (const side of ['from-lport', 'to-lport']) {
      this.nbctl('acl-add', 'net', side, '1000', match, 'allow-related');
      this.nbctl('acl-add', 'net', side, '1000', 'icmp || arp', 'allow-related');
      this.nbctl('--log', '--meter=slow', 'acl-add', 'net', side, '500', 'tcp', 'drop');
    }
    this.nbctl('lb-add', 'lb', '10.9.0.100:80', `${podAddress.a}:80,${podAddress.b}:80`, 'udp');
    this.nbctl('ls-lb-add', 'net', 'lb');
  }
}
