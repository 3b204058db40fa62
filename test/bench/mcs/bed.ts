/**
 * The test bed of the measurements of Services and policies of several clusters: the lab, three pods that serve and one client in each
 * cluster, Services whose endpoints the benchmark writes itself, and the northbound databases.
 */
import { join } from 'node:path';
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { apiVersionOf, endpointSlices, serviceExports, serviceImports, services } from '../../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../../lib/kube/types.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';
import type { LabHandle } from '../../lab/lib/lab.ts';
import { addWorkload, waitForPods } from '../../system/workload.ts';
import { IcBed } from '../ic/bed.ts';
import type { Answer } from './prober.ts';
import { PodProcess } from './pod-process.ts';

export const namespace = 'bench-mcs';
export const clusters = ['east', 'west'] as const;
export type Cluster = (typeof clusters)[number];
export const backends = ['b1', 'b2', 'b3'] as const;
export type Backend = (typeof backends)[number];

const client = 'client';
const servedPort = 9000;
const traffic = join(import.meta.dirname, '../services/traffic.ts');
const prober = join(import.meta.dirname, 'prober.ts');

export class McsBed {
  readonly lab: LabHandle;
  readonly ic: IcBed;
  readonly #kube = new Map<Cluster, KubeClient>();
  readonly #northbound = new Map<Cluster, OvsdbClient>();
  readonly #addresses = new Map<string, string>();
  readonly #processes: PodProcess[] = [];
  readonly #probers = new Map<Cluster, PodProcess>();

  constructor(lab: LabHandle) {
    this.lab = lab;
    this.ic = new IcBed(lab);
  }

  async prepare(): Promise<void> {
    await this.ic.prepare();
    for (const cluster of clusters) await this.#prepare(cluster);
    await this.ic.settle();
  }

