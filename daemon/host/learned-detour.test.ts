import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bgpProtocol, type MultipathRoute } from '../../lib/netlink/multipath.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { LearnedDetour } from './learned-detour.ts';
import { learnedMetric } from './learned-routes.ts';

const route = (
  destination: string,
  gateway: string | undefined,
  more: Partial<MultipathRoute> = {},
): MultipathRoute => ({
  destination,
  hops: [{ gateway, index: 7 }],
  table: 254,
  metric: 0,
  protocol: 16,
  ...more,
});
const learned = (destination: string, gateway = '172.31.1.1'): MultipathRoute =>
  route(destination, gateway, {
    protocol: bgpProtocol,
    metric: destination.includes(':') ? learnedMetric.v6 : learnedMetric.v4,
  });

/** @param down links that are down: the kernel refuses routes with a hop on one */
function kernelOf(routes: MultipathRoute[], down: ReadonlySet<number> = new Set()) {
  const keyOf = ({ destination, metric }: MultipathRoute): string => `${destination} ${metric}`;
  const without = (one: MultipathRoute): void => {
    const at = routes.findIndex((each) => keyOf(each) === keyOf(one));
    if (at >= 0) routes.splice(at, 1);
  };
  const netlink = {
    multipathRoutes: () => Promise.resolve([...routes]),
    setMultipath: (one: MultipathRoute) => {
      const isDown = one.hops.some(({ index }) => down.has(index));
      if (isDown) return Promise.reject(new NetlinkError('ENETDOWN', `route ${one.destination}`));
      without(one);
      routes.push(one);
      return Promise.resolve();
    },
    deleteMultipath: (one: MultipathRoute) => Promise.resolve(without(one)),
  };
  return { routes, detour: new LearnedDetour(netlink) };
}

const texts = (routes: readonly MultipathRoute[]): readonly string[] =>
  routes.map(
    ({ destination, hops, metric }) => `${destination} ${hops.map(({ gateway }) => gateway).join()} ${metric}`,
  );

test('a learned route leads to an address if it precedes the node’s own route', async () => {
  const { detour } = kernelOf([
    route('172.30.1.0/24', undefined, { protocol: 2 }),
    route('0.0.0.0/0', '172.30.1.254', { metric: 100 }),
    route('10.7.0.0/16', '172.30.1.253'),
    learned('0.0.0.0/0'),
    learned('10.0.0.0/8'),
    learned('10.7.0.0/16'),
    learned('172.30.0.0/16'),
    learned('::/0', 'fd00:31:1::1'),
  ]);
  const leading = async (address: string) => (await detour.leadingTo([address])).map(({ destination }) => destination);
  assert.deepEqual(await leading('10.5.5.10'), ['0.0.0.0/0', '10.0.0.0/8']);
  assert.deepEqual(await leading('203.0.113.1'), ['0.0.0.0/0']);
  assert.deepEqual(await leading('10.7.7.7'), [], 'the way of an administrator');
  assert.deepEqual(await leading('172.30.1.9'), [], 'on a link');
  assert.deepEqual(await leading('fd00:5::1'), ['::/0']);
  assert.deepEqual(await leading('no address'), []);
  assert.deepEqual([...(await detour.wouldLeadTo(['10.7.7.7'], ['10.7.7.0/24', '10.0.0.0/8']))], ['10.7.7.0/24']);
});

test('a detour uses the node’s own route for its addresses alone, and leaves no route behind', async () => {
  const before = [route('0.0.0.0/0', '172.30.1.254', { metric: 100 }), learned('0.0.0.0/0'), learned('10.5.5.0/24')];
  const { routes, detour } = kernelOf([...before]);
  const way = await detour.begin(['10.5.5.10', 'fd00:5::1']);
  assert.deepEqual(texts(way), ['10.5.5.10/32 172.30.1.254 85']);
  assert.deepEqual(texts(await detour.leadingTo(['10.5.5.10'])).length, 2, 'a detour is no way of the node itself');
  await detour.end(way);
  assert.deepEqual(routes, before);
  await detour.begin(['10.5.5.10']);
  await detour.clear();
  assert.deepEqual(routes, before);
});

test('a detour uses the uplinks of the node that are up', async () => {
  const hops = [
    { gateway: '172.30.1.254', index: 7, isDown: true },
    { gateway: '172.30.2.254', index: 8 },
  ] as const;
  const { detour } = kernelOf([route('0.0.0.0/0', undefined, { hops, metric: 100 })], new Set([7]));
  assert.deepEqual(texts(await detour.begin(['10.5.5.10'])), ['10.5.5.10/32 172.30.2.254 85']);
});

test('a route that the kernel refuses to restore is reported with the reason, and the other routes are restored', async () => {
  const down = new Set([9]);
  const onNine = { ...learned('10.0.0.0/8'), hops: [{ gateway: '172.31.9.1', index: 9 }] };
  const { routes, detour } = kernelOf([], down);
  const refused = await detour.restore([onNine, learned('0.0.0.0/0')]);
  assert.deepEqual(
    refused.map(({ route: { destination }, error }) => [destination, error.code]),
    [['10.0.0.0/8', 'ENETDOWN']],
  );
  assert.deepEqual(texts(routes), ['0.0.0.0/0 172.31.1.1 86']);
  down.clear();
  assert.deepEqual(await detour.restore([onNine]), []);
  assert.equal(routes.length, 2);
});
