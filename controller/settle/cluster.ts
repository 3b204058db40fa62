/**
 * The state of one cluster: stores the objects (`state/object-stores.ts`) and has the settlers of each folder decide about them. In:
 * changed objects from `watch/`, and rows of the databases. Out: verdicts, addresses and choices, and a stream of changes for the
 * planner. Rule: everything that depends on which object came first is settled here, before any plan is computed.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import { changesBetween, takeChanges } from '../../lib/store/map-changes.ts';
import type { Allocation, SubnetPool } from '../ipam/subnet-pool.ts';
import type { Change, ObjectChange } from '../model/change.ts';
import type { ForeignPort } from '../model/foreign-port.ts';
import type { MonitorState } from '../model/monitors.ts';
import type { Kinds } from '../model/objects.ts';
import type { GatewayHolder, Link, LoadBalancerUsage, PoolVerdict, VlanVerdict, Binding } from '../model/settled.ts';
import type { Capabilities, FormerRow, HeldPort, View } from '../model/view.ts';
import { ObjectStores } from '../state/object-stores.ts';
import { Addresses } from './address/addresses.ts';
import { eipHolder } from './address/holders/eip.ts';
import { healthCheckHolder } from './address/holders/health-check.ts';
import { allKeys, holderOf, keyOf, keysConcerned } from './address/holders/registry.ts';
import { judgePools, rangesOf } from './address/judge-pools.ts';
import { Ports } from './address/ports.ts';
import { UnreachablePorts } from './address/unreachable-ports.ts';
import type { PortRecord } from './address/records.ts';
import { LearnedRoutes } from './bgp/learned-routes.ts';
import { DomainNames } from './domain-name/domain-names.ts';
import { EgressGateways } from './egress/egress-gateways.ts';
import { ExternalRules } from './external/external-rules.ts';
import { GatewayPorts } from './external/gateway-ports.ts';
import { specFingerprint, subnetFingerprint, text } from './fingerprint.ts';
import { ActiveGateways } from './gateway/active-gateways.ts';
import { healthText } from './gateway/choice.ts';
import { bindPools } from './namespace/binding.ts';
import { NamespaceBindings } from './namespace/bindings.ts';
import { LoadBalancers } from './load-balancer/load-balancers.ts';
import { poolFingerprint } from './load-balancer/pool-overlap.ts';
import { TraitHolders } from './node/trait-holders.ts';
import { TunnelTypes } from './node/tunnel-types.ts';
import { Policies } from './network-policy/policies.ts';
import { ServedGroups } from './security-group/served-groups.ts';
import { HealthChecks } from './service/health-checks.ts';
import { ServiceVerdicts } from './service/service-verdicts.ts';
import { SubnetVerdicts } from './subnet/subnet-verdicts.ts';
import type { VerdictChange } from './subnet/subnet-verdicts.ts';
import { judgeVlans } from './underlay/judge-vlans.ts';
import { linksInForce } from './vpc/links.ts';
import { ServedSubnets } from './vpc/served-subnets.ts';

/** Verdicts may free networks for other objects. More rounds than this would mean that verdicts never converge. */
const judgementRounds = 4;
/** A port that gets a freed address may free another one in turn. More rounds than this would be a cycle. */
const settleRounds = 8;

/** Kinds whose objects affect verdicts. */
const judgedBy: ReadonlySet<keyof Kinds> = new Set([
  'nodes',
  'subnets',
  'vpcs',
  'vlans',
  'providerNetworks',
  'ipPools',
  'transitSwitches',
  'keySlices',
  'loadBalancerPools',
]);

