/** CPU profiles as Node.js writes them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string } }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Share of the time in which the process of the folder's profile had nothing to do. */
export function idleShare(dir: string): number {
  const [file] = readdirSync(dir);
  if (file === undefined) throw new Error(`${dir} has no profile: did the process end in order?`);
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(dir, file), 'utf8')) as Profile;
  const idle = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id));
  let [whole, waited] = [0, 0];
  for (const [at, id] of samples.entries()) {
    const delta = timeDeltas[at] ?? 0;
    whole += delta;
    if (idle.has(id)) waited += delta;
  }
  return waited / whole;
}
