/**
 * The state of one cluster and what depends on what. In: changed objects from `watch/`. Out: after `settle`, the
 * keys (`pod/default/web`, `gateway/ovn-default/n1`, …) whose plans may have changed. Rule: whatever a plan reads
 * of another object marks the plan's key dirty here when it changes.
 */
import { defaultSubnet, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Allocation, SubnetNet, SubnetPool } from '../ipam/subnet-pool.ts';
import { parseAcceptedNote } from '../plan/accepted-note.ts';
import { judgeSubnets } from '../plan/judge.ts';
import type { Verdict } from '../plan/judge.ts';
import { bindNamespace } from '../plan/namespace.ts';
import type { View } from '../plan/view.ts';
import { Addresses } from './addresses.ts';
import type { IpObject, Namespace, Node, Pod, Subnet, TransitSwitch, Vpc } from './objects.ts';
import { Ports } from './ports.ts';
import type { PortRecord } from './records.ts';

export interface Kinds {
  readonly vpcs: Vpc;
  readonly subnets: Subnet;
  readonly nodes: Node;
  readonly namespaces: Namespace;
  readonly pods: Pod;
  readonly ips: IpObject;
  readonly transitSwitches: TransitSwitch;
}

/** Verdicts may change what is free for others; more rounds than this would mean that they never agree. */
const judgementRounds = 4;

export class Cluster implements View {
  readonly vpcs = new Map<string, Vpc>();
  readonly subnets = new Map<string, Subnet>();
  readonly nodes = new Map<string, Node>();
  readonly namespaces = new Map<string, Namespace>();
  readonly pods = new Map<string, Pod>();
  readonly ips = new Map<string, IpObject>();
  readonly transitSwitches = new Map<string, TransitSwitch>();
  verdicts: ReadonlyMap<string, Verdict> = new Map();
  readonly #addresses = new Addresses();
  readonly #ports: Ports;
  readonly #inForce = new Map<string, SubnetNet>();
  readonly #bindings = new Map<string, readonly string[]>();
  readonly #podsOn = new Map<string, Set<string>>();
  #dirty = new Set<string>();
  #isJudgementDue = true;

  constructor() {
    this.#ports = new Ports(this, this.#addresses, (key) => this.#portChanged(key));
  }

  boundSubnets(namespace: string): readonly string[] {
    let bound = this.#bindings.get(namespace);
    if (bound === undefined) {
      bound = bindNamespace(namespace, this.namespaces.get(namespace)?.labels ?? {}, this.subnets.values());
      this.#bindings.set(namespace, bound);
    }
    return bound;
  }

  allocation(port: string, uid: string | undefined): Allocation | undefined {
    return this.#addresses.holder(port) === uid ? this.#addresses.allocation(port) : undefined;
  }

  isAllocated(port: string): boolean {
    return this.#addresses.holder(port) !== undefined;
  }

  pool(subnet: string): SubnetPool | undefined {
    return this.#addresses.pool(subnet);
  }

  addressProblem(key: string): Problem | undefined {
    return this.#ports.problem(key);
  }

  /** Takes over one object's new value; undefined for one that is gone. */
  change<K extends keyof Kinds>(kind: K, key: string, after: Kinds[K] | undefined): void {
    const store = this[kind] as Map<string, Kinds[K]>;
    const before = store.get(key);
    if (before === undefined && after === undefined) return;
    if (after === undefined) store.delete(key);
    else store.set(key, after);
    if (kind === 'pods') this.#podChanged(key, before as Pod | undefined, after as Pod | undefined);
    else if (kind === 'nodes') this.#nodeChanged(key, before as Node | undefined, after as Node | undefined);
    else if (kind === 'subnets') this.#subnetChanged(key, before as Subnet | undefined, after as Subnet | undefined);
    else if (kind === 'namespaces')
      this.#namespaceChanged(key, before as Namespace | undefined, after as Namespace | undefined);
    else if (kind === 'ips') this.#ipChanged(key, (after ?? before) as IpObject);
    else if (kind === 'vpcs') this.#vpcChanged(key, before, after);
    else this.#isJudgementDue = true;
  }

