import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import { describe, test } from 'node:test';
import { type Random, randomOf } from '../testing-random.ts';
import { byPrefix, cidrContains, cidrsOverlap, formatCidr, lastOf, parseCidr } from './cidr.ts';
import { IntervalSet } from './interval-set.ts';
import { formatIp, parseIp } from './ip.ts';
import { deriveMac, parseMac } from './mac.ts';
import { formatRange, parseRange } from './range.ts';

function randomText(random: Random): string {
  const alphabet = '0123456789abcfF::..';
  const length = 2 + random(18);
  return Array.from({ length }, () => alphabet[random(alphabet.length)]).join('');
}

function randomV6(random: Random): string {
  const groups = Array.from({ length: 8 }, () => (random(2) === 0 ? 0 : random(65536)).toString(16));
  const at = random(8);
  const cut = random(8 - at);
  if (random(5) < 2) return groups.join(':');
  return `${groups.slice(0, at).join(':')}::${groups.slice(at + cut + 1).join(':')}`;
}

describe('parseIp', () => {
  test('agrees with node:net on random text and random addresses', () => {
    const random = randomOf(7);
    for (let round = 0; round < 20000; round += 1) {
      const pick = round % 3;
      const text =
        pick === 0
          ? randomText(random)
          : pick === 1
            ? randomV6(random)
            : Array.from({ length: 4 }, () => random(300)).join('.');
      assert.equal(parseIp(text)?.family ?? 0, isIP(text), text);
    }
  });

  test('formatting is canonical and reads back', () => {
    const random = randomOf(11);
    for (let round = 0; round < 5000; round += 1) {
      const text = randomV6(random);
      const ip = parseIp(text);
      if (ip === undefined) continue;
      const written = formatIp(ip);
      assert.deepEqual(parseIp(written), ip, text);
      // The platform's own canonical form, where it does not print an embedded IPv4 address.
      const url = new URL(`http://[${text}]/`).hostname.slice(1, -1);
      assert.equal(written, url, text);
    }
    assert.equal(formatIp({ family: 4, value: 0xffffffffn }), '255.255.255.255');
    assert.equal(formatIp({ family: 6, value: 0n }), '::');
  });

  for (const text of [
    '',
    '1.2.3',
    '010.0.0.1',
    '1.2.3.4/24',
    'fe80::1%eth0',
    '1.2.3.4 ',
    '::1::',
    '1:2:3:4::5:6:7:8',
    '1.2.3.4::',
    '0x1.2.3.4',
  ]) {
    test(`refuses '${text}'`, () => assert.equal(parseIp(text), undefined));
  }
});

describe('cidr', () => {
  test('clears host bits', () => {
    const cidr = parseCidr('10.5.0.7/24');
    assert.ok(cidr);
    assert.equal(formatCidr(cidr), '10.5.0.0/24');
    assert.equal(formatIp({ family: 4, value: lastOf(cidr) }), '10.5.0.255');
    const six = parseCidr('FD00::1/64');
    assert.ok(six);
    assert.equal(formatCidr(six), 'fd00::/64');
  });

  for (const text of [
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0/8',
    'fd00::/129',
    '10.0.0.0/-1',
    '/8',
    '10.0.0.0/8/8',
  ]) {
    test(`refuses '${text}'`, () => assert.equal(parseCidr(text), undefined));
  }

  test('prefixes are in the order of their addresses: IPv4 first, the wider one first, what is not a prefix last', () => {
    const ordered = [
      '9.0.0.0/8',
      '10.0.0.0/8',
      '10.0.0.0/16',
      '10.2.0.0/16',
      '10.10.0.0/16',
      '2001:db8::/32',
      'fd00::/8',
    ];
    const mixed = ['none', ...ordered.toReversed()].map((prefix) => ({ prefix }));
    const sorted = byPrefix(mixed, ({ prefix }) => prefix).map(({ prefix }) => prefix);
    assert.deepEqual(sorted, [...ordered, 'none']);
  });

  test('containment agrees with node:net BlockList', () => {
    const random = randomOf(3);
    for (let round = 0; round < 2000; round += 1) {
      const isV6 = round % 2 === 1;
      const base = isV6 ? `fd00::${random(65536).toString(16)}` : `10.0.${random(4)}.${random(256)}`;
      const probe = isV6 ? `fd00::${random(65536).toString(16)}` : `10.0.${random(4)}.${random(256)}`;
      const prefix = isV6 ? 110 + random(19) : 20 + random(13);
      const list = new BlockList();
      list.addSubnet(base, prefix, isV6 ? 'ipv6' : 'ipv4');
      const cidr = parseCidr(`${base}/${prefix}`);
      const ip = parseIp(probe);
      assert.ok(cidr && ip);
      assert.equal(cidrContains(cidr, ip), list.check(probe, isV6 ? 'ipv6' : 'ipv4'), `${base}/${prefix} ${probe}`);
      const single = parseCidr(`${probe}/${isV6 ? 128 : 32}`);
      assert.ok(single);
      assert.equal(cidrsOverlap(cidr, single), cidrContains(cidr, ip));
    }
  });
});

