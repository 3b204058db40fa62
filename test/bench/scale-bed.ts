/**
 * A cluster of ten thousand pods without the rest of a lab: etcd, kube-apiserver and a northbound database of their own,
 * and the bundled controller, as it ships, as a process of its own. There is no northd: the translation of the rows is not
 * the controller's work.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkout } from '../lab/layout.ts';
import { frugalProcess, node24 } from '../lab/rooms.ts';
import { run } from '../lab/run.ts';
import { ControllerBed } from '../system/controller-bed.ts';
import { apiWrites } from './api-writes.ts';
import { freePort, type MemoryFigure, memoryMb } from './processes.ts';
import { eventually, type NotYet, notYet } from '../../lib/testing-eventually.ts';

export interface ControllerProcess {
  readonly pid: number;
  /** From the start of the process to the end of its first round. */
  readonly startMs: number;
  /** In MB: `VmRSS` is the current value, `VmHWM` the peak. */
  memoryMb(figure: MemoryFigure): number;
  /** The metrics as Prometheus scrapes them. */
  metrics(): Promise<string>;
  /** Shuts the controller down gracefully, so that the next one acquires the lease at once. */
  stop(): Promise<void>;
}

export class ScaleBed {
  readonly bed: ControllerBed;
  readonly dir: string;
  #starts = 0;

  private constructor(bed: ControllerBed, dir: string) {
    this.bed = bed;
    this.dir = dir;
  }

  static async open(): Promise<ScaleBed> {
    const dir = mkdtempSync(join(tmpdir(), 'isthmus-bench-'));
    await run([node24, join(checkout, 'images/bundle.ts'), join(dir, 'shipped')], { timeoutMs: 60_000 });
    return new ScaleBed(await ControllerBed.open(), dir);
  }

  async close(): Promise<void> {
    await this.bed.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Pids of the servers, by name. */
  servers(): Readonly<Record<'kube-apiserver' | 'etcd' | 'ovsdb-server', number>> {
    const of = (program: string): number => {
      const isIt = (pid: string): boolean => {
        const [command = '', ...args] = commandLine(pid);
        return command.endsWith(`/${program}`) && args.some((arg) => arg.includes(this.bed.api.dir));
      };
      return Number(readdirSync('/proc').find((name) => /^\d+$/.test(name) && isIt(name)));
    };
    return { 'kube-apiserver': of('kube-apiserver'), etcd: of('etcd'), 'ovsdb-server': this.bed.server.pid };
  }

  /** Starts the controller as it ships. `flags` are flags of Node.js, in addition to the usual ones. */
  async start(flags: readonly string[] = []): Promise<ControllerProcess> {
    const port = await freePort();
    const program = join(this.dir, 'shipped/controller.mjs');
    const args = ['--kubeconfig', join(this.bed.api.dir, 'controller.kubeconfig'), '--nb', this.bed.server.remote];
    const identity = ['--identity', `bench-${String((this.#starts += 1))}`];
    const started = performance.now();
    const argv = [...flags, ...frugalProcess.flags, program, ...args, ...identity];
    const child = spawn(node24, [...argv, '--metrics-address', `127.0.0.1:${String(port)}`], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...frugalProcess.env },
    });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-20_000);
    });
    const pid = child.pid ?? 0;
    const check = (): void => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the controller ended: ${log}`);
    };
    const startMs = await untilFirstRound(child, { started, check });
    return {
      pid,
      startMs,
      memoryMb(figure) {
        check();
        return memoryMb(pid, figure);
      },
      metrics: async () => (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text(),
      async stop() {
        check();
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      },
    };
  }

  /** Waits until there has been no write for 1.5 s. */
  async quiet(): Promise<void> {
    let before = '';
    for (;;) {
      const writes = [...(await apiWrites(this.bed.kube))].filter(([key]) => !key.endsWith(' leases'));
      const now = JSON.stringify([writes, this.bed.changes]);
      if (now === before) return;
      before = now;
      await pause(1500);
    }
  }

  /** Waits until `count` pods are annotated and `count` IP objects created since the count of writes `before`. */
  async untilReported(count: number, before: ReadonlyMap<string, number>): Promise<void> {
    const areReported = async (): Promise<true | NotYet> => {
      const writes = await apiWrites(this.bed.kube);
      const counts = ['PATCH pods/status', 'POST ips'].map((key) => (writes.get(key) ?? 0) - (before.get(key) ?? 0));
      return counts.every((one) => one >= count) || notYet(counts.join(' PATCH, '));
    };
    await eventually(`${String(count)} pods to be annotated`, areReported, 600_000, 500);
  }
}

async function untilFirstRound(
  child: ChildProcess,
  { started, check }: { readonly started: number; readonly check: () => void },
): Promise<number> {
  let doneMs = 0;
  child.stderr?.on('data', (text: string) => {
    if (doneMs === 0 && text.includes('first round done')) doneMs = performance.now() - started;
  });
  const isDone = (): true | NotYet => {
    check();
    return doneMs > 0 || notYet('not done');
  };
  await eventually('the first round of the controller', isDone, 120_000, 20);
  return doneMs;
}

function commandLine(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // It ended meanwhile.
    return [];
  }
}
