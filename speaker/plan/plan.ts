// What gobgpd on this node should have: objects come in, one `SpeakerPlan` goes out, with a problem for each object that cannot be used.
// main.ts calls it after every change; apply/ brings gobgpd there and plan/status.ts says it to the objects. Routes are kept from plan to
// plan and worked on where something changed; everything anew gives the same. A bad object never changes what the others get.
import { announcingIn, type DrainPhase } from '../../lib/bgp/drain.ts';
import { chooseInstance, type InstanceChoice, type WantedInstance } from '../../lib/bgp/instance.ts';
import { BgpPolicies } from '../../lib/bgp/policies.ts';
import { type AcceptedPeer, planPeers } from '../../lib/bgp/peers.ts';
import { RouteTable } from '../../lib/bgp/route-table.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Changes } from '../model/changes.ts';
import type { SpeakerState } from '../model/objects.ts';
import { type Password, passwordOf } from './passwords.ts';

/** A neighbour this node has a session with. */
export interface WantedPeer extends AcceptedPeer {
  readonly password: Password | undefined;
}

export interface SpeakerPlan {
  /** Undefined where no instance selects this node: gobgpd then has no peer and no path. */
  readonly instance: WantedInstance | undefined;
  readonly drain: DrainPhase;
  /** By address. */
  readonly peers: ReadonlyMap<string, WantedPeer>;
  /** Links with peers that have no address, found or not. */
  readonly interfaces: readonly string[];
  /** The routes of this node; it goes on changing with later plans. */
  readonly table: RouteTable;
  /** Prefixes whose route changed since the plan before. */
  readonly changed: ReadonlySet<string>;
  /** RoutePolicies of BGP sessions. */
  readonly routePolicies: BgpPolicies;
  readonly problems: {
    /** By object name, as far as this node is concerned. */
    readonly instances: ReadonlyMap<string, Problem>;
    readonly peers: ReadonlyMap<string, Problem>;
  };
}

export class SpeakerPlanner {
  readonly #table = new RouteTable();
  #announcing: string | undefined;
  #policies = new BgpPolicies([]);

  /** The plan of the node `state.node`. */
  plan(state: SpeakerState, changes: Changes, choice: InstanceChoice, drain: DrainPhase): SpeakerPlan {
    const { instance, problems: instanceProblems } = choice;
    const announcing = announcingIn(drain, instance);
    const how = JSON.stringify(announcing ?? null);
    if (changes.isEverything || how !== this.#announcing) {
      this.#policies = new BgpPolicies(state.policies.values(), this.#policies.set);
      this.#table.rebuild(state, announcing, this.#policies);
    } else this.#table.update(state, changes.objects);
    this.#announcing = how;
    const { peers: accepted, problems: peerProblems, interfaces } = planPeers(state, instance);
    const peers = [...accepted.values()].map((peer) => ({ ...peer, password: passwordOf(state, peer) }));
    return {
      instance,
      drain,
      peers: new Map(peers.map((peer) => [peer.address, peer])),
      interfaces: [...interfaces.keys()].toSorted(),
      table: this.#table,
      changed: this.#table.takeChanged(),
      routePolicies: this.#policies,
      problems: { instances: instanceProblems, peers: peerProblems },
    };
  }
}

/** The plan of a state that is seen for the first time. */
export function planSpeaker(state: SpeakerState, drain: DrainPhase = 'None'): SpeakerPlan {
  return new SpeakerPlanner().plan(state, { isEverything: true, objects: [] }, chooseInstance(state), drain);
}
