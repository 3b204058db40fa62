/** Policies that name pods of another cluster, on the shared lab: what they let through, how fast, and what is left while processes are away. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { apiVersionOf, networkPolicies, remotePodSlices } from '../../lib/kube/resources.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';
import { openLab } from '../lab/lib/lab.ts';
import { tryRun } from '../lab/run.ts';
import { addWorkload, removeWorkload, waitForPods } from './workload.ts';

const cluster = 'isthmus.network/cluster';
/** Seconds for a connection that must be possible all the while. */
const patience = 4;

describe('a policy that names another cluster', () => {
  const lab = openLab();
  const namespace = 'crossing';
  const west = lab.kube('west');
  let server = '';

  /** @param seconds longer where a connection is expected: a busy machine may lose the first packet */
  const opens = async (from: 'east' | 'west', pod: string, seconds = 0.2): Promise<boolean> => {
    const argv = ['socat', '-u', '/dev/null', `TCP:${server}:8080,connect-timeout=${seconds}`];
    return (await tryRun(argv, { netns: lab.ns(from, `${namespace}/${pod}`) })).code === 0;
  };
  /** Milliseconds until a pod of east reaches the server, or no longer does. */
  const turns = async (pod: string, isOpen: boolean): Promise<number> => {
    const start = performance.now();
    await eventually(`${pod} ${isOpen ? 'reaches' : 'does not reach'} the server`, async () => {
      return (await opens('east', pod)) === isOpen || notYet(JSON.stringify(await west.list(remotePodSlices)));
    });
    return performance.now() - start;
  };
  const label = (pod: string, app: string | null) =>
    lab.kubectl('east', ['label', 'pod', '-n', namespace, pod, '--overwrite', app === null ? 'app-' : `app=${app}`]);
  const isolate = (from: readonly object[]) =>
    west.create(networkPolicies, {
      apiVersion: apiVersionOf(networkPolicies),
      kind: networkPolicies.kind,
      metadata: { namespace, name: 'server' },
      spec: { podSelector: { matchLabels: { app: 'server' } }, policyTypes: ['Ingress'], ingress: [{ from }] },
    });
  const release = () => west.delete(networkPolicies, { namespace, name: 'server' });
  /** How often each slice was written. */
  const writes = async (): Promise<readonly (readonly [name: string, count: number])[]> => {
    const slices = await west.list(remotePodSlices);
    return slices.map(({ metadata: { name, generation = 0 } }) => [name, generation] as const);
  };
  const sets = async (): Promise<string> => {
    const rows = await lab.nbctl('west', ['--bare', '--columns=_uuid,addresses', 'find', 'Address_Set']);
    return rows.split('\n\n').sort().join('\n\n');
  };
  const restart = async (place: string, component: string): Promise<void> => {
    const before = lab.pid(place, component);
    await lab.kill(place, component);
    await lab.waitForRestart(place, component, before);
  };

  before(async () => {
    await addWorkload(lab, 'east', { namespace, pods: [{ name: 'one' }, { name: 'two' }] });
    await addWorkload(lab, 'west', { namespace, pods: [{ name: 'server' }, { name: 'near' }] });
    await Promise.all(['east', 'west'].map((name) => waitForPods(lab, name, namespace, 2)));
    await lab.kubectl('west', ['label', 'pod', '-n', namespace, 'server', 'app=server']);
    await lab.kubectl('west', ['label', 'pod', '-n', namespace, 'near', 'app=client']);
    await label('one', 'client');
    server = await lab.addressOf('west', `${namespace}/server`);
    await turns('one', true);
  });
  after(() => Promise.all(['east', 'west'].map((name) => removeWorkload(lab, name, namespace))));

  it('is needed: a plain one with the same labels never matches pods of another cluster', async () => {
    await isolate([{ podSelector: { matchLabels: { app: 'client' } } }, { namespaceSelector: {} }]);
    await turns('one', false);
    await eventually('a pod of this cluster with these labels reaches the server', () => opens('west', 'near'));
    await release();
    await turns('one', true);
  });

  it('lets its pods through, and follows their labels within a second', async (context) => {
    await isolate([{ podSelector: { matchLabels: { app: 'client', [cluster]: 'east' } } }]);
    await turns('two', false);
    await turns('one', true);
    assert.equal(await opens('west', 'near'), false, 'a pod of this cluster is no pod of east');
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await label('two', 'client');
      times.push(await turns('two', true));
      await label('two', null);
      times.push(await turns('two', false));
    }
    context.diagnostic(`from label to verdict: ${times.map((ms) => `${Math.round(ms)} ms`).join(', ')}`);
    await turns('one', true);
  });

  it('keeps what it has while the hub is away, and a restart writes nothing', async () => {
    const [slices, rows] = [await writes(), await sets()];
    const hub = lab.pid('hub', 'hub');
    await lab.kill('hub', 'hub');
    await restart('west', 'controller');
    await restart('west', 'interconnect');
    await restart('east', 'interconnect');
    assert.ok(await opens('east', 'one', patience), 'while they start');
    await lab.waitForRestart('hub', 'hub', hub);
    await label('two', 'client');
    await turns('two', true);
    await label('two', null);
    await turns('two', false);
    assert.deepEqual([await opens('east', 'one', patience), await sets()], [true, rows]);
    // The pod that came, and the pod that went.
    assert.deepEqual(
      await writes(),
      slices.map(([name, count]) => [name, count + 2]),
    );
  });

  it('ends with its sets', async () => {
    await release();
    await eventually('no address of east is left', async () => {
      const text = JSON.stringify((await west.list(remotePodSlices)).map(({ pods }) => pods));
      return !text.includes('"address":"1') || notYet(text);
    });
    await turns('two', true);
  });
});
