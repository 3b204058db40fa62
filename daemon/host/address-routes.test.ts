import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressRoutes } from './address-routes.ts';
import { localTable, mainTable, RTN_LOCAL } from './rtnetlink-codec.ts';

const address = { index: 7, address: '100.64.0.2', prefix: 16 };
const any = { metric: 0, protocol: 2, index: 7, unicast: undefined };
const itself = { ...any, destination: '100.64.0.2/32', table: localTable, type: RTN_LOCAL };
const plain = { destination: '100.64.0.0/16', gateway: undefined, source: '100.64.0.2', index: 7, protocol: 2 };
const network = {
  ...any,
  destination: plain.destination,
  table: mainTable,
  type: 1,
  unicast: { ...plain, table: mainTable },
};

test('an address that lacks a route is added again, once at a time, and a route that is still missing is a problem', async () => {
  let made = 0;
  const routes = new AddressRoutes({
    deleteAddress: () => Promise.resolve(),
    addAddress: () => Promise.resolve(void (made += 1)),
  });
  const restore = async (...present: Parameters<AddressRoutes['restore']>[1]) => {
    const { isChanged, problems } = await routes.restore([address], present);
    return [isChanged, made, ...problems.map(({ message }) => message)];
  };
  assert.deepEqual(await restore(itself, network), [false, 0]);
  assert.deepEqual(await restore(itself), [true, 1]);
  assert.deepEqual(await restore(itself, { ...network, index: 8 }), [
    false,
    1,
    'the kernel\'s route to 100.64.0.0/16 of address 100.64.0.2/16 was removed, and did not return with the address; the daemon retries. To find the program that removes it, run "ip monitor route" and "ip rule"',
  ]);
  assert.deepEqual(await restore(network), [true, 2]);
  assert.deepEqual(await restore(itself, network), [false, 2]);
  assert.deepEqual(await restore(itself, { ...network, table: 99 }), [true, 3]);
});

test('an address alone in its network has the route to itself only', async () => {
  const routes = new AddressRoutes({ deleteAddress: () => assert.fail(), addAddress: () => assert.fail() });
  assert.deepEqual(await routes.restore([{ ...address, prefix: 32 }], [itself]), { isChanged: false, problems: [] });
});
