import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { namespaces, objectPath, serviceExports } from '../../lib/kube/resources.ts';
import type { Check } from '../plan/verify.ts';
import { FakeNetwork, lost, refused } from '../testing-traffic.ts';
import { testTraffic } from './test-traffic.ts';

const shown = (checks: readonly Check[]): readonly string[] =>
  checks.map(({ cluster, name, isWell, evidence }) => `${isWell ? 'ok' : 'FAILED'} ${cluster} ${name}: ${evidence}`);
const namesOf = (checks: readonly Check[]): readonly string[] =>
  checks.map(({ cluster, name }) => `${cluster} ${name}`);
const path = objectPath(namespaces, { name: 'isthmus-verify-ts' });
const putNamespace = ({ sites: [east] }: FakeNetwork, labels: Record<string, string>, name = 'isthmus-verify-ts') =>
  east?.kept.set(objectPath(namespaces, { name }), { metadata: { name, labels, uid: 'u', resourceVersion: '1' } });

describe('packets of test pods', () => {
  it('pass in both directions, and nothing is left', async () => {
    const network = new FakeNetwork();
    const checks = await testTraffic(network.test());
    assert.deepEqual(shown(checks), [
      'ok east ping (IPv4) to west in ovn-cluster: 3 of 3 pings answered, 0.5 ms: 10.16.0.3 on e1 → 10.17.0.2 on w3',
      'ok east TCP (IPv4) to west in ovn-cluster: connected: 10.16.0.3 on e1 → 10.17.0.2 on w3',
      'ok west ping (IPv4) to east in ovn-cluster: 3 of 3 pings answered, 0.5 ms: 10.17.0.3 on w1 → 10.16.0.2 on e3',
      'ok west TCP (IPv4) to east in ovn-cluster: connected: 10.17.0.3 on w1 → 10.16.0.2 on e3',
    ]);
    assert.equal(network.sites.flatMap(({ made }) => made).length, 6, 'a Namespace and two pods each');
    assert.deepEqual(network.objects, []);
  });

  it('that do not pass in one direction have the cause that the diagnosis finds', async () => {
    const network = new FakeNetwork();
    const west = network.pair.west.interconnect?.status.conditions ?? [];
    Object.assign(west.find(({ type }) => type === 'HubReachable') ?? {}, {
      status: 'False',
      reason: 'HubDown',
      message: 'the hub is away',
    });
    network.break = (cluster, [program]) => (cluster === 'west' ? (program === 'ping' ? lost : refused) : undefined);
    const failed = (await testTraffic(network.test())).filter(({ isWell }) => !isWell);
    assert.deepEqual(namesOf(failed), [
      'west ping (IPv4) to east in ovn-cluster',
      'west TCP (IPv4) to east in ovn-cluster',
    ]);
    assert.match(failed[0]?.evidence ?? '', /^0 of 3 pings answered: 10\.17\.0\.3 on w1 → .*; \w+ \(west\): .*hub/);
    assert.match(failed[1]?.evidence ?? '', /^no answer: nc: timed out: /);
    assert.deepEqual(network.objects, []);
  });

  it('without a known cause point to what the diagnosis does not see', async () => {
    const network = new FakeNetwork();
    network.break = () => lost;
    const [first] = await testTraffic(network.test());
    assert.match(first?.evidence ?? '', /isthmus ic diagnose west finds no fault .*isthmus policy why/);
  });

  it('are repeated, and another pod that answers is not taken for the right one', async () => {
    const network = new FakeNetwork();
    let times = 0;
    network.break = (cluster, [program]) => {
      if (cluster === 'east' && program === 'ping') return (times += 1) === 1 ? lost : undefined;
      return program === 'ping' ? undefined : { stdout: 'run-0/west/x/server\n', stderr: '', exitCode: 0 };
    };
    const [ping, tcp] = await testTraffic(network.test());
    assert.match(ping?.evidence ?? '', /3 of 3 pings answered, 0\.5 ms at attempt 2: /);
    assert.match(tcp?.evidence ?? '', /something else answers there: run-0\/west/);
  });

  it('are not sent where a RoutePolicy withholds the Subnets', async () => {
    const network = new FakeNetwork();
    for (const route of network.pair.west.remotes[0]?.status.routes ?? [])
      Object.assign(route, { state: 'Rejected', reason: 'Denied', message: 'denied by p' });
    const checks = await testTraffic(network.test());
    assert.match(
      shown(checks).join('\n'),
      /^ok east packets to west in ovn-cluster: not tried: .*denied by p\nok west /,
    );
  });

  it('pass through an exported Service, by address and name', async () => {
    const network = new FakeNetwork();
    const checks = await testTraffic(network.test({ withServices: true }));
    const services = shown(checks).filter((line) => /ClusterSetIP|DNS/.test(line));
    assert.deepEqual(services, [
      'ok east TCP by ClusterSetIP to west in ovn-cluster: connected: e1 → 100.127.0.2 of ServiceImport isthmus-verify-ts/from-west',
      'ok east DNS name to west in ovn-cluster: from-west.isthmus-verify-ts.svc.clusterset.local: 100.127.0.2',
      'ok west TCP by ClusterSetIP to east in ovn-cluster: connected: w1 → 100.127.0.1 of ServiceImport isthmus-verify-ts/from-east',
      'ok west DNS name to east in ovn-cluster: from-east.isthmus-verify-ts.svc.clusterset.local: 100.127.0.1',
    ]);
    assert.deepEqual(network.objects, []);
  });
});