  /** Restores who has which address, once everything is known; `rows` are ports the database has, by name. */
  restore(rows: ReadonlyMap<string, PortRecord>): void {
    for (const { name, acceptedNote } of this.subnets.values()) {
      const net = parseAcceptedNote(acceptedNote);
      if (net === undefined) continue;
      this.#inForce.set(name, net);
      this.#addresses.define(name, net);
    }
    // Once before verdicts are given, which depend on what is in use, and once in subnets they brought.
    this.#ports.restore(rows);
    this.#judge();
    this.#ports.restore(rows);
    this.markAll();
  }

  /** Makes every key dirty: the full round. */
  markAll(): void {
    this.#dirty.add(`vpc/${defaultVpc}`);
    for (const name of this.vpcs.keys()) this.#dirty.add(`vpc/${name}`);
    for (const name of this.subnets.keys()) this.#markSubnet(name);
    for (const name of this.namespaces.keys()) this.#dirty.add(`namespace/${name}`);
    for (const name of this.nodes.keys()) this.#markPort(`node/${name}`);
    for (const key of this.pods.keys()) this.#markPort(`pod/${key}`);
    for (const name of this.ips.keys()) this.#markPort(`ip/${name}`);
  }

  /** Gives verdicts and addresses as far as they are due; the keys whose plans may have changed. */
  settle(): ReadonlySet<string> {
    if (this.#isJudgementDue) this.#judge();
    this.#ports.settle();
    if (this.#isJudgementDue) {
      this.#judge();
      this.#ports.settle();
    }
    const dirty = this.#dirty;
    this.#dirty = new Set();
    return dirty;
  }

  #markPort(key: string): void {
    this.#dirty.add(key);
    this.#ports.mark(key);
  }

