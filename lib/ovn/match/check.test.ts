import assert from 'node:assert/strict';
import { test } from 'node:test';
import { badMatches, goodMatches } from './cases.ts';
import { checkMatch, maxMatchLength, referencedNames } from './check.ts';
import { growthOf } from '../../testing-growth.ts';

test('a match that OVN accepts is accepted', () => {
  const refused = goodMatches.flatMap((match) => checkMatch(match, 'acl-to-lport')?.message ?? []);
  assert.deepEqual(refused, []);
});

test('a match that OVN refuses is refused with a position inside it', () => {
  for (const match of badMatches) {
    const problem = checkMatch(match, 'acl-to-lport');
    assert.ok(problem, match);
    assert.ok(problem.offset >= 0 && problem.offset <= match.length, `${match}: offset ${problem.offset}`);
    assert.match(problem.message, /position|empty/, match);
  }
});

const sentences: readonly (readonly [match: string, offset: number, message: RegExp])[] = [
  ['ip4 && ip4.scr == 10.0.0.1', 7, /^unknown field "ip4\.scr" at position 8: did you mean ip4\.src\?$/],
  ['ip.src == 10.0.0.1', 0, /did you mean ip4\.src or ip6\.src\?/],
  ['tcp.dport == 80', 0, /did you mean tcp\.dst\?/],
  ['zzzzzzzz == 1', 0, /^unknown field "zzzzzzzz" at position 1$/],
  ['ip4.src == ', 11, /^expected a constant after "==", but the match ends at position 12$/],
  ['ip4 && (tcp', 7, /^"\(" at position 8 is never closed$/],
  ['tcp.dst == {80', 11, /^"\{" at position 12 is never closed$/],
  ['ip4)', 3, /closes no parenthesis/],
  ['ip4 && tcp || udp', 11, /are mixed at position 12: put parentheses/],
  ['ip4.src == fd00::1', 11, /^ip4\.src has 32 bits, but "fd00::1" at position 12 needs 128: use ip6\.src$/],
  ['ip4 and tcp', 4, /write "&&"/],
  ['tcp.dst = 80', 8, /write "=="/],
  ['!ip4', 1, /cannot be negated/],
  ['ip.proto != 6', 0, /can only be tested for equality/],
  ['inport == p1', 10, /double quotes/],
  ['icmp4.frag_mtu == 1500', 0, /cannot be matched/],
  ['ip4 // x', 4, /would hide the parenthesis/],
  ['ip4 &&\u00a0tcp', 6, /U\+00A0/],
];

test('a message names the position, the problem and the remedy', () => {
  for (const [match, offset, message] of sentences) {
    const problem = checkMatch(match, 'acl-to-lport');
    assert.equal(problem?.offset, offset, match);
    assert.match(problem.message, message);
  }
});

test('a field that the packet or the router lacks at the place of the match is refused', () => {
  assert.match(checkMatch('outport == "p1"', 'acl-from-lport')?.message ?? '', /to-lport/);
  assert.equal(checkMatch('outport == "p1"', 'acl-to-lport'), undefined);
  assert.equal(checkMatch('outport == "p1"', 'router-policy'), undefined);
  assert.match(checkMatch('inport == @pg1', 'router-policy')?.message ?? '', /no router ports/);
  assert.equal(checkMatch('inport == @pg1', 'acl-from-lport'), undefined);
  assert.equal(checkMatch('ip4 // x', 'router-policy'), undefined);
});

test('a match that would fill the memory of the nodes is refused, a smaller one is not', () => {
  const ports = 'tcp.dst != {22, 53, 80, 443, 6443, 8080}';
  const addresses = [1, 2, 3, 4, 5].map((host) => `ip4.src != 10.0.0.${host}`);
  const joined = addresses.join(' && ');
  for (const match of [
    ports,
    joined,
    `(${joined}) && tcp`,
    `!(${joined.replaceAll('!=', '==').replaceAll('&&', '||')})`,
  ])
    assert.match(checkMatch(match, 'acl-to-lport')?.message ?? '', /millions of flows/, match);
  assert.match(checkMatch('!ip6.mcast_flood', 'acl-to-lport')?.message ?? '', /millions of flows/);
  const fine = [addresses.join(' || '), joined.replace('&&', '|| (').concat(')'), 'ip6.mcast_flood', '!ip6.mcast'];
  fine.push('ip4.src != {10.0.0.1, 10.0.0.2, 10.0.0.3} && ip4.dst != {10.0.0.1, 10.0.0.2, 10.0.0.3}');
  for (const match of fine) assert.equal(checkMatch(match, 'acl-to-lport'), undefined, match);
});

test('length is bounded and the work stays linear', async () => {
  assert.match(checkMatch(' '.repeat(maxMatchLength + 1), 'acl-to-lport')?.message ?? '', /characters/);
  const pieces = [
    '(',
    '!(',
    '/**/',
    '//\n',
    '"a',
    '0',
    '0x',
    'a:',
    'a',
    '{',
    '1..',
    'ip4 && ',
    'ip4.src != 10.0.0.1 && ',
    '\\',
    '!',
  ];
  for (const piece of pieces) {
    const work = (length: number) => {
      const text = piece.repeat(length / piece.length);
      return (): unknown => checkMatch(text, 'acl-to-lport');
    };
    // Linear is eight times as much, the square 64 times.
    const growth = await growthOf({ small: work(maxMatchLength / 8), large: work(maxMatchLength) });
    assert.ok(growth < 32, `${JSON.stringify(piece)}: ${growth} times`);
  }
});

test('names are found once each, also in a match that is wrong', () => {
  assert.deepEqual(referencedNames('ip4.src == {$b, $a, $b} && outport == @pg.1 && tcp || "$no" // $no'), {
    addressSets: ['a', 'b'],
    portGroups: ['pg.1'],
  });
  assert.deepEqual(referencedNames('ip4'), { addressSets: [], portGroups: [] });
});