describe('test pods', () => {
  it('that do not start are a failed check with their problem, and the others are tried', async () => {
    const network = new FakeNetwork();
    network.sites[0]?.stuck.add('e1');
    const checks = await testTraffic(network.test());
    assert.match(shown(checks)[0] ?? '', /^FAILED east test pod client on ts: on e1: NoAddress: full; kubectl -n /);
    assert.deepEqual(namesOf(checks).slice(1), [
      'west ping (IPv4) to east in ovn-cluster',
      'west TCP (IPv4) to east in ovn-cluster',
    ]);
    assert.deepEqual(network.objects, []);
  });

  it('are deleted after a refusal, and after Ctrl-C', async () => {
    const network = new FakeNetwork();
    const west = network.sites[1];
    if (west !== undefined) west.refusal = new KubeApiError(403, 'Forbidden', 'violates a policy');
    await assert.rejects(testTraffic(network.test()), /violates a policy/);
    assert.deepEqual(network.objects, []);

    const stopped = new FakeNetwork();
    stopped.break = () => {
      stopped.stopping.abort(new DOMException('stopped by SIGINT', 'AbortError'));
      return lost;
    };
    await assert.rejects(testTraffic(stopped.test()), { name: 'AbortError' });
    assert.deepEqual(stopped.objects, []);
  });

  it('of an earlier run are named and deleted first', async () => {
    const network = new FakeNetwork();
    putNamespace(network, { 'isthmus.network/verification': 'run-0' });
    putNamespace(network, { 'isthmus.network/verification': 'run-0' }, 'isthmus-verify-blue');
    // The label alone gives no right to delete what others have made.
    putNamespace(network, { 'isthmus.network/verification': 'run-0' }, 'shop');
    await testTraffic(network.test());
    assert.match(network.notes.join(''), /east: an earlier run left the Namespace isthmus-verify-blue: deleting it/);
    assert.deepEqual(network.objects, [`east ${objectPath(namespaces, { name: 'shop' })}`]);
  });

  it('get no Namespace that belongs to somebody else, and do not delete it', async () => {
    const network = new FakeNetwork();
    putNamespace(network, {});
    await assert.rejects(testTraffic(network.test()), /Namespace isthmus-verify-ts in east that no test made/);
    assert.deepEqual(network.objects, [`east ${path}`]);
  });

  it('of another run that began at the same time stay', async () => {
    const network = new FakeNetwork();
    const [east] = network.sites;
    assert.ok(east);
    const { create } = east.client;
    Object.assign(east.client, {
      create: (...call: Parameters<typeof create>) => {
        putNamespace(network, { 'isthmus.network/verification': 'run-2' });
        return create(...call);
      },
    });
    await assert.rejects(testTraffic(network.test()), /another run .* made the Namespace isthmus-verify-ts in east/);
    assert.deepEqual(network.objects, [`east ${path}`]);
  });

  it('are deleted without the permission to read ServiceExports', async () => {
    const network = new FakeNetwork();
    for (const { client } of network.sites) {
      const { list } = client;
      Object.assign(client, {
        list: (...call: Parameters<typeof list>) =>
          call[0] === serviceExports
            ? Promise.reject(new KubeApiError(403, 'Forbidden', 'may not list'))
            : list(...call),
      });
    }
    assert.ok((await testTraffic(network.test())).every(({ isWell }) => isWell));
    assert.deepEqual(network.objects, []);
  });

  it('that cannot be deleted are named', async () => {
    const network = new FakeNetwork();
    const [east] = network.sites;
    assert.ok(east);
    Object.assign(east.client, { delete: () => Promise.reject(new KubeApiError(403, 'Forbidden', 'may not delete')) });
    const left = (await testTraffic(network.test())).filter(({ isWell }) => !isWell);
    assert.deepEqual(shown(left), [
      'FAILED east removal of the test pods: the Namespace isthmus-verify-ts is left: may not delete; the next run deletes it',
    ]);
  });
});
