/**
 * The node's own network: facts → plans → the local OVS database and the kernel. In: a call of `changed` after
 * any fact changed. Out: what both targets said, as `problems`. Called by main.ts; pods' ports go their own way in cni/.
 */
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostLoop } from '../host/loop.ts';
import type { ForwardingInput } from '../plan/forwarding.ts';
import { planHostNetwork, type HostNetwork } from '../plan/host-network.ts';
import { mirrorOwner, planLocalOvs, type ChassisSettings } from '../plan/local-ovs.ts';
import type { SubnetProblem } from '../plan/subnet-problem.ts';
import type { NodeFacts, SubnetFacts } from '../state/facts.ts';

export interface NodeNetworkOptions {
  readonly settings: ChassisSettings;
  readonly target: OvsdbTarget;
  readonly host: Pick<HostLoop<HostNetwork>, 'set'>;
  readonly node: () => NodeFacts | undefined;
  readonly subnets: () => readonly SubnetFacts[];
  /** Whether traffic to other clusters may pass here. */
  readonly isGateway: () => boolean;
  readonly forwarding: () => ForwardingInput;
  /** Of the node's interfaces. */
  readonly addresses: () => readonly string[];
}

export class NodeNetwork {
  readonly #options: NodeNetworkOptions;
  readonly #portProblems = new Map<string, Problem>();

  #subnetProblems: readonly SubnetProblem[] = [];
  #pending: NodeJS.Immediate | undefined;

  constructor(options: NodeNetworkOptions) {
    this.#options = options;
    options.target.onResult((owner, problem) => {
      // Without a mirror the node works as well; the target has told its log.
      if (!owner.startsWith('node/') || owner === mirrorOwner) return;
      if (problem === undefined) this.#portProblems.delete(owner);
      else this.#portProblems.set(owner, problem);
    });
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
    const { settings, target, host } = this.#options;
    const node = this.#options.node();
    for (const [owner, desired] of planLocalOvs(settings, node, this.#options.isGateway())) {
      if (desired === undefined) target.drop(owner);
      else target.set(owner, desired);
    }
    const { mtu, mirrorInterface } = settings;
    const [addresses, subnets] = [this.#options.addresses(), this.#options.subnets()];
    const forwarding = this.#options.forwarding();
    const plan = planHostNetwork({ node, subnets, mtu, addresses, mirrorInterface, forwarding });
    this.#subnetProblems = plan.problems;
    host.set(plan.network);
  }
}
