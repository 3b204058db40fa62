/** Compares a plan with the state of gobgpd: the calls that are missing, which `apply-steps.ts` makes. Pure. */
import {
  type BgpGlobal,
  type BgpPath,
  isSamePeer,
  isSamePolicies,
  isSameStatement,
  pathFingerprint,
  type PeerConfig,
  type PolicyStatement,
  type RoutingPolicies,
} from 'gobgp-js';
import type { SpeakerPlan } from '../plan/plan.ts';
import { classOfStatement, policiesOf, renderPath, renderPeer, renderPolicies } from './render.ts';

/** The state of a gobgpd process; a `fresh` process has no state and no running instance. */
export interface Programmed {
  readonly global: BgpGlobal | undefined;
  readonly policies: RoutingPolicies | undefined;
  /** Peers by address. */
  readonly peers: ReadonlyMap<string, PeerConfig>;
  /** Prefix → fingerprint of its attributes. */
  readonly paths: Map<string, string>;
}

export function fresh(): Programmed {
  return { global: undefined, policies: undefined, peers: new Map(), paths: new Map() };
}

/** The difference between a plan and gobgpd, in the order in which `applySteps` applies it: policies, new paths, withdrawn paths, policies without old statements, and new peers last. */
export interface Steps {
  readonly startBgp: BgpGlobal | undefined;
  readonly deletePeers: readonly string[];
  readonly withdraw: readonly string[];
  /** New statements beside the old ones: gobgpd withdraws a path from a peer only if the former policies allowed the path. */
  readonly setPolicies: RoutingPolicies | undefined;
  readonly addPaths: readonly BgpPath[];
  /** Peers for which a class changes its attributes or ends, while its paths stay. */
  readonly resendTo: readonly string[];
  /** Paths that stay for some peers and are withdrawn from others. */
  readonly takenBack: readonly BgpPath[];
  /** Policies without the statements of classes that have no paths any more. */
  readonly prunePolicies: RoutingPolicies | undefined;
  readonly updatePeers: readonly PeerConfig[];
  /** Added last, so that a new session's End-of-RIB follows all routes. */
  readonly addPeers: readonly PeerConfig[];
}

/**
 * The steps that bring gobgpd from `programmed` to the plan. Pure; equal states give empty steps.
 * @param changed the prefixes to compare; undefined: all, including those that only gobgpd has
 */
export function diffSteps(plan: SpeakerPlan, programmed: Programmed, changed?: ReadonlySet<string>): Steps | undefined {
  const { instance } = plan;
  if (!programmed.global && !instance) return undefined;
  const { routes } = plan.table;
  const peers = renderPeers(plan);
  const candidates = changed ?? new Set([...routes.keys(), ...programmed.paths.keys()]);
  const withdraw: string[] = [];
  const addPaths: BgpPath[] = [];
  for (const prefix of candidates) {
    const routeClass = routes.get(prefix);
    if (!routeClass) {
      if (programmed.paths.has(prefix)) withdraw.push(prefix);
      continue;
    }
    const path = renderPath(prefix, routeClass);
    if (programmed.paths.get(prefix) !== pathFingerprint(path)) addPaths.push(path);
  }
  return {
    startBgp: programmed.global
      ? undefined
      : instance && { asn: instance.asn, routerId: instance.routerId, listenPort: instance.listenPort },
    deletePeers: [...programmed.peers.keys()].filter((address) => !plan.peers.has(address)),
    withdraw,
    addPaths,
    ...policySteps(plan, programmed),
    updatePeers: peers.filter((peer) => {
      const before = programmed.peers.get(peer.address);
      return before !== undefined && !isSamePeer(peer, before);
    }),
    addPeers: peers.filter((peer) => !programmed.peers.has(peer.address)),
  };
}

function renderPeers(plan: SpeakerPlan): PeerConfig[] {
  const routerId = plan.instance?.routerId ?? '';
  return [...plan.peers.values()].flatMap((peer) => renderPeer(peer, routerId) ?? []);
}

type PolicySteps = Pick<Steps, 'setPolicies' | 'prunePolicies' | 'resendTo' | 'takenBack'>;

function policySteps(plan: SpeakerPlan, programmed: Programmed): PolicySteps {
  const wanted = renderPolicies(plan);
  const before = programmed.policies;
  if (before && isSamePolicies(wanted, before))
    return { setPolicies: undefined, prunePolicies: undefined, resendTo: [], takenBack: [] };
  const leaving = statementsOf(before).filter((each) => hasNoPaths(plan, each));
  if (leaving.length === 0)
    return { setPolicies: wanted, prunePolicies: undefined, ...pathsToSendAgain(plan, programmed, wanted) };
  const both = policiesOf(
    [...statementsOf(wanted), ...leaving],
    { ...before?.neighborSets, ...wanted.neighborSets },
    { ...before?.largeCommunitySets, ...wanted.largeCommunitySets },
  );
  return {
    setPolicies: before && isSamePolicies(both, before) ? undefined : both,
    prunePolicies: wanted,
    ...pathsToSendAgain(plan, programmed, wanted),
  };
}

/** Whether the statement's class has no paths any more. */
function hasNoPaths({ table }: SpeakerPlan, statement: PolicyStatement): boolean {
  return statement.largeCommunitySet !== undefined && !table.classes.has(classOfStatement(statement));
}

function statementsOf(policies: RoutingPolicies | undefined): readonly PolicyStatement[] {
  return policies?.policies['isthmus-export'] ?? [];
}

/** gobgpd applies policies when it sends a path; a path that stays must be sent again if the policies for its class changed. */
function pathsToSendAgain(
  plan: SpeakerPlan,
  programmed: Programmed,
  wanted: RoutingPolicies,
): Pick<Steps, 'resendTo' | 'takenBack'> {
  const before = byName(programmed.policies);
  const after = byName(wanted);
  const known = new Set(Object.keys(programmed.policies?.largeCommunitySets ?? {}));
  const isStaying = (statement: PolicyStatement): boolean =>
    known.has(statement.largeCommunitySet ?? '') && plan.table.classes.has(classOfStatement(statement));
  const resendTo: string[] = [];
  const lost = new Set<string>();
  for (const address of plan.peers.keys()) {
    if (!programmed.peers.has(address)) continue;
    const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => name.startsWith(`to-${address} `));
    const differing = names.filter((name) => {
      const [old, next] = [before.get(name), after.get(name)];
      const statement = next ?? old;
      return statement !== undefined && isStaying(statement) && !isSameStatement(old, next);
    });
    if (differing.length > 0) resendTo.push(address);
    for (const name of differing)
      if (!after.has(name)) lost.add(classOfStatement(before.get(name) ?? { name, action: 'reject' }));
  }
  if (lost.size === 0) return { resendTo, takenBack: [] };
  const takenBack = [...plan.table.routes].filter(([prefix, { id }]) => lost.has(id) && programmed.paths.has(prefix));
  return { resendTo, takenBack: takenBack.map(([prefix, routeClass]) => renderPath(prefix, routeClass)) };
}

function byName(policies: RoutingPolicies | undefined): ReadonlyMap<string, PolicyStatement> {
  return new Map(statementsOf(policies).map((statement) => [statement.name, statement]));
}

/** Whether the running instance is the wanted one; only a new process can change it. */
export function isSameGlobal(wanted: BgpGlobal, running: BgpGlobal): boolean {
  return wanted.asn === running.asn && wanted.routerId === running.routerId && wanted.listenPort === running.listenPort;
}
