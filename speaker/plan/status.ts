// What Kubernetes is told: the plan and what gobgpd reported come in, wanted statuses by object name go out; status/ writes those that
// differ. Every speaker owns the entry of its own node, and all speakers derive the same summary from all entries, so any of them may
// write it. Pure: same state, same statuses.
import type { NodeInstance, NodeSession, SpeakerState } from '../state/objects.ts';
import type { Observed, RefusedSignatures } from '../state/observed.ts';
import { instancesByNode } from './instance.ts';
import { instanceEntry, instanceSummary } from './instance-status.ts';
import { advertisementSummary } from './advertisement-status.ts';
import { planLeftOut } from './advertisements.ts';
import { peerEntry, peerSummary } from './peer-status.ts';
import type { SpeakerPlan } from './plan.ts';
import type { PlannedStatus } from './planned.ts';

export interface StatusPlan {
  readonly instances: ReadonlyMap<string, PlannedStatus<NodeInstance, object>>;
  readonly peers: ReadonlyMap<string, PlannedStatus<NodeSession, { readonly established: string }>>;
  readonly advertisements: ReadonlyMap<string, PlannedStatus<never, { readonly prefixes: readonly string[] }>>;
}

/** Every status, without the times; those are stamped where a status is written. */
export function planStatus(
  state: SpeakerState,
  plan: SpeakerPlan,
  observed: Observed,
  signatures: RefusedSignatures,
): StatusPlan {
  const holders = instancesByNode(state);
  const instances = [...state.instances.values()].map((instance) => {
    const entry = instanceEntry(state, plan, observed, instance);
    return [instance.name, { entry, ...instanceSummary(state, instance, entry) }] as const;
  });
  const peers = [...state.peers.values()].map((peer) => {
    const entry = peerEntry(state, plan, observed, peer, signatures);
    return [peer.name, { entry, ...peerSummary(state, peer, entry, holders) }] as const;
  });
  const advertisements = [...state.advertisements.values()].map((advertisement) => {
    const prefixes = plan.advertised.get(advertisement.name) ?? [];
    return [
      advertisement.name,
      advertisementSummary(advertisement, prefixes, planLeftOut(state, advertisement)),
    ] as const;
  });
  return { instances: new Map(instances), peers: new Map(peers), advertisements: new Map(advertisements) };
}
