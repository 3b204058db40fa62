/** Pods of several namespaces on a ServiceBed, with programs that serve and ask, and the policies that the API server has: for comparison with the model. */
import {
  adminNetworkPolicies,
  apiVersionOf,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  namespaces,
  networkPolicies,
  nodes,
  objectPath,
  pods,
  securityGroups,
} from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { isAllowed, type ClusterPolicy, type ClusterWorld } from '../model/cluster-policies.ts';
import type { Connection, Host, Policy } from '../model/network-policies.ts';
import { nameOf } from './controller-bed.ts';
import { Agent } from './service-agent.ts';
import { nodeNames, ServiceBed, type NodeName } from './service-bed.ts';

export const servedPorts = [8080, 8081] as const;
/** Where connections stay open. */
export const keptPort = 9090;
type Labels = Readonly<Record<string, string>>;

/** For an answer that is expected, where the machine is busy; and for one that is not. */
export const [patienceMs, silenceMs] = [4000, 500] as const;

export const clusterKinds: Readonly<Record<ClusterPolicy['kind'], Resource>> = {
  ClusterNetworkPolicy: clusterNetworkPolicies,
  AdminNetworkPolicy: adminNetworkPolicies,
  BaselineAdminNetworkPolicy: baselineAdminNetworkPolicies,
};

interface Place extends Host {
  readonly node: NodeName;
  /** With which it asks, one of each family. */
  readonly addresses: readonly string[];
  /** At which it answers, in the same order. */
  readonly served: readonly string[];
  readonly agent: Agent;
}

/** A connection, and whether the model allows it. */
export interface Probe {
  readonly from: Place;
  readonly connection: Connection;
  readonly isAllowed: boolean;
}

export class PolicyBed {
  readonly services: ServiceBed;
  readonly places = new Map<string, Place>();
  readonly policies = new Map<string, Policy>();
  /** By `Kind/name`. */
  readonly clusterPolicies = new Map<string, ClusterPolicy>();
  readonly #namespaces = new Map<string, Labels>();
  readonly #nodes = new Map<string, ClusterWorld['nodes'][number]>();

  private constructor(services: ServiceBed) {
    this.services = services;
  }

  /** @param more isServing: nodes answer at the addresses of their status, of both families */
  static async open({ isServing = false } = {}): Promise<PolicyBed> {
    const bed = new PolicyBed(await ServiceBed.open());
    try {
      for (const node of nodeNames) await bed.#addNode(node, isServing);
    } catch (error) {
      await bed.close();
      throw error;
    }
    return bed;
  }

  async close(): Promise<void> {
    for (const { agent } of this.places.values()) await agent.stop();
    await this.services.close();
  }

  async addNamespace(name: string, labels: Labels): Promise<void> {
    await this.services.controller.createNamespace(name, labels);
    this.#namespaces.set(name, { ...labels, 'kubernetes.io/metadata.name': name });
  }

  async addPod(
    name: string,
    options: {
      readonly namespace: string;
      readonly node: NodeName;
      readonly labels: Labels;
      readonly ports?: Host['ports'];
      readonly annotations?: Labels;
    },
  ): Promise<void> {
    const { namespace, node, labels, ports = [] } = options;
    await this.services.plugPod(name, node, options);
    const addresses = this.services.addressesOf(name);
    const agent = await Agent.start(this.services.space(name), addresses, servedPorts, keptPort);
    this.places.set(name, { name, namespace, node, labels, ports, addresses, served: addresses, agent });
  }

  async removePod(name: string): Promise<void> {
    const { namespace = '', agent } = this.place(name);
    await agent.stop();
    this.places.delete(name);
    await this.services.controller.deletePod(name, namespace);
  }

