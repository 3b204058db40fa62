import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GobgpClient } from 'gobgp-js';
import { instanceOf, nodeOf, peerOf } from '../../lib/bgp/testing.ts';
import { planSpeaker, type SpeakerPlan } from '../plan/plan.ts';
import { stateOf } from '../plan/testing.ts';
import type { ObservedSession } from '../model/observed.ts';
import { renderPeer } from './render.ts';
import { Revival } from './revival.ts';

const address = '10.0.0.254';
const counts = { received: { ipv4: 0, ipv6: 0 }, flaps: 0, isLost: true, isDeferring: false };
const overLimit: ObservedSession = { state: 'Idle', reason: 'PrefixLimit', ...counts, isOverLimit: true };

function planOf(limit: number | undefined): SpeakerPlan {
  const spec = limit === undefined ? {} : { maximumPrefixes: { limit, restartSeconds: 60 } };
  return planSpeaker(
    stateOf({
      nodes: [nodeOf('n1', ['10.0.0.1'])],
      instances: [instanceOf('rack')],
      peers: [peerOf('tor', address, spec)],
    }),
  );
}

/** Looks at a session over its limit, in turn; gives how many times it was enabled after each look. */
async function enabledAfter(looks: readonly (readonly [limit: number | undefined, atMs: number])[]): Promise<number[]> {
  let [nowMs, enabled] = [0, 0];
  const client: Partial<GobgpClient> = {
    enablePeer: async () => {
      enabled += 1;
    },
  };
  const revival = new Revival(
    client as GobgpClient,
    () => nowMs,
    () => {},
  );
  const after: number[] = [];
  for (const [limit, atMs] of looks) {
    nowMs = atMs;
    const plan = planOf(limit);
    const wanted = plan.peers.get(address);
    const config = wanted && renderPeer(wanted, '10.0.0.1');
    assert.ok(config);
    await revival.look(plan, new Map([[address, overLimit]]), new Map([[address, config]]));
    after.push(enabled);
  }
  return after;
}

test('a session over its limit comes back after restartSeconds', async () => {
  const looks = [0, 59_999, 60_000, 60_001].map((atMs) => [2, atMs] as const);
  assert.deepEqual(await enabledAfter(looks), [0, 0, 1, 1]);
});

test('a session over a limit that was changed, or taken away, comes back at once', async () => {
  assert.deepEqual(
    await enabledAfter([
      [2, 0],
      [5, 1000],
      [5, 1001],
    ]),
    [0, 1, 1],
  );
  assert.deepEqual(
    await enabledAfter([
      [2, 0],
      [undefined, 1000],
    ]),
    [0, 1],
  );
});
