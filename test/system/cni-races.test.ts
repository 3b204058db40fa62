/** Concurrent requests: two sandboxes of one pod, a DEL during an ADD, an ADD whose runtime has given up. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode, type CniAnswer } from '../../daemon/testing.ts';
import { inPod, traces } from './cni-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;

before(async () => {
  cluster = await startCluster(node);
  await node.startDaemon(cluster.kubeconfig);
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

async function ok(answer: Promise<CniAnswer>): Promise<Record<string, unknown>> {
  const { status, json } = await answer;
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}`);
  return json;
}

async function codeOf(answer: Promise<CniAnswer>): Promise<unknown> {
  const { status, json } = await answer;
  assert.equal(status, 1, JSON.stringify(json));
  return json['code'];
}

/** Creates another sandbox of the pod, like a runtime. */
function anotherOf({ name, uid }: TestPod): TestPod {
  return cluster.sandboxOf(name, uid, createHash('sha256').update(`${name} again`).digest('hex'));
}

const gateway = '172.30.9.11';
const reaches = (pod: TestPod): string => inPod(pod, 'ping', '-c1', '-W2', gateway);

/** The number of requests that are being served. */
function connections(): number {
  const sockets = readFileSync('/proc/net/unix', 'utf8').split('\n');
  const connected = '03';
  return sockets.filter((line) => {
    const [, , , , , state, , path] = line.split(/\s+/);
    return state === connected && path === join(node.dir, 'daemon.sock.new');
  }).length;
}

/** Resolves when the daemon has read all earlier requests, which it does in order. */
const taken = (): Promise<unknown> => ok(node.cni('VERSION', {}));

test('a failed ADD does not affect the existing sandbox of the pod', async () => {
  const pod = await cluster.makePod('kept');
  await cluster.allocate(pod, '10.16.0.20');
  const prevResult = await ok(node.cni('ADD', pod.env));
  const row = node.vsctl('--bare', '--columns=_uuid', 'find', 'interface', 'external_ids:iface-id=kept.default');
  const second = anotherOf(pod);
  exec('ip', '-n', second.netns, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other');
  const inOwnNamespace = { ...second.env, CNI_NETNS: pod.env['CNI_NETNS'] ?? '' };
  for (const env of [second.env, inOwnNamespace, { ...second.env, CNI_IFNAME: 'lo' }]) {
    const { json } = await node.cni('ADD', env);
    assert.equal(json['code'], 101);
    assert.match(String(json['msg']), /interface \w+ exists already in/);
    await ok(node.cni('DEL', env));
    await ok(node.cni('CHECK', pod.env, { prevResult }));
    reaches(pod);
  }
  assert.equal(
    node.vsctl('--bare', '--columns=_uuid', 'find', 'interface', 'external_ids:iface-id=kept.default'),
    row,
    'it was not even made anew',
  );
  await ok(node.cni('DEL', pod.env));
});

test('a new sandbox of a pod replaces the existing one', async () => {
  const pod = await cluster.makePod('replaced');
  await cluster.allocate(pod, '10.16.0.21');
  const prevResult = await ok(node.cni('ADD', pod.env));
  const second = anotherOf(pod);
  await ok(node.cni('ADD', second.env));
  assert.equal(await codeOf(node.cni('CHECK', pod.env, { prevResult })), 3);
  assert.equal(traces(node).links.length, 1);
  reaches(second);
  await ok(node.cni('DEL', pod.env));
  reaches(second);
  await ok(node.cni('DEL', second.env));
  assert.deepEqual(traces(node), { links: [], rows: [] });
});

test('a DEL cancels a waiting ADD of the same interface', async () => {
  const pod = await cluster.makePod('unwanted');
  for (const wait of ['an address', 'its port']) {
    const adding = node.cni('ADD', pod.env);
    if (wait === 'an address') await eventually('the request', () => connections() === 1);
    else {
      await cluster.annotate(pod, '10.16.0.22');
      await eventually('the port', () => traces(node).rows.length === 2);
    }
    await taken();
    const start = performance.now();
    await ok(node.cni('DEL', pod.env));
    assert.equal(await codeOf(adding), 11);
    assert.ok(performance.now() - start < 5000, wait);
    assert.deepEqual(traces(node), { links: [], rows: [] });
  }
});

test('a queued ADD whose runtime has given up does not affect the other sandbox', async () => {
  const pod = await cluster.makePod('turns');
  const adding = node.cni('ADD', pod.env);
  await cluster.annotate(pod, '10.16.0.23');
  await eventually('the port', () => traces(node).rows.length === 2);
  const second = anotherOf(pod);
  const runtime = new AbortController();
  const late = node.cni('ADD', second.env, {}, runtime.signal);
  await eventually('the second request', () => connections() === 2);
  await taken();
  runtime.abort();
  await late;
  await cluster.allocate(pod, '10.16.0.23');
  const prevResult = await ok(adding);
  // DEL waits for the other request of its container.
  await ok(node.cni('DEL', second.env));
  await ok(node.cni('CHECK', pod.env, { prevResult }));
  reaches(pod);
  await ok(node.cni('DEL', pod.env));
  assert.deepEqual(traces(node), { links: [], rows: [] });
});

test('containers whose ids have a common prefix have separate interfaces', async () => {
  const id = (at: number): string => String(at).padStart(64, '0');
  const all = await Promise.all(
    [0, 1, 2].map(async (at) => {
      const { name, uid } = await cluster.makePod(`alike-${String(at)}`);
      const pod = cluster.sandboxOf(name, uid, id(at));
      await cluster.allocate(pod, `10.16.0.3${String(at)}`);
      return pod;
    }),
  );
  const results = await Promise.all(all.map((pod) => ok(node.cni('ADD', pod.env))));
  assert.equal(traces(node).links.length, 3);
  for (const [at, pod] of all.entries()) {
    reaches(pod);
    await ok(node.cni('CHECK', pod.env, { prevResult: results[at] }));
  }
  // Deleting the second does not affect the others, and releases its interface name.
  const [, second] = all;
  assert.ok(second);
  await ok(node.cni('DEL', second.env));
  await ok(node.cni('DEL', second.env));
  for (const pod of all.filter((pod) => pod !== second)) reaches(pod);
  await ok(node.cni('ADD', second.env));
  reaches(second);
  for (const pod of all) await ok(node.cni('DEL', pod.env));
  assert.deepEqual(traces(node), { links: [], rows: [] });
});
