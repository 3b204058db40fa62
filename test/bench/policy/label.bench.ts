/** One pod's label among many pods and policies, in a process of its own, which enters a network namespace. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { node24 } from '../../lab/rooms.ts';
import type { Measurement, PolicyRow } from './measurement.ts';

async function measure(): Promise<readonly PolicyRow[]> {
  const child = spawn(node24, [join(import.meta.dirname, 'label-inside.ts')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`the process that changes labels ended with ${String(code)}`);
  return JSON.parse(output) as readonly PolicyRow[];
}

export const measurements: readonly Measurement[] = [{ name: 'label', measure }];
