import { setTimeout as delay } from 'node:timers/promises';
import { KubeApiError, KubeUnreachable } from '../../lib/kube/errors.ts';
import { services } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { backoffMs } from '../../lib/run/backoff.ts';
import { fieldsOf, textsOf } from '../../lib/kube/fields.ts';

const retry = { baseMs: 200, maxMs: 5000 } as const;

export interface ApiServerOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Addresses of the Service `kubernetes`, by which pods reach the API server; they stay for a cluster's life. None if
 * there is no such Service or it must not be read.
 * @throws the signal's reason
 */
export async function apiServerAddresses({ client, signal, log }: ApiServerOptions): Promise<readonly string[]> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const { spec } = await client.get(services, { namespace: 'default', name: 'kubernetes' }, { signal });
      return textsOf(fieldsOf(spec)['clusterIPs']);
    } catch (error) {
      const isRefusal = error instanceof KubeApiError && [403, 404].includes(error.status);
      if (isRefusal) {
        log.warn(
          { error: error.message },
          'the address of the API server cannot be read: Subnets are not checked for an overlap with it',
        );
        return [];
      }
      if (!(error instanceof KubeApiError || error instanceof KubeUnreachable) || error.retry === 'never') throw error;
      await delay(backoffMs(attempt, retry, Math.random), undefined, { signal });
    }
  }
}
