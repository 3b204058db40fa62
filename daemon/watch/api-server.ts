/** Whether the API server can be reached now, and not only over connections that were made before. */
import { setTimeout as pause } from 'node:timers/promises';
import { openKube } from '../../lib/kube/client.ts';
import { KubeApiError, isKubeError } from '../../lib/kube/errors.ts';
import { nodes } from '../../lib/kube/resources.ts';
import { backoffMs } from '../../lib/run/backoff.ts';
import type { Settings } from '../settings.ts';

const delays = { baseMs: 100, maxMs: 1000 };
/** A connection whose first packets were lost is given up for another. */
const attemptMs = 3000;

/** True with the first answer, whatever it says; false when `signal` aborts before. */
export async function askApi(
  { kubeconfig, node }: Pick<Settings, 'kubeconfig' | 'node'>,
  signal: AbortSignal,
): Promise<boolean> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const client = openKube({ kubeconfig, userAgent: 'isthmus-daemon' });
    try {
      await client.get(nodes, { name: node }, { signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]) });
      return true;
    } catch (error) {
      if (error instanceof KubeApiError) return true;
      if (!signal.aborted && !isKubeError(error) && !isTimeout(error)) throw error;
    } finally {
      await client.close();
    }
    // Only the deadline ends the pause early.
    await pause(backoffMs(attempt, delays, Math.random), undefined, { signal }).catch(() => undefined);
  }
  return false;
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}
