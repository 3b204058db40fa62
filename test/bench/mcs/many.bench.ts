/**
 * A hub with a hundred members of a thousand exports each, most of them sessions without clusters, and a thousand imports in a real one: the
 * time of one change, and what a restart of that member writes.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openOvsdb } from 'ovsdb-client';
import { ensureAuthority } from '../../../interconnect/hub/apply/authority.ts';
import { northboundMonitor } from '../../../interconnect/watch/databases.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { endpointSlices, serviceImports } from '../../../lib/kube/resources.ts';
import { createToken } from '../../../lib/pki/join-token.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';
import { apiWrites, writesBetween } from '../api-writes.ts';
import { hubOf } from '../ic/faults.ts';
import { quantile } from '../row.ts';
import { BareBalancer, bareAddress } from './bare-balancer.ts';
import { backendOf, namespace, type Backend, type McsBed } from './bed.ts';
import type { McsRow, Measurement } from './measurement.ts';
import type { MembersWish } from './members.ts';
import { Names } from './names.ts';
import { PodProcess } from './pod-process.ts';
import { exportEach, writeEach } from './services.bench.ts';
import { exportRow } from './services.bench.ts';

const [there, here] = ['east', 'west'] as const;
const clusterCount = 100;
const exportsEach = 1000;
const imports = 1000;
const changes = 50;
const exportCount = 50;
const quietMs = 5000;
const patienceMs = 300_000;
const among = `, among ${clusterCount} clusters × ${exportsEach.toLocaleString('en')} exports`;

/** Besides the clusters of the lab. */
async function addMembers(bed: McsBed): Promise<PodProcess> {
  const hub = hubOf(bed.lab);
  const authority = await ensureAuthority(bed.kube(there), 'kube-system', Date.now());
  const address = `${hub.address}:6650`;
  const count = clusterCount - bed.ic.members.length;
  const tokens = Array.from({ length: count }, (_, at) =>
    createToken(authority, {
      cluster: `bench-${at}`,
      hub: address,
      expiresMs: Date.now() + 3_600_000,
      replace: false,
      allowedPrefixes: [],
    }),
  );
  const shared = Math.ceil(imports / count);
  const wish: MembersWish = { hub: address, tokens, namespace, shared, others: exportsEach - shared };
  const members = new PodProcess(hub.netns, join(import.meta.dirname, 'members.ts'));
  try {
    await members.ask(wish, patienceMs);
    await eventually(
      `${imports} imports`,
      async () => {
        const { length } = await bed.kube(here).list(serviceImports, { namespace });
        return length >= imports || notYet(`there are ${length}`);
      },
      patienceMs,
      1000,
    );
    await untilQuiet(bed);
  } catch (error) {
    await members.stop();
    throw error;
  }
  return members;
}

/** Until nobody has written to the API server of the importing cluster for some time, or to its database. */
async function untilQuiet(bed: McsBed): Promise<void> {
  let changes = 0;
  const stop = bed.northbound(here).subscribe((all) => (changes += all.length));
  const look = async (): Promise<number> => (await writesOf(bed, new Map())) + changes;
  try {
    let [last, sinceMs] = [await look(), performance.now()];
    await eventually(
      'no more writes',
      async () => {
        const now = await look();
        if (now !== last) [last, sinceMs] = [now, performance.now()];
        return performance.now() - sinceMs > quietMs || notYet(`${now} so far`);
      },
      patienceMs,
      500,
    );
  } finally {
    stop();
  }
}

/** Writes of objects of Services and clusters since a count. */
async function writesOf(bed: McsBed, before: ReadonlyMap<string, number>): Promise<number> {
  return [...(await writesByKind(bed, before)).values()].reduce((sum, count) => sum + count, 0);
}

async function writesByKind(bed: McsBed, before: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
  const all = [...writesBetween(before, await apiWrites(bed.kube(here)))];
  return new Map(all.filter(([key]) => ours.some((resource) => key.split(' ')[1]?.split('/')[0] === resource)));
}

const ours = ['serviceimports', 'serviceexports', 'endpointslices', 'remoteclusters', 'interconnects', 'services'];

