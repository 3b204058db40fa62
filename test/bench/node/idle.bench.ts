/** Cost of the daemon on an idle node full of pods. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { build } from 'esbuild';
import { pods } from '../../../lib/kube/resources.ts';
import { checkout } from '../../lab/layout.ts';
import { frugalProcess, node24 } from '../../lab/rooms.ts';
import { inNetns, run } from '../../lab/run.ts';
import { clear, createPod, namespace, prepare } from '../burst.ts';
import { cpuSeconds, memoryMb } from '../processes.ts';
import { whileFrozen } from '../row.ts';
import type { Measurement, NodeBed, NodeRow } from './measurement.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

/** Kubelet's default limit of pods on a node. */
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

/** The programs as they ship, each bundled in one file: the daemon, and the program that its memory and CPU are compared with. */
async function bundle(folder: string): Promise<{ readonly daemon: string; readonly reader: string }> {
  await run([node24, join(checkout, 'images/bundle.ts'), join(folder, 'shipped')], { timeoutMs: 120_000 });
  await build({
    entryPoints: [join(import.meta.dirname, 'idle-reader.ts')],
    outfile: join(folder, 'reader.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
  return { daemon: join(folder, 'shipped/daemon.mjs'), reader: join(folder, 'reader.mjs') };
}

async function makePods({ lab, cluster, node }: NodeBed): Promise<void> {
  const kube = lab.kube(cluster);
  await prepare(kube, { withNode: false });
  await Promise.all(Array.from({ length: count }, (_, at) => createPod(kube, `idle-${String(at)}`, node.name)));
  await eventually(
    'the pods to run',
    async () => {
      const running = (await kube.list(pods, { namespace })).filter(
        ({ status }) => (status as { phase?: string } | undefined)?.phase === 'Running',
      );
      return running.length === count || notYet(`${String(running.length)} of ${String(count)}`);
    },
    240_000,
  );
  await kube.close();
}

/** Runs in the node's namespace with the environment of the chart; ready after its first output. */
async function start(netns: string, program: string, args: readonly string[]): Promise<ChildProcess> {
  const [command = '', ...rest] = inNetns(netns, [node24, ...frugalProcess.flags, program, ...args]);
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...frugalProcess.env },
  });
  await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
  child.stdout.resume();
  child.stderr.resume();
  return child;
}

/** Replaces the lab's daemon, which runs from source, by the bundled one. */
async function compare({ lab, cluster, node }: NodeBed, folder: string): Promise<readonly Cost[]> {
  const { daemon, reader } = await bundle(folder);
  const { argv } = JSON.parse(readFileSync(join(node.dir, 'daemon.cmd.json'), 'utf8')) as { argv: readonly string[] };
  const main = argv.findIndex((arg) => arg.endsWith('daemon/main.ts'));
  return whileFrozen(lab, '', 'labd', async () => {
    await lab.kill(`${cluster}/${node.name}`, 'daemon');
    const kubeconfig = join(node.dir, 'isthmus-daemon.kubeconfig');
    const readerArgs = [kubeconfig, node.name, `unix:${node.dir}/db.sock`];
    const children = [
      await start(node.netns, daemon, argv.slice(main + 1)),
      await start(node.netns, reader, readerArgs),
    ];
    const costs = await costsOf(children.map(({ pid = 0 }) => pid));
    for (const child of children) {
      child.kill();
      await once(child, 'close');
    }
    return costs;
  });
}

async function measure(bed: NodeBed): Promise<readonly NodeRow[]> {
  await makePods(bed);
  const folder = mkdtempSync(join(tmpdir(), 'isthmus-bench-'));
  const [ours, bare] = await compare(bed, folder);
  rmSync(folder, { recursive: true });
  const kube = bed.lab.kube(bed.cluster);
  await clear(kube);
  await kube.close();
  if (ours === undefined || bare === undefined) throw new Error('a process has no figures');
  const floorIs = 'a program with the same connections that does nothing';
  const what = `Daemon of a node with ${String(count)} pods where nothing happens`;
  return [
    {
      what: `${what}: CPU in ${String(watchedMs / 1000)} s`,
      unit: '% of a core',
      ours: ours.cpuPercent,
      floor: bare.cpuPercent,
      floorIs,
      target: 0.5,
    },
    { what: `${what}: memory (RSS)`, unit: 'MB', ours: ours.memoryMb, floor: bare.memoryMb, floorIs, target: 100 },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'idle', measure }];
