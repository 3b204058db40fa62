import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { ClusterSetIps } from './clusterset-ips.ts';

const small = parseCidr('100.127.0.0/29') as Cidr;
const names = ['a/a', 'a/b', 'a/c', 'a/d', 'a/e', 'a/f'];

function filled(): ClusterSetIps {
  const ips = new ClusterSetIps();
  ips.setNetworks([small, parseCidr('fd00::/112') as Cidr]);
  return ips;
}

describe('ClusterSet IPs', () => {
  it('are different, kept, and neither the first nor the last of the network', () => {
    const ips = filled();
    const taken = names.map((name) => ips.take(name, 4));
    assert.equal(new Set(taken).size, 6);
    assert.deepEqual(
      names.map((name) => ips.take(name, 4)),
      taken,
    );
    assert.ok(!taken.includes('100.127.0.0') && !taken.includes('100.127.0.7'));
    assert.equal(ips.take('a/g', 4), undefined, 'the network is full');
    assert.match(ips.take('a/g', 6) ?? '', /^fd00::/);
    ips.release('a/a');
    assert.equal(ips.take('a/g', 4), taken[0], 'what is free is given again');
  });

  it('are the same after a restart, in any order', () => {
    const ips = filled();
    const former = names.map((key) => ({
      key,
      ips: [ips.take(key, 4) ?? ''],
      isInDatabase: false,
      createdMs: 1,
    }));
    const again = filled();
    again.restore(former.toReversed());
    for (const { key, ips: known } of former) assert.equal(again.get(key, 4), known[0]);
  });

  it('are not taken over by what somebody wrote into a ServiceImport', () => {
    const ips = filled();
    ips.restore([
      { key: 'evil/old', ips: ['100.127.0.2', '10.96.0.1', '100.127.0.0'], isInDatabase: false, createdMs: 1 },
      { key: 'shop/web', ips: ['100.127.0.2'], isInDatabase: true, createdMs: 0 },
      { key: 'shop/web', ips: ['100.127.0.3'], isInDatabase: false, createdMs: 2 },
    ]);
    assert.equal(ips.get('shop/web', 4), '100.127.0.2');
    assert.equal(ips.get('evil/old', 4), undefined);
  });

  it('leave a network that is replaced', () => {
    const ips = filled();
    ips.take('a/a', 4);
    ips.setNetworks([parseCidr('100.126.0.0/16') as Cidr]);
    assert.equal(ips.get('a/a', 4), undefined);
    assert.match(ips.take('a/a', 4) ?? '', /^100\.126\./);
  });
});
