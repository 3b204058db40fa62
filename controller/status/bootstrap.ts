/** The objects every cluster has, made where they are absent: the default Vpc and the Subnets `join` and `ovn-default`. */
import { defaultSubnet, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { apiVersionOf, subnets, vpcs } from '../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';

export interface BootstrapOptions {
  readonly client: KubeClient;
  readonly defaultCidr: string;
  readonly joinCidr: string;
}

interface Known {
  readonly vpcs: ReadonlyMap<string, unknown>;
  readonly subnets: ReadonlyMap<string, unknown>;
}

export class Bootstrap {
  readonly #options: BootstrapOptions;
  /** Made, and not yet seen by the watches. */
  readonly #unseen = new Set<string>();
  readonly #done = Promise.withResolvers<void>();

  constructor(options: BootstrapOptions) {
    this.#options = options;
  }

  /** To be told of everything that is watched. */
  seen(kind: string, name: string): void {
    if (this.#unseen.delete(`${kind}/${name}`) && this.#unseen.size === 0) this.#done.resolve();
  }

  /** Makes what is absent and waits until the watches have it, so that the first round does not prune its rows. */
  async run(known: Known, signal: AbortSignal): Promise<void> {
    const { defaultCidr, joinCidr } = this.#options;
    const common = { vpc: defaultVpc, provider: 'ovn', gatewayType: 'distributed' };
    const wanted: readonly (readonly ['vpcs' | 'subnets', string, object])[] = [
      ['vpcs', defaultVpc, {}],
      ['subnets', joinSubnet, { ...common, cidrBlock: joinCidr, disableInterConnection: true }],
      ['subnets', defaultSubnet, { ...common, cidrBlock: defaultCidr, default: true, natOutgoing: true }],
    ];
    const missing = wanted.filter(([kind, name]) => !known[kind].has(name));
    for (const [kind, name] of missing) this.#unseen.add(`${kind}/${name}`);
    for (const [kind, name, spec] of missing) await this.#create(kind === 'vpcs' ? vpcs : subnets, name, spec);
    if (this.#unseen.size === 0) return;
    const onAbort = (): void => this.#done.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    await this.#done.promise;
    signal.removeEventListener('abort', onAbort);
  }

  async #create(resource: Resource, name: string, spec: object): Promise<void> {
    try {
      const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name }, spec };
      await this.#options.client.create(resource, object);
    } catch (error) {
      // Somebody else was faster: as good as ours.
      if (error instanceof KubeApiError && error.reason === 'AlreadyExists') return;
      throw error;
    }
  }
}
