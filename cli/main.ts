#!/usr/bin/env node
/** The process of the program: streams, signals, exit code. An unexpected error ends it with a stack trace. */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import { run } from './program.ts';

const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stopping.abort(new DOMException(`stopped by ${name}`, 'AbortError')));
// A reader such as `head` may close the pipe early: that is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

/** The question goes to standard error: standard output has results only. */
async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-D ends the input without an answer, and Ctrl-C is a byte of a terminal in raw mode, not a signal.
  const ended = once(lines, 'close').then(() => undefined);
  try {
    return await Promise.race([lines.question(question, { signal: stopping.signal }), ended]);
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return undefined;
    throw error;
  } finally {
    lines.close();
  }
}

try {
  process.exitCode = await run(process.argv.slice(2), {
    env: process.env,
    out: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    readInput: () => readAll(process.stdin),
    ask,
    isColoured: process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '',
    now: Date.now,
    signal: stopping.signal,
  });
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  process.stderr.write('stopped\n');
  // The exit code that shells report for a program ended by SIGINT.
  process.exitCode = 130;
}
