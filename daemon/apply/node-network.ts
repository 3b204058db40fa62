/**
 * Applies the node's own network: the rows that make the node a chassis, and the host network. Both targets report problems. Ports of pods
 * are not part of it: cni/ sets them.
 */
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostLoop } from '../host/loop.ts';
import { linkMissing } from '../host/target.ts';
import type { ForwardingInput } from '../plan/forwarding.ts';
import { planHostNetwork } from '../plan/host-network.ts';
import type { HostNetwork, LinkNetwork } from '../model/host-network.ts';
import { mirrorOwner, nodePortOwner, planLocalOvs, type ChassisSettings, type Southbound } from '../plan/local-ovs.ts';
import type { SubnetProblem } from '../plan/subnet-problem.ts';
import { ForwardingPlan } from './forwarding-plan.ts';
import { SubnetPlans } from './subnet-plans.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import { spacingWithin } from '../../lib/rounds/spacing.ts';
import { runAtMost } from '../../lib/run/wait-until.ts';

export interface NodeNetworkOptions {
  readonly settings: ChassisSettings;
  readonly target: OvsdbTarget;
  readonly host: Pick<HostLoop<HostNetwork>, 'set' | 'problems' | 'onResult'>;
  /** Tunnel addresses of other nodes. */
  readonly otherNodes: () => readonly string[];
  /** False if ovs-vswitchd is known to be down. While it is up, an interface that it has not made in time will not appear by itself. */
  readonly isSwitchUp: () => boolean;
  /** Resolves when ovs-vswitchd has applied everything in the database. @throws the signal's reason */
  readonly untilTakenUp: (signal: AbortSignal) => Promise<void>;
  readonly southbound: () => Southbound;
  readonly node: () => Node | undefined;
  readonly subnets: () => readonly Subnet[];
  /** Whether the node is a gateway between clusters. */
  readonly isGateway: () => boolean;
  readonly forwarding: () => ForwardingInput;
  /** Addresses of the node's interfaces. */
  readonly addresses: () => readonly string[];
  readonly hasServices: boolean;
  /** ProviderNetworks to whose bridges the node routes. */
  readonly routedNetworks: () => ReadonlySet<string>;
  /** Networks on the node's links. */
  readonly connected: () => readonly LinkNetwork[];
}

/** An ovs-vswitchd that is starting makes ovn0 in less time. */
const missingMs = 3000;
/** A failed path must not wait longer for a node that plans thousands of Subnets. */
const longestSpacingMs = 100;
/** Time for a busy ovs-vswitchd to remove a port. One that hangs is reported elsewhere. */
const removalMs = 10_000;

export class NodeNetwork {
  readonly #options: NodeNetworkOptions;
  readonly #subnetPlans = new SubnetPlans();
  readonly #forwardingPlan = new ForwardingPlan();
  readonly #portProblems = new Map<string, Problem>();

  #subnetProblems: readonly SubnetProblem[] = [];
  /** Time since which ovn0 is missing, by a monotonic clock. */
  #missingSinceMs: number | undefined;
  #isRestoring = false;
  readonly #engine = new RoundEngine({ spacingMs: spacingWithin(longestSpacingMs), run: () => this.#plan() });

  constructor(options: NodeNetworkOptions) {
    this.#options = options;
    options.target.onResult((owner, problem) => {
      // The node works without a mirror; the target has logged the problem.
      if (!owner.startsWith('node/') || owner === mirrorOwner) return;
      if (problem === undefined) this.#portProblems.delete(owner);
      else this.#portProblems.set(owner, problem);
    });
    options.host.onResult(() => this.#lookForPort());
  }

  /** Owner → why the local OVS database does not have its rows. */
  get portProblems(): ReadonlyMap<string, Problem> {
    return this.#portProblems;
  }

  /** Problems of subnets by the last plan. */
  get subnetProblems(): readonly SubnetProblem[] {
    return this.#subnetProblems;
  }

  /** Plans for the first time; from now on a change is followed by a round. */
  start(): void {
    this.#engine.start();
  }

  /** To be called after each change of the input; a burst of changes leads to one round. */
  changed(): void {
    this.#engine.request();
  }

  /** Plans everything again; nothing is written where the targets agree. */
  #plan(): void {
    const { settings, target, host, southbound, isGateway } = this.#options;
    const node = this.#options.node();
    for (const [owner, desired] of planLocalOvs(settings, southbound(), node, isGateway())) {
      if (desired === undefined || (this.#isRestoring && owner === nodePortOwner)) target.drop(owner);
      else target.set(owner, desired);
    }
    const { mtu, mirrorInterface } = settings;
    const [addresses, subnets] = [this.#options.addresses(), this.#options.subnets()];
    const otherNodes = this.#options.otherNodes();
    const forwarding = this.#options.forwarding();
    const { hasServices } = this.#options;
    const [routedNetworks, connected] = [this.#options.routedNetworks(), this.#options.connected()];
    const plan = planHostNetwork(
      {
        node,
        subnets,
        mtu,
        addresses,
        otherNodes,
        mirrorInterface,
        forwarding,
        hasServices,
        routedNetworks,
        connected,
      },
      (subnet, facts) => this.#subnetPlans.of(subnet, facts),
      (facts) => this.#forwardingPlan.of(facts),
    );
    this.#subnetProblems = plan.problems;
    host.set(plan.network);
  }

  /** Called after every application of the host network, which is repeated while a link is missing. */
  #lookForPort(): void {
    const { host, isSwitchUp } = this.#options;
    const isMissing = host.problems?.some(({ code }) => code === linkMissing) === true && isSwitchUp();
    if (!isMissing) this.#missingSinceMs = undefined;
    else if (this.#missingSinceMs === undefined) this.#missingSinceMs = performance.now();
    else if (performance.now() - this.#missingSinceMs > missingMs) void this.#restorePort();
  }

  /** The device was deleted. The userspace datapath does not notice, and creates it again only together with its row. */
  async #restorePort(): Promise<void> {
    if (this.#isRestoring) return;
    this.#missingSinceMs = undefined;
    this.#isRestoring = true;
    this.#plan();
    await this.#options.target.untilApplied();
    await runAtMost((signal) => this.#options.untilTakenUp(signal), removalMs);
    this.#isRestoring = false;
    this.#plan();
  }
}
