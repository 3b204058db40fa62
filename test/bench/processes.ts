/** Processes as the kernel accounts for them. */
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';

const ticksPerSecond = 100;

/** CPU time a process has had so far, in seconds. */
export function cpuSeconds(pid: number): number {
  const [user, system] = cpuTimes(pid);
  return (user + system) / ticksPerSecond;
}

/** The same with the time of its children that have ended. */
export function cpuSecondsWithChildren(pid: number): number {
  return cpuTimes(pid).reduce((sum, ticks) => sum + ticks) / ticksPerSecond;
}

/** User and system time of the process, then of its children that have ended, in ticks. */
function cpuTimes(pid: number): readonly [number, number, number, number] {
  const fields = (readFileSync(`/proc/${String(pid)}/stat`, 'utf8').split(') ')[1] ?? '').split(' ').map(Number);
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
  return [user, system, childUser, childSystem];
}

/** `VmRSS` now, `VmHWM` the highest so far. */
export type MemoryFigure = 'VmRSS' | 'VmHWM';

/** In MB. */
export function memoryMb(pid: number, figure: MemoryFigure = 'VmRSS'): number {
  const text = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(new RegExp(`^${figure}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
}

/** An unused port of the loopback address. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
