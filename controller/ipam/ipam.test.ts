import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cidrContains, lastOf, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { parseRange } from '../../lib/net/range.ts';
import { randomOf } from '../../lib/testing-random.ts';
import { SubnetPool } from './subnet-pool.ts';
import type { AddressRequest, Allocation } from './subnet-pool.ts';
import type { FamilyNet } from './family-pool.ts';

function net(cidrText: string, gatewayText: string, excluded: readonly string[] = []): FamilyNet {
  const cidr = parseCidr(cidrText);
  const gateway = parseIp(gatewayText);
  assert.ok(cidr && gateway);
  const ranges = excluded.map((text) => {
    const range = parseRange(text);
    assert.ok(range);
    return range;
  });
  return { cidr, gateway: gateway.value, excluded: ranges };
}

function give(pool: SubnetPool, request: AddressRequest): string {
  const granted = pool.allocate(request);
  if ('problem' in granted) return granted.problem.code;
  return [granted.allocation.v4, granted.allocation.v6].filter((text) => text !== undefined).join(',');
}

function at(text: string): AddressRequest['addresses'] {
  return text.split(',').map((part) => {
    const ip = parseIp(part);
    assert.ok(ip);
    return ip;
  });
}

describe('order', () => {
  test('lowest first, around excluded ranges; a released address only when the rest is used up', () => {
    const pool = new SubnetPool('s', {
      v4: net('10.16.0.0/27', '10.16.0.1', ['10.16.0.1', '10.16.0.10..10.16.0.20', '10.16.0.15..10.16.0.23']),
    });
    const given: string[] = [];
    for (let index = 0; index < 8; index += 1) given.push(give(pool, { owner: `p${index}` }));
    assert.deepEqual(given, [
      '10.16.0.2',
      '10.16.0.3',
      '10.16.0.4',
      '10.16.0.5',
      '10.16.0.6',
      '10.16.0.7',
      '10.16.0.8',
      '10.16.0.9',
    ]);
    pool.release('p3');
    pool.release('p0');
    for (let index = 24; index <= 30; index += 1) assert.equal(give(pool, { owner: `q${index}` }), `10.16.0.${index}`);
    assert.equal(give(pool, { owner: 'r0' }), '10.16.0.2');
    assert.equal(give(pool, { owner: 'r1' }), '10.16.0.5');
    assert.equal(give(pool, { owner: 'r2' }), 'NoAvailableAddress');
  });

  test('/30: one address besides the gateway', () => {
    const pool = new SubnetPool('s', { v4: net('10.0.0.0/30', '10.0.0.1') });
    assert.equal(give(pool, { owner: 'a' }), '10.0.0.2');
    assert.equal(give(pool, { owner: 'b' }), 'NoAvailableAddress');
    pool.release('a');
    assert.equal(give(pool, { owner: 'b' }), '10.0.0.2');
  });

  test('IPv6 and dual-stack; a partial allocation is released', () => {
    const six = new SubnetPool('s', { v6: net('fd00::/112', 'fd00::1') });
    assert.equal(give(six, { owner: 'a' }), 'fd00::2');
    const dual = new SubnetPool('s', { v4: net('10.0.0.0/24', '10.0.0.1'), v6: net('fd00::/126', 'fd00::1') });
    assert.equal(give(dual, { owner: 'a' }), '10.0.0.2,fd00::2');
    assert.equal(give(dual, { owner: 'b' }), 'NoAvailableAddress');
    assert.equal(dual.pool(4)?.used.count, 1n);
    assert.equal(give(dual, { owner: 'c', families: [4] }), '10.0.0.3');
  });

  test('counts are exact', () => {
    assert.equal(new SubnetPool('s', { v4: net('10.0.0.0/24', '10.0.0.1') }).pool(4)?.availableCount, 253n);
    assert.equal(new SubnetPool('s', { v6: net('fd00::/64', 'fd00::1') }).pool(6)?.availableCount, 2n ** 64n - 3n);
  });
});