/** From the write of an EndpointSlice in one cluster to the row in the other, and the same by a program that decides nothing. */
async function changeToRow(bed: McsBed): Promise<readonly [ours: readonly number[], floor: readonly number[]]> {
  const name = 'among';
  await bed.makeService(there, name, { b1: true, b2: false });
  await bed.export(there, name);
  const vip = `${await bed.addressOfImport(here, name)}:80`;
  await bed.untilRow(here, vip, backendOf(bed, there, 'b1'));
  const bare = await BareBalancer.open(bed, here);
  const watch = reflect({
    client: bed.kube(there),
    resource: endpointSlices,
    namespace,
    parse: (raw) => (raw['endpoints'] ?? []) as readonly { addresses: string[]; conditions: { ready: boolean } }[],
  });
  try {
    await watch.synced;
    watch.subscribe(({ key, after }) => {
      const [ready] = (after ?? []).filter(({ conditions }) => conditions.ready);
      if (key === `${namespace}/${name}` && ready !== undefined) void bare.set(`${ready.addresses[0]}:9000`);
    });
    const [times, floor]: [number[], number[]] = [[], []];
    for (let round = 0; round < changes; round += 1) {
      const backend: Backend = round % 2 === 0 ? 'b2' : 'b1';
      const started = performance.now();
      const rows = [vip, `${bareAddress}:80`].map((one) => bed.untilRow(here, one, backendOf(bed, there, backend)));
      await bed.setReady(there, name, { b1: backend === 'b1', b2: backend === 'b2' });
      const [own = 0, other = 0] = await Promise.all(rows);
      times.push(own - started);
      floor.push(other - started);
      await pause(50);
    }
    return [times, floor];
  } finally {
    await watch.stop();
    await bare.close();
  }
}

/** Rows changed and objects written by an agent that starts again, until it has read everything. */
async function restart(bed: McsBed): Promise<readonly [rows: number, writes: number]> {
  const database = await openOvsdb({
    remotes: [`unix:${join(bed.lab.cluster(here).dir, 'nb.sock')}`],
    database: 'OVN_Northbound',
    monitor: northboundMonitor,
  });
  try {
    const before = await apiWrites(bed.kube(here));
    let rows = 0;
    // northd and the probes of the agent count in this one.
    database.subscribe((all) => (rows += all.filter(({ table }) => table !== 'NB_Global').length));
    const pid = bed.lab.pid(here, 'interconnect');
    await bed.lab.kill(here, 'interconnect');
    await bed.lab.waitForRestart(here, 'interconnect', pid);
    // It is leader again, and has everything, once it follows changes.
    await bed.setReady(there, 'among', { b1: false, b2: true, b3: true });
    const address = await bed.addressOfImport(here, 'among');
    await bed.untilRow(here, `${address}:80`, ['b2', 'b3'].map((one) => backendOf(bed, there, one as Backend)).join());
    await pause(quietMs);
    // One row and one slice are of that change.
    const writes = await writesByKind(bed, before);
    for (const [kind, count] of writes) console.error(`           ${kind}: ${String(count)}`);
    return [rows - 1, [...writes.values()].reduce((sum, count) => sum + count, 0) - 1];
  } finally {
    await database.close();
  }
}

async function measure(bed: McsBed): Promise<McsRow[]> {
  const members = await addMembers(bed);
  const names = await Names.open(bed, here);
  try {
    const exported = await exportEach(bed, names, 'late', exportCount);
    const bare = await writeEach(bed, names, 'bare-late', exportCount);
    const [times, floor] = await changeToRow(bed);
    await untilQuiet(bed);
    const [rows, writes] = await restart(bed);
    const found = (await bed.kube(here).list(serviceImports, { namespace })).length;
    const title = `Agent of a cluster with ${found.toLocaleString('en')} imports killed and started again`;
    return [
      exportRow(among, exported, bare),
      {
        what: `Endpoint changes${among} → the row of the other cluster, 99th percentile of ${changes}`,
        unit: 'ms',
        ours: quantile(times, 0.99),
        target: 200,
        floor: quantile(floor, 0.99),
        floorIs: 'a bare program that sees the EndpointSlice and writes the row',
      },
      { what: `${title}: rows changed`, unit: 'rows', ours: rows, target: 0, floor: 0, floorIs: 'none' },
      { what: `${title}: objects written`, unit: 'writes', ours: writes, target: 0, floor: 0, floorIs: 'none' },
    ];
  } finally {
    await names.close();
    await members.end().catch((error: unknown) => console.error(error));
    await members.stop();
  }
}

export const measurements: readonly Measurement[] = [{ name: 'a hundred clusters', measure }];