  /** A node as a client, and as a server if it is serving. */
  async #addNode(node: NodeName, isServing: boolean): Promise<void> {
    const { services } = this;
    services.in(node, 'ethtool -K ovn0 tx off');
    services.in(node, 'ip route add 10.16.0.0/16 via 100.64.0.1 dev ovn0');
    services.in(node, 'ip -6 route add fd00:10::/112 via fd00:64::1 dev ovn0');
    const { 'ovn.kubernetes.io/ip_address': text = '' } = await services.controller.annotations(nodes, node);
    const served = isServing ? await this.#addNodeAddresses(node) : [];
    const agent = await Agent.start(services.space(node), served, servedPorts);
    this.places.set(node, { name: node, node, labels: {}, ports: [], addresses: text.split(','), served, agent });
  }

  /** Gives the status of a node an address of both families; returns them, that of IPv4 first. */
  async #addNodeAddresses(node: NodeName): Promise<readonly string[]> {
    const { controller } = this.services;
    const object = { name: node };
    const { addresses } = (await controller.status(nodes, node)) as { addresses: readonly { address: string }[] };
    const second = `fd00:31::${node.slice(1)}`;
    this.services.in(node, `ip addr add ${second}/64 dev br-phys nodad`);
    const all = [...addresses, { type: 'InternalIP', address: second }];
    await controller.kube.request(
      'PATCH',
      objectPath(nodes, object, 'status'),
      { status: { addresses: all } },
      { contentType: 'application/merge-patch+json' },
    );
    const texts = all.map(({ address }) => address);
    this.#nodes.set(node, { labels: {}, addresses: texts });
    return texts;
  }

  /** Gives a node a label beside those that it has. */
  async labelNode(name: NodeName, labels: Labels): Promise<void> {
    await this.#changed(() => this.services.controller.kube.patch(nodes, { name }, 'merge', { metadata: { labels } }));
    const known = this.#nodes.get(name);
    this.#nodes.set(name, { addresses: known?.addresses ?? [], labels: { ...known?.labels, ...labels } });
  }

  async apply(policy: Policy): Promise<void> {
    const { namespace, name } = policy.metadata;
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${name}?fieldManager=test&force=true`;
    const body = { apiVersion: apiVersionOf(networkPolicies), kind: networkPolicies.kind, ...policy };
    await this.#changed(() =>
      this.services.controller.kube.request('PATCH', path, body, { contentType: 'application/apply-patch+yaml' }),
    );
    this.policies.set(`${namespace}/${name}`, policy);
  }

  async remove(namespace: string, name: string): Promise<void> {
    await this.#changed(() => this.services.controller.kube.delete(networkPolicies, { namespace, name }));
    this.policies.delete(`${namespace}/${name}`);
  }

  /** Creates the policy, or replaces what it says. */
  async applyCluster(policy: ClusterPolicy): Promise<void> {
    const { kind, metadata, spec } = policy;
    const { kube } = this.services.controller;
    const resource = clusterKinds[kind];
    const key = `${kind}/${metadata.name}`;
    await this.#changed(() =>
      this.clusterPolicies.has(key)
        ? kube.patch(resource, metadata, 'json', [{ op: 'replace', path: '/spec', value: spec }])
        : kube.create(resource, { apiVersion: apiVersionOf(resource), ...policy }),
    );
    this.clusterPolicies.set(key, policy);
  }

  async removeCluster({ kind, metadata }: ClusterPolicy): Promise<void> {
    await this.#changed(() => this.services.controller.kube.delete(clusterKinds[kind], metadata));
    this.clusterPolicies.delete(`${kind}/${metadata.name}`);
  }

  /**
   * Changes an object while no connection begins or ends, and waits for the effect. A connection that is cut off while it ends sends again for a minute;
   * the userspace datapath of Open vSwitch 3.1 ends with an assertion (`conn_update_state`) if it has forgotten the connection meanwhile. It also keeps
   * flows whose next step no longer exists, as long as packets use them.
   */
  async #changed(change: () => Promise<unknown>): Promise<void> {
    const before = this.services.controller.changes;
    await change();
    await this.services.untilWritten(before);
    this.services.forgetFlows();
  }

  async removeAll(): Promise<void> {
    for (const { metadata } of this.policies.values()) await this.remove(metadata.namespace, metadata.name);
    for (const policy of this.clusterPolicies.values()) await this.removeCluster(policy);
  }

  /** Replaces the labels of a pod. */
  async label(name: string, labels: Labels): Promise<void> {
    const place = this.place(name);
    const removed = Object.fromEntries(Object.keys(place.labels).map((key) => [key, null]));
    const metadata = { labels: { ...removed, ...labels } };
    const object = { namespace: place.namespace ?? '', name };
    await this.#changed(() => this.services.controller.kube.patch(pods, object, 'merge', { metadata }));
    this.places.set(name, { ...place, labels });
  }

  async labelNamespace(name: string, labels: Labels): Promise<void> {
    const removed = Object.fromEntries(Object.keys(this.#namespaces.get(name) ?? {}).map((key) => [key, null]));
    const all = { ...labels, 'kubernetes.io/metadata.name': name };
    const metadata = { labels: { ...removed, ...all } };
    await this.#changed(() => this.services.controller.kube.patch(namespaces, { name }, 'merge', { metadata }));
    this.#namespaces.set(name, all);
  }

  /** Names of the port groups and address sets of policies. */
  rows(): readonly string[] {
    const { controller } = this.services;
    const names = ['Port_Group', 'Address_Set'].flatMap((table) => controller.rows(table).map(nameOf));
    return names.filter((name) => /^(?:np|sel|dns)\./.test(name)).sort();
  }

  /** Whether OVN judges Subnets and security groups, the tier Admin, and NetworkPolicies one after the other. */
  get isTiered(): boolean {
    return this.services.controller.nb.schema.tables['ACL']?.columns['tier'] !== undefined;
  }

  /** Puts a pod in a security group, or in none. */
  async guard(name: string, group: string | null): Promise<void> {
    const { namespace = '' } = this.place(name);
    const metadata = { annotations: { 'ovn.kubernetes.io/security_groups': group } };
    await this.#changed(() => this.services.controller.kube.patch(pods, { namespace, name }, 'merge', { metadata }));
  }

  /** Security groups that let everything reach a pod, and nothing. */
  async addGroups(): Promise<void> {
    const { controller } = this.services;
    const rule = { ipVersion: 'ipv4', protocol: 'all', priority: 1, remoteType: 'address', policy: 'allow' };
    const open = [{ ...rule, remoteAddress: '0.0.0.0/0' }];
    const spec = { ingressRules: open, egressRules: open };
    await controller.create(securityGroups, 'open', spec);
    await controller.create(securityGroups, 'shut', { ...spec, ingressRules: [] });
  }

  place(name: string): Place {
    const place = this.places.get(name);
    if (place === undefined) throw new Error(`no pod or node ${name}`);
    return place;
  }

  /** The pod at a port of the bridge of a node, as the daemon finds it. */
  podAt(node: NodeName, port: number) {
    for (const { name, namespace, node: own, labels } of this.places.values())
      if (namespace !== undefined && own === node && this.services.portOf(name, node) === port)
        return { pod: { name, namespace, labels, uid: name }, provider: 'ovn' };
    return undefined;
  }

  /** Every connection between two places, to a pod or a serving node; what a node does to its own pods is always allowed. */
  probes(): readonly Probe[] {
    const world = {
      policies: [...this.policies.values()],
      clusterPolicies: [...this.clusterPolicies.values()],
      namespaces: this.#namespaces,
      nodes: [...this.#nodes.values()],
    };
    const probes: Probe[] = [];
    for (const from of this.places.values())
      for (const to of this.places.values())
        if (from !== to && (from.namespace !== undefined || to.namespace !== undefined))
          for (const [index, destination] of to.served.entries())
            for (const protocol of ['TCP', 'UDP'] as const)
              for (const port of servedPorts) {
                const connection = { from, to, source: from.addresses[index] ?? '', destination, protocol, port };
                const isOwn = from.namespace === undefined && from.node === to.node;
                probes.push({ from, connection, isAllowed: isOwn || isAllowed(world, connection) });
              }
    return probes;
  }

  /** The connections whose outcome is not that of the model, in words. */
  async differences(): Promise<readonly string[]> {
    const found = await Promise.all(
      this.probes().map(async ({ from, connection, isAllowed: isExpected }) => {
        const { destination, protocol, port, to } = connection;
        const answer = await from.agent.ask(protocol, destination, port, isExpected ? patienceMs : silenceMs);
        const isThere = answer !== 'silent' && answer !== 'refused';
        if (isThere === isExpected) return [];
        return [
          `${from.name} → ${to.name} ${destination} ${protocol} ${port}: ${answer}, should be ${isExpected ? 'allowed' : 'silent'}`,
        ];
      }),
    );
    return found.flat();
  }

  /** Waits until packets and model agree. */
  async untilEqual(what: string, timeoutMs?: number): Promise<void> {
    await eventually(
      what,
      async () => {
        const differences = await this.differences();
        if (differences.length > 0) throw new Error(`${differences.length}: ${differences.slice(0, 6).join('; ')}`);
        return true;
      },
      timeoutMs,
    );
  }
}
