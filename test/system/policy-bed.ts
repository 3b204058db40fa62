/** Pods of several namespaces on a ServiceBed, with programs that serve and ask, and the policies that the API server has: for comparison with the model. */
import { apiVersionOf, namespaces, networkPolicies, nodes, pods } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { isAllowed, type Connection, type Host, type Policy } from '../model/network-policies.ts';
import { Agent } from './service-agent.ts';
import { nodeNames, ServiceBed, type NodeName } from './service-bed.ts';

export const servedPorts = [8080, 8081] as const;
/** Where connections stay open. */
export const keptPort = 9090;
type Labels = Readonly<Record<string, string>>;

/** For an answer that is expected, where the machine is busy; and for one that is not. */
export const [patienceMs, silenceMs] = [4000, 500] as const;

interface Place extends Host {
  readonly node: NodeName;
  readonly addresses: readonly string[];
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
  readonly #namespaces = new Map<string, Labels>();

  private constructor(services: ServiceBed) {
    this.services = services;
  }

  static async open(): Promise<PolicyBed> {
    const bed = new PolicyBed(await ServiceBed.open());
    try {
      for (const node of nodeNames) await bed.#addNode(node);
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
    this.places.set(name, { name, namespace, node, labels, ports, addresses, agent });
  }

  async removePod(name: string): Promise<void> {
    const { namespace = '', agent } = this.place(name);
    await agent.stop();
    this.places.delete(name);
    await this.services.controller.deletePod(name, namespace);
  }

  /** A node as a client. */
  async #addNode(node: NodeName): Promise<void> {
    const { services } = this;
    services.in(node, 'ethtool -K ovn0 tx off');
    services.in(node, 'ip route add 10.16.0.0/16 via 100.64.0.1 dev ovn0');
    services.in(node, 'ip -6 route add fd00:10::/112 via fd00:64::1 dev ovn0');
    const { 'ovn.kubernetes.io/ip_address': text = '' } = await services.controller.annotations(nodes, node);
    const agent = await Agent.start(services.space(node));
    this.places.set(node, { name: node, node, labels: {}, ports: [], addresses: text.split(','), agent });
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

  /**
   * Changes an object while no connection begins or ends, and waits for the effect. A connection that is cut off while it ends sends again for a minute;
   * the userspace datapath of Open vSwitch 3.1 ends with an assertion (`conn_update_state`) if it has forgotten the connection meanwhile.
   */
  async #changed(change: () => Promise<unknown>): Promise<void> {
    const before = this.services.controller.changes;
    await change();
    await this.services.untilWritten(before);
  }

  async removeAll(): Promise<void> {
    for (const { metadata } of this.policies.values()) await this.remove(metadata.namespace, metadata.name);
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

  place(name: string): Place {
    const place = this.places.get(name);
    if (place === undefined) throw new Error(`no pod or node ${name}`);
    return place;
  }

  /** Every connection between two places, to a pod; what a node does to its own pods is always allowed. */
  probes(): readonly Probe[] {
    const world = { policies: [...this.policies.values()], namespaces: this.#namespaces };
    const probes: Probe[] = [];
    for (const from of this.places.values())
      for (const to of this.places.values())
        if (from !== to && to.namespace !== undefined)
          for (const [index, destination] of to.addresses.entries())
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
  async untilEqual(what: string, timeoutMs = 20_000): Promise<void> {
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
