import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LearnedRoute } from '../model/bgp-node-state.ts';
import { bgpProtocol, type MultipathRoute } from '../../lib/netlink/multipath.ts';
import { KernelLearnedRoutes, learnedMetric } from './learned-routes.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';

const common = { table: 254, metric: 0, protocol: 2 };
const onLink = (destination: string, index: number): MultipathRoute => ({
  destination,
  hops: [{ gateway: undefined, index }],
  ...common,
});
const wanted = (destination: string, ...choices: readonly (readonly string[])[]): LearnedRoute => ({
  destination,
  choices: choices.map((hops) =>
    hops.map((text) => {
      const [address = '', device] = text.split('%');
      return { address, device };
    }),
  ),
});

/** A kernel that keeps routes and records each change. */
function fakeKernel(routes: MultipathRoute[], refused: readonly string[] = []) {
  const log: string[] = [];
  const keyOf = ({ destination, metric }: MultipathRoute): string => `${destination} ${metric}`;
  const without = (route: MultipathRoute): void => {
    const at = routes.findIndex((one) => keyOf(one) === keyOf(route));
    if (at >= 0) routes.splice(at, 1);
  };
  return {
    routes,
    log,
    netlink: {
      multipathRoutes: () => Promise.resolve([...routes]),
      links: () =>
        Promise.resolve([
          {
            index: 7,
            name: 'no-such-link',
            mac: '',
            mtu: 0,
            isUp: true,
            isRunning: true,
            kind: undefined,
            peer: undefined,
          },
        ]),
      setMultipath: (route: MultipathRoute, isReplacing: boolean) => {
        if (refused.includes(route.destination)) return Promise.reject(new NetlinkError('EEXIST', 'route'));
        log.push(
          `${isReplacing ? 'replace' : 'add'} ${route.destination} ${route.hops.map(({ gateway }) => gateway).join()}`,
        );
        without(route);
        routes.push(route);
        return Promise.resolve();
      },
      deleteMultipath: (route: MultipathRoute) => {
        if (refused.includes(route.destination)) return Promise.reject(new NetlinkError('EPERM', 'route'));
        log.push(`delete ${route.destination}`);
        without(route);
        return Promise.resolve();
      },
    },
  };
}

test('routes are added, changed and removed by difference; routes of other programs stay', async () => {
  const others = [
    onLink('172.30.1.0/24', 8),
    { ...onLink('192.0.2.0/24', 8), hops: [{ gateway: '172.30.1.9', index: 8 }], protocol: bgpProtocol, metric: 20 },
    { ...onLink('192.0.9.0/24', 8), hops: [{ gateway: '172.30.1.9', index: 8 }], metric: learnedMetric.v4 },
  ];
  const kernel = fakeKernel([...others]);
  const host = new KernelLearnedRoutes(kernel.netlink);
  const both = [wanted('192.0.2.0/24', ['172.30.1.1', '172.30.1.2']), wanted('192.0.3.0/24', ['172.30.1.1'])];
  assert.deepEqual(await host.set(both), []);
  assert.deepEqual(kernel.log.splice(0), ['add 192.0.2.0/24 172.30.1.1,172.30.1.2', 'add 192.0.3.0/24 172.30.1.1']);
  assert.deepEqual([...host.used], [8]);
  assert.equal(host.count, 2);
  await host.set(both);
  assert.deepEqual(kernel.log, []);
  await host.set([wanted('192.0.2.0/24', ['172.30.1.2'])]);
  assert.deepEqual(kernel.log.splice(0), ['delete 192.0.3.0/24', 'replace 192.0.2.0/24 172.30.1.2']);
  // Another process finds the routes that this one left.
  await new KernelLearnedRoutes(kernel.netlink).set([]);
  assert.deepEqual(kernel.routes, others);
});

test('a next hop on no link is left out and reported; the next choice is used if no hop is left', async () => {
  const kernel = fakeKernel([onLink('172.30.1.0/24', 8), onLink('fe80::/64', 6), onLink('fe80::/64', 7)]);
  const host = new KernelLearnedRoutes(kernel.netlink);
  const problems = await host.set([
    wanted('192.0.2.0/24', ['172.30.1.1', '192.0.7.1']),
    wanted('192.0.3.0/24', ['192.0.7.1'], ['172.30.1.2', '172.30.1.3'], ['172.30.1.4']),
    wanted('192.0.4.0/24', ['192.0.7.1']),
    wanted('192.0.5.0/24', ['fe80::1%no-such-link', 'fe80::1%other']),
  ]);
  assert.deepEqual(kernel.log, [
    'add 192.0.2.0/24 172.30.1.1',
    'add 192.0.3.0/24 172.30.1.2,172.30.1.3',
    'add 192.0.5.0/24 fe80::1',
  ]);
  assert.deepEqual(kernel.routes.at(-1)?.hops, [{ gateway: 'fe80::1', index: 7 }]);
  assert.ok(host.isWaiting);
  assert.deepEqual(
    problems.filter(({ code }) => code === 'NextHopUnreachable').map(({ message }) => message),
    [
      'next hop 192.0.7.1 of 192.0.2.0/24, 192.0.3.0/24, 192.0.4.0/24 is on no link of the node; routes through it are installed once it is',
      'next hop fe80::1 of 192.0.5.0/24 is on no link of the node; routes through it are installed once it is',
    ],
  );
});

test('a route that the kernel refuses is reported, and the other routes are installed', async () => {
  const kernel = fakeKernel([onLink('172.30.1.0/24', 8)], ['192.0.2.0/24']);
  const host = new KernelLearnedRoutes(kernel.netlink);
  const [problem, ...others] = await host.set([
    wanted('192.0.2.0/24', ['172.30.1.1']),
    wanted('192.0.3.0/24', ['172.30.1.1']),
  ]);
  assert.match(problem?.message ?? '', /EEXIST; another program has a route with metric 86/);
  assert.deepEqual(others, []);
  assert.deepEqual(kernel.log, ['add 192.0.3.0/24 172.30.1.1']);
  assert.equal(host.count, 1);
});

test('a route that the kernel does not remove is counted like the others', async () => {
  const stuck = { ...onLink('192.0.2.0/24', 8), protocol: bgpProtocol, metric: learnedMetric.v4 };
  const kernel = fakeKernel([onLink('172.30.1.0/24', 8), stuck], [stuck.destination]);
  const host = new KernelLearnedRoutes(kernel.netlink);
  const [problem] = await host.set([wanted('192.0.3.0/24', ['172.30.1.1'])]);
  assert.match(problem?.message ?? '', /the kernel refused route: EPERM/);
  assert.equal(host.count, 2);
});
