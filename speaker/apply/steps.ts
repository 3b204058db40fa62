import {
  type BgpGlobal,
  type BgpPath,
  isSamePeer,
  isSamePolicies,
  pathFingerprint,
  type PeerConfig,
  type RoutingPolicies,
} from 'gobgp-js';
import type { SpeakerPlan } from '../plan/plan.ts';
import { renderPath, renderPeer, renderPolicies } from './render.ts';

/** What a gobgpd has; `fresh` has nothing, not even a running instance. */
export interface Programmed {
  readonly global: BgpGlobal | undefined;
  readonly policies: RoutingPolicies | undefined;
  /** By address. */
  readonly peers: ReadonlyMap<string, PeerConfig>;
  /** Prefix → fingerprint of its attributes. */
  readonly paths: ReadonlyMap<string, string>;
}

export const fresh: Programmed = { global: undefined, policies: undefined, peers: new Map(), paths: new Map() };

/** The difference, in the order it is to be applied: what goes, then policies, then what comes, peers last. */
export interface Steps {
  readonly startBgp: BgpGlobal | undefined;
  readonly deletePeers: readonly string[];
  readonly withdraw: readonly string[];
  readonly setPolicies: RoutingPolicies | undefined;
  readonly addPaths: readonly BgpPath[];
  /** Peers whose share of paths that stay has changed. */
  readonly resendTo: readonly string[];
  /** Prefixes that stay, but no longer for all that had them. */
  readonly takenBack: readonly string[];
  readonly updatePeers: readonly PeerConfig[];
  /** Last, so that a new session's End-of-RIB comes after all routes and not before. */
  readonly addPeers: readonly PeerConfig[];
}

/** What brings a gobgpd from `programmed` to the plan. Pure; equal states give empty steps. */
export function diffSteps(plan: SpeakerPlan, programmed: Programmed): Steps | undefined {
  const { instance } = plan;
  if (!programmed.global && !instance) return undefined;
  const policies = renderPolicies(plan);
  const isNewPolicy = !programmed.policies || !isSamePolicies(policies, programmed.policies);
  const peers = [...plan.peers.values()].flatMap((peer) => renderPeer(plan, peer) ?? []);
  const paths = plan.prefixes.map(renderPath);
  const wantedPrefixes = new Set(plan.prefixes);
  return {
    startBgp: programmed.global
      ? undefined
      : instance && { asn: instance.asn, routerId: instance.routerId, listenPort: instance.listenPort },
    deletePeers: [...programmed.peers.keys()].filter((address) => !plan.peers.has(address)),
    withdraw: [...programmed.paths.keys()].filter((prefix) => !wantedPrefixes.has(prefix)),
    setPolicies: isNewPolicy ? policies : undefined,
    addPaths: paths.filter((path) => programmed.paths.get(path.prefix) !== pathFingerprint(path)),
    ...(isNewPolicy ? sharesChanged(plan, programmed) : { resendTo: [], takenBack: [] }),
    updatePeers: peers.filter((peer) => {
      const before = programmed.peers.get(peer.address);
      return before !== undefined && !isSamePeer(peer, before);
    }),
    addPeers: peers.filter((peer) => !programmed.peers.has(peer.address)),
  };
}

/** gobgpd judges a path when it is sent; a path that stays must be sent anew where the judgement about it changed. */
function sharesChanged(plan: SpeakerPlan, programmed: Programmed): Pick<Steps, 'resendTo' | 'takenBack'> {
  const staying = plan.prefixes.filter((prefix) => programmed.paths.has(prefix));
  const takenBack = new Set<string>();
  const resendTo: string[] = [];
  for (const { address, prefixes } of plan.peers.values()) {
    if (!programmed.peers.has(address)) continue;
    const before = new Set(programmed.policies?.prefixSets[`to-${address}`]);
    const after = new Set(prefixes);
    const changed = staying.filter((prefix) => before.has(prefix) !== after.has(prefix));
    if (changed.length > 0) resendTo.push(address);
    for (const prefix of changed) if (before.has(prefix)) takenBack.add(prefix);
  }
  return { resendTo, takenBack: [...takenBack] };
}

/** Whether a running instance can be the wanted one; nothing in it can change without a new process. */
export function isSameGlobal(wanted: BgpGlobal, running: BgpGlobal): boolean {
  return wanted.asn === running.asn && wanted.routerId === running.routerId && wanted.listenPort === running.listenPort;
}