describe('range', () => {
  test('reads and writes', () => {
    const range = parseRange('10.0.0.1..10.0.0.9');
    assert.ok(range);
    assert.equal(formatRange(range), '10.0.0.1..10.0.0.9');
    assert.equal(parseRange('10.0.0.9..10.0.0.1'), undefined);
    assert.equal(parseRange('10.0.0.1..fd00::1'), undefined);
    assert.equal(parseRange('10.0.0.1-10.0.0.2'), undefined);
    assert.equal(parseRange('a..b..c'), undefined);
  });
});

describe('IntervalSet', () => {
  test('behaves as a set of integers', () => {
    const random = randomOf(5);
    const set = new IntervalSet();
    const model = new Set<number>();
    for (let round = 0; round < 3000; round += 1) {
      const first = random(200);
      const last = first + random(12) - 1;
      const isAdd = random(2) === 0;
      if (isAdd) set.add(BigInt(first), BigInt(last));
      else set.remove(BigInt(first), BigInt(last));
      for (let value = first; value <= last; value += 1) {
        if (isAdd) model.add(value);
        else model.delete(value);
      }
      assert.equal(set.count, BigInt(model.size));
      assert.equal(set.lowest, model.size === 0 ? undefined : BigInt(Math.min(...model)));
      assert.equal(set.has(BigInt(first)), model.has(first));
      let end = -2n;
      for (const interval of set.intervals()) {
        assert.ok(interval.first > end + 1n && interval.last >= interval.first);
        end = interval.last;
      }
    }
  });

  test('a /64 costs nothing', () => {
    const cidr = parseCidr('fd00::/64');
    assert.ok(cidr);
    const set = IntervalSet.of(cidr.network, lastOf(cidr));
    set.remove(cidr.network + 5n);
    assert.equal(set.count, 2n ** 64n - 1n);
    assert.equal(set.format(6), 'fd00::-fd00::4,fd00::6-fd00::ffff:ffff:ffff:ffff');
  });
});

describe('mac', () => {
  test('is canonical and unicast', () => {
    assert.equal(parseMac('0A:58:0A:10:00:02'), '0a:58:0a:10:00:02');
    for (const text of ['01:00:00:00:00:01', '00:00:00:00:00:00', 'a:b:c:d:e:f', '0a580a100002', '0a:58:0a:10:00:0g'])
      assert.equal(parseMac(text), undefined, text);
  });

  test('derived addresses are stable, valid and spread', () => {
    assert.equal(deriveMac(0x0a, 'x'), deriveMac(0x0a, 'x'));
    const seen = new Set<string>();
    for (let index = 0; index < 20000; index += 1) {
      const mac = deriveMac(0x0a, `pod-${index}.default`);
      assert.equal(parseMac(mac), mac);
      seen.add(mac);
    }
    assert.equal(seen.size, 20000);
  });
});
