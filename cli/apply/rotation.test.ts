import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayWireGuard } from '../../lib/api/kinds/interconnect-gateway.ts';
import { setRotation, stateOf } from './rotation.ts';

const gateway = (wireGuard: Partial<GatewayWireGuard>) => ({
  node: 'e1',
  isDrained: false,
  measuredMs: undefined,
  status: { wireGuard: { guarded: true, ...wireGuard } },
});
const before = gateway({ publicKey: 'old' });
const nextKey = { publicKey: 'new', madeAt: '2026-01-01T00:00:00Z' };

describe('the rotation of a key', () => {
  it('is over when the gateway has another key, and no next one', () => {
    const stateWith = (...gateways: ReturnType<typeof gateway>[]) => stateOf(before, { gateways });
    assert.match(stateWith(before).text, /e1 has made no new key/);
    assert.match(stateWith(gateway({ publicKey: 'old', nextKey })).text, /e1 waits until the other clusters accept/);
    assert.equal(stateWith(gateway({ publicKey: 'new' })).isDone, true);
    // A further one was asked for.
    assert.equal(stateWith(gateway({ publicKey: 'new', nextKey })).isDone, false);
    assert.equal(stateWith().isDone, false);
  });
  it('is asked for in the spec of the gateway', async () => {
    const sent: unknown[] = [];
    const client = { patch: (...words: unknown[]) => Promise.resolve(sent.push(words[1], words[3])) };
    await setRotation(client as never, 'e1', 'now');
    assert.deepEqual(sent, [{ name: 'e1' }, { spec: { rotateKey: 'now' } }]);
  });
});
