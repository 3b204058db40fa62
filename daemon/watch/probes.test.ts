import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Echo, PingOptions } from '../host/ping.ts';
import { Prober } from './probes.ts';

const answered: Echo = { sent: 5, received: 5, rttMs: { min: 1, avg: 2, max: 3 }, problem: undefined };
const at = '2026-01-01T00:00:00.000Z';

function peer(number: number): { chassis: string; cluster: string; address: string } {
  return { chassis: `b${number}`, cluster: 'west', address: `172.30.2.${number}` };
}

interface Path {
  readonly echo?: Partial<Echo>;
  readonly mtu?: number;
}

/** A prober with simulated paths, by address. */
function open(paths: Readonly<Record<string, Path>>): { prober: Prober; asked: PingOptions[] } {
  const asked: PingOptions[] = [];
  const ping = {
    echo: (options: PingOptions) => {
      asked.push(options);
      return Promise.resolve({ ...answered, ...paths[options.target]?.echo });
    },
    passes: ({ target }: PingOptions, size: number) => Promise.resolve(size <= (paths[target]?.mtu ?? 9000)),
  };
  return { prober: new Prober({ source: '172.30.1.11', now: () => new Date(at), ping }), asked };
}

function results(prober: Prober, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let seen = 0;
  prober.subscribe(() => ++seen === count && resolve());
  return promise;
}

test('each new peer is measured at once from the own tunnel address: time, loss and size', async () => {
  const paths = {
    '172.30.2.2': { mtu: 1430 },
    '172.30.2.3': { echo: { received: 0, rttMs: undefined } },
    '172.30.2.4': { echo: { sent: 0, received: 0, rttMs: undefined, problem: 'Network is unreachable' } },
  };
  const { prober, asked } = open(paths);
  const done = results(prober, 4);
  prober.set({ peers: [1, 2, 3, 4].map(peer), wantedMtu: 1500 });
  await done;
  prober.close();
  assert.ok(asked.every(({ source }) => source === '172.30.1.11'));
  const seen = [1, 2, 3, 4].map((number) => prober.results.get(`b${number}`));
  const { rttMs } = answered;
  assert.deepEqual(seen, [
    { chassis: 'b1', address: '172.30.2.1', lossPercent: 0, rttMs, mtu: 1500, at },
    { chassis: 'b2', address: '172.30.2.2', lossPercent: 0, rttMs, mtu: 1430, at },
    { chassis: 'b3', address: '172.30.2.3', lossPercent: 100, at },
    { chassis: 'b4', address: '172.30.2.4', lossPercent: 100, problem: 'Network is unreachable', at },
  ]);
});

test('the size of a path is measured as soon as a wanted size is set, and not before', async () => {
  const { prober } = open({ '172.30.2.1': { mtu: 1400 } });
  let done = results(prober, 1);
  prober.set({ peers: [peer(1)], wantedMtu: undefined });
  await done;
  assert.equal(prober.results.get('b1')?.mtu, undefined);
  done = results(prober, 1);
  prober.set({ peers: [peer(1)], wantedMtu: 1500 });
  await done;
  prober.close();
  assert.equal(prober.results.get('b1')?.mtu, 1400);
});

test('the measurements of a peer are removed with the peer or its address', async () => {
  const { prober, asked } = open({});
  let done = results(prober, 2);
  prober.set({ peers: [peer(1), peer(2)], wantedMtu: 1500 });
  await done;
  done = results(prober, 1);
  prober.set({ peers: [{ ...peer(2), address: '172.30.2.22' }], wantedMtu: 1500 });
  assert.equal(prober.results.size, 0);
  await done;
  prober.close();
  assert.deepEqual([...prober.results.keys()], ['b2']);
  assert.deepEqual(
    asked.map(({ target }) => target),
    ['172.30.2.1', '172.30.2.2', '172.30.2.22'],
  );
});
