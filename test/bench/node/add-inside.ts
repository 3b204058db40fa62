/**
 * The part of add.bench.ts that runs in the node's network namespace: CNI ADD through the shim, and the bare steps of the kernel
 * and of Open vSwitch from a loop that knows the answers. Prints the times as JSON.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { openNetns } from '../../../daemon/host/netns.ts';
import { PodLinks } from '../../../daemon/host/pod-links.ts';
import { Rtnetlink } from '../../../daemon/host/rtnetlink.ts';
import { checkout } from '../../lab/layout.ts';
import { run, tryRun } from '../../lab/run.ts';
import { namespace } from '../burst.ts';

const shim = join(checkout, 'daemon/shim/isthmus-cni');
const config = JSON.stringify({ cniVersion: '1.0.0', name: 'isthmus', type: 'isthmus' });
const restMs = 100;
/** Of a hundred calls each, ours and the floor in turn: one of them alone says little. */
const bursts = 9;
const afterBurstMs = 2000;

export interface Task {
  readonly lab: string;
  /** The node's directory. */
  readonly dir: string;
  /** Of the bare pods, by number. */
  readonly given: readonly { readonly mac: string; readonly ip: string; readonly gateway: string }[];
}

/** Milliseconds, each in the order of the calls. */
export interface Times {
  readonly one: {
    readonly ours: readonly number[];
    readonly made: readonly number[];
    readonly bare: readonly number[];
  };
  /** By burst. */
  readonly together: { readonly ours: readonly (readonly number[])[]; readonly bare: readonly (readonly number[])[] };
  /** The error of a failed ADD. */
  readonly errors: readonly string[];
  /** Ports, links and records of sandboxes that were not there before and are at the end. */
  readonly left: readonly string[];
}

class Calls {
  readonly #task: Task;
  readonly #ovs: OvsdbClient;
  readonly #links = new PodLinks(new Rtnetlink());
  readonly errors: string[] = [];

  constructor(task: Task, ovs: OvsdbClient) {
    this.#task = task;
    this.#ovs = ovs;
  }

  get count(): number {
    return this.#task.given.length;
  }

  netns(kind: 'add' | 'bare', at: number): string {
    return `${this.#task.lab}-${kind}-${String(at)}`;
  }

