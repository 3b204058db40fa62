/** Addresses of Services of type LoadBalancer, on a real API server: allocation, waiting, and restarts. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { apiVersionOf, loadBalancerPools, objectPath, services, subnets } from '../../lib/kube/resources.ts';
import { removeServiceTraces } from '../../cli/apply/nodes.ts';
import { findServiceTraces } from '../../cli/plan/traces.ts';
import { loadBalancerCleanup } from '../../lib/services/load-balancer.ts';
import { parseService } from '../../lib/services/parse.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { ControllerBed } from './controller-bed.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface ServiceStatus {
  readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[] };
  readonly conditions?: readonly Condition[];
}

const namespace = 'default';
const type = 'isthmus.network/LoadBalancerReady';
const merge = { contentType: 'application/merge-patch+json' };
const requested = (ips: string) => ({ 'isthmus.network/load-balancer-ips': ips });
const sharing = { 'isthmus.network/sharing-key': 'web' };

let bed: ControllerBed;
before(async () => {
  bed = await ControllerBed.open();
  await bed.createNode('n1', '172.30.1.11');
  await bed.start();
});
after(() => bed.close());

async function create(name: string, spec: object = {}, annotations: object = {}): Promise<void> {
  await bed.kube.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, annotations } as never,
    spec: { type: 'LoadBalancer', selector: { app: name }, ports: [{ port: 80 }], ...spec },
  });
}

function remove(name: string): Promise<unknown> {
  return bed.kube.delete(services, { namespace, name });
}

async function statusOf(name: string): Promise<ServiceStatus> {
  const { status = {} } = (await bed.kube.get(services, { namespace, name })) as { readonly status?: ServiceStatus };
  return status;
}

async function conditionOf(name: string): Promise<Condition | undefined> {
  return (await statusOf(name)).conditions?.find((one) => one.type === type);
}

async function addressesOf(name: string): Promise<readonly string[]> {
  return ((await statusOf(name)).loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? []);
}

/** Waits until the Service has exactly these addresses. */
async function has(name: string, ...ips: readonly string[]): Promise<void> {
  await eventually(`${name} has ${ips.join()}`, async () => {
    assert.deepEqual(await addressesOf(name), ips);
    return true;
  });
}

async function waits(name: string, reason: string): Promise<string> {
  return eventually(`${name} waits: ${reason}`, async () => {
    const condition = await conditionOf(name);
    if (condition?.status !== 'False' || condition.reason !== reason) throw new Error(JSON.stringify(condition));
    return condition.message;
  });
}

async function pool(name: string, addresses: readonly string[], more: object = {}): Promise<void> {
  await bed.create(loadBalancerPools, name, { addresses, ...more });
}

async function counts(name: string): Promise<readonly unknown[]> {
  const { total, available, used } = await bed.status(loadBalancerPools, name);
  return [total, available, used];
}

async function untilCounts(name: string, ...wanted: readonly number[]): Promise<void> {
  await eventually(`counts ${wanted.join()} of pool ${name}`, async () => {
    assert.deepEqual(await counts(name), wanted);
    return true;
  });
}

async function sameAfterRestart(): Promise<void> {
  await bed.quiet();
  const versions = await bed.versions();
  await bed.kill();
  await bed.start();
  await bed.quiet();
  assert.deepEqual(await bed.versions(), versions);
}

describe('the API server', () => {
  test('accepts CIDRs, addresses and ranges, and refuses other texts', async () => {
    const attempt = async (spec: unknown): Promise<string> => {
      const body = {
        apiVersion: apiVersionOf(loadBalancerPools),
        kind: 'LoadBalancerPool',
        metadata: { name: 'x' },
        spec,
      };
      try {
        await bed.kube.request('POST', '/apis/isthmus.network/v1/loadbalancerpools?dryRun=All', body);
        return 'accepted';
      } catch (error) {
        if (error instanceof KubeApiError) return error.message;
        throw error;
      }
    };
    const addresses = [
      '192.0.2.0/24',
      '192.0.2.1',
      '192.0.2.1..192.0.2.9',
      '192.0.2.1 - 192.0.2.9',
      '2001:db8::1-2001:db8::9',
    ];
    assert.equal(await attempt({ addresses, serviceSelector: { matchLabels: { app: 'web' } } }), 'accepted');
    for (const text of ['nonsense', '192.0.2.0/', '192.0.2.1..', ''])
      assert.match(await attempt({ addresses: [text] }), /addresses/, text);
    for (const spec of [undefined, {}, { addresses: [] }]) assert.notEqual(await attempt(spec), 'accepted');
  });
});

