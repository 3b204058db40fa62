/** What the daemon costs on a node full of pods where nothing happens. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pods } from '../../../lib/kube/resources.ts';
import { node24 } from '../../lab/rooms.ts';
import { inNetns, waitFor } from '../../lab/run.ts';
import { clear, createPod, namespace, prepare } from '../burst.ts';
import { cpuSeconds, memoryMb } from '../processes.ts';
import type { Measurement, NodeBed, NodeRow } from './measurement.ts';

/** What kubelet allows on a node by default. */
const count = 110;
const settleMs = 20_000;
const watchedMs = 60_000;

interface Cost {
  readonly cpuPercent: number;
  readonly memoryMb: number;
}

async function costsOf(pids: readonly number[]): Promise<readonly Cost[]> {
  await pause(settleMs);
  const before = pids.map(cpuSeconds);
  await pause(watchedMs);
  return pids.map((pid, at) => ({
    cpuPercent: ((cpuSeconds(pid) - (before[at] ?? 0)) / (watchedMs / 1000)) * 100,
    memoryMb: memoryMb(pid),
  }));
}

async function measure({ lab, cluster, node }: NodeBed): Promise<readonly NodeRow[]> {
  const kube = lab.kube(cluster);
  await prepare(kube, { withNode: false });
  await Promise.all(Array.from({ length: count }, (_, at) => createPod(kube, `idle-${String(at)}`, node.name)));
  await waitFor(
    'the pods to run',
    async () => {
      const running = (await kube.list(pods, { namespace })).filter(
        ({ status }) => (status as { phase?: string } | undefined)?.phase === 'Running',
      );
      return running.length === count || `${String(running.length)} of ${String(count)}`;
    },
    240_000,
  );
  const kubeconfig = join(lab.cluster(cluster).dir, 'kubeconfig');
  const argv = [node24, join(import.meta.dirname, 'idle-reader.ts'), kubeconfig, node.name, `unix:${node.dir}/db.sock`];
  // The admin's kubeconfig leads to a port of the root namespace; the database is a file.
  const [program = '', ...args] = inNetns(undefined, argv);
  const reader = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(reader.stdout, 'data');
  const [ours, bare] = await costsOf([lab.pid(`${cluster}/${node.name}`, 'daemon'), reader.pid ?? 0]);
  reader.kill();
  await clear(kube);
  await kube.close();
  const floorIs = 'a program with the same connections that does nothing';
  const what = `Daemon of a node with ${String(count)} pods where nothing happens`;
  const absent = Number.NaN;
  return [
    {
      what: `${what}: CPU in ${String(watchedMs / 1000)} s`,
      unit: '% of a core',
      ours: ours?.cpuPercent ?? absent,
      floor: bare?.cpuPercent ?? absent,
      floorIs,
      target: 0.5,
    },
    {
      what: `${what}: memory (RSS)`,
      unit: 'MB',
      ours: ours?.memoryMb ?? absent,
      floor: bare?.memoryMb ?? absent,
      floorIs,
      target: 100,
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'idle', measure }];
