/** Ten thousand Services, in a process of its own, which enters a network namespace. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { node24 } from '../../lab/rooms.ts';
import type { Measurement, ServiceRow } from './measurement.ts';

const count = process.env['SERVICES'] ?? '10000';

async function measure(): Promise<readonly ServiceRow[]> {
  const child = spawn(node24, [join(import.meta.dirname, 'scale-inside.ts'), count], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (code !== 0) throw new Error(`the process with ${count} Services ended with ${String(code)}`);
  return JSON.parse(output) as readonly ServiceRow[];
}

export const measurements: readonly Measurement[] = [{ name: 'scale', measure }];
