import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MultipathRoute } from '../../lib/netlink/multipath.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { ApiLifeline } from './api-lifeline.ts';

const route = (destination: string): MultipathRoute => ({
  destination,
  hops: [{ gateway: '172.31.1.1', index: 7 }],
  table: 254,
  metric: 86,
  protocol: 186,
});

/** A node with learned routes to its API server; the route `bad` leads elsewhere. */
function nodeWith({ bad, isDown = false, isComplete = true }: { bad: string; isDown?: boolean; isComplete?: boolean }) {
  const world = {
    routes: [route('0.0.0.0/0'), route('10.0.0.0/8'), route('198.51.100.0/24')],
    isDown,
    nowMs: 0,
    /** Whether the kernel refuses all routes, as while the uplink is down. */
    isRefusing: false,
  };
  const servers = { all: ['10.5.5.10'], isComplete };
  let isBeside = false;
  const log: string[] = [];
  const warnings: string[] = [];
  const has = (destination: string): boolean => world.routes.some((one) => one.destination === destination);
  const isReached = () => Promise.resolve(!world.isDown && (isBeside || !has(bad)));
  const leading = ['0.0.0.0/0', '10.0.0.0/8'];
  const detour = {
    all: () => Promise.resolve([...world.routes]),
    leadingTo: () => Promise.resolve(world.routes.filter(({ destination }) => leading.includes(destination))),
    wouldLeadTo: () => Promise.resolve(new Set(leading)),
    begin: () => {
      isBeside = true;
      if (world.isRefusing) return Promise.reject(new NetlinkError('ENETDOWN', 'route 10.5.5.10/32'));
      log.push('detour');
      return Promise.resolve([route('10.5.5.10/32')]);
    },
    end: (gone: readonly MultipathRoute[]) => {
      const names = gone.map(({ destination }) => destination);
      if (names.includes('10.5.5.10/32')) isBeside = false;
      else log.push(`without ${names.length}`);
      world.routes = world.routes.filter(({ destination }) => !names.includes(destination));
      return Promise.resolve();
    },
    restore: (back: readonly MultipathRoute[]) => {
      const error = new NetlinkError('ENETDOWN', 'route');
      if (world.isRefusing) return Promise.resolve(back.map((one) => ({ route: one, error })));
      world.routes.push(...back);
      log.push(`restored ${back.length}`);
      return Promise.resolve([]);
    },
    clear: () => {
      isBeside = false;
      return Promise.resolve();
    },
  };
  const lifeline = new ApiLifeline({
    detour,
    servers,
    isWell: isReached,
    isReached,
    log: { warn: (...parts: readonly unknown[]) => void warnings.push(String(parts[1])) },
    nowMs: () => world.nowMs,
  });
  return { world, servers, lifeline, log, warnings };
}

const both = ['0.0.0.0/0 172.31.1.1', '10.0.0.0/8 172.31.1.1'];

test('routes through which the API server is lost are withheld while they are announced', async () => {
  const { world, lifeline, log } = nodeWith({ bad: '10.0.0.0/8' });
  let changes = 0;
  lifeline.subscribe(() => (changes += 1));
  await lifeline.look();
  assert.deepEqual([...lifeline.withheld], both);
  assert.deepEqual([changes, log], [1, ['detour', 'without 2']]);
  assert.deepEqual(
    world.routes.map(({ destination }) => destination),
    ['198.51.100.0/24'],
  );
  lifeline.learned(new Set(both));
  await lifeline.look();
  assert.deepEqual([...lifeline.withheld], both);
  world.nowMs = 60_000;
  lifeline.learned(new Set());
  assert.deepEqual([[...lifeline.withheld], changes], [[], 2]);
});

test('no route is withheld while the API server is down', async () => {
  const { world, lifeline, log } = nodeWith({ bad: 'none', isDown: true });
  for (let times = 0; times < 3; times++) await lifeline.look();
  assert.deepEqual([lifeline.withheld.size, world.routes.length, log], [0, 3, ['detour', 'detour', 'detour']]);
});

test('no detour is tried while the API server answers', async () => {
  const { lifeline, log } = nodeWith({ bad: 'none' });
  await lifeline.look();
  assert.deepEqual([lifeline.withheld.size, log], [0, []]);
});

test('before the cluster was read, a rare trial removes all routes, and later restores those that do not lead to the API server', async () => {
  const { world, servers, lifeline, log } = nodeWith({ bad: '10.0.0.0/8', isDown: true, isComplete: false });
  for (let times = 0; times < 3; times++) await lifeline.look();
  assert.deepEqual([world.routes.length, log], [3, ['without 3', 'restored 3']]);
  world.isDown = false;
  world.nowMs = 60_000;
  await lifeline.look();
  assert.equal(lifeline.withheld.size, 3);
  servers.isComplete = true;
  await lifeline.look();
  assert.deepEqual([...lifeline.withheld], both);
});

test('a detour that fails because its uplink goes down is logged once, removed and tried again', async () => {
  const { world, lifeline, log, warnings } = nodeWith({ bad: '10.0.0.0/8' });
  world.isRefusing = true;
  for (let times = 0; times < 3; times++) await lifeline.look();
  assert.deepEqual([lifeline.withheld.size, world.routes.length, log], [0, 3, []]);
  assert.deepEqual(warnings.length, 1);
  assert.match(warnings[0] ?? '', /route 10\.5\.5\.10\/32: ENETDOWN.*the daemon retries/);
  world.isRefusing = false;
  await lifeline.look();
  assert.deepEqual([[...lifeline.withheld], log], [both, ['detour', 'without 2']]);
});

test('routes that the kernel refuses after a trial are restored later, until the cluster was read', async () => {
  const { world, servers, lifeline, log, warnings } = nodeWith({ bad: 'none', isDown: true, isComplete: false });
  world.isRefusing = true;
  for (let times = 0; times < 3; times++) await lifeline.look();
  assert.deepEqual([world.routes.length, log, warnings.length], [0, ['without 3'], 1]);
  assert.match(warnings[0] ?? '', /ENETDOWN.*the daemon retries/);
  world.isRefusing = false;
  await lifeline.look();
  await lifeline.look();
  assert.deepEqual([world.routes.length, log], [3, ['without 3', 'restored 3']]);
  world.nowMs = 60_000;
  world.isRefusing = true;
  await lifeline.look();
  servers.isComplete = true;
  world.isRefusing = false;
  await lifeline.look();
  assert.equal(world.routes.length, 0, 'what BgpNodeState says is made by the routes of the kernel');
});
