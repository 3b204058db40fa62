import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GobgpClient } from 'gobgp-js';
import { instanceOf, nodeOf, peerOf } from '../../lib/bgp/testing.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { planSpeaker } from '../plan/plan.ts';
import { stateOf } from '../plan/testing.ts';
import type { SessionHistory } from '../model/session-history.ts';
import { UpdateLag } from './update-lag.ts';
import { renderPeer } from './render.ts';
import { Gobgpd } from './gobgpd.ts';

const [kept, gone] = ['10.0.0.254', '10.0.0.253'];
const lost: SessionHistory = {
  isUp: false,
  flaps: 3,
  lastError: 'HoldTimerExpired',
  isLost: true,
  isConnected: false,
  connectedAtMs: undefined,
  heardMs: undefined,
  lossReason: { reason: 'HoldTimerExpired' },
};

test('the history of a deleted peer is not kept for a later peer with its address', async () => {
  const state = (...addresses: readonly string[]) =>
    stateOf({
      nodes: [nodeOf('n1', ['10.0.0.1'])],
      instances: [instanceOf('rack')],
      peers: addresses.map((address, at) => peerOf(`tor${at}`, address)),
    });
  const before = planSpeaker(state(kept, gone));
  const answers: Readonly<Record<string, unknown>> = {
    getBgp: before.instance,
    listPeers: [...before.peers.values()].map((peer) => ({ config: renderPeer(peer, '10.0.0.1') })),
    listPaths: [],
  };
  const client = new Proxy({}, { get: (_, name) => async () => answers[String(name)] }) as GobgpClient;
  const history = new Map([
    [kept, lost],
    [gone, lost],
  ]);
  const monotonicMs = () => 0;
  const options = {
    gobgpd: 'unix:/none',
    log: createLogger('speaker'),
    random: () => 0.5,
    monotonicMs,
    onObserved: () => {},
    onReceived: () => {},
    lag: new UpdateLag(monotonicMs, () => {}),
    onAudit: () => {},
  };
  const gobgpd = new Gobgpd(client, options, history, () => {});
  assert.ok(await gobgpd.apply(planSpeaker(state(kept)), new Set(), false));
  assert.deepEqual([...history.keys()], [kept]);
});
