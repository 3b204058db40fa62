/**
 * The state of one cluster and what depends on what. In: changed objects from `watch/`. Out: after `settle`, the
 * keys (`pod/default/web`, `gateway/ovn-default/n1`, …) whose plans may have changed, as the features tell. Rule:
 * verdicts and addresses are settled here, in one place, before any plan is made.
 */
import { annotation, defaultSubnet, joinSubnet } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { listedIn } from '../../lib/desired/rights.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import type { SubnetPool } from '../ipam/subnet-pool.ts';
import type { Change, ObjectChange } from '../model/change.ts';
import type { ForeignPort } from '../model/foreign-port.ts';
import type { NetInForce } from '../model/net-in-force.ts';
import { vpcNameOf } from '../model/objects.ts';
import type { Kinds } from '../model/objects.ts';
import type { Link, Verdict, PoolVerdict, VlanVerdict, Binding } from '../model/settled.ts';
import type { Capabilities, HeldPort, View } from '../model/view.ts';
import { features } from '../plan/features.ts';
import { PodsOnNodes } from '../state/pods-on-nodes.ts';
import { Addresses } from './address/addresses.ts';
import { judgePools, rangesOf } from './address/judge-pools.ts';
import { portKeysOf } from './address/port-keys.ts';
import { Ports } from './address/ports.ts';
import type { PortRecord } from './address/records.ts';
import { LearnedRoutes } from './bgp/learned-routes.ts';
import { essenceOf, essenceOfSpec, essenceOfSubnet, text } from './fingerprint.ts';
import { ActiveGateways } from './gateway/active-gateways.ts';
import { healthText } from './gateway/choice.ts';
import { asks, bindNamespace, bindPools } from './namespace/binding.ts';
import { NodeTraits } from './node/trait-holders.ts';
import { notedOwner, parseAcceptedNote } from './subnet/accepted-note.ts';
import { judgeSubnets } from './subnet/judge.ts';
import { interconnectOverlap } from './subnet/remote-overlap.ts';
import { judgeVlans } from './underlay/judge-vlans.ts';
import { linksInForce } from './vpc/links.ts';

/** Verdicts may change what is free for others; more rounds than this would mean that they never agree. */
const judgementRounds = 4;
/** An address that comes free may be another's, who frees one in turn; more rounds would be a circle. */
const settleRounds = 8;

/** Kinds whose objects have a say in verdicts. */
const judgedBy: ReadonlySet<keyof Kinds> = new Set([
  'nodes',
  'subnets',
  'vpcs',
  'vlans',
  'providerNetworks',
  'ipPools',
  'transitSwitches',
]);

export class Cluster implements View {
  readonly capabilities: Capabilities;
  readonly vpcs = new Map<string, Kinds['vpcs']>();
  readonly subnets = new Map<string, Kinds['subnets']>();
  readonly vlans = new Map<string, Kinds['vlans']>();
  readonly providerNetworks = new Map<string, Kinds['providerNetworks']>();
  readonly nodes = new Map<string, Kinds['nodes']>();
  readonly namespaces = new Map<string, Kinds['namespaces']>();
  readonly pods = new Map<string, Kinds['pods']>();
  readonly ips = new Map<string, Kinds['ips']>();
  readonly ipPools = new Map<string, Kinds['ipPools']>();
  readonly vips = new Map<string, Kinds['vips']>();
  readonly securityGroups = new Map<string, Kinds['securityGroups']>();
  readonly statefulSets = new Map<string, Kinds['statefulSets']>();
  readonly virtualMachines = new Map<string, Kinds['virtualMachines']>();
  readonly virtualMachineInstances = new Map<string, Kinds['virtualMachineInstances']>();
  readonly attachments = new Map<string, Kinds['attachments']>();
  readonly transitSwitches = new Map<string, Kinds['transitSwitches']>();
  readonly remoteClusters = new Map<string, Kinds['remoteClusters']>();
  readonly serviceCidrs = new Map<string, Kinds['serviceCidrs']>();
  readonly bgpNodeStates = new Map<string, Kinds['bgpNodeStates']>();
  verdicts: ReadonlyMap<string, Verdict> = new Map();
  poolVerdicts: ReadonlyMap<string, PoolVerdict> = new Map();
  vlanVerdicts: ReadonlyMap<string, VlanVerdict> = new Map();
  readonly gateways: View['gateways'];
  readonly learned: View['learned'];
  chassis: ReadonlySet<string> | undefined;
  readonly #addresses = new Addresses();
  readonly #ports: Ports;
  readonly #inForce = new Map<string, NetInForce>();
  #links: ReadonlyMap<string, readonly Link[]> = new Map();
  /** Subnets whose network in force is that of another object of the name, which is gone: it stays while it is in use. With its uid. */
  readonly #left = new Map<string, string>();
  readonly #bindings = new Map<string, Binding>();
  /** By namespace, the VPC that its pods were in last. */
  readonly #vpcsHeld = new Map<string, string>();
  #strays: ReadonlyMap<string, readonly string[]> | undefined;
  readonly #podsOn = new PodsOnNodes();
  readonly #nodeTraits = new NodeTraits();
  readonly #activeGateways: ActiveGateways;
  readonly #learnedRoutes: LearnedRoutes;
  #dirty = new Set<string>();
  #isJudgementDue = true;
  #areLinksStale = true;

