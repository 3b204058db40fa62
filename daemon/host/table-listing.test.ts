import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseAffinity, parseListing } from './table-listing.ts';

const pick = (width: number): string =>
  `\tchain all4-${width} {\n\t\tdnat ip to ip daddr . meta l4proto . th dport . numgen random mod ${width} map @slots4\n\t}\n`;
const learn = (name: string, time: string): string =>
  `\tchain learn-${name} {\n\t\tupdate @affinity4 { ct original ip saddr timeout ${time} : ip daddr . tcp dport }\n\t}\n`;
const elements = `\t\telements = { 10.96.0.10 . 6 . 80 : goto all4-3,
\t\t\t     10.96.0.10 . 6 . 81 : goto refuse }
`;

function listing(more: { elements?: string; chains?: string; seal?: string; affinity?: string } = {}): string {
  return `table inet isthmus-services {
\tcomment "isthmus 0123abcd"
\tmap services4 {
\t\ttypeof ip daddr . meta l4proto . th dport : verdict
${more.elements ?? elements}\t}

\tmap own-sources4 {
\t\ttypeof oifname : ip saddr
\t\telements = { "ovn0" : 100.64.0.2 }
\t}

\tmap affinity4 {
\t\ttypeof ip saddr . ip daddr . meta l4proto . th dport : ip daddr . th dport
\t\tflags dynamic,timeout
${more.affinity ?? ''}\t}

${pick(1)}
${learn('1', '1s')}
\tchain services {
\t\tip daddr . meta l4proto . th dport vmap @services4
\t}
${more.chains ?? ''}${more.seal === undefined ? '' : `\n\tchain unchanged {\n\t\tcomment "${more.seal}"\n\t}\n`}}
`;
}

describe('a listing of the table', () => {
  test('is parsed into elements, chains and the digests that were written', () => {
    const parsed = parseListing(listing({ chains: pick(3), seal: 'abc' }));
    assert.deepEqual(
      [...(parsed.elements.get('services4') ?? [])],
      [
        ['10.96.0.10 . 6 . 80', 'goto all4-3'],
        ['10.96.0.10 . 6 . 81', 'goto refuse'],
      ],
    );
    assert.deepEqual([...(parsed.elements.get('own-sources4') ?? [])], [['ovn0', '100.64.0.2']]);
    assert.deepEqual([parsed.skeleton, parsed.seal], ['0123abcd', 'abc']);
    assert.ok(parsed.chains.has('all4-3') && !parsed.chains.has('unchanged'));
    const { skeleton, seal, chains } = parseListing('');
    assert.deepEqual([skeleton, seal, chains.size], [undefined, undefined, 0]);
  });

  test('has the same digest with other elements, other clients, and further chains that equal the samples', () => {
    const { digest } = parseListing(listing());
    const affinity =
      '\t\telements = { 192.0.2.1 . 10.96.0.10 . 6 . 80 timeout 3h expires 2h59m58s : 10.16.0.2 . 80 }\n';
    for (const more of [
      { elements: '' },
      { affinity },
      { chains: pick(12) + learn('10800', '3h') + learn('90', '1m30s') + learn('77', '77s') },
      { seal: 'x' },
    ])
      assert.equal(parseListing(listing(more)).digest, digest, JSON.stringify(more));
  });

  test('has another digest after an edit by another program', () => {
    const { digest } = parseListing(listing());
    for (const chains of [
      pick(3).replace('numgen', 'meta mark 1 numgen'),
      pick(3).replace('mod 3', 'mod 4'),
      learn('90', '1m'),
      '\tchain strange {\n\t}\n',
    ])
      assert.notEqual(parseListing(listing({ chains })).digest, digest, chains);
    const edited = listing().replace('vmap @services4', 'vmap @services6');
    assert.notEqual(parseListing(edited).digest, digest);
  });
});

test('clients with session affinity are parsed with their endpoint, without the timeout', () => {
  const map = `table inet isthmus-services {
\tmap affinity4 {
\t\tflags dynamic,timeout
\t\telements = { 192.0.2.1 . 10.96.0.10 . 6 . 80 timeout 3h expires 2h59m58s : 10.16.0.2 . 8080,
\t\t\t     192.0.2.2 . 10.96.0.10 . 6 . 80 timeout 60s expires 1s : 10.16.0.3 . 8080 }
\t}
}
`;
  assert.deepEqual(
    [...parseAffinity(map)],
    [
      ['192.0.2.1 . 10.96.0.10 . 6 . 80', '10.16.0.2 . 8080'],
      ['192.0.2.2 . 10.96.0.10 . 6 . 80', '10.16.0.3 . 8080'],
    ],
  );
});
