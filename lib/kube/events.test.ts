import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { KubeApiError } from './errors.ts';
import { EventRecorder } from './events.ts';
import type { EventSubject } from './events.ts';
import type { KubeClient, ObjectName } from './types.ts';

interface StoredEvent {
  count: number;
  metadata: ObjectName;
  [field: string]: unknown;
}

/** The events of an API server, by name. */
class EventStore {
  readonly stored = new Map<string, StoredEvent>();
  readonly calls: string[] = [];
  readonly client = {
    create: async (_: unknown, object: StoredEvent) => {
      this.calls.push('create');
      if (this.stored.has(object.metadata.name)) throw new KubeApiError(409, 'AlreadyExists', 'exists');
      this.stored.set(object.metadata.name, structuredClone(object));
    },
    get: async (_: unknown, { name }: ObjectName) => this.#find(name),
    patch: async (_: unknown, { name }: ObjectName, __: unknown, body: object) => {
      this.calls.push('patch');
      Object.assign(this.#find(name), body);
    },
  } as unknown as KubeClient;

  #find(name: string): StoredEvent {
    const found = this.stored.get(name);
    if (!found) throw new KubeApiError(404, 'NotFound', 'none');
    return found;
  }

  get all(): StoredEvent[] {
    return [...this.stored.values()];
  }
}

const subnet: EventSubject = { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', name: 'a', uid: 'u1' };
const pod: EventSubject = { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u2' };

function recorder(store: EventStore, limits = {}) {
  return new EventRecorder({ client: store.client, component: 'isthmus-controller', instance: 'c1', limits });
}

test('the same event is one object whose count goes up', async () => {
  const store = new EventStore();
  const events = recorder(store, { nowMs: () => 1_000_000 });
  for (let count = 0; count < 3; count++) {
    events.record(pod, 'Warning', 'NoAvailableAddress', 'subnet "a" is full');
    await events.idle();
  }
  assert.deepEqual(store.calls, ['create', 'patch', 'patch']);
  const [event] = store.all;
  assert.equal(event?.count, 3);
  assert.equal(event.metadata.namespace, 'shop');
  assert.deepEqual(event['involvedObject'], pod);
  assert.deepEqual(event['source'], { component: 'isthmus-controller', host: 'c1' });
});

test('a burst of the same event becomes one write with the right count', async () => {
  const store = new EventStore();
  const events = recorder(store);
  for (let count = 0; count < 5; count++) events.record(pod, 'Warning', 'Full', 'full');
  await events.idle();
  assert.equal(store.all[0]?.count, 5);
  assert.ok(store.calls.length <= 3, store.calls.join(' '));
});

test('events of cluster-scoped objects are in the namespace default', async () => {
  const store = new EventStore();
  const events = recorder(store);
  events.record(subnet, 'Warning', 'CidrOverlap', 'overlaps with b');
  await events.idle();
  assert.equal(store.all[0]?.metadata.namespace, 'default');
});

test('a restarted process continues the count; an event that the server deleted starts again', async () => {
  const store = new EventStore();
  const first = recorder(store);
  first.record(subnet, 'Warning', 'CidrOverlap', 'overlaps with b');
  await first.idle();
  const second = recorder(store);
  second.record(subnet, 'Warning', 'CidrOverlap', 'overlaps with b');
  await second.idle();
  assert.equal(store.all.length, 1);
  assert.equal(store.all[0]?.count, 2);
  store.stored.clear();
  second.record(subnet, 'Warning', 'CidrOverlap', 'overlaps with b');
  await second.idle();
  assert.equal(store.all.length, 1);
});

test('instances of a room share an event, unless each keeps its own', async () => {
  const countsOf = async (isApart: boolean): Promise<number[]> => {
    const store = new EventStore();
    for (const instance of ['n1', 'n2', 'n1']) {
      const events = new EventRecorder({ client: store.client, component: 'isthmus-daemon', instance, isApart });
      events.record(subnet, 'Warning', 'CidrOverlap', 'overlaps with b');
      await events.idle();
    }
    return store.all.map(({ count }) => count);
  };
  assert.deepEqual(await countsOf(false), [3]);
  assert.deepEqual(await countsOf(true), [2, 1]);
});

test('another message is another event; an object that repeats one reason is slowed down, others are not', async () => {
  const store = new EventStore();
  let nowMs = 0;
  const events = recorder(store, { burst: 3, refillMs: 1000, nowMs: () => nowMs });
  for (let count = 0; count < 10; count++) events.record(pod, 'Warning', 'Odd', `message ${count}`);
  events.record(pod, 'Normal', 'Fine', 'fine');
  events.record(subnet, 'Warning', 'Odd', 'odd');
  await events.idle();
  assert.equal(store.all.length, 5);
  nowMs = 1000;
  events.record(pod, 'Warning', 'Odd', 'later');
  events.record(pod, 'Warning', 'Odd', 'too soon');
  await events.idle();
  assert.equal(store.all.length, 6);
});

test('long messages are truncated to the limit of the server', async () => {
  const store = new EventStore();
  const events = recorder(store);
  events.record(pod, 'Warning', 'Long', 'x'.repeat(5000));
  await events.idle();
  assert.match(String(store.all[0]?.['message']), /^x{1023}…$/);
});

test('an event that the server refuses is dropped', async () => {
  const store = new EventStore();
  store.client.create = async () => {
    throw new KubeApiError(422, 'Invalid', 'no');
  };
  const events = recorder(store);
  events.record(pod, 'Warning', 'Odd', 'odd');
  await events.idle();
  assert.equal(store.all.length, 0);
});
