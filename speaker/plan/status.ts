// Plans the statuses in Kubernetes. In: the plan and gobgpd's state. Out: wanted statuses by object name; status/ writes those that differ. Every
// speaker owns the entry of its own node, and all speakers derive the same summary from all entries, so any of them may write it. Pure: the same
// state gives the same statuses.
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import { instancesByNode } from '../../lib/bgp/instance.ts';
import type { AdvertisementSummary, NodeInstance, NodeSession } from '../../lib/bgp/objects.ts';
import { annotationAdvertisement, type Refusal } from '../../lib/bgp/offers/offer.ts';
import { isAboutClusters } from '../../lib/route-policy/policy.ts';
import { readyOf } from '../../lib/route-policy/ready.ts';
import type { SpeakerState } from '../model/objects.ts';
import type { Clues, Observed } from '../model/observed.ts';
import { instanceEntry, instanceSummary } from './instance-status.ts';
import { advertisementSummary } from './advertisement-status.ts';
import type { Learned } from './learned.ts';
import { nodeStateOf } from './node-state.ts';
import { peerEntry, peerSummary } from './peer-status.ts';
import type { SpeakerPlan } from './plan.ts';
import type { PlannedStatus } from './planned.ts';

export interface StatusPlan {
  readonly instances: ReadonlyMap<string, PlannedStatus<NodeInstance, object>>;
  readonly peers: ReadonlyMap<string, PlannedStatus<NodeSession, { readonly established: string }>>;
  readonly advertisements: ReadonlyMap<string, PlannedStatus<never, AdvertisementSummary>>;
  /** RoutePolicies for BGP only; the interconnect writes the status of the others. */
  readonly policies: ReadonlyMap<string, PlannedStatus<never, { readonly inForce?: string }>>;
  /** The BGP state of this node; undefined if it has no BGP. */
  readonly nodeState: BgpNodeStateStatus | undefined;
  /** Problems of annotations, by object in the route table's naming; reported by only one speaker. */
  readonly annotations: ReadonlyMap<string, readonly Refusal[]>;
}

/** All statuses without times, which are set when a status is written. */
export function planStatus(
  state: SpeakerState,
  plan: SpeakerPlan,
  observed: Observed,
  clues: Clues,
  learned: Learned,
): StatusPlan {
  const holders = instancesByNode(state);
  const instances = new Map(
    [...state.instances.values()].map((instance) => {
      const entry = instanceEntry(state, plan, observed, instance);
      return [instance.name, { entry, ...instanceSummary(state, instance, entry) }] as const;
    }),
  );
  const peers = new Map(
    [...state.peers.values()].map((peer) => {
      const entry = peerEntry(state, plan, observed, peer, clues);
      return [peer.name, { entry, ...peerSummary(state, peer, entry, holders) }] as const;
    }),
  );
  const advertisements = [...state.advertisements.values()].map(
    (advertisement) => [advertisement.name, advertisementSummary(state, holders, advertisement, plan.table)] as const,
  );
  const own = plan.instance && instances.get(plan.instance.name)?.entry;
  const [spokesman] = [...holders.keys()].toSorted();
  return {
    instances,
    peers,
    advertisements: new Map(advertisements),
    policies: policyStatuses(plan),
    nodeState: nodeStateOf(state, plan, observed, own, learned, (name) => peers.get(name)?.entry),
    annotations: spokesman === state.node ? faultsOf(plan) : new Map(),
  };
}

function policyStatuses({ routePolicies }: SpeakerPlan): StatusPlan['policies'] {
  const judged = [...routePolicies.set.judged.values()].filter(
    ({ applied }) => !applied || !isAboutClusters(applied.spec),
  );
  return new Map(
    judged.map((each) => {
      const { status, reason = '', message = '' } = readyOf(each);
      const kept = each.problem && each.applied && { inForce: JSON.stringify(each.applied.spec) };
      const conditions = [{ type: 'Ready', status, reason, message }];
      return [each.name, { entry: undefined, leftOver: [], summary: { ...kept }, conditions }];
    }),
  );
}

const faults = ['AnnotationInvalid', 'AddressInvalid', 'NotOwned', 'VpcNotRouted', 'JoinSubnet'];

/** Only problems that the object's owner has to fix, not those that depend on the object's life cycle. */
function faultsOf({ table }: SpeakerPlan): ReadonlyMap<string, readonly Refusal[]> {
  const found = [...table.refusals(annotationAdvertisement)]
    .map(([object, refusals]) => [object, refusals.filter(({ code }) => faults.includes(code))] as const)
    .filter(([, refusals]) => refusals.length > 0);
  return new Map(found);
}
