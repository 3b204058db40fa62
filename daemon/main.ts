/**
 * isthmus-daemon, one per node: it serves the node, and gives it back when the release it belongs to is uninstalled.
 * Its health is answered for from the start: alive is one thing, what it waits for another.
 */
import { parseFlags } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { leaveNode } from './leave.ts';
import { serve } from './serve.ts';
import { flagSpec } from './settings.ts';

async function main(signal: AbortSignal, log: Logger): Promise<void> {
  const settings = parseFlags(flagSpec, process.argv.slice(2), process.env);
  const registry = createRegistry('daemon');
  let isReady = (): boolean => false;
  const health = await serveHealth({ address: settings.metricsAddress, ready: () => isReady(), registry });
  const leaving = new AbortController();
  await serve({
    settings,
    registry,
    signal: AbortSignal.any([signal, leaving.signal]),
    log,
    answerReady: (answer) => (isReady = answer),
    leave: () => leaving.abort(new Error('the node is given back')),
  });
  isReady = () => false;
  if (leaving.signal.aborted && !signal.aborted) await leaveNode({ settings, signal, log });
  await health.close();
}

runRoom('daemon', main);
