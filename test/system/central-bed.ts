/**
 * A test bed for central: control plane nodes on loopback addresses. Each runs central, its two database servers and northd
 * with images/ovn/run-ovn, in PID namespaces like containers. All beds share one API server.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openOvsdb, OvsdbConnectionLost, OvsdbTimeout, type OvsdbClient, type TlsFiles } from 'ovsdb-client';
import { openKube } from '../../lib/kube/client.ts';
import { isKubeError, orAbsent } from '../../lib/kube/errors.ts';
import { configMaps, leases, nodes } from '../../lib/kube/resources.ts';
import type { TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { ovnEnvironment, schemaFile } from '../../lib/ovsdb/src/testing.ts';
import { parsePlan, parseReport } from '../../central/watch/parse.ts';
import type { Plan } from '../../central/model/plan.ts';
import type { Report } from '../../central/model/report.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const root = join(import.meta.dirname, '../..');
const namespace = 'kube-system';
const selector = 'test.isthmus.network/bed';
const central = 'isthmus-ovn-central';
const table = 'Logical_Switch';

export type Part = 'central' | 'nb' | 'sb' | 'northd';
const parts: readonly Part[] = ['central', 'nb', 'sb', 'northd'];

function hostOf(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

/** A node: a folder, an address, and four programs. */
export class CentralNode {
  readonly name: string;
  readonly address: string;
  readonly dir: string;
  /** In effect from the next start. */
  scheme: 'tcp' | 'ssl' = 'tcp';
  readonly #flags: readonly string[];
  readonly #programs = new Map<Part, ChildProcess>();

  constructor(bed: { readonly dir: string }, name: string, address: string, flags: readonly string[]) {
    this.name = name;
    this.address = address;
    this.dir = join(bed.dir, name);
    this.#flags = flags;
    mkdirSync(this.data, { recursive: true });
    mkdirSync(this.run, { recursive: true });
  }

  get data(): string {
    return join(this.dir, 'data');
  }

  get run(): string {
    return join(this.dir, 'run');
  }

  /** The credentials with which the node's servers authenticate to other servers. */
  get tls(): TlsFiles {
    const file = (name: string): string => join(this.run, 'tls', name);
    return { ca: file('ca.crt'), cert: file('tls.crt'), key: file('tls.key') };
  }

  remote(port: number): string {
    return `${this.scheme}:${hostOf(this.address)}:${port}`;
  }

