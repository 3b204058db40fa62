/** Flows of one node, on which some pods are, with policies or with bare ACLs. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Operation } from 'ovsdb-client';
import { networkPolicies, pods } from '../../../lib/kube/resources.ts';
import type { Policy } from '../../model/network-policies.ts';
import { nameOf } from '../../system/controller-bed.ts';
import { words } from '../../system/ovn-bed.ts';
import { flowsOf } from './flow-count.ts';
import { numbers } from './measurement.ts';
import { ProbeBed } from './probe-bed.ts';
import { namespaceCount, namespaceName, podLabels } from './profile.ts';
import { forAll } from '../scale-pods.ts';

/** An ACL of a direction: what allows packets, without the pods. */
export interface BareRule {
  readonly direction: 'ingress' | 'egress';
  readonly match: string;
}

/** No row of the database has changed for so long: a controller that has much to do writes a part at a time. */
const quietMs = 1500;
const bareGroup = 'bench';
/** OVN makes two of an ACL that allows: for new connections and for existing ones. */
export const logicalFlows = 2;
/** One flow for each pod and logical flow. */
const oneAddress = 'ip4.src == 192.0.2.1';
const priority = 2001;

export class FlowBed {
  readonly #bed: ProbeBed;
  readonly #localPods: readonly string[];

  private constructor(bed: ProbeBed, localPods: readonly string[]) {
    this.#bed = bed;
    this.#localPods = localPods;
  }

  /** Namespaces with so many pods each; those of the first one are on the node. */
  static async open(podsPerNamespace: number): Promise<FlowBed> {
    const bed = await ProbeBed.open(Object.fromEntries(numbers(namespaceCount).map((at) => [namespaceName(at), {}])));
    const names = numbers(podsPerNamespace).map((at) => `pod-${String(at)}`);
    try {
      const { services } = bed;
      await forAll(numbers(namespaceCount - 1), async (at) => {
        for (const [place, name] of names.entries())
          await services.controller.createPod(name, {
            namespace: namespaceName(at + 1),
            node: 'n2',
            labels: podLabels(place, podsPerNamespace),
          });
      });
      for (const [place, name] of names.entries())
        await services.plugPod(name, 'n1', { namespace: namespaceName(0), labels: podLabels(place, podsPerNamespace) });
    } catch (error) {
      await bed.close();
      throw error;
    }
    return new FlowBed(
      bed,
      names.map((name) => `${name}.${namespaceName(0)}`),
    );
  }

  close(): Promise<void> {
    return this.#bed.close();
  }

  /** Addresses of all pods in these Namespaces, of both families. */
  async addresses(namespaces: readonly string[]): Promise<readonly string[]> {
    const all = await this.#bed.services.controller.kube.list(pods);
    return all.flatMap(({ metadata: { namespace = '', annotations = {} } }) =>
      namespaces.includes(namespace) ? (annotations['ovn.kubernetes.io/ip_address'] ?? '').split(',') : [],
    );
  }

  /** Number of flows of the node with these policies and no others. */
  async withPolicies(all: readonly Policy[]): Promise<number> {
    const { kube } = this.#bed.services.controller;
    await this.#untilQuiet();
    for (const policy of all) await this.#bed.apply(policy);
    const count = await this.#count();
    for (const { metadata } of all) await kube.delete(networkPolicies, metadata);
    return count;
  }

  /** Flows that bare ACLs of the pods on the node cost, beside those that a switch has for having an ACL. */
  async ofRules(rules: readonly BareRule[]): Promise<number> {
    const directions = new Set(rules.map(({ direction }) => direction));
    const least = await this.#withRules([...directions].map((direction) => ({ direction, match: oneAddress })));
    const own = directions.size * logicalFlows * this.#localPods.length;
    return (await this.#withRules(rules)) - least + own;
  }

  async #withRules(rules: readonly BareRule[]): Promise<number> {
    const { nb } = this.#bed.services.controller;
    await this.#untilQuiet();
    const ports = [...nb.cache.table('Logical_Switch_Port').rows.values()].filter((row) =>
      this.#localPods.includes(nameOf(row)),
    );
    const inserts = rules.map(({ direction, match }, at): Operation => {
      const isIngress = direction === 'ingress';
      const pod = `${isIngress ? 'outport' : 'inport'} == @${bareGroup}`;
      const row = {
        direction: isIngress ? 'to-lport' : 'from-lport',
        priority,
        match: `${pod} && ${match}`,
        action: 'allow-related',
        ...(isIngress ? {} : { options: { 'apply-after-lb': 'true' } }),
      };
      return { op: 'insert', table: 'ACL', uuidName: `a${String(at)}`, row };
    });
    const group = {
      name: bareGroup,
      ports: ports.map(({ _uuid }) => _uuid),
      acls: inserts.map((_, at) => ({ named: `a${String(at)}` })),
    };
    await nb.transact([...inserts, { op: 'insert', table: 'Port_Group', row: group }]);
    const count = await this.#count();
    await nb.transact([{ op: 'delete', table: 'Port_Group', where: [['name', '==', bareGroup]] }]);
    return count;
  }

  async #count(): Promise<number> {
    await this.#untilQuiet();
    return (await flowsOf(this.#bed, 'n1')).length;
  }

  /** Until the database has what was asked for, and the nodes have it. */
  async #untilQuiet(): Promise<void> {
    const { controller } = this.#bed.services;
    for (let before = -1; before !== controller.changes;) {
      before = controller.changes;
      await pause(quietMs);
    }
    words(`ovn-nbctl --timeout=120 --wait=hv --db=${controller.server.remote} sync`);
  }
}
