/**
 * The daemon is killed at each step of an ADD. DEL, GC or the next start remove the incomplete interface, and another pod of
 * the node keeps its interface.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode, type CniAnswer } from '../../daemon/testing.ts';
import { inPod, startDatabase, traces } from './cni-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
let living: TestPod;
let prevResult: object;
/** The traces of the living pod. */
let own: ReturnType<typeof traces>;
let ownRow: string;

before(async () => {
  cluster = await startCluster(node);
  await node.startDaemon(cluster.kubeconfig);
  living = await cluster.makePod('living');
  await cluster.allocate(living, '10.16.0.10');
  const { status, json } = await node.cni('ADD', living.env);
  assert.equal(status, 0, JSON.stringify(json));
  prevResult = json;
  own = traces(node);
  ownRow = rowOfLiving();
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

function rowOfLiving(): string {
  return node.vsctl('--bare', '--columns=_uuid', 'find', 'interface', 'external_ids:iface-id=living.default');
}

let address = 20;
/** A pod with a queue, which has its own row. */
async function newPod(name: string): Promise<TestPod> {
  const pod = await cluster.makePod(name);
  await cluster.annotatePod(pod, { 'ovn.kubernetes.io/latency': '10' });
  await cluster.allocate(pod, `10.16.0.${address++}`);
  return pod;
}

/** False if the probe throws, for programs that fail. */
function answers(probe: () => boolean): boolean {
  try {
    return probe();
  } catch {
    return false;
  }
}

const isMade = (pod: TestPod): Promise<unknown> =>
  eventually('the link', () => exec('ip', '-n', pod.netns, '-o', 'link').includes('eth0'));
const isConfigured = (pod: TestPod): Promise<unknown> =>
  eventually('routes', () => inPod(pod, 'ip', 'route').includes('default'));

/** Each kills the daemon at one step; all other programs run. */
const crashes: Readonly<Record<string, (pod: TestPod) => Promise<CniAnswer>>> = {
  'between the link and its row': async (pod) => {
    node.signal('db', 'SIGSTOP');
    const adding = node.cni('ADD', pod.env);
    await isMade(pod);
    await node.kill('daemon');
    // The daemon's pending requests are lost with the database process.
    await node.kill('db');
    startDatabase(node);
    await eventually('the database', () => answers(() => rowOfLiving() === ownRow));
    assert.ok(!traces(node).rows.some((row) => row.startsWith('qos')), 'no row was written');
    return adding;
  },
  'while its row is on the way': async (pod) => {
    node.signal('db', 'SIGSTOP');
    const adding = node.cni('ADD', pod.env);
    await isMade(pod);
    await node.kill('daemon');
    node.signal('db', 'SIGCONT');
    return adding;
  },
  'before ovn-controller has installed it': async (pod) => {
    node.signal('ovn-controller', 'SIGSTOP');
    const adding = node.cni('ADD', pod.env);
    await isConfigured(pod);
    await node.kill('daemon');
    node.signal('ovn-controller', 'SIGCONT');
    return adding;
  },
  'before the runtime heard of it': async (pod) => {
    node.signal('ovn-controller', 'SIGSTOP');
    const adding = node.cni('ADD', pod.env);
    await isConfigured(pod);
    node.signal('daemon', 'SIGSTOP');
    node.signal('ovn-controller', 'SIGCONT');
    const find = ['--bare', '--columns=external_ids', 'find', 'interface', `external_ids:pod_name=${pod.name}`];
    await eventually('an installed port', () => node.vsctl(...find).includes('ovn-installed=true'));
    await node.kill('daemon');
    return adding;
  },
};

const gc = { cniVersion: '1.1.0', 'cni.dev/valid-attachments': [] as object[] };
/** Each starts the daemon again and restores the node. */
const cures: Readonly<Record<string, (pod: TestPod) => Promise<void>>> = {
  DEL: async (pod) => {
    // The runtime does not wait for the daemon.
    const removing = node.cni('DEL', pod.env);
    await node.startDaemon(cluster.kubeconfig);
    assert.deepEqual(await removing, { status: 0, json: {} });
  },
  GC: async () => {
    await node.startDaemon(cluster.kubeconfig);
    const valid = [{ containerID: living.env['CNI_CONTAINERID'], ifname: 'eth0' }];
    assert.deepEqual(await node.cni('GC', {}, { ...gc, 'cni.dev/valid-attachments': valid }), { status: 0, json: {} });
  },
  'a start, with the pod gone': async (pod) => {
    await cluster.deletePod(pod.name);
    node.deleteNamespace(pod.netns);
    await node.startDaemon(cluster.kubeconfig);
  },
};

async function onlyTheLiving(): Promise<void> {
  await eventually('no traces of others', () => JSON.stringify(traces(node)) === JSON.stringify(own)).catch(
    (error: unknown) => {
      throw new Error(`${JSON.stringify(traces(node))} instead of ${JSON.stringify(own)}`, { cause: error });
    },
  );
  assert.equal(rowOfLiving(), ownRow, 'the row of the living pod is the same one');
  await eventually('CHECK', async () => (await node.cni('CHECK', living.env, { prevResult })).status === 0);
  // The userspace datapath stops until Open vSwitch has its database again.
  await eventually('traffic', () => answers(() => inPod(living, 'ping', '-c1', '-W1', '172.30.9.11') !== ''));
}

let number = 0;
for (const [when, crash] of Object.entries(crashes))
  describe(`a daemon killed ${when}`, () => {
    for (const [what, cure] of Object.entries(cures))
      test(`${what} cleans up`, async () => {
        const pod = await newPod(`crash-${number++}`);
        const { status, json } = await crash(pod);
        assert.deepEqual([status, json['code']], [1, 11], JSON.stringify(json));
        await cure(pod);
        await onlyTheLiving();
      });
  });

test('a start removes a link without a row, even if its pod exists', async () => {
  const pod = await newPod('stray');
  await crashes['between the link and its row']?.(pod);
  await node.startDaemon(cluster.kubeconfig);
  await onlyTheLiving();
  const again = await node.cni('ADD', pod.env);
  assert.equal(again.status, 0, `nothing is in its way: ${JSON.stringify(again.json)}`);
  assert.equal((await node.cni('DEL', pod.env)).status, 0);
  await onlyTheLiving();
});
