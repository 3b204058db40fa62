import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { LocalTunnel } from '../model/interconnect.ts';
import { isSameTunnels, planTunnels } from './tunnels.ts';

const [earlier, later] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:09.000Z'];
const peer = { chassis: 'b1', cluster: 'west', address: '172.30.2.11' };

function tunnel(fields: Partial<LocalTunnel> = {}): LocalTunnel {
  const { chassis, address } = peer;
  return { name: 'ovn-b1-0', chassis, address, isBfdWanted: true, bfd: { state: 'up' }, isStale: false, ...fields };
}

function plan(
  tunnels: readonly LocalTunnel[],
  before: readonly GatewayTunnel[] = [],
  away: { readonly isSwitchDown?: boolean; readonly isDatabaseAway?: boolean } = {},
): readonly GatewayTunnel[] {
  const { isSwitchDown = false, isDatabaseAway = false } = away;
  return planTunnels({ peers: [peer], tunnels, isSwitchDown, isDatabaseAway, before, nowIso: later });
}

function stateOf(...tunnels: readonly LocalTunnel[]): unknown {
  const [{ state, diagnostic, remoteDiagnostic } = assert.fail('nothing is told')] = plan(tunnels);
  return [state, diagnostic, remoteDiagnostic];
}

test('states of BFD, with the reasons while it is not up', () => {
  const reasons = { diagnostic: 'Control Detection Time Expired', remote_diagnostic: 'Neighbor Signaled Session Down' };
  for (const state of ['down', 'init', 'admin_down'])
    assert.deepEqual(stateOf(tunnel({ bfd: { state, ...reasons } })), [
      state,
      'Control Detection Time Expired',
      'Neighbor Signaled Session Down',
    ]);
  const none = { diagnostic: 'No Diagnostic', remote_diagnostic: '' };
  assert.deepEqual(stateOf(tunnel({ bfd: { state: 'down', ...none } })), ['down', undefined, undefined]);
  assert.deepEqual(stateOf(tunnel({ bfd: { state: 'up', ...reasons } })), ['up', undefined, undefined]);
});

test('without BFD: unknown; wanted and not begun: init; no tunnel at all: down', () => {
  assert.deepEqual(stateOf(tunnel({ bfd: {}, isBfdWanted: false })), ['unknown', undefined, undefined]);
  assert.deepEqual(stateOf(tunnel({ bfd: {} })), [
    'init',
    'ovs-vswitchd of this node has not started BFD on it',
    undefined,
  ]);
  assert.match(String(stateOf()), /^down,Open vSwitch of this node has no tunnel to it/);
  assert.match(String(stateOf(tunnel({ chassis: 'other' }))), /^down,Open vSwitch of this node has no tunnel to it/);
});

test('states that a dead ovs-vswitchd left behind do not count', () => {
  const [planned] = plan([tunnel()], [], { isSwitchDown: true });
  assert.deepEqual([planned?.state, planned?.diagnostic], ['down', 'ovs-vswitchd of this node does not answer']);
  assert.deepEqual(stateOf(tunnel({ isStale: true })), ['down', 'ovs-vswitchd of this node is starting', undefined]);
});

test('without the database the last observed state is kept and marked as such', () => {
  for (const state of ['up', 'down'] as const) {
    const [planned] = plan([tunnel({ bfd: { state } })], [], { isDatabaseAway: true });
    assert.equal(planned?.state, state);
    assert.match(planned.diagnostic ?? '', /database of this node does not answer/);
  }
});

test('of several tunnels to one chassis, that of the published address counts, then the best', () => {
  const dead = tunnel({ bfd: { state: 'down' } });
  assert.equal(plan([tunnel({ address: '10.9.9.9' }), dead])[0]?.state, 'down');
  assert.equal(plan([dead, tunnel({ name: 'ovn-b1-1' })])[0]?.state, 'up');
});

test('an unchanged state keeps its time, also over a restart and with any order of rows', () => {
  const before = plan([tunnel()]).map((planned) => ({ ...planned, since: earlier }));
  assert.equal(plan([tunnel()], before)[0]?.since, earlier);
  assert.equal(plan([tunnel({ bfd: { state: 'down' } })], before)[0]?.since, later);
  const peers = [peer, { ...peer, chassis: 'a9' }];
  const input = {
    tunnels: [tunnel(), tunnel({ chassis: 'a9' })],
    isSwitchDown: false,
    isDatabaseAway: false,
    before,
    nowIso: later,
  };
  const planned = planTunnels({ ...input, peers });
  assert.deepEqual(
    planned.map(({ chassis }) => chassis),
    ['a9', 'b1'],
  );
  assert.deepEqual(planTunnels({ ...input, tunnels: input.tunnels.toReversed(), peers: peers.toReversed() }), planned);
});

test('flaps are reported with the next change, and are no change by themselves', () => {
  const [once, often] = ['1', '7'].map((count) => plan([tunnel({ bfd: { state: 'up', flap_count: count } })]));
  assert.deepEqual([once?.[0]?.flaps, often?.[0]?.flaps], [1, 7]);
  assert.ok(isSameTunnels(once ?? [], often ?? []));
  assert.ok(!isSameTunnels(once ?? [], plan([tunnel({ bfd: { state: 'down', flap_count: '1' } })])));
  assert.ok(!isSameTunnels(once ?? [], []));
});
