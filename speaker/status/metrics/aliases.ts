/** Metrics with Kube-OVN's names, for dashboards and alerts made for its speaker; there, `peer` is the neighbour's address. */
import type { Put, Scraped } from './scraped.ts';
import { isUp, sessionsOf, stateNumber } from './sessions.ts';
import type { SpeakerView } from './view.ts';

const peerLabels = ['peer', 'peer_asn'] as const;

type NodePeer = ReturnType<typeof sessionsOf>[number];

const sessions =
  (value: (peer: NodePeer, view: SpeakerView) => number | undefined) =>
  (view: SpeakerView, put: Put): void => {
    for (const each of sessionsOf(view)) {
      const found = value(each, view);
      if (found !== undefined) put({ peer: each.address, peer_asn: String(each.asn) }, found);
    }
  };

const bfdStates = ['Unknown', 'Up', 'Down', 'AdminDown', 'Init'];

const bfd =
  (value: (state: string) => number) =>
  (view: SpeakerView, put: Put): void => {
    for (const { address, bfd: state } of sessionsOf(view))
      if (state !== undefined) put({ peer: address }, value(state));
  };

export const aliasSeries: readonly Scraped[] = [
  {
    name: 'kube_ovn_speaker_bgp_peer_up',
    help: 'As isthmus_speaker_session_up',
    labelNames: peerLabels,
    fill: sessions((peer) => (isUp(peer) ? 1 : 0)),
  },
  {
    name: 'kube_ovn_speaker_bgp_peer_session_state',
    help: 'As isthmus_speaker_session_state',
    labelNames: peerLabels,
    fill: sessions((peer, view) => stateNumber(view, peer)),
  },
  {
    name: 'kube_ovn_speaker_bgp_peer_flap_count',
    help: 'As isthmus_speaker_session_flaps_total',
    labelNames: peerLabels,
    fill: sessions(({ flaps }) => flaps),
  },
  {
    name: 'kube_ovn_speaker_bfd_peer_up',
    help: 'As isthmus_speaker_session_bfd_up',
    labelNames: ['peer'],
    fill: bfd((state) => (state === 'Up' ? 1 : 0)),
  },
  {
    name: 'kube_ovn_speaker_bfd_peer_session_state',
    help: `State of BFD: ${bfdStates.map((state, at) => `${at} ${state}`).join(', ')}`,
    labelNames: ['peer'],
    fill: bfd((state) => Math.max(0, bfdStates.indexOf(state))),
  },
];
