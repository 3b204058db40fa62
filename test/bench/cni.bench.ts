/**
 * CNI ADD through the shim, against the kernel's and Open vSwitch's part of it: the same netlink calls and the same rows
 * from a loop that knows the answers. Both run in the node's namespace, in turns, on pods that have their addresses.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { openNetns } from '../../daemon/host/netns.ts';
import { PodLinks } from '../../daemon/host/pod-links.ts';
import { Rtnetlink } from '../../daemon/host/rtnetlink.ts';
import { annotation } from '../../lib/api/names.ts';
import { pods } from '../../lib/kube/resources.ts';
import { checkout } from '../lab/layout.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { node24 } from '../lab/rooms.ts';
import { run } from '../lab/run.ts';
import { clear, createPod, namespace, Observer, prepare } from './burst.ts';
import { median, quantile, type Row, whileFrozen } from './row.ts';

const count = 20;
const shim = join(checkout, 'daemon/shim/isthmus-cni');
const config = JSON.stringify({ cniVersion: '1.0.0', name: 'isthmus', type: 'isthmus' });

interface Task {
  readonly lab: string;
  /** The node's directory. */
  readonly dir: string;
  /** Of the bare pods, by number. */
  readonly given: readonly { readonly mac: string; readonly ip: string; readonly gateway: string }[];
}

async function plugin(command: string, dir: string, at: number, netns: string, id: string): Promise<number> {
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: id,
    CNI_NETNS: `/var/run/netns/${netns}`,
    CNI_IFNAME: 'eth0',
    CNI_PATH: '/',
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=add-${at}`,
    ISTHMUS_SOCKET: join(dir, 'daemon.sock'),
  };
  const started = performance.now();
  await run([shim], { env, input: config });
  return performance.now() - started;
}

/** Until all calls are made, and until what no plugin can leave out has come: OVN's flows. */
async function bare(ovs: OvsdbClient, links: PodLinks, { given }: Task, at: number, path: string) {
  const { mac = '', ip = '', gateway = '' } = given[at] ?? {};
  const hostName = `bare${at}_h`;
  const routes = [{ destination: '0.0.0.0/0', gateway, isReplacing: false }];
  const wanted = { hostName, name: 'eth0', mac, mtu: 1400, addresses: [`${ip}/16`], routes, isChecksumFinished: true };
  const started = performance.now();
  const netns = openNetns(path);
  await links.create(wanted, netns);
  await ovs.transact([
    {
      op: 'insert',
      table: 'Interface',
      uuidName: 'i',
      row: { name: hostName, external_ids: { 'iface-id': `bare-${at}.${namespace}` } },
    },
    { op: 'insert', table: 'Port', uuidName: 'p', row: { name: hostName, interfaces: [{ named: 'i' }] } },
    portChange('insert', { named: 'p' }),
  ]);
  await links.configure(wanted, netns);
  netns.close();
  const madeMs = performance.now() - started;
  await untilInstalled(ovs, hostName);
  return [madeMs, performance.now() - started] as const;
}

function portChange(mutator: 'insert' | 'delete', port: string | { readonly named: string }) {
  const where = [['name', '==', 'br-int']] as const;
  return { op: 'mutate', table: 'Bridge', where, mutations: [['ports', mutator, [port]]] } as const;
}

function untilInstalled(ovs: OvsdbClient, host: string): Promise<void> {
  return new Promise((resolve) => {
    const check = (): boolean => {
      const [row] = ovs.cache.table('Interface').byIndex(['name'], [host]);
      const ids = row?.['external_ids'] as Readonly<Record<string, string>> | undefined;
      return ids?.['ovn-installed'] === 'true';
    };
    if (check()) return resolve();
    const stop = ovs.subscribe(() => {
      if (!check()) return;
      stop();
      resolve();
    });
  });
}

/** Runs in the node's network namespace. */
async function inside(task: Task): Promise<{ ours: number[]; made: number[]; installed: number[] }> {
  const ovs = await openOvsdb({
    remotes: [`unix:${task.dir}/db.sock`],
    database: 'Open_vSwitch',
    monitor: { Interface: ['name', 'external_ids'], Port: ['name'] },
    indexes: { Interface: [['name']], Port: [['name']] },
  });
  const links = new PodLinks(new Rtnetlink());
  const result = { ours: [] as number[], made: [] as number[], installed: [] as number[] };
  for (let at = 0; at < count; at += 1) {
    const [ours, floor] = [`${task.lab}-add-${at}`, `${task.lab}-bare-${at}`];
    for (const name of [ours, floor]) await run(['ip', 'netns', 'add', name]);
    const id = randomBytes(32).toString('hex');
    await pause(200);
    result.ours.push(await plugin('ADD', task.dir, at, ours, id));
    await pause(200);
    const [madeMs, installedMs] = await bare(ovs, links, task, at, `/run/netns/${floor}`);
    result.made.push(madeMs);
    result.installed.push(installedMs);
    await plugin('DEL', task.dir, at, ours, id);
    const [port] = ovs.cache.table('Port').byIndex(['name'], [`bare${at}_h`]);
    if (port) await ovs.transact([portChange('delete', port._uuid)]);
    for (const name of [ours, floor]) await run(['ip', 'netns', 'del', name]);
  }
  return result;
}

export async function measure(lab: LabHandle): Promise<Row[]> {
  const kube = lab.kube('east');
  const [{ dir, name: node } = { dir: '', name: '' }] = lab.cluster('east').nodes;
  // Its sandboxes would be made otherwise.
  const { ours, made, installed } = await whileFrozen(lab, '', 'labd', async () => {
    await prepare(kube, { withNode: false });
    const numbers = Array.from({ length: count }, (_, at) => at);
    const names = numbers.flatMap((at) => [`add-${at}`, `bare-${at}`]);
    const seen = await Observer.open(kube, `${lab.cluster('east').dir}/nb.sock`);
    await Promise.all(names.map((name) => createPod(kube, name, node)));
    await seen.untilAddressed(names);
    await seen.close();
    const given = await Promise.all(
      numbers.map(async (at) => {
        const { metadata } = await kube.get(pods, { namespace, name: `bare-${at}` });
        const of = (key: keyof typeof annotation): string => metadata.annotations?.[annotation[key]] ?? '';
        return { mac: of('macAddress'), ip: of('ipAddress'), gateway: of('gateway') };
      }),
    );
    const task: Task = { lab: lab.layout.name, dir, given };
    const argv = [node24, import.meta.filename, JSON.stringify(task)];
    const text = await run(argv, { netns: lab.ns('east', node), timeoutMs: 120_000 });
    await clear(kube);
    return JSON.parse(text) as Awaited<ReturnType<typeof inside>>;
  });
  await kube.close();
  const calls = "the daemon's netlink calls and one OVSDB transaction";
  const row = (what: string, value: number, floor: number, floorIs: string): Row => ({
    what: `CNI ADD, ${what} of ${String(count)}`,
    unit: 'ms',
    ours: value,
    floor,
    floorIs,
  });
  return [
    row('median', median(ours), median(made), `${calls}, waiting for nothing`),
    row('median', median(ours), median(installed), `${calls}, then \`ovn-installed\``),
    row('90th percentile', quantile(ours, 0.9), quantile(installed, 0.9), `${calls}, then \`ovn-installed\``),
  ];
}

if (import.meta.main) {
  console.log(JSON.stringify(await inside(JSON.parse(process.argv[2] ?? '') as Task)));
  // The netlink socket has no end of its own.
  process.exit(0);
}
