import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OvsdbClient } from 'ovsdb-client';
import type { Subnet } from '../model/subnet.ts';
import { UnderlayPods } from './underlay.ts';

test('where the bridges are not connected in time, that is the cause, and another end of the request stays what it is', async () => {
  const ovs = { cache: { table: () => ({ byIndex: () => [] }) }, subscribe: () => () => undefined };
  const pods = new UnderlayPods({
    ovs: ovs as unknown as OvsdbClient,
    stateOf: () => undefined,
    subscribe: () => () => undefined,
    resolveNeighbour: async () => undefined,
  });
  const until = (end: Error): Promise<void> => {
    const stop = new AbortController();
    const waiting = pods.untilConnected({ name: 'flat' } as Subnet, stop.signal);
    stop.abort(end);
    return waiting;
  };
  const late = until(new DOMException('20 s', 'TimeoutError'));
  await assert.rejects(late, { code: 11, message: /^underlay subnet flat is not connected with its provider network/ });
  const given = new Error('given up');
  await assert.rejects(until(given), (error) => error === given);
});
