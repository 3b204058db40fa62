/** One series for each peer of this node, including refused peers; peers are few. */
import { isFor } from '../../../lib/bgp/exports.ts';
import type { WantedPeer } from '../../plan/plan.ts';
import type { Put, Scraped } from './scraped.ts';
import type { SpeakerView } from './view.ts';

type NodePeer = NonNullable<NonNullable<SpeakerView['nodeState']>['peers']>[number];

const prefix = 'isthmus_speaker_session';
const names = ['peer', 'address'] as const;
const withFamily = [...names, 'family'] as const;

/** In the order of gobgpd's numbers; 0 is a session without a known state. */
const states = ['Unknown', 'Idle', 'Connect', 'Active', 'OpenSent', 'OpenConfirm', 'Established'];

/** Peers with a wanted session; a refused peer has a separate series. */
export function sessionsOf({ nodeState }: SpeakerView): readonly NodePeer[] {
  return (nodeState?.peers ?? []).filter(({ state }) => state !== 'Refused');
}

/** The state last reported by gobgpd, without the smoothing that statuses need between two readings. */
export function stateNumber({ observed }: SpeakerView, { address }: NodePeer): number {
  return Math.max(0, states.indexOf(observed.sessions.get(address)?.state ?? ''));
}

export function isUp({ state }: NodePeer): boolean {
  return state === 'Established';
}

const sessions =
  (
    fill: (
      put: (value: number, more?: Readonly<Record<string, string>>) => void,
      peer: NodePeer,
      view: SpeakerView,
    ) => void,
  ) =>
  (view: SpeakerView, put: Put): void => {
    for (const each of sessionsOf(view)) {
      const { peer, address } = each;
      fill((value, more) => put({ peer, address, ...more }, value), each, view);
    }
  };

export const sessionSeries: readonly Scraped[] = [
  {
    name: `${prefix}_up`,
    help: '1 while the BGP session is established',
    labelNames: names,
    fill: sessions((put, peer) => put(isUp(peer) ? 1 : 0)),
  },
  {
    name: `${prefix}_state`,
    help: `State of the session: ${states.map((state, at) => `${at} ${state}`).join(', ')}`,
    labelNames: names,
    fill: sessions((put, peer, view) => put(stateNumber(view, peer))),
  },
  {
    name: `${prefix}_flaps_total`,
    help: 'How often the session was lost; the count outlives the speaker',
    labelNames: names,
    isCounter: true,
    fill: sessions((put, { flaps }) => flaps !== undefined && put(flaps)),
  },
  {
    name: `${prefix}_bfd_up`,
    help: '1 while BFD sees the peer; only of peers with BFD',
    labelNames: names,
    fill: sessions((put, { bfd }) => bfd !== undefined && put(bfd === 'Up' ? 1 : 0)),
  },
  {
    name: `${prefix}_advertisements`,
    help: 'BgpAdvertisements that this node announces and that are for the peer',
    labelNames: names,
    fill: sessions((put, { address }, view) => {
      const wanted = view.plan.peers.get(address);
      if (wanted) put(advertisementsFor(view, wanted));
    }),
  },
  {
    name: `${prefix}_advertised_prefixes`,
    help: 'Prefixes announced to the peer, while the session is established',
    labelNames: withFamily,
    fill: sessions((put, { families = [] }) => {
      for (const { family, advertised } of families) if (advertised !== undefined) put(advertised, { family });
    }),
  },
  {
    name: `${prefix}_received_prefixes`,
    help: 'Prefixes received from the peer, while the session is established',
    labelNames: withFamily,
    fill: sessions((put, { families = [] }) => {
      for (const { family, received } of families) if (received !== undefined) put(received, { family });
    }),
  },
  {
    name: `${prefix}_prefix_limit`,
    help: 'Prefixes of a family with which the session ends: maximumPrefixes of the BgpPeer',
    labelNames: withFamily,
    fill: sessions((put, { address }, { plan }) => {
      const { families = [], maximumPrefixes } = plan.peers.get(address) ?? {};
      if (maximumPrefixes) for (const family of families) put(maximumPrefixes.limit, { family });
    }),
  },
  {
    name: `${prefix}_used_prefixes`,
    help: 'Received prefixes that are routes here; only of peers with import',
    labelNames: names,
    fill: sessions((put, { used }) => used !== undefined && put(used)),
  },
  {
    name: `${prefix}_unused_prefixes`,
    help: 'Received prefixes that are no routes here, by reason; only of peers with import',
    labelNames: [...names, 'reason'],
    fill: sessions((put, { notUsed = [] }) => {
      for (const { reason, count } of notUsed) put(count, { reason });
    }),
  },
  {
    name: `${prefix}_import_limit`,
    help: 'Most prefixes of the peer that become routes here: import.maxPrefixes of the BgpPeer',
    labelNames: names,
    fill: sessions((put, { address }, { plan }) => {
      const limit = plan.peers.get(address)?.import?.maxPrefixes;
      if (limit !== undefined) put(limit);
    }),
  },
  {
    name: 'isthmus_speaker_peer_refused',
    help: '1 for each BgpPeer that has no session here because something in Kubernetes is wrong, by reason',
    labelNames: ['peer', 'reason'],
    fill: ({ plan, nodeState }, put) => {
      for (const [peer, { code }] of plan.problems.peers) put({ peer, reason: code }, 1);
      for (const { peer, state, reason = '' } of nodeState?.peers ?? [])
        if (state === 'Refused') put({ peer, reason }, 1);
    },
  },
];

function advertisementsFor({ state, plan }: SpeakerView, peer: WantedPeer): number {
  return [...state.advertisements.values()].filter(
    ({ name, labels, spec }) =>
      'value' in spec &&
      plan.table.announcers(name).has(state.node) &&
      isFor(peer, { labels, peers: spec.value.peers }),
  ).length;
}