describe('asked for', () => {
  const pool = (): SubnetPool => new SubnetPool('s', { v4: net('10.0.0.0/24', '10.0.0.1', ['10.0.0.50..10.0.0.60']) });
  test('used elsewhere', () => {
    const subnet = pool();
    assert.equal(give(subnet, { owner: 'a', addresses: at('10.0.0.7') ?? [] }), '10.0.0.7');
    assert.equal(give(subnet, { owner: 'b', addresses: at('10.0.0.7') ?? [] }), 'AddressConflict');
    assert.equal(give(subnet, { owner: 'a' }), '10.0.0.7');
  });
  for (const [text, expected] of [
    ['10.0.0.55', '10.0.0.55'],
    ['10.0.0.1', 'AddressConflict'],
    ['10.0.1.7', 'AddressOutOfRange'],
    ['10.0.0.0', 'AddressOutOfRange'],
    ['10.0.0.255', 'AddressOutOfRange'],
    ['fd00::7', 'AddressOutOfRange'],
  ] as const) {
    test(`${text}: ${expected}`, () => assert.equal(give(pool(), { owner: 'a', addresses: at(text) ?? [] }), expected));
  }
  test('an excluded address goes back to being excluded', () => {
    const subnet = pool();
    give(subnet, { owner: 'a', addresses: at('10.0.0.55') ?? [] });
    subnet.release('a');
    assert.equal(subnet.pool(4)?.availableCount, 242n);
  });
  test('MAC address', () => {
    const subnet = pool();
    give(subnet, { owner: 'a', mac: '0a:00:00:00:00:01' });
    assert.equal(give(subnet, { owner: 'b', mac: '0a:00:00:00:00:01' }), 'AddressConflict');
    subnet.release('a');
    assert.equal(give(subnet, { owner: 'b', mac: '0a:00:00:00:00:01' }), '10.0.0.3');
  });
  test('a family the subnet lacks', () => assert.equal(give(pool(), { owner: 'a', families: [6] }), 'InvalidIPFamily'));
});

test('a random sequence allocates no IP or MAC address twice and loses none', () => {
  const random = randomOf(42);
  let v4 = net('10.0.0.0/26', '10.0.0.1', ['10.0.0.20..10.0.0.30']);
  const v6 = net('fd00::/122', 'fd00::1');
  const pool = new SubnetPool('s', { v4, v6 });
  const model = new Map<string, Allocation>();
  for (let round = 0; round < 20000; round += 1) {
    const owner = `p${random(70)}`;
    const act = random(10);
    if (act < 4) {
      pool.release(owner);
      model.delete(owner);
    } else if (act === 9 && round % 50 === 0) {
      const first = 2 + random(40);
      v4 = {
        ...v4,
        excluded: [
          { family: 4, first: v4.cidr.network + BigInt(first), last: v4.cidr.network + BigInt(first + random(10)) },
        ],
      };
      pool.redefine({ v4, v6 });
    } else {
      const asked = act < 6 ? { addresses: [{ family: 4 as const, value: v4.cidr.network + BigInt(random(66)) }] } : {};
      const granted = pool.allocate({ owner, ...asked, ...(act === 8 ? { families: [4 as const] } : {}) });
      if ('allocation' in granted) {
        const before = model.get(owner);
        if (before === undefined) model.set(owner, granted.allocation);
        else assert.deepEqual(granted.allocation, before);
      }
    }
    for (const key of ['v4', 'v6', 'mac'] as const) {
      const given = [...model.values()].map((allocation) => allocation[key]).filter((text) => text !== undefined);
      assert.equal(new Set(given).size, given.length);
    }
    const used = [...model.values()].filter((allocation) => allocation.v4 !== undefined).length;
    assert.equal(pool.pool(4)?.used.count, BigInt(used));
    for (const { first, last } of pool.pool(4)?.available.intervals() ?? []) {
      assert.ok(
        cidrContains(v4.cidr, { family: 4, value: first }) && last < lastOf(v4.cidr) && first > v4.cidr.network,
      );
      for (let value = first; value <= last; value += 1n) {
        assert.equal(pool.pool(4)?.owner(value), undefined);
        assert.ok(v4.excluded.every((range) => value < range.first || value > range.last));
      }
    }
  }
});
