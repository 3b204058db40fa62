import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { openKube } from '../../lib/kube/client.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { EventRecorder } from '../../lib/kube/events.ts';
import { runWithLease } from '../../lib/kube/leader.ts';
import { reflect } from '../../lib/kube/reflector.ts';
import { configMaps, events, leases, namespaces, nodes } from '../../lib/kube/resources.ts';
import { startApiServer } from '../../lib/kube/testing.ts';
import type { TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, RawObject, Reflector, ReflectorOptions, Resource } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import { createLogger } from '../../lib/run/logger.ts';

const log = createLogger('test', 'silent');
const timing = { baseMs: 50, maxMs: 500 };
const valueOf = (raw: RawObject) => (raw['data'] as Record<string, string> | undefined)?.['value'] ?? '';

let server: TestApiServer;
let client: KubeClient;

before(async () => {
  server = await startApiServer();
  client = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
});
after(async () => {
  await client.close();
  await server.stop();
});

function mirror(options: Partial<ReflectorOptions<string>> = {}): Reflector<string> {
  return reflect({
    client,
    resource: configMaps,
    namespace: 'default',
    labelSelector: 'mirror=yes',
    parse: valueOf,
    timing,
    ...options,
  });
}

async function holds(reflector: Reflector<string>, key: string, value: string | undefined): Promise<void> {
  if (reflector.get(key) === value) return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${key} is ${reflector.get(key)}, not ${value}`)), 60_000);
    const unsubscribe = reflector.subscribe(() => {
      if (reflector.get(key) !== value) return;
      clearTimeout(timer);
      unsubscribe();
      resolve();
    });
  });
}

const write = (name: string, value: string) =>
  client.patch(configMaps, { namespace: 'default', name }, 'apply', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { mirror: 'yes' } },
    data: { value },
  });

test('a reflector mirrors created, changed and deleted objects that its selector matches', async () => {
  const reflector = mirror();
  await reflector.synced;
  await write('a', '1');
  await holds(reflector, 'default/a', '1');
  await write('a', '2');
  await holds(reflector, 'default/a', '2');
  await client.patch(configMaps, { namespace: 'default', name: 'a' }, 'merge', {
    metadata: { labels: { mirror: 'no' } },
  });
  await holds(reflector, 'default/a', undefined);
  await write('b', '1');
  await holds(reflector, 'default/b', '1');
  await client.delete(configMaps, { namespace: 'default', name: 'b' });
  await holds(reflector, 'default/b', undefined);
  await reflector.stop();
});

test('a reflector lists more objects than one page', async () => {
  await Promise.all(Array.from({ length: 700 }, (_, index) => write(`many-${index}`, String(index))));
  const reflector = mirror();
  await reflector.synced;
  assert.equal(reflector.size, 700);
  assert.equal(reflector.get('default/many-699'), '699');
  await reflector.stop();
});

test('a watch that the server ends after its time limit continues without a gap', async () => {
  const reflector = mirror({ timing: { ...timing, watchSeconds: 1, random: () => 0 } });
  await reflector.synced;
  await new Promise((resolve) => setTimeout(resolve, 2500));
  await write('ended', '1');
  await holds(reflector, 'default/ended', '1');
  await reflector.stop();
});

test('a reflector receives changes from before and after a crash of the API server', async () => {
  const reflector = mirror();
  await reflector.synced;
  await write('crash', '1');
  await holds(reflector, 'default/crash', '1');
  await server.kill();
  await server.restart();
  await write('crash', '2');
  await holds(reflector, 'default/crash', '2');
  await client.delete(configMaps, { namespace: 'default', name: 'crash' });
  await holds(reflector, 'default/crash', undefined);
  await reflector.stop();
});

test('a reflector detects a frozen API server by its silence', { timeout: 120_000 }, async () => {
  const noticed = Promise.withResolvers<void>();
  const log = pino({}, { write: () => noticed.resolve() });
  const reflector = mirror({ log, timing: { ...timing, silenceMs: 1500 } });
  await reflector.synced;
  // An event shows that the watch is open.
  await write('frozen', '0');
  await holds(reflector, 'default/frozen', '0');
  server.signal('SIGSTOP');
  await noticed.promise;
  server.signal('SIGCONT');
  await write('frozen', '1');
  await holds(reflector, 'default/frozen', '1');
  await reflector.stop();
});

test('one of two candidates leads, and releases its lease to the other at once', async () => {
  const run = (identity: string) => {
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    const ended = runWithLease({
      client,
      namespace: 'kube-system',
      name: 'isthmus-test',
      identity,
      log,
      signal: stop.signal,
      lead: async (signal) => {
        started.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
    return { started: started.promise, end: () => (stop.abort(), ended) };
  };
  const first = run('first');
  await first.started;
  const second = run('second');
  await new Promise((resolve) => setTimeout(resolve, 2500));
  const holder = async () =>
    (
      (await client.get(leases, { namespace: 'kube-system', name: 'isthmus-test' }))['spec'] as {
        holderIdentity: string;
      }
    ).holderIdentity;
  assert.equal(await holder(), 'first');
  const endedMs = performance.now();
  await first.end();
  await second.started;
  // A lease that is not released expires after fifteen seconds.
  assert.ok(performance.now() - endedMs < 12_000);
  assert.equal(await holder(), 'second');
  await second.end();
  assert.equal(await holder(), '');
});

test('events of namespaced and cluster-scoped objects are accepted and counted', async () => {
  const recorder = new EventRecorder({ client, component: 'isthmus-test', instance: 'here' });
  const kubeSystem = await client.get(namespaces, { name: 'kube-system' });
  const subject = { apiVersion: 'v1', kind: 'Namespace', name: 'kube-system', uid: kubeSystem.metadata.uid };
  const map = await write('subject', '1');
  const mapSubject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: 'subject',
    namespace: 'default',
    uid: map.metadata.uid,
  };
  for (let count = 0; count < 2; count++) {
    recorder.record(subject, 'Warning', 'Odd', 'something odd');
    recorder.record(mapSubject, 'Normal', 'Fine', 'all well');
    await recorder.idle();
  }
  const found = await client.list(events, { namespace: 'default', fieldSelector: 'source=isthmus-test' });
  assert.deepEqual(found.map((event) => `${String(event['reason'])} ${String(event['count'])}`).sort(), [
    'Fine 2',
    'Odd 2',
  ]);
});

test('a write with an old resource version returns a conflict', async () => {
  const before = await write('conflict', '1');
  await write('conflict', '2');
  const writer = new ObjectWriter();
  const outcome = await writer.enqueue('conflict', () =>
    client.patch(configMaps, { namespace: 'default', name: 'conflict' }, 'merge', {
      metadata: { resourceVersion: before.metadata.resourceVersion },
      data: { value: '3' },
    }),
  );
  assert.ok(outcome instanceof KubeApiError && outcome.status === 409);
});

test('a deletion with the uid of a former object keeps the present one', async () => {
  await write('again', '1');
  await client.delete(
    configMaps,
    { namespace: 'default', name: 'again' },
    { uid: '00000000-0000-0000-0000-000000000000' },
  );
  assert.equal(valueOf(await client.get(configMaps, { namespace: 'default', name: 'again' })), '1');
});

const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

async function install({ group, plural, kind }: Resource): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await client.request('POST', crdPath, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { plural, kind },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
}

test('a reflector waits for a kind that is not installed yet', async () => {
  const widgets = {
    group: 'test.isthmus.network',
    version: 'v1',
    plural: 'widgets',
    kind: 'Widget',
    namespaced: false,
  };
  const reflector = reflect({ client, resource: widgets, parse: (raw) => raw.metadata.name, timing });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await install(widgets);
  await reflector.synced;
  await client.create(widgets, { apiVersion: 'test.isthmus.network/v1', kind: 'Widget', metadata: { name: 'w' } });
  await holds(reflector, 'w', 'w');
  await reflector.stop();
});

test('a reflector of an optional kind is empty while the kind is not installed', { timeout: 120_000 }, async () => {
  const gadgets = {
    group: 'test.isthmus.network',
    version: 'v1',
    plural: 'gadgets',
    kind: 'Gadget',
    namespaced: false,
  };
  const reflector = reflect({
    client,
    resource: gadgets,
    parse: (raw) => raw.metadata.name,
    optional: true,
    timing: { ...timing, absentMs: 100 },
  });
  await reflector.synced;
  assert.equal(reflector.size, 0);
  for (const name of ['one', 'two']) {
    await install(gadgets);
    const gadget = { apiVersion: 'test.isthmus.network/v1', kind: 'Gadget', metadata: { name } };
    await untilAnswered(200, () => client.create(gadgets, gadget));
    await holds(reflector, name, name);
    const path = `${crdPath}/${gadgets.plural}.${gadgets.group}`;
    await client.request('DELETE', path);
    await holds(reflector, name, undefined);
    assert.equal(reflector.size, 0);
    await untilAnswered(404, () => client.request('GET', path));
  }
  await reflector.stop();
});

async function untilAnswered(status: 200 | 404, ask: () => Promise<unknown>): Promise<void> {
  const answer = async (): Promise<number> => {
    try {
      await ask();
      return 200;
    } catch (error) {
      if (error instanceof KubeApiError) return error.status;
      throw error;
    }
  };
  while ((await answer()) !== status) await new Promise((resolve) => setTimeout(resolve, 50));
}

test('a reflector is synced if its selector matches no objects', async () => {
  const reflector = mirror({ resource: nodes, labelSelector: 'no=such' });
  await reflector.synced;
  assert.equal(reflector.size, 0);
  await reflector.stop();
});

test('a write that requests only metadata returns only metadata and writes the whole object', async () => {
  const metadata = { namespace: 'default', name: 'metadata-answer' };
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { value: 'one' } };
  const created = await client.create(configMaps, object, { answer: 'metadata' });
  const patch = { data: { value: 'two' } };
  const patched = await client.patch(configMaps, metadata, 'merge', patch, { answer: 'metadata' });
  const whole = await client.get(configMaps, metadata);
  assert.deepEqual([valueOf(created), valueOf(patched), valueOf(whole)], ['', '', 'two']);
  assert.equal(patched.metadata.resourceVersion, whole.metadata.resourceVersion);
  await client.delete(configMaps, metadata);
});
