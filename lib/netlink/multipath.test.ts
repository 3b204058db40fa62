import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeMultipath, readMultipath, type MultipathRoute } from './multipath.ts';

const common = { table: 254, metric: 86, protocol: 186 };

test('a route is read back as it was written: hops of both families, a default route, none at all', () => {
  const routes: readonly MultipathRoute[] = [
    { destination: '192.0.2.0/24', hops: [{ gateway: '172.30.1.1', index: 7 }], ...common },
    {
      destination: '0.0.0.0/0',
      hops: [
        { gateway: '172.30.1.1', index: 7 },
        { gateway: 'fe80::1', index: 300 },
      ],
      ...common,
    },
    {
      destination: '2001:db8::/32',
      hops: [
        { gateway: 'fd00::1', index: 7 },
        { gateway: 'fd00::2', index: 8 },
      ],
      ...common,
    },
    { destination: '::/0', hops: [{ gateway: undefined, index: 9 }], ...common },
  ];
  for (const route of routes)
    assert.deepEqual(readMultipath(Buffer.concat(encodeMultipath(route, route.hops))), [route]);
  const [first] = routes;
  assert.deepEqual(first && readMultipath(Buffer.concat(encodeMultipath(first, []))), []);
});

test('hops of links that are down are marked', () => {
  const hops = [
    { gateway: '172.30.1.1', index: 7 },
    { gateway: '172.30.2.1', index: 8 },
  ];
  const data = Buffer.concat(encodeMultipath({ destination: '0.0.0.0/0', ...common }, hops));
  // struct rtnexthop: length, flags, hops, interface. RTNH_F_ONLINK with RTNH_F_DEAD and RTNH_F_LINKDOWN.
  const first = data.indexOf(Buffer.from([16, 0, 4, 0, 7]));
  data.writeUInt8(4 | 1 | 16, first + 2);
  const [route] = readMultipath(data);
  assert.deepEqual(route?.hops, [{ ...hops[0], isDown: true }, hops[1]]);
});
