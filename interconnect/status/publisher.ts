/** Decides after each round who is to be told what: of the many objects only those of which something may be different. */
import type { LocalMember } from '../apply/member.ts';
import type { LinkState } from '../model/link-state.ts';
import { hubSwitch } from '../../lib/api/names.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { StandingStill } from '../settle/followers.ts';
import type { HubView } from '../state/hub-view.ts';
import type { Progress } from '../apply/progress.ts';
import type { Interconnect } from '../model/objects.ts';
import type { Sources } from '../watch/sources.ts';
import { ailmentOf } from './gateway-health.ts';
import { wantedMtuOf } from './mtu.ts';
import { policyFigures } from './policy-figures.ts';
import { Reporter } from './report.ts';
import { RoutePolicyReporter } from './route-policies.ts';
import type { Situation } from './situation.ts';
import { stuckProblems } from './stuck.ts';
import type { Problem } from '../../lib/desired/problem.ts';

export interface TellingOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly sources: Sources;
  readonly now: () => number;
  /** Something that was held back is due. */
  readonly onDue: () => void;
}

export interface Told {
  readonly hub: HubView;
  readonly member: LocalMember;
  readonly link: LinkState;
  readonly progress: Progress;
  /** What of this cluster's OVN stands still. */
  readonly still: StandingStill;
  /** Nodes of gateways whose daemon is silent → when it last looked. */
  readonly silent: ReadonlyMap<string, string>;
  readonly nowMs: number;
}

const heldBackMs = 2000;

export class Telling {
  readonly #options: TellingOptions;
  readonly #reporter: Reporter;
  readonly #policies: RoutePolicyReporter;
  #clusters: Set<string> | 'all' = 'all';
  #later: NodeJS.Timeout | undefined;
  #wasMember = true;

  constructor(options: TellingOptions) {
    this.#options = options;
    this.#reporter = new Reporter(options);
    this.#policies = new RoutePolicyReporter(options);
  }

  seen(kind: string, name: string): void {
    this.#reporter.seen(kind, name);
    if (kind === 'RemoteCluster') this.clustersChanged([name]);
  }

  clustersChanged(names: Iterable<string>): void {
    if (this.#clusters !== 'all') for (const name of names) this.#clusters.add(name);
  }

  /** While it `isBusy` with what matters more, of the Interconnect alone. */
  tell(object: Interconnect | undefined, isBusy: boolean, told: Told): void {
    const { hub, link, progress } = told;
    const situation = situationOf(object, told);
    const { local } = situation;
    const isSpecWrong = object !== undefined && 'code' in object.spec;
    // Just started: what is written may be better than what is known.
    const { isFresh } = progress;
    const isMember = local !== undefined && !isFresh;
    if (object !== undefined && (isMember || link.problem !== undefined || isSpecWrong))
      this.#reporter.interconnect(object, situation);
    if (isBusy) return;
    // A membership that has not heard of the hub since the start knows nothing that could replace what is written.
    if (local !== undefined && (isFresh || !hub.isComplete)) return this.#prepare(situation, told);
    if (this.#clusters === 'all' || this.#clusters.size > 0) this.#reporter.peers(situation);
    this.#remoteClusters(situation);
    this.#reporter.transitSwitches(situation);
    this.#reporter.gateways(situation, told.member.anchors);
    this.#finalize(situation, progress);
    this.#routePolicies(told);
  }

  close(): void {
    clearTimeout(this.#later);
    this.#policies.close();
  }

  /** Gateways have to be there before anything can be reported of them. */
  #prepare(situation: Situation, { member, hub }: Told): void {
    if (hub.isComplete) this.#reporter.peers(situation);
    if (this.#options.sources.gateways.size === 0) this.#reporter.gateways(situation, member.anchors);
  }

  #remoteClusters(situation: Situation): void {
    const isMember = situation.local !== undefined;
    const names = isMember === this.#wasMember ? this.#clusters : 'all';
    this.#wasMember = isMember;
    const later = this.#reporter.remoteClusters(names, situation);
    this.#clusters = new Set(later);
    if (later.length === 0) return;
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.#options.onDue();
    }, heldBackMs);
  }

  /** Deleting a transit switch takes this cluster out of it: the object stays until that is done. */
  #finalize({ local }: Situation, { settledLocal }: Progress): void {
    for (const [name, object] of this.#options.sources.transitSwitches.entries()) {
      if (name === hubSwitch) continue;
      if (local === undefined) this.#reporter.finalizer(name, object, false);
      else if (!object.isDeleting) this.#reporter.finalizer(name, object, true);
      else if (settledLocal === local && !local.wishes.some((wish) => wish.name === name))
        this.#reporter.finalizer(name, object, false);
    }
  }

  #routePolicies({ member }: Told): void {
    const policies = new Map(this.#options.sources.routePolicies.entries());
    if (policies.size === 0) return;
    this.#policies.report(policies, member.policies, policyFigures(member.network.remotes, member.exportDecisions));
  }
}

function situationOf(object: Interconnect | undefined, told: Told): Situation {
  const { hub, member, link, progress, nowMs } = told;
  const spec = object?.spec;
  const isWrong = spec !== undefined && 'code' in spec;
  const facts = {
    link,
    local: member.local,
    members: hub.members,
    unreachedBy: hub.unreachedBy,
    silent: told.silent,
    behind: told.still.controllers,
    gatewayOf: (chassis: string) => member.tunnels.gateway(chassis),
    isDead: (chassis: string) => member.isDead(chassis),
  };
  const ailmentAt = (node: string): Problem | undefined => {
    const chassis = facts.local?.gatewayNodes.find((gateway) => gateway.node === node)?.chassis;
    const ailment = chassis === undefined ? undefined : ailmentOf(chassis, facts);
    // That its daemon is silent is no reason why ovn-controller does not follow.
    return ailment?.isKnown === true ? ailment : undefined;
  };
  return {
    ...facts,
    isHubKnown: hub.isComplete,
    expected: hub.expected,
    switches: hub.switches,
    rejections: hub.rejections,
    silentDatabases: hub.silentDatabases,
    stuck: stuckProblems(told.still, ailmentAt),
    clashes: member.clashes,
    networks: member.networks,
    networkProblems: member.problems,
    blocked: member.blocked,
    takeovers: member.takeovers,
    remotes: member.network.remotes,
    cuts: member.cuts,
    wantedMtu: wantedMtuOf(spec === undefined || isWrong ? 0 : spec.mtu),
    prefixesOffered: member.prefixesOffered,
    isConverged: progress.isConverged,
    isWaitingForHub: progress.isWaitingForHub,
    problems: [...(isWrong ? [spec] : []), ...progress.problems],
    nowMs,
  };
}
