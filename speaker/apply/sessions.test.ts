import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GobgpClient, PeerSession } from 'gobgp-js';
import type { SessionHistory } from '../model/session-history.ts';
import { readSessions } from './sessions.ts';

const address = '10.0.0.254';

const readOf =
  <K extends 'connectedAtMs' | 'heardMs'>(key: K) =>
  (history: Map<string, SessionHistory>) =>
  async (state: PeerSession['state'], nowMs: number) => {
    const peers = [{ config: { address }, session: { state, families: [], holdTimeSeconds: 9 } }];
    const client = { listPeers: () => Promise.resolve(peers) } as unknown as GobgpClient;
    return (await readSessions(client, history, nowMs)).get(address)?.[key];
  };

test('a session was connected until it was found lost, however long ago it was read before', async () => {
  const read = readOf('connectedAtMs')(new Map());
  assert.equal(await read('Active', 0), undefined);
  assert.equal(await read('Established', 1000), 1000);
  assert.equal(await read('Idle', 60_000), 60_000);
  assert.equal(await read('Active', 61_000), 60_000);
});

test('a neighbour was heard until a hold time before the loss of its session', async () => {
  const read = readOf('heardMs')(new Map());
  assert.equal(await read('Active', 0), undefined);
  assert.deepEqual(await read('Established', 1000), { from: 1000, to: undefined });
  assert.deepEqual(await read('Established', 30_000), { from: 1000, to: undefined });
  for (const nowMs of [60_000, 70_000]) assert.deepEqual(await read('Idle', nowMs), { from: 1000, to: 51_000 });
  assert.deepEqual(await read('Established', 80_000), { from: 80_000, to: undefined });
});