  /** A port got or lost its address. */
  #portChanged(key: string): void {
    this.#dirty.add(key);
    const [feature, name = ''] = key.split('/', 2);
    if (feature !== 'node') return;
    for (const subnet of this.verdicts.keys()) this.#dirty.add(`gateway/${subnet}/${name}`);
  }

  /** For counts that changed. */
  markUsage(subnet: string): void {
    this.#dirty.add(`subnet/${subnet}`);
    // The last address of a subnet that is being deleted takes its rows along.
    if (this.subnets.get(subnet)?.isDeleting === true) this.#markSubnet(subnet);
    if (!this.subnets.has(subnet) && !this.#isInUse(subnet)) {
      this.#inForce.delete(subnet);
      this.#addresses.define(subnet, undefined);
      this.#isJudgementDue = true;
    }
  }

  #isInUse(subnet: string): boolean {
    return (this.#addresses.pool(subnet)?.allocations().size ?? 0) > 0;
  }

  #podChanged(key: string, before: Pod | undefined, after: Pod | undefined): void {
    if (before?.node !== after?.node) {
      if (before?.node !== undefined) this.#podsOn.get(before.node)?.delete(key);
      if (after?.node !== undefined) {
        const pods = this.#podsOn.get(after.node) ?? new Set();
        this.#podsOn.set(after.node, pods.add(key));
      }
    }
    this.#markPort(`pod/${key}`);
  }

  #nodeChanged(name: string, before: Node | undefined, after: Node | undefined): void {
    this.#markPort(`node/${name}`);
    if (before?.addresses.join() !== after?.addresses.join()) this.#isJudgementDue = true;
    if ((before === undefined) === (after === undefined)) return;
    for (const subnet of this.subnets.keys()) this.#dirty.add(`gateway/${subnet}/${name}`);
    for (const key of this.#podsOn.get(name) ?? []) this.#dirty.add(`pod/${key}`);
  }

  #subnetChanged(name: string, before: Subnet | undefined, after: Subnet | undefined): void {
    this.#dirty.add(`subnet/${name}`);
    const essence = (subnet: Subnet | undefined): string =>
      subnet === undefined ? '' : JSON.stringify([subnet.uid, subnet.spec, subnet.unsupported, subnet.isDeleting]);
    if (essence(before) === essence(after)) return;
    this.#isJudgementDue = true;
    this.#bindings.clear();
    for (const namespace of this.namespaces.keys()) this.#dirty.add(`namespace/${namespace}`);
    this.#ports.markWaiting();
  }

  #namespaceChanged(name: string, before: Namespace | undefined, after: Namespace | undefined): void {
    this.#dirty.add(`namespace/${name}`);
    if (JSON.stringify(before?.labels) === JSON.stringify(after?.labels)) return;
    this.#bindings.delete(name);
    this.#ports.markWaiting();
  }

  #vpcChanged(name: string, before: unknown, after: unknown): void {
    this.#dirty.add(`vpc/${name}`);
    if ((before === undefined) !== (after === undefined)) this.#isJudgementDue = true;
  }

  #ipChanged(name: string, { spec }: IpObject): void {
    this.#markPort(`ip/${name}`);
    const owner = spec.namespace === '' ? `node/${spec.podName}` : `pod/${spec.namespace}/${spec.podName}`;
    if (spec.podName !== '') this.#markPort(owner);
  }

  #judge(): void {
    this.#isJudgementDue = false;
    for (let round = 0; round < judgementRounds; round += 1) {
      const verdicts = judgeSubnets({
        subnets: this.subnets.values(),
        vpcs: this.vpcs,
        nodes: this.nodes.values(),
        transitSwitches: this.transitSwitches,
        inForce: this.#inForce,
        usage: (subnet, family) => this.#addresses.usage(subnet, family),
        defaultSubnet,
      });
      if (!this.#takeOver(verdicts)) return;
    }
  }

  /** True where a network came into force or went, which others may have waited for. */
  #takeOver(verdicts: ReadonlyMap<string, Verdict>): boolean {
    let isChanged = false;
    const before = this.verdicts;
    this.verdicts = verdicts;
    for (const name of new Set([...before.keys(), ...verdicts.keys()])) {
      const verdict = verdicts.get(name);
      if (essenceOf(before.get(name)) === essenceOf(verdict)) continue;
      isChanged ||= netText(this.#inForce.get(name)) !== netText(verdict?.net);
      if (verdict?.net !== undefined) this.#inForce.set(name, verdict.net);
      else if (!this.#isInUse(name)) this.#inForce.delete(name);
      this.#addresses.define(name, verdict?.net);
      this.#markSubnet(name);
    }
    return isChanged;
  }

  /** Everything that reads a subnet's network. */
  #markSubnet(name: string): void {
    this.#dirty.add(`subnet/${name}`).add(`vpc/${defaultVpc}`);
    for (const node of this.nodes.keys()) this.#dirty.add(`gateway/${name}/${node}`);
    for (const namespace of this.namespaces.keys()) this.#dirty.add(`namespace/${namespace}`);
    for (const key of this.#ports.keysIn(name)) this.#dirty.add(key);
    this.#ports.markWaiting();
    if (name !== joinSubnet) return;
    for (const node of this.nodes.keys()) this.#markPort(`node/${node}`);
  }
}

function netText(net: SubnetNet | undefined): string {
  // Values are big integers, which JSON does not know.
  return JSON.stringify(net ?? null, (_, value: unknown) => (typeof value === 'bigint' ? value.toString(16) : value));
}

function essenceOf(verdict: Verdict | undefined): string {
  if (verdict === undefined) return '';
  const { problem, isOpen, spec } = verdict;
  return JSON.stringify([netText(verdict.net), isOpen, spec, problem?.code, problem?.message]);
}
