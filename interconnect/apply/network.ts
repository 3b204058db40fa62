/**
 * Makes the cluster's databases those of a member. In: this cluster, the hub's view. Out: desired rows to the NB and
 * SB targets, and what became of each remote cluster. Called by the agent on every change; a remote cluster that did
 * not change is not planned again. Rule: before the hub has spoken nothing is set, so that nothing is pruned.
 */
import { cidrsOverlap, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Member, TransitSwitch } from '../link/messages.ts';
import { orderGateways, type GatewayPriority, type PortState } from '../plan/gateways.ts';
import { nativePrefixes, planRemote, remoteOwner, type RemoteContext, type RemotePlan } from '../plan/remote.ts';
import { planTransit, planZone, transitOwner, zoneOwner } from '../plan/transit.ts';
import type { HubView } from '../state/hub-view.ts';
import type { LocalView } from '../state/local.ts';

export interface NetworkState {
  readonly remotes: ReadonlyMap<string, RemotePlan>;
  /** By transit switch: who may hold our port, and who does. */
  readonly ports: ReadonlyMap<string, { readonly gateways: readonly GatewayPriority[]; readonly active: string }>;
  readonly problems: readonly Problem[];
}

export const nothing: NetworkState = { remotes: new Map(), ports: new Map(), problems: [] };

export interface NetworkOptions {
  readonly northbound: OvsdbTarget;
  readonly southbound: OvsdbTarget;
  readonly portState: (cluster: string, network: string) => PortState;
  /** Who is to have the highest priority, given who holds the port. */
  readonly promote: (network: string, holder: string) => string;
}

export class Network {
  readonly #options: NetworkOptions;
  readonly #plans = new Map<string, { member: Member; context: RemoteContext; plan: RemotePlan }>();
  readonly #owners = new Set<string>();
  #context: RemoteContext | undefined;
  #isSealed = false;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  apply(local: LocalView, view: HubView): NetworkState {
    if (!view.isReceived) return nothing;
    const owners = new Set([zoneOwner]);
    const ports = new Map<string, { gateways: readonly GatewayPriority[]; active: string }>();
    const problems: Problem[] = [];
    this.#options.northbound.set(zoneOwner, planZone(local.cluster));
    for (const network of view.switches) {
      const state = this.#options.portState(local.cluster, network.name);
      const problem = transitOverlap(local, network);
      const first = this.#options.promote(network.name, state.active);
      const gateways = problem === undefined ? orderGateways(local.gatewayNodes, { ...state, active: first }) : [];
      if (problem !== undefined) problems.push(problem);
      ports.set(network.name, { gateways, active: state.active });
      owners.add(transitOwner(network.name));
      this.#options.northbound.set(transitOwner(network.name), planTransit(local, network, gateways));
    }
    const attached = [...ports].flatMap(([name, { gateways }]) => (gateways.length > 0 ? [name] : []));
    const remotes = this.#applyRemotes(this.#contextOf(local, view.switches, attached), view);
    for (const name of remotes.keys()) owners.add(remoteOwner(name));
    this.#forget(owners);
    this.#seal();
    return { remotes, ports, problems };
  }

  /**
   * Takes everything back; resolves when no row of ours is left. Entries in others' rows carry no owner: those of
   * `cluster`, which an earlier process may have made, are claimed first.
   */
  async withdraw(cluster?: string): Promise<void> {
    if (cluster !== undefined) {
      this.#options.northbound.set(zoneOwner, planZone(cluster));
      this.#owners.add(zoneOwner);
      await this.#options.northbound.untilApplied();
    }
    this.#plans.clear();
    this.#context = undefined;
    this.#forget(new Set());
    this.#seal();
    await Promise.all([this.#options.northbound.untilApplied(), this.#options.southbound.untilApplied()]);
  }

  #applyRemotes(context: RemoteContext, view: HubView): ReadonlyMap<string, RemotePlan> {
    const remotes = new Map<string, RemotePlan>();
    const hasForeign = view.members.values().some(({ foreign }) => foreign);
    const native = hasForeign ? nativePrefixes(view.members.values()) : [];
    for (const [name, member] of view.members) {
      const known = this.#plans.get(name);
      if (known !== undefined && !member.foreign && known.member === member && known.context === context) {
        remotes.set(name, known.plan);
        continue;
      }
      const plan = planRemote(member, context, native);
      this.#plans.set(name, { member, context, plan });
      remotes.set(name, plan);
      this.#options.northbound.set(remoteOwner(name), plan.northbound);
      this.#options.southbound.set(remoteOwner(name), plan.southbound);
    }
    return remotes;
  }

  #contextOf(local: LocalView, switches: readonly TransitSwitch[], attached: readonly string[]): RemoteContext {
    const before = this.#context;
    const isSame =
      before?.local === local &&
      before.switches === switches &&
      before.attached.size === attached.length &&
      attached.every((name) => before.attached.has(name));
    if (isSame) return before;
    this.#context = { local, switches, attached: new Set(attached) };
    return this.#context;
  }

  #forget(owners: ReadonlySet<string>): void {
    for (const owner of this.#owners) {
      if (owners.has(owner)) continue;
      this.#options.northbound.drop(owner);
      this.#options.southbound.drop(owner);
      this.#plans.delete(owner.slice(remoteOwner('').length));
      this.#owners.delete(owner);
    }
    for (const owner of owners) this.#owners.add(owner);
  }

  #seal(): void {
    if (this.#isSealed) return;
    this.#isSealed = true;
    this.#options.northbound.seal();
    this.#options.southbound.seal();
  }
}

function transitOverlap(local: LocalView, { name, cidr: text }: TransitSwitch): Problem | undefined {
  const cidr = parseCidr(text);
  const range = cidr === undefined ? undefined : local.ranges.find((candidate) => cidrsOverlap(candidate.cidr, cidr));
  if (range === undefined) return undefined;
  const message = `transit switch ${name} (${text}) overlaps ${formatCidr(range.cidr)} (${range.name}); the hub needs another --transit-cidr`;
  return { code: 'TransitOverlap', message };
}
