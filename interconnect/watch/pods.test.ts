import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, notYet } from '../../lib/testing-eventually.ts';
import { createLogger } from '../../lib/run/logger.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { PodsWatch } from './pods.ts';

const end = {
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } },
};
const namespace = 'shop';
let version = 1;
const put = (name: string, meta: object, fields: object) => {
  return {
    type: 'ADDED',
    object: { metadata: { name, uid: name, resourceVersion: `${(version += 1)}`, ...meta }, ...fields },
  };
};
const pod = (name: string, labels: object = {}) => put(name, { namespace, labels }, { spec: {} });
const ip = (podName: string, ipAddress: string) =>
  put(`${podName}.${namespace}`, {}, { spec: { podName, namespace, subnet: 'ovn-default', ipAddress } });

test('pods are reported once both kinds are read, each once, and then with each change', async () => {
  const stop = new AbortController();
  const queues = { pods: [] as object[][], ips: [] as object[][] };
  let wake = Promise.withResolvers<void>();
  const send = (kind: keyof typeof queues, ...events: readonly object[]): void => {
    queues[kind].push([...events]);
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const client = {
    async *stream(path: string) {
      const queue = queues[path.includes('/pods') ? 'pods' : 'ips'];
      while (!stop.signal.aborted) {
        const events = queue.shift();
        if (events === undefined) await wake.promise;
        else yield events.map((event) => JSON.stringify(event));
      }
    },
  } as unknown as KubeClient;
  const lines: string[] = [];
  const watch = new PodsWatch({
    client,
    signal: stop.signal,
    log: createLogger('test', 'fatal'),
    onPod: (key, { addresses } = { namespace, labels: {}, addresses: [] }) =>
      lines.push(`${key} ${addresses.map(({ address }) => address).join()} ${watch.isSynced}`),
    onSynced: () => lines.push('synced'),
  });
  const untilTold = async (count: number): Promise<readonly string[]> => {
    await eventually(`${count} lines`, () => lines.length >= count || notYet(lines.join('; ')));
    return lines.splice(0);
  };
  watch.start();
  send('pods', pod('a'), pod('b'), end);
  send('ips', ip('a', '10.16.0.2'), ip('b', '10.16.0.3'), end);
  assert.deepEqual(await untilTold(3), ['shop/a 10.16.0.2 false', 'shop/b 10.16.0.3 false', 'synced']);
  send('pods', pod('a', { app: 'client' }));
  assert.deepEqual(await untilTold(1), ['shop/a 10.16.0.2 true']);
  send('ips', ip('c', '10.16.0.4'));
  assert.deepEqual(await untilTold(1), ['shop/c  true']);
  send('pods', pod('c'));
  assert.deepEqual(await untilTold(1), ['shop/c 10.16.0.4 true']);
  stop.abort();
  wake.resolve();
  await watch.stop();
});
