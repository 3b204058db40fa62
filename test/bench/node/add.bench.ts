/** CNI ADD through the shim, one by one and a hundred at once, against the kernel's, Open vSwitch's and OVN's part of it. */
import { join } from 'node:path';
import { annotation } from '../../../lib/api/names.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { pods } from '../../../lib/kube/resources.ts';
import { node24 } from '../../lab/rooms.ts';
import { run } from '../../lab/run.ts';
import { clear, createPod, namespace, Observer, prepare } from '../burst.ts';
import { median, quantile, whileFrozen } from '../row.ts';
import type { Task, Times } from './add-inside.ts';
import type { Measurement, NodeBed, NodeRow } from './measurement.ts';

const count = 100;
const calls = 'a program started, netlink calls, one OVSDB transaction';

async function measure({ lab, cluster, node }: NodeBed): Promise<readonly NodeRow[]> {
  const kube = lab.kube(cluster);
  // labd would make sandboxes for the pods.
  const times = await whileFrozen(lab, '', 'labd', async () => {
    const given = await makePods(kube, `${lab.cluster(cluster).dir}/nb.sock`, node.name);
    const task: Task = { lab: lab.layout.name, dir: node.dir, given };
    const argv = [node24, join(import.meta.dirname, 'add-inside.ts'), JSON.stringify(task)];
    const text = await run(argv, { netns: node.netns, timeoutMs: 240_000 });
    await clear(kube);
    return JSON.parse(text) as Times;
  });
  await kube.close();
  for (const text of [...times.errors, ...times.left]) console.error(`           ${text}`);
  return rowsOf(times);
}

/** Pods bound to the node, and the controller's allocations for those that the floor uses. */
async function makePods(kube: KubeClient, nbSocket: string, node: string): Promise<Task['given']> {
  await prepare(kube, { withNode: false });
  const numbers = Array.from({ length: count }, (_, at) => at);
  const names = numbers.flatMap((at) => [`add-${String(at)}`, `bare-${String(at)}`]);
  const seen = await Observer.open(kube, nbSocket);
  await Promise.all(names.map((name) => createPod(kube, name, node)));
  await seen.untilAddressed(names);
  await seen.close();
  return Promise.all(
    numbers.map(async (at) => {
      const { metadata } = await kube.get(pods, { namespace, name: `bare-${String(at)}` });
      const of = (key: keyof typeof annotation): string => metadata.annotations?.[annotation[key]] ?? '';
      return { mac: of('macAddress'), ip: of('ipAddress'), gateway: of('gateway') };
    }),
  );
}

function rowsOf({ one, together, errors, left }: Times): readonly NodeRow[] {
  const installed = `${calls}, then \`ovn-installed\``;
  const p99 = (values: readonly number[]): number => quantile(values, 0.99);
  const atOnce = (bursts: readonly (readonly number[])[]): number => median(bursts.map(p99));
  const row = (what: string, rest: Omit<NodeRow, 'what' | 'unit'>): NodeRow => ({
    what: `CNI ADD, ${what}`,
    unit: 'ms',
    ...rest,
  });
  const none = { floor: 0, floorIs: 'none', target: 0 };
  return [
    row(`one by one, median of ${String(count)}`, {
      ours: median(one.ours),
      floor: median(one.bare),
      floorIs: installed,
      target: { overFloor: 5 },
    }),
    row(`one by one, 99th percentile of ${String(count)}`, {
      ours: p99(one.ours),
      floor: p99(one.bare),
      floorIs: installed,
      target: { overFloor: 25 },
    }),
    row(`one by one, median of ${String(count)}`, {
      ours: median(one.ours),
      floor: median(one.made),
      floorIs: `${calls}, waiting for nothing`,
      target: undefined,
    }),
    row(`${String(count)} at once, 99th percentile, median of ${String(together.ours.length)} bursts`, {
      ours: atOnce(together.ours),
      floor: atOnce(together.bare),
      floorIs: `${installed}, ${String(count)} at once; the target is this and three times the 99th percentile of one by one`,
      target: 3 * p99(one.ours) + atOnce(together.bare),
    }),
    { what: `CNI ADD and DEL, ${String(count)} at once: refused`, unit: 'errors', ours: errors.length, ...none },
    { what: 'Ports, interfaces and links after all were deleted', unit: 'left', ours: left.length, ...none },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'add', measure }];
