/** A cluster with LoadBalancerPools and Services, from the watch to the writes; used by tests only. */
import assert from 'node:assert/strict';
import type { Condition } from '../lib/api/kinds/shared.ts';
import { annotation } from '../lib/api/names.ts';
import type { RawObject } from '../lib/kube/types.ts';
import { loadBalancerReady } from '../lib/services/load-balancer.ts';
import type { Kinds } from './model/objects.ts';
import type { Capabilities } from './model/view.ts';
import { TestController } from './testing-api.ts';
import { created } from './testing-vpcs.ts';
import { kinds } from './watch/kinds.ts';

export type Fields = Readonly<Record<string, unknown>>;

interface Options {
  readonly day?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly status?: Fields;
  readonly uid?: string;
  /** Whether it was deleted, and has a finalizer. */
  readonly isDeleting?: boolean;
}

export const requested = (ips: string) => ({ [annotation.loadBalancerIps]: ips });
export const from = (pool: string) => ({ [annotation.loadBalancerPool]: pool });
export const sharing = (key: string) => ({ [annotation.sharingKey]: key });

export class LoadBalancerBed extends TestController {
  /** Each has a ClusterIP of its own, by its position. */
  readonly #services: string[] = [];

  static async of(capabilities?: Capabilities): Promise<LoadBalancerBed> {
    const bed = new LoadBalancerBed({ capabilities });
    bed.put('vpcs', { metadata: { name: 'ovn-cluster', ...created(1) }, spec: {} });
    bed.put('subnets', { metadata: { name: 'join', ...created(1) }, spec: { cidrBlock: '100.64.0.0/16' } });
    const spec = { cidrBlock: '10.16.0.0/16', default: true };
    bed.put('subnets', { metadata: { name: 'ovn-default', ...created(1) }, spec });
    bed.put('nodes', {
      metadata: { name: 'n1', ...created(1) },
      status: { addresses: [{ type: 'InternalIP', address: '172.30.0.11' }] },
    });
    for (const name of ['default', 'other']) bed.put('namespaces', { metadata: { name, labels: { team: name } } });
    bed.cluster.restore(new Map());
    await bed.done();
    return bed;
  }

  /** Another controller on the same API server. */
  async restarted(): Promise<LoadBalancerBed> {
    const bed = new LoadBalancerBed({ capabilities: this.cluster.capabilities });
    bed.#services.push(...this.#services);
    for (const raw of this.objects.values()) bed.put(kindOf(raw), raw as never);
    bed.cluster.restore(new Map());
    await bed.settle();
    return bed;
  }

  pool(name: string, addresses: readonly string[] | undefined, more: Fields = {}, day = 1): void {
    if (addresses === undefined) this.remove('loadBalancerPools', name);
    else {
      const status = this.statusOf(`LoadBalancerPool/${name}`);
      const generation = this.#generationOf(`LoadBalancerPool/${name}`) + 1;
      this.put('loadBalancerPools', {
        metadata: { name, generation, ...created(day) },
        spec: { addresses, ...more },
        status,
      });
    }
  }

  service(name: string, spec: Fields = {}, options: Options = {}): void {
    const { day = 2, annotations = {}, labels = {}, namespace = 'default', uid = `uid-${name}` } = options;
    const status = options.status ?? this.statusOf(`Service/${namespace}/${name}`);
    const finalizers = this.finalizers(name, namespace);
    const deleted = options.isDeleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
    const metadata = { name, namespace, uid, annotations, labels, finalizers, ...deleted, ...created(day) };
    const ports = [{ port: 80, protocol: 'TCP' }];
    const key = `${namespace}/${name}`;
    const at = this.#services.indexOf(key);
    const clusterIPs = [`10.96.0.${at === -1 ? this.#services.push(key) : at + 1}`];
    this.put('services', {
      metadata,
      spec: { type: 'LoadBalancer', ipFamilies: ['IPv4'], clusterIPs, ports, ...spec },
      status,
    });
  }

  finalizers(name: string, namespace = 'default'): readonly string[] {
    return this.objects.get(`Service/${namespace}/${name}`)?.metadata.finalizers ?? [];
  }

  async done(): Promise<readonly string[]> {
    await this.settle();
    return this.writes.splice(0);
  }

  addresses(name: string, namespace = 'default'): readonly string[] {
    const { ingress = [] } = (this.statusOf(`Service/${namespace}/${name}`)['loadBalancer'] ?? {}) as {
      ingress?: readonly { readonly ip: string }[];
    };
    return ingress.map(({ ip }) => ip);
  }

  /** `Reason: message` of the condition, prefixed by `!` if it is false; empty without a condition. */
  serviceCondition(name: string, namespace = 'default'): string {
    return this.#condition(`Service/${namespace}/${name}`, loadBalancerReady);
  }

  poolCondition(name: string): string {
    return this.#condition(`LoadBalancerPool/${name}`, 'Ready');
  }

  counts(name: string): readonly unknown[] {
    const { total, available, used } = this.statusOf(`LoadBalancerPool/${name}`);
    return [total, available, used];
  }

  /** The conditions of an object, as they are. */
  conditions(key: string): readonly Condition[] {
    return (this.statusOf(key)['conditions'] ?? []) as readonly Condition[];
  }

  #condition(key: string, wanted: string): string {
    const found = this.conditions(key).find(({ type }) => type === wanted);
    return found === undefined ? '' : `${found.status === 'True' ? '' : '!'}${found.reason}: ${found.message}`;
  }

  statusOf(key: string): Fields {
    return (this.objects.get(key)?.['status'] ?? {}) as Fields;
  }

  #generationOf(key: string): number {
    return this.objects.get(key)?.metadata.generation ?? 0;
  }
}

function kindOf(raw: RawObject): keyof Kinds {
  const found = (Object.keys(kinds) as (keyof Kinds)[]).find((one) => kinds[one].resource.kind === raw.kind);
  assert.ok(found, raw.kind);
  return found;
}
