/** Pods on two nodes with programs that send each other datagrams. */
import { apiVersionOf, networkPolicies, pods } from '../../../lib/kube/resources.ts';
import type { Policy } from '../../model/network-policies.ts';
import { type NodeName, ServiceBed } from '../../system/service-bed.ts';
import { Prober } from './prober.ts';

/** Where pods answer: policies allow the first, or the first two, and none of them the last. */
export const [allowedPort, otherPort, deniedPort] = [9000, 9001, 9999] as const;
export const servedPorts = [allowedPort, otherPort, deniedPort] as const;

export interface Placed {
  readonly namespace: string;
  readonly node: NodeName;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ProbedPod extends Placed {
  readonly name: string;
  readonly address: string;
  readonly mac: string;
  readonly prober: Prober;
}

const annotation = { mac: 'ovn.kubernetes.io/mac_address' } as const;
const gateways = ['10.16.0.1', 'fd00:10::1'] as const;

export class ProbeBed {
  readonly services: ServiceBed;
  readonly pods = new Map<string, ProbedPod>();

  private constructor(services: ServiceBed) {
    this.services = services;
  }

  static async open(namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>): Promise<ProbeBed> {
    const bed = new ProbeBed(await ServiceBed.open());
    try {
      bed.services.favourSwitches();
      for (const [name, labels] of Object.entries(namespaces))
        await bed.services.controller.createNamespace(name, labels);
    } catch (error) {
      await bed.close();
      throw error;
    }
    return bed;
  }

  async close(): Promise<void> {
    for (const { prober } of this.pods.values()) await prober.stop();
    await this.services.close();
  }

  /** A pod that is there. */
  async addPod(name: string, placed: Placed): Promise<ProbedPod> {
    const { services } = this;
    await services.plugPod(name, placed.node, placed);
    const annotations = await services.controller.annotations(pods, name, placed.namespace);
    return this.#probed(name, placed, annotations[annotation.mac] ?? '');
  }

  /** A pod whose interface waits for it, and that `createPod` creates; `number`: another one for each. */
  async wirePod(name: string, placed: Placed, number: number): Promise<ProbedPod> {
    const low = String((number % 250) + 1);
    const addresses = [
      `10.16.${String(100 + Math.floor(number / 250))}.${low}`,
      `fd00:10::${(0x6400 + number).toString(16)}`,
    ];
    const mac = `0a:64:00:00:${(number >> 8).toString(16).padStart(2, '0')}:${(number & 255).toString(16).padStart(2, '0')}`;
    this.services.wirePod(name, placed.node, { namespace: placed.namespace, addresses, mac, gateways });
    return this.#probed(name, placed, mac);
  }

  /** Resolves when the API server has answered. */
  async createPod({ name, namespace, node, labels, mac }: ProbedPod): Promise<void> {
    const address = this.services.addressesOf(name).join();
    const annotations = { 'ovn.kubernetes.io/ip_address': address, [annotation.mac]: mac };
    await this.services.controller.createPod(name, { namespace, node, labels, annotations });
  }

  /** Ends the program and the interface of a pod that was wired. */
  async removeWired({ name, node, prober }: ProbedPod): Promise<void> {
    await prober.stop();
    this.services.unwirePod(name, node);
    this.pods.delete(name);
  }

  /** Pods know each other, so that no datagram waits for an answer to ARP. */
  async #probed(name: string, placed: Placed, mac: string): Promise<ProbedPod> {
    const [address = ''] = this.services.addressesOf(name);
    const pod = { ...placed, name, address, mac, prober: await Prober.start(this.services.space(name), servedPorts) };
    for (const other of this.pods.values()) {
      this.#introduce(pod, other);
      this.#introduce(other, pod);
    }
    this.pods.set(name, pod);
    return pod;
  }

  #introduce({ name }: ProbedPod, { address, mac }: ProbedPod): void {
    this.services.batch(name, [`neigh replace ${address} lladdr ${mac} dev eth0 nud permanent`]);
  }

  async apply(policy: Policy): Promise<void> {
    const { namespace, name } = policy.metadata;
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${name}?fieldManager=bench&force=true`;
    const body = { apiVersion: apiVersionOf(networkPolicies), kind: networkPolicies.kind, ...policy };
    const contentType = 'application/apply-patch+yaml';
    await this.services.controller.kube.request('PATCH', path, body, { contentType });
  }
}
