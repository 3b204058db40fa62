/** Objects for the tests of addresses outside; used by tests only. */
import { randomOf } from '../lib/testing-random.ts';
import type { Kinds } from './model/objects.ts';
import type { Capabilities } from './model/view.ts';
import { TestController } from './testing-api.ts';
import { kinds } from './watch/kinds.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface Made {
  readonly kind: keyof Kinds;
  readonly raw: { readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string } } & Readonly<
    Record<string, unknown>
  >;
}

/** An object created in a second of a day in 2026; the older object prevails. */
export function made(kind: keyof Kinds, name: string, spec: object, seconds = 0, more: object = {}): Made {
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
  return { kind, raw: { metadata: { name, creationTimestamp, ...more }, spec } };
}

export const bridge = 'net1.provider-network.kubernetes.io/ready';
export const gateway = 'ovn.kubernetes.io/external-gw';

export function node(
  name: string,
  labels: Readonly<Record<string, string>>,
  { isReady = true, isCordoned = false }: { readonly isReady?: boolean; readonly isCordoned?: boolean } = {},
): Made {
  const number = name.slice(1);
  const annotations = { 'ovn.kubernetes.io/chassis': `chassis-${number}` };
  const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }];
  const status = { addresses: [{ type: 'InternalIP', address: `172.30.1.${number}` }], conditions };
  const { kind, raw } = made('nodes', name, isCordoned ? { unschedulable: true } : {}, 0, { labels, annotations });
  return { kind, raw: { ...raw, status } };
}

export const both = { [bridge]: 'true', [gateway]: 'true' };

/** A VPC `blue` with the Subnet `inner`, and the Subnets `external` and `second` outside, on the nodes n1 and n2. */
export function outside(vpc: object = { enableExternal: true }): readonly Made[] {
  return [
    made('vpcs', 'ovn-cluster', {}),
    made('vpcs', 'blue', vpc),
    made('subnets', 'ovn-default', { cidrBlock: '10.16.0.0/16' }),
    made('subnets', 'join', { cidrBlock: '100.64.0.0/16' }),
    made('subnets', 'inner', { vpc: 'blue', cidrBlock: '10.90.0.0/24', namespaces: ['default'] }),
    made('providerNetworks', 'net1', { defaultInterface: 'eth1' }),
    made('vlans', 'lan', { id: 0, provider: 'net1' }),
    made('vlans', 'dmz', { id: 100, provider: 'net1' }),
    made('subnets', 'external', { cidrBlock: '203.0.113.0/24', gateway: '203.0.113.1', vlan: 'lan' }),
    made('subnets', 'second', { cidrBlock: '198.51.100.0/24', gateway: '198.51.100.1', vlan: 'dmz' }),
    made('namespaces', 'default', {}),
    node('n1', both),
    node('n2', both),
  ];
}

/** The same values in another order. */
export function shuffled<T>(values: readonly T[], seed: number): readonly T[] {
  const random = randomOf(seed);
  const rest = [...values];
  return values.map(() => rest.splice(random(rest.length), 1)[0] as T);
}

/** A controller that has settled and written everything about the objects. */
export async function controllerOf(objects: readonly Made[], capabilities?: Capabilities): Promise<TestController> {
  const controller = new TestController({ capabilities });
  for (const { kind, raw } of objects) controller.put(kind, raw);
  controller.cluster.restore(new Map());
  await controller.settle();
  return controller;
}

/** The objects of a controller as another process finds them. */
export function storedIn({ objects }: TestController): readonly Made[] {
  return [...objects].map(([key, raw]) => {
    const found = Object.entries(kinds).find(([, { resource }]) => key.startsWith(`${resource.kind}/`));
    if (found === undefined) throw new Error(`${key} is of no kind`);
    return { kind: found[0] as keyof Kinds, raw: { ...raw, metadata: { ...raw.metadata } } };
  });
}

/** A user edits objects: their statuses stay. */
export function edit(controller: TestController, ...objects: readonly Made[]): Promise<void> {
  for (const { kind, raw } of objects) {
    const before = controller.objects.get(`${kinds[kind].resource.kind}/${raw.metadata.name}`);
    controller.put(kind, { ...raw, ...(before?.['status'] === undefined ? {} : { status: before['status'] }) });
  }
  return controller.settle();
}

/** The status, reason and message of a condition. */
export function conditionOf({ objects }: TestController, key: string, type = 'Ready'): string {
  const status = objects.get(key)?.['status'] as { readonly conditions?: readonly Condition[] } | undefined;
  const is = status?.conditions?.find((one) => one.type === type);
  return `${is?.status} ${is?.reason} ${is?.message}`;
}
