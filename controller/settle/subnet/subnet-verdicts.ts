/**
 * Keeps the verdict on each Subnet and the network that is in force for it. In: changes of objects and of settled values. Out:
 * verdicts, and how they changed. Rule: a change costs what it touches. A Subnet is judged again when something changed that its
 * verdict reads, together with all Subnets that could be in its way, and those in theirs.
 */
import { defaultSubnet, defaultVpc } from '../../../lib/api/names.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { Change } from '../../model/change.ts';
import type { NetInForce } from '../../model/net-in-force.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Subnet } from '../../model/objects.ts';
import type { Link, Verdict } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { text, verdictFingerprint } from '../fingerprint.ts';
import { notedOwner, noteOn, parseAcceptedNote } from './accepted-note.ts';
import { isIncumbent, judgeSubnets } from './judge.ts';
import type { Usage } from './judge.ts';
import { interconnectOverlap } from './remote-overlap.ts';
import { SubnetClaims } from './subnet-claims.ts';
import { defineSubnet } from './subnet-net.ts';

type Judged = Pick<
  View,
  | 'subnets'
  | 'vpcs'
  | 'vlanVerdicts'
  | 'nodes'
  | 'transitSwitches'
  | 'keySlices'
  | 'remoteClusters'
  | 'loadBalancerPools'
  | 'capabilities'
  | 'indexes'
>;

/** Kinds whose objects have networks that a new Subnet must not overlap. */
const surroundings: ReadonlySet<Change['kind']> = new Set([
  'transitSwitches',
  'keySlices',
  'remoteClusters',
  'loadBalancerPools',
]);

export interface SubnetVerdictsOptions {
  readonly view: Judged;
  /** The addresses in use: the lowest, the highest, and whether a given one is in use. */
  readonly usage: (subnet: string, family: Family) => Usage | undefined;
  readonly isInUse: (subnet: string) => boolean;
  /** Networks in force between the routers of two VPCs, by VPC. */
  readonly links: () => ReadonlyMap<string, readonly Link[]>;
}

export interface VerdictChange {
  readonly name: string;
  readonly before: Verdict | undefined;
  readonly after: Verdict | undefined;
  /** A network came into force, changed or was removed: other Subnets may have waited for it. */
  readonly isNetChanged: boolean;
}

export class SubnetVerdicts {
  readonly verdicts = new Map<string, Verdict>();
  /** Subnets with a network in force in a VLAN. */
  readonly inVlans = new Set<string>();
  readonly #options: SubnetVerdictsOptions;
  readonly #inForce = new Map<string, NetInForce>();
  /** The uid of a deleted Subnet whose network stays in force while it is in use, by name. */
  readonly #predecessors = new Map<string, string>();
  readonly #claims = new SubnetClaims();
  #due = new Set<string>();
  /** Subnets whose spec is not in force: whether it can be depends on more than on Subnets. */
  readonly #unsettled = new Set<string>();
  #areUnsettledDue = false;
  #areInVlansDue = false;

  constructor(options: SubnetVerdictsOptions) {
    this.#options = options;
  }

  /** Restores the networks in force from the notes on the Subnets. @returns them by name */
  restore(): ReadonlyMap<string, NetInForce> {
    for (const subnet of this.#options.view.subnets.values()) {
      const { name, uid } = subnet;
      const note = noteOn(subnet);
      const net = parseAcceptedNote(note);
      if (net === undefined) continue;
      const owner = notedOwner(note) ?? uid;
      if (owner !== uid) this.#predecessors.set(name, owner);
      this.#setInForce(name, net);
    }
    return this.#inForce;
  }

  /** Marks the Subnets whose verdicts read the changed value. */
  changed(change: Change): void {
    const { view } = this.#options;
    const { kind, name } = change;
    if (kind === 'subnets') this.#subnetChanged(name, change.before, change.after);
    else if (kind === 'usage') this.#due.add(name);
    else if (kind === 'vpcs' && change.before?.isDeleting !== change.after?.isDeleting) {
      for (const subnet of view.indexes.subnetsByVpc.of(name)) this.#due.add(subnet);
    } else if (kind === 'vlanVerdicts') {
      for (const subnet of view.indexes.subnetsByVlan.of(name)) this.#due.add(subnet);
      this.#areInVlansDue = true;
    } else if (kind === 'nodes' && change.before?.addresses.join() !== change.after?.addresses.join()) {
      this.#areInVlansDue = true;
      this.#areUnsettledDue = true;
    } else if (surroundings.has(kind)) this.#areUnsettledDue = true;
  }

  linksChanged(): void {
    this.#areUnsettledDue = true;
  }

  hasPredecessor(name: string): boolean {
    return this.#predecessors.has(name);
  }

  /** Whether an overlap with another cluster keeps a Subnet out. Other changes there affect none: a network in force stays. */
  waitsForRemote(): boolean {
    return this.#unsettled.values().some((name) => this.verdicts.get(name)?.problem?.code === interconnectOverlap);
  }

