/**
 * The node's own network: facts → plans → the local OVS database and the kernel. In: a call of `changed` after
 * any fact changed. Out: what both targets said, as `problems`. Called by main.ts; pods' ports go their own way in cni/.
 */
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostLoop } from '../host/loop.ts';
import { linkMissing } from '../host/target.ts';
import type { ForwardingInput } from '../plan/forwarding.ts';
import { planHostNetwork } from '../plan/host-network.ts';
import type { HostNetwork } from '../model/host-network.ts';
import { mirrorOwner, nodePortOwner, planLocalOvs, type ChassisSettings, type Southbound } from '../plan/local-ovs.ts';
import type { SubnetProblem } from '../plan/subnet-problem.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';
import { runAtMost } from '../../lib/run/wait-until.ts';

export interface NodeNetworkOptions {
  readonly settings: ChassisSettings;
  readonly target: OvsdbTarget;
  readonly host: Pick<HostLoop<HostNetwork>, 'set' | 'problems' | 'onResult'>;
  /** Addresses of other nodes. */
  readonly otherNodes: () => readonly string[];
  /** Whether ovs-vswitchd is not known to be down: then an interface that it has not made will not come by itself. */
  readonly isSwitchUp: () => boolean;
  /** Resolves when ovs-vswitchd has taken up all that is in the database. @throws the signal's reason */
  readonly untilTakenUp: (signal: AbortSignal) => Promise<void>;
  readonly southbound: () => Southbound;
  readonly node: () => Node | undefined;
  readonly subnets: () => readonly Subnet[];
  /** Whether traffic to other clusters may pass here. */
  readonly isGateway: () => boolean;
  readonly forwarding: () => ForwardingInput;
  /** Of the node's interfaces. */
  readonly addresses: () => readonly string[];
}

/** A starting ovs-vswitchd makes ovn0 by itself, within less. */
const patienceMs = 3000;
/** For a busy ovs-vswitchd to let go of a port. One that hangs makes none either, and is told of elsewhere. */
const letGoMs = 10_000;

export class NodeNetwork {
  readonly #options: NodeNetworkOptions;
  readonly #portProblems = new Map<string, Problem>();

  #subnetProblems: readonly SubnetProblem[] = [];
  #pending: NodeJS.Immediate | undefined;
  /** Since when applications of the host network find no ovn0, by a monotonic clock. */
  #missingSinceMs: number | undefined;
  #isRemaking = false;

  constructor(options: NodeNetworkOptions) {
    this.#options = options;
    options.target.onResult((owner, problem) => {
      // Without a mirror the node works as well; the target has told its log.
      if (!owner.startsWith('node/') || owner === mirrorOwner) return;
      if (problem === undefined) this.#portProblems.delete(owner);
      else this.#portProblems.set(owner, problem);
    });
    options.host.onResult(() => this.#lookForPort());
  }

  /** Owner → why its rows are not in the local OVS database. */
  get portProblems(): ReadonlyMap<string, Problem> {
    return this.#portProblems;
  }

  /** What this node cannot do for subnets, by the last plan. */
  get subnetProblems(): readonly SubnetProblem[] {
    return this.#subnetProblems;
  }

  /** To be called after any fact changed; a burst of changes is one refresh. */
  changed(): void {
    this.#pending ??= setImmediate(() => this.refresh());
  }

  /** Plans everything anew; what agrees already is not written. */
  refresh(): void {
    clearImmediate(this.#pending);
    this.#pending = undefined;
    const { settings, target, host, southbound, isGateway } = this.#options;
    const node = this.#options.node();
    for (const [owner, desired] of planLocalOvs(settings, southbound(), node, isGateway())) {
      if (desired === undefined || (this.#isRemaking && owner === nodePortOwner)) target.drop(owner);
      else target.set(owner, desired);
    }
    const { mtu, mirrorInterface } = settings;
    const [addresses, subnets] = [this.#options.addresses(), this.#options.subnets()];
    const otherNodes = this.#options.otherNodes();
    const forwarding = this.#options.forwarding();
    const plan = planHostNetwork({ node, subnets, mtu, addresses, otherNodes, mirrorInterface, forwarding });
    this.#subnetProblems = plan.problems;
    host.set(plan.network);
  }

  /** Called after every application, which are repeated while something is missing. */
  #lookForPort(): void {
    const { host, isSwitchUp } = this.#options;
    const isMissing = host.problems?.some(({ code }) => code === linkMissing) === true && isSwitchUp();
    if (!isMissing) this.#missingSinceMs = undefined;
    else if (this.#missingSinceMs === undefined) this.#missingSinceMs = performance.now();
    else if (performance.now() - this.#missingSinceMs > patienceMs) void this.#remakePort();
  }

  /** Somebody deleted the device: the userspace datapath does not notice, and makes it anew with its row only. */
  async #remakePort(): Promise<void> {
    if (this.#isRemaking) return;
    this.#missingSinceMs = undefined;
    this.#isRemaking = true;
    this.refresh();
    await this.#options.target.untilApplied();
    await runAtMost((signal) => this.#options.untilTakenUp(signal), letGoMs);
    this.#isRemaking = false;
    this.refresh();
  }
}
