import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { from, LoadBalancerBed, requested } from '../../testing-load-balancers.ts';

const world = { autoAssign: false, shared: {} };
const dual = { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'PreferDualStack' };

async function bedOf(): Promise<LoadBalancerBed> {
  const bed = await LoadBalancerBed.of();
  bed.pool('world', ['198.51.100.0/29', '2001:db8:5::/125'], world);
  bed.pool('lan', ['192.0.2.8/30']);
  return bed;
}

/** What the agent writes about the Service; undefined: nothing any more. */
function agree(bed: LoadBalancerBed, name: string, addresses: readonly string[] | undefined, more: object = {}): void {
  const object = `default.${name}`;
  if (addresses === undefined) bed.remove('sharedAddresses', object);
  else
    bed.put('sharedAddresses', {
      metadata: { name: object, uid: object },
      spec: { service: { namespace: 'default', name }, pool: 'world', addresses, clusters: ['west'], ...more },
    });
}

describe('a Service that names a pool which clusters share', () => {
  test('has the address on which they agreed, and none before or after', async () => {
    const bed = await bedOf();
    bed.service('web', {}, { annotations: from('world') });
    await bed.done();
    assert.deepEqual(bed.addresses('web'), []);
    assert.match(bed.serviceCondition('web'), /^!AddressPending: .* ServiceExport/);
    agree(bed, 'web', ['198.51.100.5']);
    await bed.done();
    assert.deepEqual(bed.addresses('web'), ['198.51.100.5']);
    assert.equal(
      bed.serviceCondition('web'),
      'AddressesGiven: 198.51.100.5 of LoadBalancerPool world, in all clusters that share it',
    );
    assert.deepEqual(bed.counts('world'), [16, 15, 1]);
    const next = await bed.restarted();
    assert.deepEqual([next.writes, next.events], [[], []]);
    agree(next, 'web', ['198.51.100.6']);
    await next.done();
    assert.deepEqual(next.addresses('web'), ['198.51.100.6'], 'an older agreement counts');
    agree(next, 'web', undefined);
    await next.done();
    assert.deepEqual(next.addresses('web'), [], 'another cluster may give it to another Service');
    assert.match(next.serviceCondition('web'), /^!AddressPending/);
  });

  test('has what an agent says of this Service only, and the reason why there is none', async () => {
    const bed = await bedOf();
    bed.service('web', {}, { annotations: from('world') });
    agree(bed, 'web', ['198.51.100.5'], { service: { namespace: 'default', name: 'other' } });
    await bed.done();
    assert.match(bed.serviceCondition('web'), /^!AddressPending/);
    agree(bed, 'web', [], { reason: 'PoolDiffers', message: 'the pools differ' });
    await bed.done();
    assert.equal(bed.serviceCondition('web'), '!PoolDiffers: the pools differ');
    assert.equal(bed.poolCondition('world'), 'PoolDiffers: the pools differ');
    assert.deepEqual((await bed.restarted()).writes, []);
    agree(bed, 'web', ['198.51.100.5']);
    await bed.done();
    assert.match(bed.poolCondition('world'), /^PoolReady/);
  });

  test('has an address of each family, and is content with one if it prefers two', async () => {
    const bed = await bedOf();
    bed.service('both', dual, { annotations: from('world') });
    bed.service('one', dual, { annotations: from('world') });
    bed.service('short', { ...dual, ipFamilyPolicy: 'RequireDualStack' }, { annotations: from('world') });
    agree(bed, 'both', ['198.51.100.5', '2001:db8:5::5']);
    agree(bed, 'one', ['198.51.100.6']);
    agree(bed, 'short', ['198.51.100.7']);
    await bed.done();
    assert.deepEqual(bed.addresses('both'), ['198.51.100.5', '2001:db8:5::5']);
    assert.deepEqual(
      [bed.addresses('one'), bed.serviceCondition('one').slice(0, 14)],
      [['198.51.100.6'], 'AddressesGiven'],
    );
    assert.match(bed.serviceCondition('short'), /^!NoPoolOfFamily: .*; it keeps 198\.51\.100\.7$/);
  });

  test('that requests another address than the agreed one keeps the agreed one, with a condition', async () => {
    const bed = await bedOf();
    bed.service('web', {}, { annotations: from('world') });
    agree(bed, 'web', ['198.51.100.5']);
    await bed.done();
    bed.service('web', {}, { annotations: { ...from('world'), ...requested('198.51.100.2') } });
    await bed.done();
    assert.deepEqual(bed.addresses('web'), ['198.51.100.5']);
    assert.match(
      bed.serviceCondition('web'),
      /^!AddressDiffers: .* by an older agreement: request 198\.51\.100\.5 .*it keeps 198/,
    );
    bed.service('web', {}, { annotations: { ...from('world'), ...requested('198.51.100.5') } });
    await bed.done();
    assert.match(bed.serviceCondition('web'), /^AddressesGiven/);
  });

  test('is never given an address of the pool by this cluster alone', async () => {
    const bed = await bedOf();
    bed.service('any');
    bed.service('asks', {}, { annotations: requested('198.51.100.2') });
    // Somebody wrote it into the status, or the Service had the address before.
    bed.service(
      'has',
      {},
      { status: { loadBalancer: { ingress: [{ ip: '198.51.100.3' }] } }, annotations: from('world') },
    );
    await bed.done();
    assert.deepEqual([bed.addresses('any'), bed.addresses('asks'), bed.addresses('has')], [['192.0.2.8'], [], []]);
    assert.match(bed.serviceCondition('asks'), /^!AddressNotInPool: .*name the pool in the annotation/);
    assert.match(bed.serviceCondition('has'), /^!AddressPending/);
  });

  test('does not take an address that this cluster uses for something else', async () => {
    const bed = await bedOf();
    await bed.done();
    bed.put('nodes', {
      metadata: { name: 'n2' },
      status: { addresses: [{ type: 'InternalIP', address: '198.51.100.5' }] },
    });
    bed.service('web', {}, { annotations: from('world') });
    agree(bed, 'web', ['198.51.100.5']);
    await bed.done();
    assert.match(
      bed.serviceCondition('web'),
      /^!AddressInUse: 198\.51\.100\.5, which .* is an address of node n2 here/,
    );
    agree(bed, 'web', ['203.0.113.1']);
    await bed.done();
    assert.match(bed.serviceCondition('web'), /^!PoolDiffers/);
    assert.deepEqual(bed.addresses('web'), []);
  });
});
