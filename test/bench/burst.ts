/**
 * Pods that need an address but no sandbox: bound to a Node that exists in the API only, so that only the controller
 * is measured. The floor's pods are on the host network: the controller has no work with them, the API server the same work.
 */
import { annotation, defaultSubnet } from '../../lib/api/names.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { ips, namespaces, nodes, objectPath, pods } from '../../lib/kube/resources.ts';
import type { KubeClient, Reflector } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

export const namespace = 'bench';
export const phantomNode = 'phantom';
const clearTimeoutMs = 180_000;

export function podManifest(name: string, node: string, isHostNetwork = false): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { nodeName: node, hostNetwork: isHostNetwork, containers: [{ name: 'main', image: 'none' }] },
  };
}

export const createPod = (kube: KubeClient, name: string, node: string, isHostNetwork = false): Promise<unknown> =>
  kube.create(pods, podManifest(name, node, isHostNetwork));

/** Creates the namespace and, on demand, the Node without a machine. */
export async function prepare(kube: KubeClient, { withNode }: { readonly withNode: boolean }): Promise<void> {
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  if (!withNode) return;
  await kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: phantomNode } });
  await eventually('an address for the node', async () => {
    const { metadata } = await kube.get(nodes, { name: phantomNode });
    return metadata.annotations?.[annotation.allocated] === 'true' || notYet('not annotated');
  });
}

/** Removes the objects and waits until the controller has removed its rows. */
export async function clear(kube: KubeClient): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
  // One by one: the server gives up on a request for thousands. Tried again where the machine is too busy to connect.
  const writer = new ObjectWriter({ timing: { qps: 1000, burst: 1000 } });
  for (const { metadata } of await kube.list(pods, { namespace })) {
    const path = objectPath(pods, { namespace, name: metadata.name });
    void writer.enqueue(path, () => kube.request('DELETE', path, body));
  }
  await writer.idle();
  await eventually(
    'the IP objects to go',
    async () => {
      const left = (await kube.list(ips)).filter(({ metadata }) => metadata.name.endsWith(`.${namespace}`));
      return left.length === 0 || notYet(`${String(left.length)} left`);
    },
    clearTimeoutMs,
  );
  await kube.delete(nodes, { name: phantomNode });
  await kube.delete(namespaces, { name: namespace });
  await eventually(
    'the namespace to go',
    async () => {
      try {
        await kube.get(namespaces, { name: namespace });
        return notYet('still there');
      } catch (error) {
        if (error instanceof KubeApiError && error.status === 404) return true;
        throw error;
      }
    },
    clearTimeoutMs,
  );
}

/** Watches the API and the northbound database. */
export class Observer {
  readonly #isAllocated: Reflector<boolean>;
  readonly #ips: Reflector<true>;
  readonly nb: OvsdbClient;

  private constructor(isAllocated: Reflector<boolean>, ipObjects: Reflector<true>, nb: OvsdbClient) {
    this.#isAllocated = isAllocated;
    this.#ips = ipObjects;
    this.nb = nb;
  }

  static async open(kube: KubeClient, nbSocket: string): Promise<Observer> {
    const isAllocated = reflect({
      client: kube,
      resource: pods,
      namespace,
      parse: ({ metadata }) => metadata.annotations?.[annotation.allocated] === 'true',
    });
    const ipObjects = reflect({ client: kube, resource: ips, parse: () => true as const });
    const nb = await openOvsdb({
      remotes: [`unix:${nbSocket}`],
      database: 'OVN_Northbound',
      monitor: { Logical_Switch: ['name'], Logical_Switch_Port: ['name'] },
      indexes: { Logical_Switch: [['name']], Logical_Switch_Port: [['name']] },
    });
    await Promise.all([isAllocated.synced, ipObjects.synced]);
    return new Observer(isAllocated, ipObjects, nb);
  }

  /** Waits until every pod is annotated and has its port and its IP object. */
  async untilAddressed(names: readonly string[], timeoutMs = 120_000): Promise<void> {
    const waiting = new Set(names);
    const ports = this.nb.cache.table('Logical_Switch_Port');
    await eventually(
      'addresses for the pods',
      () => {
        for (const name of waiting) {
          const port = `${name}.${namespace}`;
          const isDone =
            this.#isAllocated.get(`${namespace}/${name}`) === true &&
            this.#ips.get(port) === true &&
            ports.byIndex(['name'], [port]).length > 0;
          if (isDone) waiting.delete(name);
        }
        return waiting.size === 0 || notYet(`${String(waiting.size)} of ${String(names.length)} wait`);
      },
      timeoutMs,
      10,
    );
  }

  /** Adds ports to the default subnet's switch and to its group of the Node without a machine, or removes them again. */
  async ports(names: readonly string[], change: 'insert' | 'delete'): Promise<void> {
    const where = [['name', '==', defaultSubnet]] as const;
    const whereGroup = [['name', '==', `${defaultSubnet.replaceAll('-', '.')}.${phantomNode}`]] as const;
    const table = 'Logical_Switch_Port';
    const found = names.flatMap((name) => this.nb.cache.table(table).byIndex(['name'], [`${name}.${namespace}`]));
    const values =
      change === 'delete' ? found.map(({ _uuid }) => _uuid) : names.map((_, at) => ({ named: `p${String(at)}` }));
    const rows = change === 'delete' ? [] : names.map((name) => ({ name: `${name}.${namespace}`, ...portColumns }));
    await this.nb.transact([
      ...rows.map((row, at) => ({ op: 'insert' as const, table, uuidName: `p${String(at)}`, row })),
      { op: 'mutate', table: 'Logical_Switch', where, mutations: [['ports', change, values]] },
      { op: 'mutate', table: 'Port_Group', where: whereGroup, mutations: [['ports', change, values]] },
    ]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#isAllocated.stop(), this.#ips.stop(), this.nb.close()]);
  }
}

const portColumns = {
  addresses: ['0a:00:00:00:00:01 10.16.255.1'],
  port_security: ['0a:00:00:00:00:01 10.16.255.1'],
  external_ids: { vendor: 'bench', ls: defaultSubnet },
};