describe('a Service of type LoadBalancer', () => {
  test('waits without a pool, and then the oldest get the addresses in order', async () => {
    for (const name of ['a', 'b', 'c']) await create(name);
    assert.match(await waits('c', 'NoPool'), /there is no LoadBalancerPool: create one/);
    await bed.event('AllocateAddressFailed', 'a', /NoPool: there is no LoadBalancerPool/);
    await pool('lan', ['192.0.2.8', '192.0.2.9']);
    await has('a', '192.0.2.8');
    await has('b', '192.0.2.9');
    assert.match(await waits('c', 'NoFreeAddress'), /LoadBalancerPool lan has no free IPv4 address/);
    await untilCounts('lan', 2, 0, 2);
    await bed.event('AddressesGiven', 'a', /192\.0\.2\.8 of LoadBalancerPool lan/);
    const ingress = (await statusOf('a')).loadBalancer?.ingress;
    assert.deepEqual(ingress, [{ ip: '192.0.2.8', ipMode: 'VIP' }]);
  });

  test('gets an address as soon as another one is deleted, and a restart writes nothing', async () => {
    await remove('a');
    await has('c', '192.0.2.8');
    await sameAfterRestart();
    await has('c', '192.0.2.8');
  });

  test('releases its address when it is a load balancer no more', async () => {
    await create('d');
    await waits('d', 'NoFreeAddress');
    await bed.kube.patch(services, { namespace, name: 'b' }, 'merge', { spec: { type: 'ClusterIP' } });
    await has('d', '192.0.2.9');
    await has('b');
    await eventually('no condition', async () => (await conditionOf('b')) === undefined);
    await bed.kube.patch(services, { namespace, name: 'b' }, 'merge', { spec: { type: 'LoadBalancer' } });
    await waits('b', 'NoFreeAddress');
    await bed.kube.patch(loadBalancerPools, { name: 'lan' }, 'merge', { spec: { addresses: ['192.0.2.8/29'] } });
    await has('b', '192.0.2.10');
  });

  test('gets the requested address, or names its holder', async () => {
    await create('asked', {}, requested('192.0.2.15'));
    await has('asked', '192.0.2.15');
    await create('field', { loadBalancerIP: '192.0.2.15' });
    assert.match(await waits('field', 'AddressInUse'), /192\.0\.2\.15 is the address of Service default\/asked/);
    await create('outside', {}, requested('203.0.113.1'));
    await waits('outside', 'AddressNotInPool');
    await remove('asked');
    await has('field', '192.0.2.15');
    for (const name of ['field', 'outside']) await remove(name);
  });

  test('shares an address with others of its key', async () => {
    await create('s1', {}, sharing);
    await eventually('an address of s1', async () => (await addressesOf('s1')).length === 1);
    const [address = ''] = await addressesOf('s1');
    await create('s2', { ports: [{ port: 81 }] }, sharing);
    await has('s2', address);
    await create('s3', {}, sharing);
    await eventually('an address of s3', async () => (await addressesOf('s3')).length === 1);
    assert.notDeepEqual(await addressesOf('s3'), [address]);
    await sameAfterRestart();
    for (const name of ['s1', 's2', 's3']) await remove(name);
  });

  test('keeps its address when its pool is deleted, and is in the pool again once that is back', async () => {
    await bed.kube.delete(loadBalancerPools, { name: 'lan' });
    const outside = async (): Promise<boolean> => (await conditionOf('c'))?.reason === 'AddressOutsidePool';
    await eventually('the condition of c', outside);
    await has('c', '192.0.2.8');
    await sameAfterRestart();
    await pool('lan', ['192.0.2.8/29']);
    await eventually('the condition of c', async () => (await conditionOf('c'))?.reason === 'AddressesGiven');
    await has('c', '192.0.2.8');
    await untilCounts('lan', 8, 5, 3);
  });

  test('of another program is not touched, and conditions of other programs stay', async () => {
    await create('cloud', { loadBalancerClass: 'example.com/lb' });
    const patchStatus = (name: string, status: object): Promise<unknown> =>
      bed.kube.request('PATCH', objectPath(services, { namespace, name }, 'status'), { status }, merge);
    await patchStatus('cloud', { loadBalancer: { ingress: [{ ip: '192.0.2.14' }] } });
    const other = {
      type: 'example.com/Fine',
      status: 'True',
      reason: 'Fine',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await create('mixed', {}, requested('192.0.2.14'));
    assert.match(await waits('mixed', 'AddressInUse'), /Service default\/cloud, and another program assigned/);
    await patchStatus('mixed', { conditions: [other, ...((await statusOf('mixed')).conditions ?? [])] });
    await remove('cloud');
    await has('mixed', '192.0.2.14');
    const conditions = (await statusOf('mixed')).conditions ?? [];
    assert.deepEqual(conditions.map((one) => `${one.type} ${one.status}`).sort(), [
      'example.com/Fine True',
      `${type} True`,
    ]);
    await remove('mixed');
  });
});

describe('a LoadBalancerPool', () => {
  test('is refused where it overlaps what was there before, and a Subnet that overlaps it, too', async () => {
    await pool('pods', ['10.16.3.0/24']);
    await pool('twice', ['192.0.2.12']);
    const refused = (name: string, pattern: RegExp) =>
      eventually(`${name} is refused`, async () => {
        const { conditions = [] } = (await bed.status(loadBalancerPools, name)) as {
          conditions?: readonly Condition[];
        };
        const ready = conditions.find((one) => one.type === 'Ready');
        return ready?.status === 'False' && pattern.test(ready.message);
      });
    await refused('pods', /has 10\.16\.3\.0\.\.10\.16\.3\.255 of subnet ovn-default: choose free addresses/);
    await refused('twice', /overlaps 192\.0\.2\.8\.\.192\.0\.2\.15 of LoadBalancerPool lan/);
    await bed.event('ValidateLoadBalancerPoolFailed', 'twice', /PoolOverlap/);
    await bed.createSubnet('late', { cidrBlock: '192.0.2.0/24' });
    assert.match(
      await bed.untilCondition('late', 'Validated', 'False', 'CIDROverlap'),
      /overlaps 192\.0\.2\.8\/29 of LoadBalancerPool lan/,
    );
    await sameAfterRestart();
    await bed.kube.delete(loadBalancerPools, { name: 'twice' });
    await bed.kube.delete(subnets, { name: 'late' });
  });
});

describe('the finalizer of a Service with an address', () => {
  const read = async (name: string) =>
    await bed.kube.get(services, { namespace, name }).catch((error: unknown) => {
      if (error instanceof KubeApiError && error.status === 404) return undefined;
      throw error;
    });
  const isGone = async (name: string): Promise<boolean> => (await read(name)) === undefined;

  test('keeps a deleted Service with its address while no controller runs', async () => {
    await pool('ends', ['192.0.2.200']);
    await create('ending', {}, requested('192.0.2.200'));
    await has('ending', '192.0.2.200');
    await bed.stop();
    await remove('ending');
    await has('ending', '192.0.2.200');
    assert.deepEqual((await read('ending'))?.metadata.finalizers, [loadBalancerCleanup]);
    await bed.start();
    await eventually('the end of the Service', () => isGone('ending'));
  });

  test('goes with an uninstallation, which leaves the address', async () => {
    await create('left', {}, requested('192.0.2.200'));
    await has('left', '192.0.2.200');
    await bed.stop();
    const raw = await read('left');
    const traces = raw && findServiceTraces(parseService(raw));
    assert.ok(traces);
    await removeServiceTraces(bed.kube, traces);
    await has('left', '192.0.2.200');
    assert.equal(await conditionOf('left'), undefined);
    assert.equal((await read('left'))?.metadata.finalizers, undefined);
    await bed.start();
    await eventually('adoption', async () => (await conditionOf('left'))?.status === 'True');
    await has('left', '192.0.2.200');
    await remove('left');
    await eventually('the end of the Service', () => isGone('left'));
  });
});

test('with --load-balancers=Classed only Services of our class get addresses', async () => {
  await bed.stop();
  await bed.start(['--load-balancers=Classed']);
  await create('plain');
  await create('classed', { loadBalancerClass: 'isthmus.network/load-balancer' });
  await eventually('an address of classed', async () => (await addressesOf('classed')).length === 1);
  assert.deepEqual(await statusOf('plain'), { loadBalancer: {} });
  // Services that were given addresses before lose them: another load balancer is to serve them.
  await has('c');
  await eventually('no condition', async () => (await conditionOf('c')) === undefined);
});
