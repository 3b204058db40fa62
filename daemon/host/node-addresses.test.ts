import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeAddresses } from './node-addresses.ts';
import type { Address } from './rtnetlink-codec.ts';

test('networks of links are known by the names of the links, which are read again only for another link', async () => {
  let addresses: readonly Address[] = [
    { index: 2, address: '172.30.1.11', prefix: 24 },
    { index: 2, address: '172.30.1.12', prefix: 24 },
    { index: 3, address: '203.0.113.9', prefix: 32 },
  ];
  let dumps = 0;
  const names = new Map([
    [2, 'eth0'],
    [3, 'dummy0'],
    [4, 'br-edge'],
  ]);
  const links = () => {
    dumps += 1;
    return Promise.resolve([...names].map(([index, name]) => ({ index, name }) as never));
  };
  const node = new NodeAddresses({ addresses: () => Promise.resolve(addresses), links }, '10.0.0.1');
  let changes = 0;
  node.subscribe(() => (changes += 1));
  await node.refresh();
  assert.deepEqual(node.networks, [{ link: 'eth0', network: '172.30.1.0/24' }]);
  await node.refresh();
  assert.deepEqual([dumps, changes], [1, 1]);
  // The same address with another prefix is another network.
  addresses = [{ index: 2, address: '172.30.1.11', prefix: 16 }, ...addresses.slice(1)];
  await node.refresh();
  assert.deepEqual(
    node.networks.map(({ network }) => network),
    ['172.30.0.0/16', '172.30.1.0/24'],
  );
  assert.deepEqual([dumps, changes], [1, 2]);
  addresses = [
    { index: 4, address: '2001:db8::1', prefix: 64 },
    { index: 9, address: '192.0.2.1', prefix: 24 },
  ];
  await node.refresh();
  assert.deepEqual(
    node.networks,
    [{ link: 'br-edge', network: '2001:db8::/64' }],
    'a link that is gone has no network',
  );
});
