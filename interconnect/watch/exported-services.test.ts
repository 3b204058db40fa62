import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient, ReflectorChange } from '../../lib/kube/types.ts';
import { createLogger } from '../../lib/run/logger.ts';
import type { ServiceExportObject } from '../model/service-objects.ts';
import { ExportedServicesWatch } from './exported-services.ts';
import { parseServiceExport } from './service-objects.ts';

const exportIn = (namespace: string): ServiceExportObject =>
  parseServiceExport({ metadata: { namespace, name: 'web', uid: 'u', resourceVersion: '1' } });

/** Answers for all namespaces but `slow`, whose watches bring nothing. */
async function* streamOf(path: string, signal: AbortSignal): AsyncGenerator<readonly string[]> {
  const metadata = { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } };
  if (!path.includes('/slow/')) yield [JSON.stringify({ type: 'BOOKMARK', object: { metadata } })];
  await new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
    if (signal.aborted) reject(signal.reason as Error);
  });
}

describe('the Services of exports', () => {
  it('are known although the last export of a namespace goes before its Services are', async () => {
    const end = new AbortController();
    const objects = new Map(['shop', 'slow'].map((namespace) => [`${namespace}/web`, exportIn(namespace)]));
    let listener: (change: ReflectorChange<ServiceExportObject>) => void = () => assert.fail('nobody listens');
    const exports = {
      entries: () => objects.entries(),
      get: (key: string) => objects.get(key),
      subscribe: (one: typeof listener) => {
        listener = one;
        return () => undefined;
      },
    };
    const client: Pick<KubeClient, 'stream'> = {
      stream: (path, { signal = end.signal }) => streamOf(path, signal),
    };
    const watch = new ExportedServicesWatch({
      client: client as KubeClient,
      exports,
      signal: end.signal,
      log: createLogger('interconnect', 'silent'),
      onChange: () => undefined,
    });
    const started = watch.start();
    const before = objects.get('slow/web');
    objects.delete('slow/web');
    listener({ key: 'slow/web', before, after: undefined });
    await started;
    assert.deepEqual([watch.get('slow/web'), watch.takeDirty()], ['gone', new Set(['shop/web', 'slow/web'])]);
    assert.notEqual(watch.get('shop/web'), 'unknown');
    await watch.stop();
  });

  it('are no exports while only the watch of annotations has them', async () => {
    const end = new AbortController();
    const objects = new Map([['shop/web', { ...exportIn('shop'), isAlias: true }]]);
    const exports = {
      entries: () => objects.entries(),
      get: (key: string) => objects.get(key),
      subscribe: () => () => undefined,
    };
    const client = { stream: (path: string, { signal = end.signal }) => streamOf(path, signal) };
    const watch = new ExportedServicesWatch({
      client: client as unknown as KubeClient,
      exports,
      signal: end.signal,
      log: createLogger('interconnect', 'silent'),
      onChange: () => undefined,
    });
    assert.equal(watch.get('shop/web'), 'unknown');
    await watch.start();
    assert.equal(watch.get('shop/web'), 'gone');
    objects.set('shop/web', exportIn('shop'));
    assert.notEqual(watch.get('shop/web'), 'gone', 'a ServiceExport without a Service is not valid');
    await watch.stop();
  });
});
