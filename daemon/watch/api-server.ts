/** Addresses of API servers, and whether one of them answers, also over a new connection. */
import { setTimeout as pause } from 'node:timers/promises';
import { openKube } from '../../lib/kube/client.ts';
import { KubeApiError, isKubeError } from '../../lib/kube/errors.ts';
import { nodes } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { backoffMs } from '../../lib/run/backoff.ts';

const delays = { baseMs: 100, maxMs: 1000 };
/** A connection whose first packets were lost is replaced after this time. */
const attemptMs = 3000;

/** Asks over new connections. True after the first answer, whatever it is; false if `signal` aborts first. */
export async function askApi(
  { kubeconfig, node }: { readonly kubeconfig: string | undefined; readonly node: string },
  signal: AbortSignal,
): Promise<boolean> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const client = openKube({ kubeconfig, userAgent: 'isthmus-daemon' });
    try {
      await client.get(nodes, { name: node }, { signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]) });
      return true;
    } catch (error) {
      if (error instanceof KubeApiError) return true;
      if (!(signal.aborted as boolean) && !isKubeError(error) && !isTimeout(error)) throw error;
    } finally {
      await client.close();
    }
    // Only the deadline can end the pause early.
    await pause(backoffMs(attempt, delays, Math.random), undefined, { signal }).catch(() => undefined);
  }
  return false;
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** An EndpointSlice of the Service `kubernetes` → addresses of API servers. */
export function parseApiServers(raw: RawObject): readonly string[] {
  const endpoints = (raw['endpoints'] ?? []) as readonly { readonly addresses?: readonly string[] }[];
  return endpoints.flatMap(({ addresses = [] }) => addresses.filter((address) => parseIp(address) !== undefined));
}

/** Whether the API server answers over any connection, existing or new. @throws errors other than failures to reach it */
export async function isApiWell(client: Pick<KubeClient, 'request'>): Promise<boolean> {
  try {
    await client.request('GET', '/version', undefined, { timeoutMs: attemptMs });
    return true;
  } catch (error) {
    if (error instanceof KubeApiError) return true;
    if (!isKubeError(error)) throw error;
    return false;
  }
}