  async #prepare(cluster: Cluster): Promise<void> {
    const { lab } = this;
    this.#kube.set(cluster, lab.kube(cluster));
    const database = await openOvsdb({
      remotes: [`unix:${join(lab.cluster(cluster).dir, 'nb.sock')}`],
      database: 'OVN_Northbound',
      monitor: { Load_Balancer: ['name', 'vips'], Address_Set: ['name', 'addresses'] },
    });
    this.#northbound.set(cluster, database);
    const pods = [client, ...backends].map((name, at) => ({ name, node: `n${(at % 2) + 1}` }));
    await addWorkload(lab, cluster, { namespace, pods });
    await waitForPods(lab, cluster, namespace, pods.length);
    for (const name of backends) {
      this.#addresses.set(`${cluster}/${name}`, await lab.addressOf(cluster, `${namespace}/${name}`));
      const server = this.start(cluster, name, traffic, 'serve', servedPort, nameOf(cluster, name));
      await server.next();
    }
    this.#probers.set(cluster, this.start(cluster, client, prober));
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.stop()));
    await Promise.all([...this.#kube.values(), ...this.#northbound.values()].map((one) => one.close()));
  }

  kube(cluster: Cluster): KubeClient {
    return found(this.#kube.get(cluster));
  }

  northbound(cluster: Cluster): OvsdbClient {
    return found(this.#northbound.get(cluster));
  }

  addressOf(cluster: Cluster, backend: Backend): string {
    return found(this.#addresses.get(`${cluster}/${backend}`));
  }

  start(cluster: Cluster, pod: string, program: string, ...args: readonly (string | number)[]): PodProcess {
    const started = new PodProcess(this.lab.ns(cluster, `${namespace}/${pod}`), program, ...args);
    this.#processes.push(started);
    return started;
  }

  /** A client that opens a number of connections each second. */
  requests(cluster: Cluster, address: string, perSecond: number): PodProcess {
    return this.start(cluster, client, traffic, 'request', address, 80, perSecond);
  }

  /** When a pod answered the client of a cluster; `atMs` by the clock of the machine. */
  async untilAnswers(
    from: Cluster,
    address: string,
    port: number,
    [cluster, pod]: readonly [Cluster, Backend],
  ): Promise<number> {
    const question = { address, port, name: nameOf(cluster, pod) };
    return (await found(this.#probers.get(from)).ask<Answer>(question)).atMs;
  }

  async untilSilent(from: Cluster, address: string, port: number): Promise<number> {
    return (await found(this.#probers.get(from)).ask<Answer>({ address, port })).atMs;
  }

  /** A Service without a selector, with these pods as endpoints. */
  async makeService(cluster: Cluster, name: string, pods: Readonly<Partial<Record<Backend, boolean>>>): Promise<void> {
    const ports = [{ name: 'tcp', protocol: 'TCP', port: 80 }];
    await this.#create(cluster, services, name, { spec: { ports } });
    const labels = { 'kubernetes.io/service-name': name };
    const fields = { addressType: 'IPv4', ports: [{ ...ports[0], port: servedPort }] };
    await this.#create(cluster, endpointSlices, name, { ...fields, endpoints: this.#endpoints(cluster, pods) }, labels);
  }

  async setReady(cluster: Cluster, name: string, pods: Readonly<Partial<Record<Backend, boolean>>>): Promise<void> {
    const endpoints = this.#endpoints(cluster, pods);
    await this.kube(cluster).patch(endpointSlices, { namespace, name }, 'merge', { endpoints });
  }

  async export(cluster: Cluster, name: string): Promise<void> {
    await this.#create(cluster, serviceExports, name, {});
  }

  /** The address of an import, once it has one. */
  async addressOfImport(cluster: Cluster, name: string): Promise<string> {
    let address = '';
    await eventually(`the import ${name} of ${cluster}`, async () => {
      const all = await this.kube(cluster).list(serviceImports, { namespace });
      const raw = all.find(({ metadata }) => metadata.name === name);
      address = (raw?.['spec'] as { ips?: string[] } | undefined)?.ips?.[0] ?? '';
      return address !== '' || notYet('no address');
    });
    return address;
  }

  /** Until a load balancer has the vip with exactly these backends, or none has the vip where `to` is undefined; `performance.now()`. */
  untilRow(cluster: Cluster, vip: string, to: string | undefined, timeoutMs = 60_000): Promise<number> {
    const database = this.northbound(cluster);
    const isSo = (): boolean => {
      const rows = [...database.cache.table('Load_Balancer').rows.values()];
      const values = rows.map((row) => (row['vips'] as Readonly<Record<string, string>>)[vip]);
      return to === undefined ? values.every((value) => value === undefined) : values.includes(to);
    };
    if (isSo()) return Promise.resolve(performance.now());
    return new Promise((resolve, reject) => {
      const stop = database.subscribe(() => {
        if (!isSo()) return;
        clearTimeout(timer);
        stop();
        resolve(performance.now());
      });
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`no load balancer of ${cluster} has ${vip} → ${to ?? 'nothing'}`));
      }, timeoutMs);
    });
  }

  #endpoints(cluster: Cluster, pods: Readonly<Partial<Record<Backend, boolean>>>): readonly object[] {
    return Object.entries(pods).map(([pod, ready]) => ({
      addresses: [this.addressOf(cluster, pod as Backend)],
      conditions: { ready },
    }));
  }

  async #create(
    cluster: Cluster,
    resource: Resource,
    name: string,
    fields: object,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const metadata = { namespace, name, labels };
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, ...fields };
    await this.kube(cluster).create(resource, body);
  }
}

/** How a pod answers. */
function nameOf(cluster: Cluster, backend: Backend): string {
  return `${cluster}-${backend}`;
}

export const backendOf = (bed: McsBed, cluster: Cluster, backend: Backend): string =>
  `${bed.addressOf(cluster, backend)}:${servedPort}`;

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the bed is not prepared');
  return value;
}