  /** Milliseconds of one call of the plugin. */
  async plugin(command: 'ADD' | 'DEL', at: number, id: string): Promise<number> {
    const env = {
      CNI_COMMAND: command,
      CNI_CONTAINERID: id,
      CNI_NETNS: `/var/run/netns/${this.netns('add', at)}`,
      CNI_IFNAME: 'eth0',
      CNI_PATH: '/',
      CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=add-${String(at)}`,
      ISTHMUS_SOCKET: join(this.#task.dir, 'daemon.sock'),
    };
    const started = performance.now();
    const { code, stdout } = await tryRun([shim], { env, input: config });
    if (code !== 0) this.errors.push(`${command} ${String(at)}: ${stdout}`);
    return performance.now() - started;
  }

  /**
   * Starts a program, as runtimes start plugins, then makes all indispensable calls; the second figure includes OVN's
   * flows, which a pod has to wait for.
   */
  async bare(at: number): Promise<readonly [madeMs: number, installedMs: number]> {
    const { mac = '', ip = '', gateway = '' } = this.#task.given[at] ?? {};
    const hostName = `bare${String(at)}_h`;
    const routes = [{ destination: '0.0.0.0/0', gateway, isReplacing: false }];
    const wanted = {
      hostName,
      name: 'eth0',
      mac,
      mtu: 1400,
      addresses: [`${ip}/16`],
      routes,
      acceptsRouterAdvertisements: false,
      isChecksumFinished: true,
    };
    const started = performance.now();
    await run([shim], { env: { CNI_COMMAND: 'VERSION', ISTHMUS_SOCKET: '/nowhere' }, input: config });
    const netns = openNetns(`/run/netns/${this.netns('bare', at)}`);
    await this.#links.create(wanted, netns);
    await this.#ovs.transact([
      {
        op: 'insert',
        table: 'Interface',
        uuidName: 'i',
        row: { name: hostName, external_ids: { 'iface-id': `bare-${String(at)}.${namespace}` } },
      },
      { op: 'insert', table: 'Port', uuidName: 'p', row: { name: hostName, interfaces: [{ named: 'i' }] } },
      portChange('insert', { named: 'p' }),
    ]);
    await this.#links.configure(wanted, netns);
    netns.close();
    const madeMs = performance.now() - started;
    await this.#untilInstalled(hostName);
    return [madeMs, performance.now() - started];
  }

  async removeBare(at: number): Promise<void> {
    const [port] = this.#ovs.cache.table('Port').byIndex(['name'], [`bare${String(at)}_h`]);
    if (port) await this.#ovs.transact([portChange('delete', port._uuid)]);
    await this.#links.remove(`bare${String(at)}_h`);
  }

  #untilInstalled(host: string): Promise<void> {
    return new Promise((resolve) => {
      const check = (): boolean => {
        const [row] = this.#ovs.cache.table('Interface').byIndex(['name'], [host]);
        const ids = row?.['external_ids'] as Readonly<Record<string, string>> | undefined;
        return ids?.['ovn-installed'] === 'true';
      };
      if (check()) return resolve();
      const stop = this.#ovs.subscribe(() => {
        if (!check()) return;
        stop();
        resolve();
      });
    });
  }
}

function portChange(mutator: 'insert' | 'delete', port: string | { readonly named: string }) {
  const where = [['name', '==', 'br-int']] as const;
  return { op: 'mutate', table: 'Bridge', where, mutations: [['ports', mutator, [port]]] } as const;
}

const newId = (): string => randomBytes(32).toString('hex');

async function oneByOne(calls: Calls, numbers: readonly number[]): Promise<Times['one']> {
  const one = { ours: [] as number[], made: [] as number[], bare: [] as number[] };
  for (const at of numbers) {
    const id = newId();
    await pause(restMs);
    one.ours.push(await calls.plugin('ADD', at, id));
    await pause(restMs);
    const [madeMs, installedMs] = await calls.bare(at);
    one.made.push(madeMs);
    one.bare.push(installedMs);
    await calls.plugin('DEL', at, id);
    await calls.removeBare(at);
  }
  return one;
}

async function measureBursts(calls: Calls, numbers: readonly number[]): Promise<Times['together']> {
  const times = { ours: [] as (readonly number[])[], bare: [] as (readonly number[])[] };
  for (let burst = 0; burst < bursts; burst++) {
    const ids = numbers.map(newId);
    await pause(afterBurstMs);
    times.ours.push(await Promise.all(numbers.map((at) => calls.plugin('ADD', at, ids[at] ?? ''))));
    await Promise.all(numbers.map((at) => calls.plugin('DEL', at, ids[at] ?? '')));
    await pause(afterBurstMs);
    times.bare.push(await Promise.all(numbers.map(async (at) => (await calls.bare(at))[1])));
    for (const at of numbers) await calls.removeBare(at);
  }
  return times;
}

/** Names that a forgotten sandbox would leave. */
async function namesOnNode(ovs: OvsdbClient): Promise<readonly string[]> {
  const rows = (table: string): string[] =>
    [...ovs.cache.table(table).rows.values()].map((row) => `${table} ${row['name'] as string}`);
  const links = JSON.parse(await run(['ip', '-j', 'link'])) as { readonly ifname: string }[];
  return [...rows('Port'), ...rows('Interface'), ...links.map(({ ifname }) => `link ${ifname}`)];
}

async function measureOnNode(task: Task): Promise<Times> {
  const ovs = await openOvsdb({
    remotes: [`unix:${task.dir}/db.sock`],
    database: 'Open_vSwitch',
    monitor: { Interface: ['name', 'external_ids'], Port: ['name'] },
    indexes: { Interface: [['name']], Port: [['name']] },
  });
  const calls = new Calls(task, ovs);
  const numbers = Array.from({ length: calls.count }, (_, at) => at);
  const before = new Set(await namesOnNode(ovs));
  const namespaces = numbers.flatMap((at) => [calls.netns('add', at), calls.netns('bare', at)]);
  await run(['ip', '-batch', '-'], { input: namespaces.map((name) => `netns add ${name}`).join('\n') });
  const one = await oneByOne(calls, numbers);
  const all = await measureBursts(calls, numbers);
  await run(['ip', '-batch', '-'], { input: namespaces.map((name) => `netns del ${name}`).join('\n') });
  const left = (await namesOnNode(ovs)).filter((name) => !before.has(name));
  return { one, together: all, errors: calls.errors, left };
}

console.log(JSON.stringify(await measureOnNode(JSON.parse(process.argv[2] ?? '') as Task)));
// The netlink socket has no end of its own.
process.exit(0);
