import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import { advertisementOf, nodeOf, peerOf, podOf, subnetOf } from '../../lib/bgp/testing.ts';
import { SpeakerMetrics } from './metrics.ts';
import type { SpeakerView } from './metrics/view.ts';
import { planSpeaker } from '../plan/plan.ts';
import { stateOf } from '../plan/testing.ts';
import type { Observed, ObservedSession } from '../model/observed.ts';

/** The speaker's own series and those with Kube-OVN's names, as in a scrape. */
async function scrape(registry: Registry): Promise<readonly string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

const state = stateOf({
  nodes: [nodeOf('n1', ['10.0.0.1']), nodeOf('n2', ['10.0.0.2']), nodeOf('n3', ['10.0.0.3'], {})],
  peers: [
    peerOf('tor', '10.0.0.254', { maximumPrefixes: { limit: 100 }, import: {} }),
    peerOf('deaf', '10.0.0.253', { advertisements: { matchLabels: { to: 'deaf' } }, bfd: {} }),
    peerOf('signed', '10.0.0.252', { passwordSecretRef: { name: 's' } }),
    peerOf('own', '10.0.0.1'),
  ],
  advertisements: [
    advertisementOf('pods', { source: 'Pod' }),
    advertisementOf('named', { peers: ['deaf'] }),
    advertisementOf('elsewhere', { nodeSelector: { matchLabels: { rack: '2' } } }),
  ],
  subnets: [subnetOf('web', ['10.16.0.0/16'])],
  pods: [podOf('a', ['10.16.0.5']), podOf('b', ['10.16.0.6'], { isReady: false })],
});

const counts = { received: { ipv4: 7, ipv6: 0 }, flaps: 2, isLost: false, isDeferring: false, isOverLimit: false };
const sessionOf = (session: Pick<ObservedSession, 'state'>): ObservedSession => ({ ...counts, ...session });

const observed: Observed = {
  daemon: { isReachable: true, version: '4.x' },
  sessions: new Map([
    ['10.0.0.254', sessionOf({ state: 'Established' })],
    ['10.0.0.253', sessionOf({ state: 'OpenSent' })],
  ]),
  refused: new Map(),
};

const nodeState: BgpNodeStateStatus = {
  learnedRoutes: 1,
  peers: [
    {
      peer: 'tor',
      address: '10.0.0.254',
      asn: 65000,
      state: 'Established',
      flaps: 2,
      families: [{ family: 'ipv4', advertised: 1, received: 7 }],
      used: 1,
      notUsed: [{ reason: 'Denied', count: 6 }],
    },
    { peer: 'deaf', address: '10.0.0.253', asn: 65000, state: 'Active', bfd: 'Down', flaps: 0 },
    { peer: 'signed', address: '10.0.0.252', asn: 65000, state: 'Refused', reason: 'SecretNotReadable' },
  ],
};

function viewOf(more: Partial<SpeakerView> = {}): SpeakerView {
  return { state, plan: planSpeaker(state), observed, nodeState, ...more };
}

function metricsOf(registry: Registry): SpeakerMetrics {
  return new SpeakerMetrics(registry, () => 250);
}