export class Cluster extends ObjectStores implements View {
  readonly capabilities: Capabilities;
  readonly verdicts: View['verdicts'];
  readonly subnetsInVlans: View['subnetsInVlans'];
  poolVerdicts: ReadonlyMap<string, PoolVerdict> = new Map();
  vlanVerdicts: ReadonlyMap<string, VlanVerdict> = new Map();
  readonly servedGroups: View['servedGroups'];
  readonly gateways: View['gateways'];
  readonly learned: View['learned'];
  readonly serviceVerdicts: View['serviceVerdicts'];
  readonly loadBalancers: View['loadBalancers'];
  readonly egressGateways: View['egressGateways'];
  readonly gatewayPorts: View['gatewayPorts'];
  gatewayHolders: ReadonlyMap<string, GatewayHolder> | undefined;
  upstreams: View['upstreams'] = new Map();
  readonly externalRules: View['externalRules'];
  readonly healthChecks = new HealthChecks(this);
  readonly policies = new Policies({
    view: this,
    onPolicy: (name, before, after) => this.#changed({ kind: 'policies', name, before, after }),
    onVpcs: (name) => this.#changed({ kind: 'policyVpcs', name }),
    onPlace: (name) => this.#changed({ kind: 'policyPlaces', name }),
    onPeer: (name) => this.#changed({ kind: 'policyPeers', name }),
    onNamedPort: (name) => this.#changed({ kind: 'namedPorts', name }),
    onSelected: (name) => this.#changed({ kind: 'policySelections', name }),
  });
  readonly domains: DomainNames;
  formerPolicyRows: readonly FormerRow[] = [];
  chassis: ReadonlySet<string> | undefined;
  #monitors: Map<string, MonitorState> | undefined;
  readonly #addresses: Addresses;
  readonly tunnels = new TunnelTypes((name) => this.#changed({ kind: 'tunnels', name }));
  readonly unreachablePorts = new UnreachablePorts({
    allocation: (port) => this.#addresses.allocation(port),
    onChange: (subnet) => this.#usageChanged(subnet),
  });
  readonly #ports: Ports;
  #links: ReadonlyMap<string, readonly Link[]> = new Map();
  readonly #subnetVerdicts: SubnetVerdicts;
  readonly #servedSubnets = new ServedSubnets(this);
  readonly #bindings: NamespaceBindings;
  readonly #traitHolders = new TraitHolders(this);
  readonly #servedGroups = new ServedGroups(this);
  readonly #activeGateways: ActiveGateways;
  readonly #learnedRoutes: LearnedRoutes;
  readonly #serviceVerdicts: ServiceVerdicts;
  readonly #loadBalancers: LoadBalancers;
  readonly #egressGateways: EgressGateways;
  readonly #gatewayPorts: GatewayPorts;
  readonly #externalRules: ExternalRules;
  readonly #listeners: ((change: Change) => void)[] = [];
  #isJudgementDue = true;
  #areLinksStale = true;

  constructor(capabilities: Capabilities = { aclTier: false, ipv6Selection: false, loadBalancers: true }) {
    super();
    this.capabilities = capabilities;
    this.#addresses = new Addresses(capabilities);
    this.#subnetVerdicts = new SubnetVerdicts({
      view: this,
      usage: (subnet, family) => this.#addresses.usage(subnet, family),
      isInUse: (subnet) => this.#isInUse(subnet),
      links: () => this.#links,
    });
    this.verdicts = this.#subnetVerdicts.verdicts;
    this.subnetsInVlans = this.#subnetVerdicts.inVlans;
    this.#bindings = new NamespaceBindings(this);
    this.#ports = new Ports({
      view: this,
      addresses: this.#addresses,
      onChange: (key) => this.#portsChanged(key),
      onUsage: (subnet) => this.#usageChanged(subnet),
      onFree: (port) => this.#changed({ kind: 'freed', name: port }),
    });
    this.#activeGateways = new ActiveGateways({
      view: this,
      onChange: (name) => this.#changed({ kind: 'gateways', name }),
    });
    this.gateways = this.#activeGateways.choices;
    this.servedGroups = this.#servedGroups.groups;
    this.#learnedRoutes = new LearnedRoutes({
      view: this,
      onChange: (name) => this.#changed({ kind: 'learned', name }),
    });
    this.learned = this.#learnedRoutes.routes;
    this.#serviceVerdicts = new ServiceVerdicts({
      view: this,
      onChange: (name, before, after) => {
        this.healthChecks.verdictChanged(name, before, after);
        this.#changed({ kind: 'serviceVerdicts', name, before, after });
      },
    });
    this.serviceVerdicts = this.#serviceVerdicts.verdicts;
    this.#loadBalancers = new LoadBalancers({
      view: this,
      onChange: (name) => this.#changed({ kind: 'loadBalancers', name }),
      onPool: (name) => this.#changed({ kind: 'loadBalancerUsage', name }),
    });
    this.loadBalancers = this.#loadBalancers.balancers;
    this.#egressGateways = new EgressGateways({
      view: this,
      onChange: (name, before, after) => this.#changed({ kind: 'egressGateways', name, before, after }),
    });
    this.egressGateways = this.#egressGateways.gateways;
    this.#gatewayPorts = new GatewayPorts({
      view: this,
      onChange: (name, before, after) => this.#changed({ kind: 'gatewayPorts', name, before, after }),
    });
    this.gatewayPorts = this.#gatewayPorts.ports;
    this.#externalRules = new ExternalRules({
      view: this,
      onChange: (name, before, after) => this.#changed({ kind: 'externalRules', name, before, after }),
    });
    this.externalRules = this.#externalRules.verdicts;
    this.domains = new DomainNames({
      view: this,
      clusterDomain: capabilities.clusterDomain ?? 'cluster.local',
      onAddresses: (name) => this.#changed({ kind: 'domains', name }),
      onProblem: (name) => this.#changed({ kind: 'domainProblems', name }),
    });
  }

  get monitors(): View['monitors'] {
    return this.#monitors;
  }

  get loadBalancerPoolVerdicts(): View['loadBalancerPoolVerdicts'] {
    return this.#loadBalancers.verdicts;
  }

  servedSubnets(vpc: string): readonly string[] {
    return this.#servedSubnets.of(vpc);
  }

  loadBalancerUsage(pool: string): LoadBalancerUsage {
    return this.#loadBalancers.usage(pool);
  }

  binding(namespace: string): Binding {
    return this.#bindings.binding(namespace);
  }

  unservedNamespaces(subnet: string): readonly string[] {
    return this.#bindings.unservedBy(subnet);
  }

  namespacesOf(subnet: string): ReadonlySet<string> {
    return this.#bindings.namespacesOf(subnet);
  }

  boundPools(namespace: string): readonly string[] {
    return bindPools(this, namespace);
  }

  ports(key: string): readonly HeldPort[] {
    return this.#ports.held(key);
  }

  allocation(port: string): Allocation | undefined {
    return this.#addresses.allocation(port);
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

  holderOf(trait: string): string | undefined {
    return this.#traitHolders.holderOf(trait);
  }

  /** Sets the known chassis. */
  setChassis(names: ReadonlySet<string>): void {
    this.chassis = names;
    this.#activeGateways.markAll();
    this.#learnedRoutes.markAll();
    this.#gatewayPorts.markAll();
  }

  /** Sets which chassis have the ports of routers outside, by the names of the ports: all of them. */
  setGatewayHolders(holders: ReadonlyMap<string, GatewayHolder>): void {
    const before = this.gatewayHolders;
    this.gatewayHolders = holders;
    if (before === undefined) this.#changed({ kind: 'gatewayHolders', name: '', before: undefined, after: undefined });
    for (const [name, was, is] of changesBetween(before, holders))
      if (was?.chassis !== is?.chassis) this.#changed({ kind: 'gatewayHolders', name, before: was, after: is });
  }

  /** Sets the states of all BFD sessions with routers outside that answered once, as `upstreamKey` names them. */
  setUpstreams(states: View['upstreams']): void {
    const before = this.upstreams;
    this.upstreams = states;
    for (const [name, was, is] of changesBetween(before, states))
      this.#changed({ kind: 'upstreams', name, before: was, after: is });
  }

  /** Sets the states of some health checks, the first time of all; undefined for one that is gone. */
  setMonitors(states: ReadonlyMap<string, MonitorState | undefined>): void {
    const isFirst = this.#monitors === undefined;
    this.#monitors ??= new Map();
    if (isFirst) this.#changed({ kind: 'monitors', name: '' });
    for (const name of takeChanges(this.#monitors, states)) this.#changed({ kind: 'monitors', name });
  }

  addressProblem(key: string): Problem | undefined {
    return this.#ports.problem(key);
  }

  /** Sets the rows of a former Kube-OVN's policies; none once these policies are in force as rows of this room. */
  setFormerPolicies(rows: readonly FormerRow[]): void {
    if (rows.length === this.formerPolicyRows.length) return;
    this.formerPolicyRows = rows;
    this.#changed({ kind: 'formerPolicies', name: '' });
  }

  /** Stores the new value of an object; undefined if it was deleted. */
  change<K extends keyof Kinds>(kind: K, name: string, after: Kinds[K] | undefined): void {
    const change = this.store(kind, name, after);
    if (change === undefined) return;
    this.#settleLater(change);
    this.#changed(change);
  }

  /** Calls the listener with each change of an object or of a settled value, when it happens. */
  onChange(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Restores holders and their addresses, once all objects are known. `rows` are the ports in the database, by name;
   * `holders` are the nodes that had traits of which only one node can have each; `orders` are the chassis of the ports of routers,
   * by the name of the port, in order.
   */
  restore(
    rows: ReadonlyMap<string, PortRecord>,
    holders: ReadonlyMap<string, string> = new Map(),
    orders: ReadonlyMap<string, readonly string[]> = new Map(),
  ): void {
    this.#traitHolders.restore(holders);
    this.#gatewayPorts.restore(orders);
    for (const [name, net] of this.#subnetVerdicts.restore()) this.#addresses.define(name, net, new Map());
    this.#bindings.restore();
    this.#links = linksInForce(this, true);
    // Once before the verdicts, which depend on addresses in use, and once for the subnets that they added.
    this.#ports.restore(rows);
    this.#judge();
    this.#ports.restore(rows);
    for (const key of allKeys(this)) this.#ports.mark(key);
    this.unreachablePorts.set();
  }

  /** Sets the addresses that a port uses which this room did not create, or a router. */
  setForeignPort(port: string, foreign: ForeignPort | undefined): void {
    this.#ports.setForeign(port, foreign);
  }

  /** Computes the verdicts, addresses, gateways and routes that are due. */
  settle(): void {
    for (let round = 0; round < settleRounds && (this.#ports.isDue || round === 0); round += 1) {
      this.#settleAddresses();
      this.#serviceVerdicts.settle();
      for (const subnet of this.healthChecks.take()) this.#ports.mark(keyOf(healthCheckHolder, subnet));
      this.#egressGateways.settle();
      for (const name of this.#gatewayPorts.settle()) this.#ports.mark(keyOf(eipHolder, name));
    }
    this.#externalRules.settle();
    this.#activeGateways.settle();
    this.#learnedRoutes.settle();
    this.#loadBalancers.settle();
    for (const { namespace: name, before, after } of this.#bindings.settle())
      this.#changed({ kind: 'bindings', name, before, after });
  }

  #settleAddresses(): void {
    for (
      let round = 0;
      round < settleRounds && (this.#isJudgementDue || this.#ports.isDue || round === 0);
      round += 1
    ) {
      if (this.#isJudgementDue) this.#judge();
      this.#ports.settle();
      if (this.#areLinksStale) this.#updateLinks();
    }
  }

  /** Subnets may have waited for the removal of a link. */
  #updateLinks(): void {
    const textsOf = (links: ReadonlyMap<string, readonly Link[]>): readonly string[] =>
      [...links].flatMap(([vpc, own]) => own.map(({ remote, cidr }) => `${vpc}/${remote}/${formatCidr(cidr)}`));
    const before = textsOf(this.#links);
    this.#links = linksInForce(this, false);
    this.#areLinksStale = false;
    const after = new Set(textsOf(this.#links));
    if (before.join() !== [...after].join()) this.#subnetVerdicts.linksChanged();
    if (before.some((link) => !after.has(link))) this.#isJudgementDue = true;
  }

  #changed(change: Change): void {
    this.#subnetVerdicts.changed(change);
    this.#servedSubnets.changed(change);
    this.#learnedRoutes.changed(change);
    this.#serviceVerdicts.changed(change);
    this.#loadBalancers.changed(change);
    this.#egressGateways.changed(change);
    this.#gatewayPorts.changed(change);
    this.#externalRules.changed(change);
    this.policies.changed(change);
    this.domains.changed(change);
    for (const listener of this.#listeners) listener(change);
  }

  /** Marks the verdicts, bindings and addresses that the change may affect. */
  #settleLater(change: ObjectChange): void {
    for (const key of keysConcerned(change, this)) {
      this.#ports.mark(key);
      // The status of the port's owner depends on its IP object.
      if (change.kind === 'ips') this.#changed({ kind: 'ports', name: key });
    }
    if (change.kind === 'nodes') this.#nodeChanged(change.before, change.after);
    if (change.kind === 'securityGroups') this.#servedGroups.changed(change.name);
    if (change.kind === 'statefulSets') this.#ports.markHolder(`statefulset/${change.name}`);
    else if (change.kind === 'virtualMachines' || change.kind === 'virtualMachineInstances')
      this.#ports.markHolder(`vm/${change.name}`);
    if (change.kind === 'nodes' && change.before?.addresses.join() === change.after?.addresses.join()) return;
    if (change.kind === 'subnets' && subnetFingerprint(change.before) === subnetFingerprint(change.after)) return;
    if (change.kind === 'subnets') this.#activeGateways.mark(change.name);
    if (change.kind === 'vlans' && specFingerprint(change.before) === specFingerprint(change.after)) return;
    if (change.kind === 'loadBalancerPools' && poolFingerprint(change.before) === poolFingerprint(change.after)) return;
    // Vlans read only whether a ProviderNetwork exists and whether it is being deleted.
    if (change.kind === 'providerNetworks' && change.before?.isDeleting === change.after?.isDeleting) return;
    const isJudged = judgedBy.has(change.kind);
    if (isJudged || (change.kind === 'remoteClusters' && this.#subnetVerdicts.waitsForRemote()))
      this.#isJudgementDue = true;
    if (change.kind === 'namespaces') this.#bindings.namespaceChanged(change.name);
    if (change.kind === 'namespaces' && change.after === undefined) this.#bindings.forget(change.name);
    if (change.kind === 'vpcs') this.#bindings.vpcChanged();
    if (change.kind === 'subnets') this.#bindings.subnetChanged(change.before, change.after);
    if (isJudged || change.kind === 'namespaces') this.#ports.markWaiting();
  }

  #markConcerned(change: Change): void {
    for (const key of keysConcerned(change, this)) this.#ports.mark(key);
  }

  #portsChanged(key: string): void {
    this.#changed({ kind: 'ports', name: key });
    const { notifies } = holderOf(key).kind ?? {};
    if (notifies === 'waiting') this.#ports.markWaiting();
    if (notifies === 'gateways') this.#activeGateways.markAll();
  }

  #usageChanged(subnet: string): void {
    this.#changed({ kind: 'usage', name: subnet });
    // An edit may wait for the release of this address.
    if (this.verdicts.get(subnet)?.problem?.code === 'AddressesInUse') this.#isJudgementDue = true;
    // With the last address of a subnet that is being deleted, its rows are removed.
    const verdict = this.verdicts.get(subnet);
    if (this.subnets.get(subnet)?.isDeleting === true) {
      this.#changed({ kind: 'verdicts', name: subnet, before: verdict, after: verdict });
    }
    this.#markConcerned({ kind: 'usage', name: subnet });
    if (this.#subnetVerdicts.hasPredecessor(subnet) && !this.#isInUse(subnet)) this.#isJudgementDue = true;
  }

  #isInUse(subnet: string): boolean {
    return (this.#addresses.pool(subnet)?.allocations().size ?? 0) > 0;
  }

  #nodeChanged(before: Kinds['nodes'] | undefined, after: Kinds['nodes'] | undefined): void {
    this.#traitHolders.changed(before, after);
    if (healthText(before) !== healthText(after)) this.#activeGateways.markAll();
  }

  #judge(): void {
    this.#isJudgementDue = false;
    this.#areLinksStale = true;
    this.#judgeVlans();
    for (const name of this.#subnetVerdicts.releaseUnused()) this.#addresses.define(name, undefined, new Map());
    for (let round = 0; round < judgementRounds; round += 1) {
      const changes = this.#subnetVerdicts.judge();
      for (const { name } of changes) this.#servedSubnets.look(name);
      for (const change of changes) this.#verdictChanged(change);
      if (!changes.some(({ isNetChanged }) => isNetChanged)) break;
    }
    this.#judgePools();
  }

  #verdictChanged({ name, before, after }: VerdictChange): void {
    this.#define(name);
    this.#activeGateways.mark(name);
    this.#bindings.subnetChanged(this.subnets.get(name));
    this.#ports.markWaiting();
    const change: Change = { kind: 'verdicts', name, before, after };
    this.#markConcerned(change);
    this.#changed(change);
  }

  #judgeVlans(): void {
    const before = this.vlanVerdicts;
    this.vlanVerdicts = judgeVlans(this.vlans.values(), this.providerNetworks);
    for (const name of new Set([...before.keys(), ...this.vlanVerdicts.keys()])) {
      const [was, is] = [before.get(name), this.vlanVerdicts.get(name)];
      if (text(was) !== text(is)) this.#changed({ kind: 'vlanVerdicts', name, before: was, after: is });
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
      this.#changed({ kind: 'poolVerdicts', name, before: was, after: is });
    }
    for (const subnet of changed) this.#define(subnet);
    if (changed.size > 0) this.#ports.markWaiting();
  }

  #define(subnet: string): void {
    const ranges = rangesOf(subnet, this.ipPools.values(), this.poolVerdicts);
    this.#addresses.define(subnet, this.verdicts.get(subnet)?.net, ranges);
    this.#changed({ kind: 'usage', name: subnet });
  }
}
