// Plans the configuration of gobgpd on this node. In: objects. Out: one `SpeakerPlan`, with a problem for each object that cannot be used. main.ts
// calls it after every change; `apply/steps.ts` compares the plan with gobgpd, and plan/status.ts plans the objects' statuses. Routes are kept from plan to plan
// and recomputed only where something changed; recomputing all of them gives the same result. An invalid object never affects other objects.
import { announcingIn, type DrainPhase } from '../../lib/bgp/drain.ts';
import { chooseInstance, type InstanceChoice, type WantedInstance } from '../../lib/bgp/instance.ts';
import { BgpPolicies } from '../../lib/bgp/policies.ts';
import { type AcceptedPeer, planPeers } from '../../lib/bgp/peers.ts';
import { RouteTable } from '../../lib/bgp/route-table.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Changes } from '../model/changes.ts';
import type { SpeakerState } from '../model/objects.ts';
import { type Password, passwordOf } from './passwords.ts';

/** A neighbour with which this node has a session. */
export interface WantedPeer extends AcceptedPeer {
  readonly password: Password | undefined;
}

export interface SpeakerPlan {
  /** Undefined if no instance selects this node: gobgpd then has no peers and no paths. */
  readonly instance: WantedInstance | undefined;
  readonly drain: DrainPhase;
  /** Peers by address. */
  readonly peers: ReadonlyMap<string, WantedPeer>;
  /** Links with peers that have no address in their spec, whether a neighbour was found or not. */
  readonly interfaces: readonly string[];
  /** The routes of this node; later plans change this table. */
  readonly table: RouteTable;
  /** Prefixes whose route changed since the previous plan. */
  readonly changed: ReadonlySet<string>;
  /** RoutePolicies of BGP sessions. */
  readonly routePolicies: BgpPolicies;
  readonly problems: {
    /** Problems by object name, as far as they concern this node. */
    readonly instances: ReadonlyMap<string, Problem>;
    readonly peers: ReadonlyMap<string, Problem>;
  };
}

export class SpeakerPlanner {
  readonly #table = new RouteTable();
  /** How this node announced in the previous plan. */
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

/** The plan for a state that is planned for the first time. */
export function planSpeaker(state: SpeakerState, drain: DrainPhase = 'None'): SpeakerPlan {
  return new SpeakerPlanner().plan(state, { isEverything: true, objects: [] }, chooseInstance(state), drain);
}
