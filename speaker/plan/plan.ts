// What gobgpd on this node should have: objects come in, one `SpeakerPlan` goes out, with a problem for each object that cannot be used.
// main.ts calls it after every change; apply/ brings gobgpd there and plan/status.ts says it to the objects.
// Pure: same state, same plan. A bad object never changes what the others get.
import type { Problem } from '../../lib/desired/problem.ts';
import type { SpeakerState } from '../state/objects.ts';
import { planAdvertisements, prefixesFor } from './advertisements.ts';
import { chooseInstance, type WantedInstance } from './instance.ts';
import { type AcceptedPeer, planPeers } from './peers.ts';

/** A neighbour and what it is told. */
export interface WantedPeer extends AcceptedPeer {
  /** Prefixes of the neighbour's own address family, sorted. */
  readonly prefixes: readonly string[];
}

export interface SpeakerPlan {
  /** Undefined where no instance selects this node: gobgpd then has no peer and no path. */
  readonly instance: WantedInstance | undefined;
  /** By address. */
  readonly peers: ReadonlyMap<string, WantedPeer>;
  /** All prefixes in gobgpd's table, sorted. */
  readonly prefixes: readonly string[];
  /** By name of the advertisement, sorted; the same on every node. */
  readonly advertised: ReadonlyMap<string, readonly string[]>;
  readonly problems: {
    /** By object name, as far as this node is concerned. */
    readonly instances: ReadonlyMap<string, Problem>;
    readonly peers: ReadonlyMap<string, Problem>;
  };
}

/** The plan of the node `state.node`. */
export function planSpeaker(state: SpeakerState): SpeakerPlan {
  const { instance, problems: instanceProblems } = chooseInstance(state);
  const advertised = planAdvertisements(state);
  const { peers: accepted, problems: peerProblems } = planPeers(state, instance);
  const peers = new Map<string, WantedPeer>();
  for (const peer of accepted.values()) {
    peers.set(peer.address, { ...peer, prefixes: prefixesFor(peer, state.advertisements, advertised) });
  }
  return {
    instance,
    peers,
    prefixes: instance ? sortedUnique([...advertised.values()].flat()) : [],
    advertised,
    problems: { instances: instanceProblems, peers: peerProblems },
  };
}

function sortedUnique(values: readonly string[]): string[] {
  return [...new Set(values)].toSorted();
}
