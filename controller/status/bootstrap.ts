/** Creates the objects that every cluster needs, if they are absent: the default Vpc and the Subnets `join` and `ovn-default`. */
import { defaultSubnet, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { apiVersionOf, subnets, vpcs } from '../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';

export interface BootstrapOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly defaultCidr: string;
  readonly joinCidr: string;
}

interface Known {
  readonly vpcs: ReadonlyMap<string, unknown>;
  readonly subnets: ReadonlyMap<string, unknown>;
}

/** An object every cluster has. */
export interface Basic {
  readonly resource: Resource;
  readonly name: string;
  readonly spec: object;
}

/** By `vpcs/name` or `subnets/name`. */
export function basicsOf({
  defaultCidr,
  joinCidr,
}: Pick<BootstrapOptions, 'defaultCidr' | 'joinCidr'>): ReadonlyMap<string, Basic> {
  const common = { vpc: defaultVpc, provider: 'ovn', gatewayType: 'distributed' };
  const join = { ...common, cidrBlock: joinCidr, disableInterConnection: true };
  const pods = { ...common, cidrBlock: defaultCidr, default: true, natOutgoing: true };
  return new Map([
    [`vpcs/${defaultVpc}`, { resource: vpcs, name: defaultVpc, spec: {} }],
    [`subnets/${joinSubnet}`, { resource: subnets, name: joinSubnet, spec: join }],
    [`subnets/${defaultSubnet}`, { resource: subnets, name: defaultSubnet, spec: pods }],
  ]);
}

export class Bootstrap {
  readonly #options: BootstrapOptions;
  readonly #basics: ReadonlyMap<string, Basic>;
  /** Created, and not yet observed by the watches. */
  readonly #unseen = new Set<string>();
  readonly #done = Promise.withResolvers<void>();
  #isRunning = false;

  constructor(options: BootstrapOptions) {
    this.#options = options;
    this.#basics = basicsOf(options);
  }

  /** Call for every watched object. A required object is created again after it was deleted. */
  seen(kind: string, name: string, isThere: boolean): void {
    const key = `${kind}/${name}`;
    const basic = this.#basics.get(key);
    if (!isThere && this.#isRunning && basic !== undefined) {
      void this.#options.writer.enqueue(`bootstrap/${key}`, () => this.#create(basic));
    }
    if (isThere && this.#unseen.delete(key) && this.#unseen.size === 0) this.#done.resolve();
  }

  /** Creates absent objects and waits until the watches have them, so that the first round does not prune their rows. */
  async run(known: Known, signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    const kept = new Set([...known.vpcs.keys()].map((name) => `vpcs/${name}`));
    for (const name of known.subnets.keys()) kept.add(`subnets/${name}`);
    const missing = [...this.#basics].filter(([key]) => !kept.has(key));
    for (const [key] of missing) this.#unseen.add(key);
    for (const [, basic] of missing) await this.#create(basic);
    if (this.#unseen.size === 0) return;
    const onAbort = (): void => this.#done.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    await this.#done.promise;
    signal.removeEventListener('abort', onAbort);
  }

  async #create({ resource, name, spec }: Basic): Promise<void> {
    try {
      const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name }, spec };
      await this.#options.client.create(resource, object);
    } catch (error) {
      // Another program created the object first, which serves as well.
      if (error instanceof KubeApiError && error.reason === 'AlreadyExists') return;
      throw error;
    }
  }
}