  start(which: readonly Part[] = parts): void {
    for (const part of which) if (!this.#programs.has(part)) this.#programs.set(part, this.#spawn(part));
  }

  /** Kills programs of the node; by default all of them, like a power failure. */
  async kill(which: readonly Part[] = parts): Promise<void> {
    for (const part of which) {
      const child = this.#programs.get(part);
      this.#programs.delete(part);
      if (child === undefined) continue;
      const isOver = child.exitCode !== null || child.signalCode !== null;
      const gone = isOver ? undefined : once(child, 'exit');
      signalGroup(child, 'SIGKILL');
      await gone;
    }
  }

  /** Freezes or thaws all programs of the node. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    for (const child of this.#programs.values()) signalGroup(child, name);
  }

  killServer(database: 'nb' | 'sb'): void {
    const group = String(this.#programs.get(database)?.pid);
    const pids = execFileSync('pgrep', ['-g', group, '-x', 'ovsdb-server'], { encoding: 'utf8' }).trim().split('\n');
    for (const pid of pids) process.kill(Number(pid), 'SIGKILL');
  }

  wipeDisk(): void {
    rmSync(this.data, { recursive: true });
    mkdirSync(this.data);
  }

  control(part: 'nb' | 'sb' | 'northd', ...command: string[]): string {
    const target = join(this.run, `${part}.ctl`);
    const argv = ['--timeout=5', `--target=${target}`, ...command];
    return execFileSync('ovs-appctl', argv, { encoding: 'utf8', env: ovnEnvironment(), stdio: 'pipe' });
  }

  async ready(): Promise<boolean> {
    const answer = await fetch(`http://${hostOf(this.address)}:10670/readyz`, {
      signal: AbortSignal.timeout(2000),
    }).catch(() => null);
    return answer?.ok === true;
  }

  log(part: Part): string {
    const path = join(this.dir, `${part}.log`);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  #spawn(part: Part): ChildProcess {
    const script = join(root, 'images/ovn/run-ovn');
    const quiet = ['-vconsole:info', '-vsyslog:off'];
    const listen = (port: number): string => `--remote=p${this.scheme}:${port}:${hostOf(this.address)}`;
    const files = Object.entries({ 'private-key': 'tls.key', certificate: 'tls.crt', 'ca-cert': 'ca.crt' });
    const tls = this.scheme === 'ssl' ? files.map(([flag, file]) => `--${flag}=${join(this.run, 'tls', file)}`) : [];
    const member = (name: 'nb' | 'sb', port: number): string[] => [
      'sh',
      script,
      'member',
      schemaFile(`ovn-${name}`),
      join(this.data, `${name}.db`),
      this.run,
      name,
      listen(port),
      ...tls,
      ...quiet,
    ];
    const commands: Record<Part, string[]> = {
      central: [process.execPath, join(root, 'central/main.ts'), `--scheme=${this.scheme}`, ...this.#flags],
      nb: member('nb', 6641),
      sb: member('sb', 6642),
      northd: ['sh', script, 'northd', this.run, ...tls, ...quiet],
    };
    const log = openSync(join(this.dir, `${part}.log`), 'a');
    // The children end together with the program, like in a container.
    const own = part === 'central' ? [] : ['unshare', '--pid', '--fork', '--kill-child=KILL'];
    const env = { ...ovnEnvironment(), ISTHMUS_BACKUP_INTERVAL: '2', ISTHMUS_BACKUP_KEEP: '3' };
    const argv = ['--pdeathsig', 'KILL', ...own, ...commands[part]];
    const child = spawn('setpriv', argv, { stdio: ['ignore', log, log], env, detached: true });
    closeSync(log);
    return child;
  }
}

function signalGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

export class CentralBed {
  readonly dir = mkdtempSync(join(tmpdir(), 'isthmus-central-'));
  readonly kube: KubeClient;
  readonly nodes = new Map<string, CentralNode>();
  /** The number of rows written so far: `row0` and so on. */
  written = 0;
  readonly #name: string;
  readonly #kubeconfig: string;
  readonly #base = `127.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  readonly #clients: OvsdbClient[] = [];
  /** All nodes ever started, including those whose Node was deleted. */
  readonly #started: CentralNode[] = [];

  constructor(api: TestApiServer, name: string) {
    this.#name = name;
    this.#kubeconfig = api.kubeconfig;
    this.kube = openKube({ kubeconfig: api.kubeconfig, userAgent: 'isthmus-test' });
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await Promise.all(this.#started.map((node) => node.kill()));
    for (const name of this.nodes.keys()) await this.kube.delete(nodes, { name });
    for (const name of [central, 'isthmus-ovn']) await this.kube.delete(configMaps, { namespace, name });
    await this.kube.delete(leases, { namespace, name: 'isthmus-central' });
    await this.kube.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Creates a node with its folder, without running programs. @param number also the last part of its address */
  async node(number: number, address = `${this.#base}.${number}`): Promise<CentralNode> {
    const node = this.at(`${this.#name}${number}`, address);
    const { name } = node;
    await this.kube.create(nodes, { metadata: { name, labels: { [selector]: this.#name } } });
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }];
    await this.kube.patch(nodes, { name }, 'merge', { status: { conditions } }, { subresource: 'status' });
    return node;
  }

  /** The node of that name with its folder, with this address. */
  at(name: string, address: string): CentralNode {
    const flags = {
      node: name,
      identity: name,
      address,
      'data-dir': join(this.dir, name, 'data'),
      'run-dir': join(this.dir, name, 'run'),
      'tls-dir': join(this.dir, name, 'run/tls'),
      'node-selector': `${selector}=${this.#name}`,
      kubeconfig: this.#kubeconfig,
      'metrics-address': `${hostOf(address)}:10670`,
    };
    const words = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    const node = new CentralNode(this, name, address, words);
    this.nodes.set(name, node);
    this.#started.push(node);
    return node;
  }

  /** Deletes the Node object; the node's programs go on. */
  async gone(node: CentralNode): Promise<void> {
    await this.kube.delete(nodes, { name: node.name });
    this.nodes.delete(node.name);
  }

  /** Deletes central's ConfigMap. */
  async forget(): Promise<void> {
    await this.kube.delete(configMaps, { namespace, name: central });
  }

  /** Writes the node controller's condition for a node whose kubelet has stopped reporting. */
  async notReady({ name }: CentralNode, sinceMs: number): Promise<void> {
    const lastTransitionTime = new Date(Date.now() - sinceMs).toISOString();
    const conditions = [{ type: 'Ready', status: 'Unknown', lastTransitionTime }];
    await this.kube.patch(nodes, { name }, 'merge', { status: { conditions } }, { subresource: 'status' });
  }

  async data(name = central): Promise<Readonly<Record<string, string>>> {
    const raw = await orAbsent(this.kube.get(configMaps, { namespace, name }));
    return (raw?.['data'] as Record<string, string> | undefined) ?? {};
  }

  async plan(): Promise<Plan | undefined> {
    return parsePlan((await this.data())['plan']);
  }

  async report(node: CentralNode): Promise<Report | undefined> {
    return parseReport((await this.data())[`node.${node.name}`]);
  }

  async annotate(annotations: Readonly<Record<string, string>>): Promise<void> {
    await this.kube.patch(configMaps, { namespace, name: central }, 'merge', { metadata: { annotations } });
  }

  /** Waits until exactly these nodes serve both databases and the clients' remotes name them. */
  async untilServing(which: readonly CentralNode[], timeoutMs = 120_000): Promise<void> {
    const wanted = which.map((node) => node.remote(6641)).sort();
    const what = `${which.map(({ name }) => name).join(' ')} serve`;
    await eventually(
      what,
      async () => {
        const remotes = (await this.data('isthmus-ovn'))['nb'] ?? '';
        if (remotes.split(',').sort().join(' ') !== wanted.join(' '))
          throw new Error(`remotes of clients are ${remotes}`);
        const lists = new Map<'nb' | 'sb', Set<string>>();
        for (const node of which)
          for (const [name, database] of [
            ['nb', 'OVN_Northbound'],
            ['sb', 'OVN_Southbound'],
          ] as const) {
            const status = node.control(name, 'cluster/status', database);
            const listed = status.slice(status.indexOf('Servers:')).matchAll(/\(\w+ at (?:tcp|ssl):\S+/g);
            const servers = [...listed].map(([server]) => server).sort();
            if (!status.includes('Status: cluster member') || servers.length !== which.length)
              throw new Error(`${node.name} ${name}: ${status}`);
            if (status.includes('Leader: unknown')) throw new Error(`${node.name} ${name} knows no leader: ${status}`);
            // A server with an older copy lists other servers.
            lists.set(name, (lists.get(name) ?? new Set()).add(servers.join()));
            if (lists.get(name)?.size !== 1) throw new Error(`${node.name} ${name}: not of one cluster: ${status}`);
          }
        return true;
      },
      timeoutMs,
    ).catch(async (error: unknown) => {
      const { plan, status, message } = await this.data().catch((): Record<string, string> => ({}));
      const logs = this.nodes.values().map((node) => `${node.name}: ${node.log('central').slice(-1500)}`);
      throw new Error([`${what}: no`, plan, status, message, ...logs].join('\n'), { cause: error });
    });
  }

  /** The node whose northbound server is the leader. */
  leader(which: readonly CentralNode[]): Promise<CentralNode> {
    return eventually('a leader', () => {
      const isLeader = (node: CentralNode): boolean => {
        try {
          return node.control('nb', 'cluster/status', 'OVN_Northbound').includes('Role: leader');
        } catch {
          return false;
        }
      };
      return which.find(isLeader);
    });
  }

  /** Connects to the leader of the northbound database. @throws Error with the last state if that takes too long */
  async client(which: readonly CentralNode[], timeoutMs = 120_000): Promise<OvsdbClient> {
    const [first] = which;
    const limit = new AbortController();
    let last = 'no attempt';
    const timer = setTimeout(() => limit.abort(new Error(`no leader within ${timeoutMs} ms: ${last}`)), timeoutMs);
    const client = await openOvsdb({
      remotes: which.map((node) => node.remote(6641)),
      database: 'OVN_Northbound',
      leaderOnly: true,
      probeIntervalMs: 1000,
      monitor: { [table]: ['name'] },
      signal: limit.signal,
      onState: (state, reason) => {
        last = `${state} ${reason?.message ?? ''}`;
      },
      ...(first?.scheme === 'ssl' && { tls: first.tls }),
    }).finally(() => clearTimeout(timer));
    this.#clients.push(client);
    return client;
  }

  /** Asserts that each row written so far exists exactly once. */
  async assertRows(which: readonly CentralNode[]): Promise<void> {
    const client = await this.client(which);
    const counts = copiesOf(client);
    const names = Array.from({ length: this.written }, (_, index) => `row${index}`);
    const wrong = names.filter((name) => counts.get(name) !== 1);
    assert.deepEqual(
      wrong.map((name) => `${name}: ${counts.get(name)}`),
      [],
    );
    await client.close();
  }

  /** Writes rows while `happens` runs. @returns the longest duration of a write, in milliseconds */
  async writeDuring(which: readonly CentralNode[], count: number, happens: () => Promise<unknown>): Promise<number> {
    const client = await this.client(which);
    let longestMs = 0;
    const first = this.written;
    this.written += count;
    const writing = (async () => {
      for (let index = first; index < first + count; index++) {
        const begunMs = performance.now();
        await insert(client, `row${index}`);
        longestMs = Math.max(longestMs, performance.now() - begunMs);
      }
    })();
    await eventually('a part is written', () => copiesOf(client).has(`row${first + Math.floor(count / 4)}`));
    await happens();
    await writing;
    await client.close();
    return Math.round(longestMs);
  }

  async untilApi(): Promise<void> {
    await eventually('the API server', () =>
      this.data().then(
        () => true,
        (error: unknown) => {
          if (isKubeError(error)) return false;
          throw error;
        },
      ),
    );
  }
}

/** The number of rows with each name. */
export function copiesOf(client: OvsdbClient): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { name } of client.cache.table(table).rows.values())
    if (typeof name === 'string') counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Retries until the row exists; looks for it before each attempt. */
export async function insert(client: OvsdbClient, name: string): Promise<void> {
  for (;;) {
    await client.synced();
    if (copiesOf(client).has(name)) return;
    try {
      await client.transact([{ op: 'insert', table, row: { name } }], { timeoutMs: 5000 });
      return;
    } catch (error) {
      if (!(error instanceof OvsdbConnectionLost || error instanceof OvsdbTimeout)) throw error;
    }
  }
}
