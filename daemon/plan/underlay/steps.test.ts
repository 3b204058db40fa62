import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf } from '../../../lib/testing-random.ts';
import type { NicAddress, Nic, NicRoute, NicsByName, NicStep } from '../../model/nic.ts';
import type { NicMove } from '../../model/provider-network.ts';
import { beginMove, extendMove } from './move.ts';
import { planSteps } from './steps.ts';
import { plainNic } from './testing.ts';

const mainTable = 254;

function nic(name: string, addresses: readonly NicAddress[] = [], routes: readonly NicRoute[] = []): Nic {
  return { ...plainNic, index: 1, name, addresses, routes };
}

function address(text: string): NicAddress {
  return { address: text, prefix: 24, scope: 0 };
}

function route(destination: string, gateway?: string, more: Partial<NicRoute> = {}): NicRoute {
  const scope = gateway === undefined ? 253 : 0;
  return {
    destination,
    ...(gateway === undefined ? {} : { gateway }),
    table: mainTable,
    protocol: 3,
    scope,
    tos: 0,
    ...more,
  };
}

/** Applies steps as a kernel does, which removes routes whose source is no longer an address of the node. */
function apply(nics: NicsByName, steps: readonly NicStep[]): NicsByName {
  const next = new Map(nics);
  for (const step of steps) {
    const { addresses, routes, ...rest } = next.get(step.device)!;
    const same = (one: object, other: object): boolean => JSON.stringify(one) === JSON.stringify(other);
    if (step.do === 'addAddress') next.set(step.device, { ...rest, addresses: [...addresses, step.address], routes });
    else if (step.do === 'deleteAddress')
      next.set(step.device, { ...rest, addresses: addresses.filter((one) => !same(one, step.address)), routes });
    else if (step.do === 'addRoute') next.set(step.device, { ...rest, addresses, routes: [...routes, step.route] });
    else if ('route' in step)
      next.set(step.device, { ...rest, addresses, routes: routes.filter((one) => !same(one, step.route)) });
    const own = new Set([...next.values()].flatMap((one) => one.addresses.map((each) => each.address)));
    for (const [name, facts] of next)
      next.set(name, {
        ...facts,
        routes: facts.routes.filter(({ source }) => source === undefined || own.has(source)),
      });
  }
  return next;
}

function held(nics: NicsByName, name: string): object {
  const { addresses, routes } = nics.get(name)!;
  const sorted = (list: readonly object[]): string[] => list.map((one) => JSON.stringify(one)).toSorted();
  return { addresses: sorted(addresses), routes: sorted(routes) };
}

const full = nic(
  'eth1',
  [address('10.20.0.11'), address('10.20.0.12'), { ...address('10.21.0.5'), isRouteless: true }],
  [
    route('0.0.0.0/0', '10.20.0.1', { source: '10.20.0.12', metric: 100 }),
    route('10.21.0.0/24', undefined, { source: '10.21.0.5' }),
    route('198.51.100.0/24', '10.21.0.1', { extras: { 8: '0800020078050000' } }),
    route('0.0.0.0/0', '10.20.0.1', { table: 1000 }),
  ],
);
const start: NicsByName = new Map([
  ['eth1', full],
  ['br-net', nic('br-net')],
]);
const checks = { gateways: [], api: false };
const move = beginMove('net', full, { nics: start, wish: 'w', checks });

function go(from: NicsByName, recorded: NicMove, direction: 'join' | 'return', steps = Infinity): NicsByName {
  const extended = direction === 'join' ? extendMove(recorded, from) : recorded;
  return apply(from, planSteps(extended.moved, from, direction).slice(0, steps));
}

test('all addresses and routes move, routes to gateways first, and return', () => {
  const joined = go(start, move, 'join');
  assert.deepEqual(held(joined, 'br-net'), held(start, 'eth1'));
  assert.deepEqual(held(joined, 'eth1'), held(start, 'br-net'));
  assert.deepEqual(planSteps(move.moved, joined, 'join'), [], 'nothing more to do');
  const added = planSteps(move.moved, start, 'join').filter((step) => step.do === 'addRoute');
  assert.deepEqual(
    added.map((step) => 'route' in step && step.route.destination),
    ['10.21.0.0/24', '0.0.0.0/0', '198.51.100.0/24', '0.0.0.0/0'],
  );
  assert.deepEqual(held(go(joined, move, 'return'), 'eth1'), held(start, 'eth1'));
});

test('a move that stopped after any number of steps is finished or undone from there', () => {
  const there = planSteps(move.moved, start, 'join').length;
  for (let ended = 0; ended <= there; ended++) {
    const half = go(start, move, 'join', ended);
    assert.deepEqual(held(go(half, move, 'join'), 'br-net'), held(start, 'eth1'), `finished after ${ended}`);
    const back = go(half, move, 'return');
    assert.deepEqual(held(back, 'eth1'), held(start, 'eth1'), `undone after ${ended}`);
    assert.deepEqual(held(back, 'br-net'), held(start, 'br-net'));
  }
});

test('addresses and routes removed from the bridge are restored, and those added to the interface move', () => {
  const random = randomOf(7);
  const joined = go(start, move, 'join');
  for (let round = 0; round < 50; round++) {
    const bridge = joined.get('br-net')!;
    const addresses = bridge.addresses.filter(() => random(2) === 0);
    const own = new Set(addresses.map((one) => one.address));
    const routes = bridge.routes.filter(({ source }) => random(2) === 0 && (source === undefined || own.has(source)));
    const disturbed = new Map(joined).set('br-net', { ...bridge, addresses, routes });
    assert.deepEqual(held(go(disturbed, move, 'join'), 'br-net'), held(start, 'eth1'), `round ${round}`);
  }
  const more = new Map(joined).set('eth1', nic('eth1', [address('10.20.0.77')]));
  const extended = extendMove(move, more);
  assert.ok(JSON.stringify(extended).includes('10.20.0.77'), 'it is written down');
  assert.ok(JSON.stringify(held(go(more, move, 'join'), 'br-net')).includes('10.20.0.77'));
  assert.equal(extendMove(extended, go(more, extended, 'join')), extended);
});

test('routes that other plans of this daemon made are left to them, and go from the interface', () => {
  const own = route('10.99.0.0/16', '10.20.0.1', { protocol: 155 });
  const nics = new Map(start).set('eth1', { ...full, routes: [...full.routes, own] });
  const joined = go(nics, beginMove('net', nics.get('eth1')!, { nics, wish: 'w', checks }), 'join');
  assert.deepEqual(held(joined, 'br-net'), held(start, 'eth1'));
  assert.deepEqual(joined.get('eth1')?.routes, []);
});