test('figures are those of plan, observation and status', async () => {
  const registry = new Registry();
  metricsOf(registry).set(viewOf());
  const lines = await scrape(registry);
  assert.deepEqual(
    lines.filter((line) => /^isthmus_speaker_(session|peer)_/.test(line)),
    [
      'isthmus_speaker_session_up{peer="tor",address="10.0.0.254"} 1',
      'isthmus_speaker_session_up{peer="deaf",address="10.0.0.253"} 0',
      'isthmus_speaker_session_state{peer="tor",address="10.0.0.254"} 6',
      'isthmus_speaker_session_state{peer="deaf",address="10.0.0.253"} 4',
      'isthmus_speaker_session_flaps_total{peer="tor",address="10.0.0.254"} 2',
      'isthmus_speaker_session_flaps_total{peer="deaf",address="10.0.0.253"} 0',
      'isthmus_speaker_session_bfd_up{peer="deaf",address="10.0.0.253"} 0',
      'isthmus_speaker_session_advertisements{peer="tor",address="10.0.0.254"} 1',
      'isthmus_speaker_session_advertisements{peer="deaf",address="10.0.0.253"} 0',
      'isthmus_speaker_session_advertised_prefixes{peer="tor",address="10.0.0.254",family="ipv4"} 1',
      'isthmus_speaker_session_received_prefixes{peer="tor",address="10.0.0.254",family="ipv4"} 7',
      'isthmus_speaker_session_prefix_limit{peer="tor",address="10.0.0.254",family="ipv4"} 100',
      'isthmus_speaker_session_used_prefixes{peer="tor",address="10.0.0.254"} 1',
      'isthmus_speaker_session_unused_prefixes{peer="tor",address="10.0.0.254",reason="Denied"} 6',
      'isthmus_speaker_session_import_limit{peer="tor",address="10.0.0.254"} 200',
      'isthmus_speaker_peer_refused{peer="own",reason="OwnAddress"} 1',
      'isthmus_speaker_peer_refused{peer="signed",reason="SecretNotReadable"} 1',
    ],
  );
  for (const line of [
    'isthmus_speaker_gobgpd_up 1',
    'isthmus_speaker_wanted_prefixes 2',
    'isthmus_speaker_not_announced_objects{advertisement="pods",reason="NotReady"} 1',
    'isthmus_speaker_learned_routes 1',
    'isthmus_speaker_drain_phase{phase="None"} 1',
    'isthmus_speaker_drain_phase{phase="Drained"} 0',
    'isthmus_speaker_instance_nodes{bgp_instance="rack"} 2',
    'isthmus_speaker_update_pending_seconds 0.25',
    'kube_ovn_speaker_bgp_peer_up{peer="10.0.0.254",peer_asn="65000"} 1',
    'kube_ovn_speaker_bgp_peer_session_state{peer="10.0.0.253",peer_asn="65000"} 4',
    'kube_ovn_speaker_bgp_peer_flap_count{peer="10.0.0.254",peer_asn="65000"} 2',
    'kube_ovn_speaker_bfd_peer_up{peer="10.0.0.253"} 0',
    'kube_ovn_speaker_bfd_peer_session_state{peer="10.0.0.253"} 2',
  ])
    assert.ok(lines.includes(line), line);
});

test('a removed peer has no series, and a lost gobgpd is counted once', async () => {
  const registry = new Registry();
  const metrics = metricsOf(registry);
  const names = async () => (await scrape(registry)).map((line) => line.replace(/[{ ].*/, ''));
  assert.ok(!(await names()).includes('isthmus_speaker_gobgpd_up'), 'nothing is said before something is known');
  const lost = { daemon: { isReachable: false }, sessions: new Map(), refused: new Map() };
  metrics.set(viewOf({ observed: lost }));
  assert.ok((await scrape(registry)).includes('isthmus_speaker_gobgpd_lost_total 0'), 'it was never there');
  metrics.set(viewOf());
  for (let time = 0; time < 2; time++) metrics.set(viewOf({ observed: lost, nodeState: undefined }));
  const lines = await scrape(registry);
  assert.ok(lines.includes('isthmus_speaker_gobgpd_up 0'));
  assert.ok(lines.includes('isthmus_speaker_gobgpd_lost_total 1'));
  assert.ok(!lines.some((line) => /session_|kube_ovn/.test(line)));
});

test('answers, audits and writes of statuses are counted', async () => {
  const registry = new Registry();
  const metrics = metricsOf(registry);
  for (const lagMs of [3, 30, 20_000]) metrics.answered(lagMs);
  for (const differing of [0, 4]) metrics.audited(differing);
  const writer = metrics.counting({ enqueue: async (key) => (key.endsWith('old') ? 'superseded' : 'written') });
  for (const key of ['BgpPeer/tor/entry', 'BgpPeer/tor/old', 'BgpNodeState/n1'])
    await writer.enqueue(key, async () => {});
  const lines = await scrape(registry);
  for (const line of [
    'isthmus_speaker_update_lag_seconds_bucket{le="0.005"} 1',
    'isthmus_speaker_update_lag_seconds_bucket{le="10"} 2',
    'isthmus_speaker_update_lag_seconds_count 3',
    'isthmus_speaker_audits_total 2',
    'isthmus_speaker_audit_differences_total 4',
    'isthmus_speaker_status_writes_total{kind="BgpPeer",outcome="written"} 1',
    'isthmus_speaker_status_writes_total{kind="BgpPeer",outcome="superseded"} 1',
    'isthmus_speaker_status_writes_total{kind="BgpNodeState",outcome="written"} 1',
  ])
    assert.ok(lines.includes(line), line);
});
