/** A benchmark as a program, with a lab of its own name or a test bed, which is removed in any case. */
import { takeDown } from '../lab/down.ts';

/**
 * Runs `bench` with the name of its lab and ends the process, with 1 where `bench` threw or said so.
 * @param close removes the test bed of `bench`
 */
export async function runBench(
  prefix: string,
  bench: (lab: string) => Promise<void>,
  close: (lab: string) => Promise<void> = takeDown,
): Promise<never> {
  const name = `${prefix}${process.pid.toString(36)}`;
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void close(name).finally(() => process.exit(130)));
  }
  try {
    await bench(name);
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
  await close(name);
  process.exit();
}
