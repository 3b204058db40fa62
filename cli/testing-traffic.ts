/** Clusters in which pods run as soon as they are created, and programs in them see a network that a test may break. Called by tests only. */
import { KubeApiError } from '../lib/kube/errors.ts';
import type { CommandResult, PodCommand } from '../lib/kube/exec.ts';
import { collectionPath, objectPath, pods, serviceExports, serviceImports } from '../lib/kube/resources.ts';
import type { ObjectName, RawObject, Resource } from '../lib/kube/types.ts';
import type { TestSite, TrafficTest } from './apply/test-site.ts';
import { planTests } from './plan/traffic/networks.ts';
import { wellPair, type Pair } from './testing-snapshots.ts';

const answered: CommandResult = {
  stdout: '3 packets transmitted, 3 received, 0% packet loss\nrtt min/avg/max/mdev = 0.1/0.5/0.9/0.1 ms\n',
  stderr: '',
  exitCode: 0,
};
export const lost: CommandResult = {
  stdout: '3 packets transmitted, 0 received, 100% packet loss\n',
  stderr: '',
  exitCode: 1,
};
export const refused: CommandResult = { stdout: '', stderr: 'nc: timed out', exitCode: 1 };

interface Manifest {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly spec?: {
    readonly nodeName?: string;
    readonly containers?: readonly { readonly command: readonly string[] }[];
  };
}

/** Two clusters that share all addresses of pods. */
export class FakeNetwork {
  readonly pair: Pair = wellPair();
  readonly sites: readonly FakeSite[];
  readonly notes: string[] = [];
  /** Answers by address and port. */
  readonly answers = new Map<string, string>();
  readonly stopping = new AbortController();
  break: (cluster: string, command: readonly string[]) => CommandResult | undefined = () => undefined;

  constructor() {
    this.sites = ['east', 'west'].map((cluster, at) => new FakeSite(this, cluster, at + 1));
  }

  test(more: Partial<TrafficTest> = {}): TrafficTest {
    const clusters = [this.pair.east, this.pair.west];
    return {
      sites: this.sites,
      clusters,
      plan: planTests(clusters),
      withServices: false,
      timeoutMs: 30,
      pauseMs: 1,
      signal: this.stopping.signal,
      note: (text) => void this.notes.push(text),
      ...more,
    };
  }

  get objects(): readonly string[] {
    return this.sites.flatMap(({ cluster, kept }) => [...kept.keys()].map((key) => `${cluster} ${key}`));
  }
}

class FakeSite implements TestSite {
  readonly cluster: string;
  readonly run = { id: 'run-1', image: 'isthmus:test', pullPolicy: 'IfNotPresent' };
  /** By path. */
  readonly kept = new Map<string, RawObject>();
  readonly made: object[] = [];
  /** Nodes on which pods do not start. */
  readonly stuck = new Set<string>();
  refusal: KubeApiError | undefined;
  readonly #network: FakeNetwork;
  readonly #place: number;

  constructor(network: FakeNetwork, cluster: string, place: number) {
    this.#network = network;
    this.cluster = cluster;
    this.#place = place;
  }

  readonly client: TestSite['client'] = {
    create: async (resource, object, options) => {
      options?.signal?.throwIfAborted();
      const { metadata, spec } = object as Manifest;
      const path = objectPath(resource, metadata);
      if (this.kept.has(path)) throw new KubeApiError(409, 'AlreadyExists', `${path} exists`);
      if (resource === pods && this.refusal !== undefined) throw this.refusal;
      this.made.push(object);
      const raw = { metadata: { uid: path, resourceVersion: '1', ...metadata }, spec } as unknown as RawObject;
      this.kept.set(path, resource === pods ? this.#started(raw, object as Manifest) : raw);
      if (resource === serviceExports) this.#share(metadata);
      return await Promise.resolve(raw);
    },
    get: (resource, name) => {
      const found = this.kept.get(objectPath(resource, name));
      return found === undefined
        ? Promise.reject(new KubeApiError(404, 'NotFound', 'not found'))
        : Promise.resolve(found);
    },
    list: (resource, { namespace, labelSelector, signal } = {}) => {
      signal?.throwIfAborted();
      const prefix = `${collectionPath(resource, namespace)}/`;
      const isMeant = (path: string): boolean => path.startsWith(prefix) && !path.slice(prefix.length).includes('/');
      const found = [...this.kept].filter(([path]) => isMeant(path)).map(([, raw]) => raw);
      const isSelected = ({ metadata: { labels } }: RawObject) =>
        labelSelector === undefined || labels?.[labelSelector] !== undefined;
      return Promise.resolve(found.filter(isSelected));
    },
    delete: (resource: Resource, name: ObjectName) => {
      const path = objectPath(resource, name);
      // As the other agent does.
      if (resource === serviceExports)
        for (const { kept } of this.#network.sites) kept.delete(objectPath(serviceImports, name));
      // As the controller of Namespaces does.
      for (const key of this.kept.keys()) if (key === path || key.startsWith(`${path}/`)) this.kept.delete(key);
      return Promise.resolve();
    },
    request: (_, path) => Promise.resolve(this.kept.delete(path)),
  };

  exec = async ({ command, signal }: PodCommand): Promise<CommandResult> => {
    signal.throwIfAborted();
    const broken = this.#network.break(this.cluster, command);
    if (broken !== undefined) return broken;
    if (command[0] === 'ping') return answered;
    if (command[1] === 'nslookup')
      return {
        stdout: `Server: 10.96.0.10\nAddress: 10.96.0.10:53\n\nName: x\nAddress: 100.127.0.${3 - this.#place}\n`,
        stderr: '',
        exitCode: 0,
      };
    return await Promise.resolve({
      stdout: this.#network.answers.get(command[4] ?? '') ?? '',
      stderr: '',
      exitCode: 0,
    });
  };

  #started(raw: RawObject, { metadata, spec }: Manifest): RawObject {
    const isServer = metadata.name === 'server';
    const address = `10.${15 + this.#place}.0.${isServer ? 2 : 3}`;
    this.#network.answers.set(address, spec?.containers?.[0]?.command.at(-1) ?? '');
    if (isServer) this.#network.answers.set(`100.127.0.${this.#place}`, spec?.containers?.[0]?.command.at(-1) ?? '');
    if (this.stuck.has(spec?.nodeName ?? ''))
      return { ...raw, metadata: { ...raw.metadata, annotations: { 'isthmus.network/problem': 'NoAddress: full' } } };
    const status = { phase: 'Running', podIPs: [{ ip: address }], conditions: [{ type: 'Ready', status: 'True' }] };
    return { ...raw, status };
  }

  /** As the agents do: the other cluster imports what this one exports. */
  #share({ name, namespace }: Manifest['metadata']): void {
    const path = objectPath(serviceExports, { name, namespace: namespace ?? '' });
    const condition = (type: string) => ({ type, status: 'True', reason: type, message: '' });
    this.kept.set(path, {
      ...(this.kept.get(path) as RawObject),
      status: { conditions: [condition('Valid'), condition('Ready')] },
    });
    for (const other of this.#network.sites)
      if (other !== this)
        other.kept.set(objectPath(serviceImports, { name, namespace: namespace ?? '' }), {
          metadata: { name, uid: name, resourceVersion: '1' },
          spec: { ips: [`100.127.0.${this.#place}`] },
          status: { clusters: [{ cluster: this.cluster }] },
        });
  }
}
