/** A cluster joins with the pod addresses of another: its status reports the conflict, and no packet of others is lost. */
import { reflect } from '../../../lib/kube/reflector.ts';
import { interconnects } from '../../../lib/kube/resources.ts';
import type { Reflector } from '../../../lib/kube/types.ts';
import { joinCluster, joinToken, leaveCluster } from '../../lab/join.ts';
import { addWorkload, waitForPods } from '../../system/workload.ts';
import { type IcBed, namespace } from './bed.ts';
import { startFlows } from '../flows/start.ts';
import type { IcRow, Measurement } from './measurement.ts';

const twin = 'twin';
const holder = 'east';
const timeoutMs = 60_000;

interface Seen {
  readonly isThere: boolean;
  readonly isJoined: boolean;
  /** The message of NoConflicts while it is False. */
  readonly conflict: string;
  readonly mark: string;
}

type Watch = Reflector<Seen>;

function watchInterconnect(bed: IcBed): { readonly seen: Watch; readonly close: () => Promise<void> } {
  const client = bed.lab.kube(twin);
  const seen = reflect<Seen>({
    client,
    resource: interconnects,
    parse: (raw) => {
      const status = raw['status'] as { conditions?: { type: string; status: string; message?: string }[] } | undefined;
      const of = (type: string) => status?.conditions?.find((condition) => condition.type === type);
      const conflict = of('NoConflicts');
      return {
        isThere: true,
        isJoined: of('Joined')?.status === 'True',
        conflict: conflict?.status === 'False' ? (conflict.message ?? '') : '',
        mark: raw.metadata.annotations?.['bench'] ?? '',
      };
    },
  });
  return {
    seen,
    close: async () => {
      await seen.stop();
      await client.close();
    },
  };
}

/** When the Interconnect was first seen so, by performance.now(). */
function untilSeen(seen: Watch, what: string, isSo: (value: Seen) => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`waited ${timeoutMs} ms for ${what} of ${twin}`)), timeoutMs);
    const stop = seen.subscribe(({ after }) => {
      if (after === undefined || !isSo(after)) return;
      const now = performance.now();
      stop();
      clearTimeout(timer);
      resolve(now);
    });
  });
}

/** A write of one field until the same watch shows it. */
async function bareWriteMs(bed: IcBed, seen: Watch): Promise<number> {
  const shown = untilSeen(seen, 'the annotation', ({ mark }) => mark === 'x');
  const started = performance.now();
  const client = bed.lab.kube(twin);
  await client.patch(interconnects, { name: 'default' }, 'merge', { metadata: { annotations: { bench: 'x' } } });
  await client.close();
  return (await shown) - started;
}

async function twinJoins(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const cluster = bed.lab.cluster(twin);
  await bed.addPod(twin);
  await addWorkload(bed.lab, twin, { namespace, pods: [{ name: 'two', node: cluster.nodes[0]?.name ?? '' }] });
  await waitForPods(bed.lab, twin, namespace, 2);
  const inside = `${namespace}/two`;
  const { seen, close } = watchInterconnect(bed);
  try {
    await seen.synced;
    const token = await joinToken(bed.lab.layout, twin);
    const flowsInside = await startFlows(
      { from: bed.netns(twin), to: bed.lab.ns(twin, inside), address: await bed.lab.addressOf(twin, inside) },
      { udp: 20 },
    );
    let joined = 0;
    let told = 0;
    const report = await bed.flowsDuring(['west', holder], async () => {
      const reason = untilSeen(seen, `NoConflicts to name ${holder}`, ({ conflict }) => conflict.includes(holder));
      const joining = untilSeen(seen, 'Joined', ({ isJoined }) => isJoined);
      await joinCluster(bed.lab.layout, cluster, token);
      [joined, told] = await Promise.all([joining, reason]);
    });
    const lostInside = (await flowsInside.stop()).udp.lost;
    const floor = await bareWriteMs(bed, seen);
    const none = { unit: 'packets', target: 0, floor: 0, floorIs: 'none' } as const;
    return [
      { ...none, what: 'An overlapping cluster joins: packets lost between others', ours: report.udp.lost },
      { ...none, what: 'An overlapping cluster joins: packets lost within it', ours: lostInside },
      {
        what: 'An overlapping cluster joins: from Joined until its status names the holder',
        unit: 's',
        ours: Math.max(0, told - joined) / 1000,
        target: 2,
        floor: floor / 1000,
        floorIs: 'one write to the API server, seen by the same watch',
      },
    ];
  } finally {
    await close();
    await leaveCluster(cluster);
    await bed.removePod(twin);
  }
}

export const measurements: readonly Measurement[] = [{ name: 'an overlapping cluster joins', measure: twinJoins }];
