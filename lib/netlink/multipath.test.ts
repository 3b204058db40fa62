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
