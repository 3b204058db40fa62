#!/usr/bin/env node
/** The process around the program: streams, signals, exit code. An error nobody expected ends it with a stack trace. */
import { text as readAll } from 'node:stream/consumers';
import { run } from './program.ts';

const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stopping.abort(new DOMException(`stopped by ${name}`, 'AbortError')));
// A reader that has seen enough, as `head`, closes the pipe: that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  process.exitCode = await run(process.argv.slice(2), {
    env: process.env,
    out: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    readInput: () => readAll(process.stdin),
    isColoured: process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '',
    now: Date.now,
    signal: stopping.signal,
  });
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  process.stderr.write('stopped\n');
  // As a shell reports a program that SIGINT ended.
  process.exitCode = 130;
}
