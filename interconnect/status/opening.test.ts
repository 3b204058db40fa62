import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { reportWhileOpening } from './opening.ts';

interface Written {
  readonly status: { readonly conditions: readonly { type: string; reason: string; message: string }[] };
}

const startMs = Date.parse('2026-01-01T00:00:00Z');

/** An API server with one object, or none. */
function served(object: RawObject | undefined) {
  const written: Written[] = [];
  let now = object;
  const client = {
    get: () =>
      now === undefined ? Promise.reject(new KubeApiError(404, 'NotFound', 'no such object')) : Promise.resolve(now),
    patch: (...[, , , body]: Parameters<KubeClient['patch']>) => {
      written.push(body as Written);
      now = { ...(now as RawObject), ...(body as object) };
      return Promise.resolve(now);
    },
  };
  return { client, written };
}

const interconnect: RawObject = { metadata: { name: 'default', uid: 'u', resourceVersion: '1', generation: 2 } };

describe('an agent that cannot begin', () => {
  const options = (client: Pick<KubeClient, 'get' | 'patch'>) => ({
    client,
    signal: new AbortController().signal,
    log: createLogger('test', 'silent'),
    now: () => startMs,
    patienceMs: 5,
  });

  it('reports once which database does not answer, until it answers', async () => {
    const { client, written } = served(interconnect);
    const northbound = Promise.withResolvers<undefined>();
    const reporting = reportWhileOpening(
      { northbound: northbound.promise, southbound: Promise.resolve() },
      options(client),
    );
    await sleep(50);
    assert.equal(written.length, 1, 'the same is not written again');
    assert.deepEqual(
      written[0]?.status.conditions.map(({ type, reason }) => [type, reason]),
      [
        ['Ready', 'NorthboundSilent'],
        ['RoutesConverged', 'NorthboundSilent'],
      ],
    );
    assert.match(
      written[0].status.conditions[0]?.message ?? '',
      /since 2026-01-01T00:00:00.000Z.*existing traffic continues/,
    );
    northbound.resolve(undefined);
    await reporting;
    assert.equal(written.length, 1);
  });

  it('reports nothing if both databases open soon, one cannot be opened, or there is no Interconnect', async () => {
    const { client, written } = served(interconnect);
    const soon = { northbound: Promise.resolve(), southbound: Promise.reject(new Error('no such database')) };
    await reportWhileOpening(soon, options(client));
    assert.equal(written.length, 0);
    const nobody = served(undefined);
    const southbound = sleep(30);
    await reportWhileOpening({ northbound: Promise.resolve(), southbound }, options(nobody.client));
    assert.equal(nobody.written.length, 0);
  });
});
