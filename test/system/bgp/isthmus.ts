import { run } from '../../../cli/program.ts';
import type { Terminal } from '../../../cli/command/command.ts';

/** A terminal without input, colours and notes. */
export function terminal(out: (text: string) => void): Terminal {
  return {
    env: { HOME: '/nonexistent' },
    out,
    note: () => undefined,
    readInput: () => Promise.resolve(''),
    ask: () => Promise.resolve(undefined),
    isColoured: false,
    now: Date.now,
    signal: new AbortController().signal,
  };
}

/** Runs `isthmus bgp` with these arguments. */
export async function isthmusBgp(
  kubeconfig: string,
  ...argv: readonly string[]
): Promise<{ readonly code: number; readonly out: string }> {
  let out = '';
  const code = await run(
    ['bgp', ...argv, '--kubeconfig', kubeconfig],
    terminal((text) => (out += text)),
  );
  return { code, out };
}
