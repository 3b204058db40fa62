/** Many Services on a node: loaded from nothing, by the daemon, by bare nft and by kube-proxy. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseListing } from '../../../daemon/host/table-listing.ts';
import { planSkeleton, renderNamedChain } from '../../../daemon/plan/services/skeleton.ts';
import { exec } from '../../../daemon/testing.ts';
import { node24 } from '../../lab/rooms.ts';
import { run } from '../../lab/run.ts';
import { cpuSecondsWithChildren } from '../processes.ts';
import { median } from '../row.ts';
import type { KubeProxy } from './kube-proxy.ts';
import type { ServiceRow } from './measurement.ts';
import { setWidth } from './objects.ts';
import { untilIdle, type ServiceScaleBed, table } from './scale-bed.ts';

const times = 3;
const [family, name] = table;

/** CPU of children of this process meanwhile, in seconds. */
export async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = childSeconds();
  await work();
  return childSeconds() - before;
}

function childSeconds(): number {
  const { user, system } = process.cpuUsage();
  return cpuSecondsWithChildren(process.pid) - (user + system) / 1e6;
}

/** What a program would write that knows all elements. */
async function bareText(): Promise<string> {
  const { elements, chains } = parseListing(await run(['nft', '-n', 'list', 'table', ...table]));
  const skeleton = planSkeleton();
  const more = [...chains]
    .filter((chain) => !skeleton.includes(`chain ${chain} {`))
    .flatMap((chain) => renderNamedChain(chain) ?? []);
  const lists = [...elements].map(([set, members]) => {
    const list = [...members].map(([key, value]) => (value === '' ? key : `${key} : ${value}`)).join(', ');
    return list === '' ? '' : `add element ${family} ${name} ${set} { ${list.replace(/\b(ovn0)\b/g, '"$1"')} }\n`;
  });
  return `table ${family} ${name} {\n${skeleton}${more.join('\n')}\n}\n${lists.join('')}`;
}

export interface MeasuredNode {
  readonly rows: readonly ServiceRow[];
  /** CPU of kube-proxy for one endpoint more, in milliseconds. */
  readonly peerChangeMs: number;
}

const peerChanges = 10;
/** It gathers changes for a second. */
const peerEveryMs = 1500;

/** CPU of kube-proxy for each of some changes, without what it uses anyway. */
async function changeByProxy({ scale }: ServiceScaleBed, { pid }: KubeProxy): Promise<number> {
  const { kube } = scale.bed;
  const from = await untilIdle(pid);
  for (let at = 0; at < peerChanges; at += 1) {
    const rest = pause(peerEveryMs);
    await setWidth(kube, at, 2);
    await rest;
  }
  const used = (await untilIdle(pid)) - from;
  for (let at = 0; at < peerChanges; at += 1) await setWidth(kube, at, 1);
  return (used * 1000) / peerChanges;
}

/** Starts the daemon, which finds no table. `addresses`: of the Services, in order. */
export async function measureNode(
  bed: ServiceScaleBed,
  addresses: readonly string[],
  startProxy: () => Promise<KubeProxy>,
): Promise<MeasuredNode> {
  const last = addresses.at(-1) ?? '';
  const isLoaded = (): Promise<boolean> => bed.isServed(last);
  // The switch and the node's own network are there already.
  await untilIdle(bed.startDaemon('off'));
  await bed.node.kill('daemon');
  const begun = performance.now();
  const pid = bed.startDaemon('on');
  const started = await bed.cpuUntil(pid, isLoaded);
  console.error(`           daemon loaded after ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  const again: number[] = [];
  for (let at = 0; at < times; at += 1) {
    exec('nft', 'delete', 'table', ...table);
    again.push(await bed.cpuUntil(pid, isLoaded));
  }
  await bed.node.kill('daemon');
  const file = join(bed.node.dir, 'bare.nft');
  writeFileSync(file, await bareText());
  const bare: number[] = [];
  for (let at = 0; at < times; at += 1) {
    exec('nft', 'delete', 'table', ...table);
    bare.push(await cpuOf(() => run(['nft', '-f', file])));
  }
  exec('nft', 'delete', 'table', ...table);
  const reader = [
    node24,
    join(import.meta.dirname, 'bare-load.ts'),
    bed.scale.bed.api.kubeconfig,
    bed.scale.bed.server.remote,
  ];
  const read = await cpuOf(() => run(reader, { timeoutMs: 60_000 }));
  const proxy = await startProxy();
  const peer = await bed.cpuUntil(proxy.pid, async () => (await proxy.rounds()) > 0);
  const peerChangeMs = await changeByProxy(bed, proxy);
  await proxy.stop();
  const what = `${addresses.length.toLocaleString('en')} Services with one endpoint each`;
  const rows: readonly ServiceRow[] = [
    {
      what: `${what}: the node’s table is gone and loaded again, daemon and nft, median of ${String(times)}`,
      unit: 's of CPU',
      ours: median(again),
      floor: median(bare),
      floorIs: '`nft` with the same table and elements in a file',
      peer,
      target: 1,
    },
    {
      what: `${what}: daemon started on a node without the table, until it is loaded, with all that a daemon does at its start`,
      unit: 's of CPU',
      ours: started,
      floor: read + median(bare),
      floorIs: 'a program that reads the same objects, and `nft` with the same table in a file',
      peer,
      target: undefined,
    },
  ];
  return { rows, peerChangeMs };
}