  constructor(capabilities: Capabilities = { aclTier: false, ipv6Selection: false, loadBalancers: true }) {
    this.capabilities = capabilities;
    this.#ports = new Ports({
      view: this,
      addresses: this.#addresses,
      onChange: (key) => this.#portsChanged(key),
      onUsage: (subnet) => this.#usageChanged(subnet),
      onFree: (port) => this.#mark({ kind: 'freed', name: port }),
    });
    this.#activeGateways = new ActiveGateways({
      view: this,
      onChange: (name) => this.#mark({ kind: 'gateways', name }),
    });
    this.gateways = this.#activeGateways.choices;
    this.#learnedRoutes = new LearnedRoutes({
      view: this,
      onChange: (name) => this.#mark({ kind: 'learned', name }),
    });
    this.learned = this.#learnedRoutes.routes;
  }

  binding(namespace: string): Binding {
    let bound = this.#bindings.get(namespace);
    if (bound === undefined) {
      bound = bindNamespace(this, namespace, this.#vpcsHeld.get(namespace));
      this.#bindings.set(namespace, bound);
      if (bound.vpc === undefined) this.#vpcsHeld.delete(namespace);
      else this.#vpcsHeld.set(namespace, bound.vpc);
    }
    return bound;
  }

  strays(subnet: string): readonly string[] {
    this.#strays ??= this.#findStrays();
    return this.#strays.get(subnet) ?? [];
  }

  #findStrays(): ReadonlyMap<string, readonly string[]> {
    const strays = new Map<string, string[]>();
    for (const namespace of [...this.namespaces.keys()].sort())
      for (const subnet of this.binding(namespace).others)
        strays.set(subnet, [...(strays.get(subnet) ?? []), namespace]);
    return strays;
  }

  #unbind(namespace?: string): void {
    if (namespace === undefined) this.#bindings.clear();
    else this.#bindings.delete(namespace);
    this.#strays = undefined;
  }

  boundPools(namespace: string): readonly string[] {
    return bindPools(this, namespace);
  }

  ports(key: string): readonly HeldPort[] {
    return this.#ports.held(key);
  }

  isAllocated(port: string): boolean {
    return this.#ports.isHeld(port);
  }

  pool(subnet: string): SubnetPool | undefined {
    return this.#addresses.pool(subnet);
  }

  keysIn(subnet: string): Iterable<string> {
    return this.#ports.keysIn(subnet);
  }

  nodesWith(trait: string): Iterable<string> {
    return this.#nodeTraits.nodesWith(trait);
  }

  holderOf(trait: string): string | undefined {
    return this.#nodeTraits.holderOf(trait);
  }

  /** Takes over which chassis there are. */
  setChassis(names: ReadonlySet<string>): void {
    this.chassis = names;
    this.#activeGateways.markAll();
    this.#learnedRoutes.markAll();
  }

  podsOn(node: string): Iterable<string> {
    return this.#podsOn.on(node);
  }

  addressProblem(key: string): Problem | undefined {
    return this.#ports.problem(key);
  }

  /** Takes over one object's new value; undefined for one that is gone. */
  change<K extends keyof Kinds>(kind: K, name: string, after: Kinds[K] | undefined): void {
    const store = this[kind] as Map<string, Kinds[K]>;
    const before = store.get(name);
    if (before === undefined && after === undefined) return;
    if (after === undefined) store.delete(name);
    else store.set(name, after);
    const change = { kind, name, before, after } as unknown as ObjectChange;
    this.#settleLater(change);
    this.#mark(change);
  }

  /**
   * Restores who has what, once everything is known: `rows` are ports the database has, by name, and `holders` the nodes
   * that had what only one can have.
   */
  restore(rows: ReadonlyMap<string, PortRecord>, holders: ReadonlyMap<string, string> = new Map()): void {
    this.#nodeTraits.restore(holders);
    for (const { name, uid, acceptedNote } of this.subnets.values()) {
      const net = parseAcceptedNote(acceptedNote);
      if (net === undefined) continue;
      const owner = notedOwner(acceptedNote) ?? uid;
      if (owner !== uid) this.#left.set(name, owner);
      this.#inForce.set(name, net);
      this.#addresses.define(name, net, new Map());
    }
    for (const { name, annotations, labels } of this.namespaces.values()) {
      const [first = ''] = (annotations[annotation.logicalSwitch] ?? '').split(',');
      const subnet = this.subnets.get(first);
      const vpc = this.vpcs.get(subnet === undefined ? '' : vpcNameOf(subnet.spec));
      const isAsked = vpc?.spec.namespaces.includes(name) === true || (subnet && asks(subnet, name, labels)) === true;
      if (subnet !== undefined && isAsked) this.#vpcsHeld.set(name, vpcNameOf(subnet.spec));
    }
    for (const vpc of this.vpcs.values())
      for (const namespace of listedIn(vpc, 'namespaces'))
        if (vpc.spec.namespaces.includes(namespace) && !this.#vpcsHeld.has(namespace))
          this.#vpcsHeld.set(namespace, vpc.name);
    this.#links = linksInForce(this, true);
    // Once before verdicts are given, which depend on what is in use, and once in subnets they brought.
    this.#ports.restore(rows);
    this.#judge();
    this.#ports.restore(rows);
    for (const kind of ['nodes', 'pods', 'ips', 'vips', 'subnets'] as const) {
      for (const name of this[kind].keys()) for (const key of portKeysOf({ kind, name }, this)) this.#ports.mark(key);
    }
    this.markAll();
  }

  /** What a port of the database uses that this room did not make, or a router. */
  setForeignPort(port: string, foreign: ForeignPort | undefined): void {
    this.#ports.setForeign(port, foreign);
  }

  /** Makes every key dirty: the full round. */
  markAll(): void {
    for (const feature of features) for (const id of feature.all(this)) this.#dirty.add(`${feature.name}/${id}`);
  }

  /** Gives verdicts and addresses as far as they are due; the keys whose plans may have changed. */
  settle(): ReadonlySet<string> {
    for (
      let round = 0;
      round < settleRounds && (this.#isJudgementDue || this.#ports.isDue || round === 0);
      round += 1
    ) {
      if (this.#isJudgementDue) this.#judge();
      this.#ports.settle();
      if (this.#areLinksStale) this.#takeOverLinks();
    }
    this.#activeGateways.settle();
    this.#learnedRoutes.settle();
    // Who was first is settled round by round, not when somebody asks.
    this.#strays ??= this.#findStrays();
    const dirty = this.#dirty;
    this.#dirty = new Set();
    return dirty;
  }

  /** Subnets may have waited for a link that is gone. */
  #takeOverLinks(): void {
    const textsOf = (links: ReadonlyMap<string, readonly Link[]>): readonly string[] =>
      [...links].flatMap(([vpc, own]) => own.map(({ remote, cidr }) => `${vpc}/${remote}/${formatCidr(cidr)}`));
    const before = textsOf(this.#links);
    this.#links = linksInForce(this, false);
    this.#areLinksStale = false;
    const after = new Set(textsOf(this.#links));
    if (before.some((link) => !after.has(link))) this.#isJudgementDue = true;
  }

  #mark(change: Change): void {
    this.#learnedRoutes.changed(change);
    for (const feature of features) {
      for (const id of feature.reads(change, this)) this.#dirty.add(`${feature.name}/${id}`);
    }
  }

  /** What of verdicts, bindings and addresses an object may change. */
  #settleLater(change: ObjectChange): void {
    for (const key of portKeysOf(change, this)) {
      this.#ports.mark(key);
      // Of an IP object: what its port's owner is told is to be looked at again.
      if (change.kind === 'ips') this.#mark({ kind: 'ports', name: key });
    }
    if (change.kind === 'nodes') this.#nodeChanged(change.before, change.after);
    if (change.kind === 'pods') this.#podsOn.change(change.name, change.before, change.after);
    else if (change.kind === 'statefulSets') this.#ports.markHolder(`statefulset/${change.name}`);
    else if (change.kind === 'virtualMachines' || change.kind === 'virtualMachineInstances')
      this.#ports.markHolder(`vm/${change.name}`);
    else if (change.kind === 'attachments') this.#markPods();
    if (change.kind === 'nodes' && change.before?.addresses.join() === change.after?.addresses.join()) return;
    if (change.kind === 'subnets' && essenceOfSubnet(change.before) === essenceOfSubnet(change.after)) return;
    if (change.kind === 'subnets') {
      this.#activeGateways.mark(change.name);
      const [was, is] = [change.before, change.after];
      const isSame = was?.uid === is?.uid && was?.spec.vpc === is?.spec.vpc;
      if (!isSame && this.#inForce.has(change.name) && !this.#left.has(change.name))
        this.#left.set(change.name, was?.uid ?? '');
    }
    if (change.kind === 'vlans' && essenceOfSpec(change.before) === essenceOfSpec(change.after)) return;
    // Whether it is there, and to stay, is all that Vlans ask of it.
    if (change.kind === 'providerNetworks' && change.before?.isDeleting === change.after?.isDeleting) return;
    const isJudged = judgedBy.has(change.kind);
    if (isJudged || (change.kind === 'remoteClusters' && this.#waitsForRemote())) this.#isJudgementDue = true;
    if (change.kind === 'namespaces') this.#unbind(change.name);
    if (change.kind === 'namespaces' && change.after === undefined) this.#vpcsHeld.delete(change.name);
    if (isJudged) this.#unbind();
    if (isJudged || change.kind === 'namespaces') this.#ports.markWaiting();
  }

  /** What is in force is not judged by what other clusters do. */
  #waitsForRemote(): boolean {
    return this.verdicts.values().some(({ problem }) => problem?.code === interconnectOverlap);
  }

  /** An attachment is named by pods, but does not say by which. */
  #markPods(): void {
    for (const key of this.pods.keys()) this.#ports.mark(`pod/${key}`);
  }

  #portsChanged(key: string): void {
    this.#mark({ kind: 'ports', name: key });
    // Pods may wait for the Vip whose address they use.
    if (key.startsWith('vip/')) this.#ports.markWaiting();
    if (key.startsWith('node/')) this.#activeGateways.markAll();
  }

  #usageChanged(subnet: string): void {
    this.#mark({ kind: 'usage', name: subnet });
    // An edit may wait for just this address.
    if (this.verdicts.get(subnet)?.problem?.code === 'AddressesInUse') this.#isJudgementDue = true;
    // The last address of a subnet that is being deleted takes its rows along.
    const verdict = this.verdicts.get(subnet);
    if (this.subnets.get(subnet)?.isDeleting === true) {
      this.#mark({ kind: 'verdicts', name: subnet, before: verdict, after: verdict });
      this.#ports.mark(`u2o/${subnet}`);
    }
    if (this.#left.has(subnet) && !this.#isInUse(subnet)) this.#isJudgementDue = true;
  }

  #isInUse(subnet: string): boolean {
    return (this.#addresses.pool(subnet)?.allocations().size ?? 0) > 0;
  }

  #nodeChanged(before: Kinds['nodes'] | undefined, after: Kinds['nodes'] | undefined): void {
    this.#nodeTraits.change(before, after);
    if (healthText(before) !== healthText(after)) this.#activeGateways.markAll();
  }

  #judge(): void {
    this.#isJudgementDue = false;
    this.#areLinksStale = true;
    this.#judgeVlans();
    for (const name of this.#left.keys()) {
      if (this.#isInUse(name)) continue;
      this.#left.delete(name);
      this.#inForce.delete(name);
      if (!this.subnets.has(name)) this.#addresses.define(name, undefined, new Map());
    }
    for (let round = 0; round < judgementRounds; round += 1) {
      const verdicts = judgeSubnets({
        subnets: this.subnets.values(),
        vpcs: this.vpcs,
        vlans: this.vlanVerdicts,
        nodes: this.nodes.values(),
        transitSwitches: this.transitSwitches,
        remoteClusters: this.remoteClusters,
        apiServer: this.capabilities.apiServer ?? [],
        loadBalancers: this.capabilities.loadBalancers,
        inForce: this.#inForce,
        left: this.#left,
        links: this.#links,
        usage: (subnet, family) => this.#addresses.usage(subnet, family),
        defaultSubnet,
      });
      if (!this.#takeOver(verdicts)) break;
    }
    this.#judgePools();
  }

  /** True where a network came into force or went, which others may have waited for. */
  #takeOver(verdicts: ReadonlyMap<string, Verdict>): boolean {
    let isChanged = false;
    const before = this.verdicts;
    this.verdicts = verdicts;
    for (const name of new Set([...before.keys(), ...verdicts.keys()])) {
      const verdict = verdicts.get(name);
      if (essenceOf(before.get(name)) === essenceOf(verdict)) continue;
      isChanged ||= text(this.#inForce.get(name)) !== text(verdict?.net);
      if (verdict?.spec !== undefined) this.#left.delete(name);
      if (verdict?.net !== undefined) this.#inForce.set(name, verdict.net);
      else if (!this.#isInUse(name)) this.#inForce.delete(name);
      this.#define(name);
      this.#activeGateways.mark(name);
      this.#ports.mark(`u2o/${name}`);
      this.#unbind();
      this.#ports.markWaiting();
      if (name === joinSubnet) for (const node of this.nodes.keys()) this.#ports.mark(`node/${node}`);
      this.#mark({ kind: 'verdicts', name, before: before.get(name), after: verdict });
    }
    return isChanged;
  }

  #judgeVlans(): void {
    const before = this.vlanVerdicts;
    this.vlanVerdicts = judgeVlans(this.vlans.values(), this.providerNetworks);
    for (const name of new Set([...before.keys(), ...this.vlanVerdicts.keys()])) {
      const [was, is] = [before.get(name), this.vlanVerdicts.get(name)];
      if (text(was) !== text(is)) this.#mark({ kind: 'vlanVerdicts', name, before: was, after: is });
    }
  }

  #judgePools(): void {
    const before = this.poolVerdicts;
    this.poolVerdicts = judgePools(this.ipPools.values(), this.verdicts);
    const changed = new Set<string>();
    for (const name of new Set([...before.keys(), ...this.poolVerdicts.keys()])) {
      const [was, is] = [before.get(name), this.poolVerdicts.get(name)];
      if (text(was) === text(is)) continue;
      for (const pool of this.ipPools.values()) if (pool.name === name) changed.add(pool.spec.subnet);
      if (is === undefined) for (const subnet of this.subnets.keys()) changed.add(subnet);
      this.#mark({ kind: 'poolVerdicts', name, before: was, after: is });
    }
    for (const subnet of changed) this.#define(subnet);
    if (changed.size > 0) this.#ports.markWaiting();
  }

  #define(subnet: string): void {
    const ranges = rangesOf(subnet, this.ipPools.values(), this.poolVerdicts);
    this.#addresses.define(subnet, this.verdicts.get(subnet)?.net, ranges);
    this.#mark({ kind: 'usage', name: subnet });
  }
}