  /** Ends the networks of deleted Subnets that are in use no more. @returns the names of those that no Subnet has */
  releaseUnused(): readonly string[] {
    const gone: string[] = [];
    for (const name of this.#predecessors.keys()) {
      if (this.#options.isInUse(name)) continue;
      this.#predecessors.delete(name);
      this.#setInForce(name, undefined);
      if (!this.#options.view.subnets.has(name)) gone.push(name);
    }
    return gone;
  }

  /** Judges the Subnets that are due. A network that came into force or was removed makes others due. */
  judge(): readonly VerdictChange[] {
    const names = this.#takeDue();
    if (names.size === 0) return [];
    const { view, usage, links } = this.#options;
    const subnets = [...names].flatMap((name) => view.subnets.get(name) ?? []);
    const verdicts = judgeSubnets({
      subnets,
      orphans: this.#orphansAmong(names),
      vpcs: view.vpcs,
      vlans: view.vlanVerdicts,
      nodes: view.nodes,
      transitSwitches: view.transitSwitches,
      keySlices: view.keySlices,
      remoteClusters: view.remoteClusters,
      loadBalancerPools: view.loadBalancerPools,
      apiServer: view.capabilities.apiServer ?? [],
      loadBalancers: view.capabilities.loadBalancers,
      inForce: this.#inForce,
      predecessors: this.#predecessors,
      links: links(),
      usage,
      defaultSubnet,
    });
    for (const subnet of subnets) this.#note(subnet, verdicts.get(subnet.name));
    return [...names].flatMap((name) => this.#become(name, verdicts.get(name)) ?? []);
  }

  #subnetChanged(name: string, was: Subnet | undefined, is: Subnet | undefined): void {
    this.#due.add(name);
    const isSame = was?.uid === is?.uid && was?.spec.vpc === is?.spec.vpc;
    if (!isSame && this.#inForce.has(name) && !this.#predecessors.has(name))
      this.#predecessors.set(name, was?.uid ?? '');
  }

  /** What is due, and everything that claims the same as any of it, before the changes or now. */
  #takeDue(): ReadonlySet<string> {
    if (this.#areUnsettledDue) for (const name of this.#unsettled) this.#due.add(name);
    if (this.#areInVlansDue) for (const name of this.inVlans) this.#due.add(name);
    this.#areUnsettledDue = false;
    this.#areInVlansDue = false;
    const due = this.#due;
    this.#due = new Set();
    const before = this.#claims.connectedTo(due);
    for (const name of due) this.#claim(name);
    return this.#claims.connectedTo(before);
  }

  #claim(name: string): void {
    const { view } = this.#options;
    const subnet = view.subnets.get(name);
    const defined = subnet && defineSubnet(subnet, { vpcs: view.vpcs, vlans: view.vlanVerdicts, defaultSubnet });
    const wanted = defined !== undefined && 'value' in defined ? defined.value.net : undefined;
    const nets = [this.#inForce.get(name), wanted].filter((net) => net !== undefined);
    this.#claims.set(name, subnet === undefined ? defaultVpc : vpcNameOf(subnet.spec), nets);
  }

  /** Names of deleted Subnets, in the order in which their networks came into force. */
  #orphansAmong(names: ReadonlySet<string>): readonly string[] {
    const { subnets } = this.#options.view;
    const orphans = [...names].filter((name) => !subnets.has(name) && this.#inForce.has(name));
    return orphans.length < 2 ? orphans : [...this.#inForce.keys()].filter((name) => orphans.includes(name));
  }

  #note(subnet: Subnet, verdict: Verdict | undefined): void {
    const isInForce = isIncumbent(subnet, this.#inForce.get(subnet.name), this.#options.view.vlanVerdicts);
    if (isInForce && verdict?.problem === undefined) this.#unsettled.delete(subnet.name);
    else this.#unsettled.add(subnet.name);
  }

  #become(name: string, after: Verdict | undefined): VerdictChange | undefined {
    const before = this.verdicts.get(name);
    if (after === undefined) {
      this.verdicts.delete(name);
      this.#unsettled.delete(name);
    } else this.verdicts.set(name, after);
    if (verdictFingerprint(before) === verdictFingerprint(after)) return undefined;
    const isNetChanged = text(this.#inForce.get(name)) !== text(after?.net);
    if (after?.spec !== undefined && this.#predecessors.delete(name)) this.#due.add(name);
    if (after?.net !== undefined || !this.#options.isInUse(name)) this.#setInForce(name, after?.net);
    return { name, before, after, isNetChanged };
  }

  #setInForce(name: string, net: NetInForce | undefined): void {
    this.#due.add(name);
    if (net === undefined) this.#inForce.delete(name);
    else this.#inForce.set(name, net);
    if (net?.underlay === undefined) this.inVlans.delete(name);
    else this.inVlans.add(name);
  }
}
