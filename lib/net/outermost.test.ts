import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { cidrContains, formatCidr, parseCidr } from './cidr.ts';
import { OutermostNetworks } from './outermost.ts';

const cidrOf = (text: string) => parseCidr(text) ?? assert.fail(text);
/** Few networks, many of which contain others. */
const network = fc
  .tuple(fc.constantFrom(4, 6), fc.nat(15), fc.integer({ min: 0, max: 4 }))
  .map(([family, at, bits]) =>
    formatCidr(
      cidrOf(
        family === 4
          ? `10.0.0.${String(at * 16)}/${String(24 + bits)}`
          : `fd00::${at.toString(16)}0/${String(120 + bits)}`,
      ),
    ),
  );

function outermostOf(texts: readonly string[]): readonly string[] {
  const isWithin = (inner: string, outer: string): boolean => {
    const [a, b] = [cidrOf(inner), cidrOf(outer)];
    return inner !== outer && a.prefix > b.prefix && cidrContains(b, { family: a.family, value: a.network });
  };
  return [...new Set(texts)].filter((text) => !texts.some((other) => isWithin(text, other))).toSorted();
}

test('after any changes the outermost networks are those of all that were added, and the changes lead to them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(network, fc.nat(3), fc.boolean()), { maxLength: 60 }), (steps) => {
      const [networks, held, known] = [new OutermostNetworks(), [] as string[], new Set<string>()];
      for (const [text, kind, isTaken] of steps) {
        const at = held.indexOf(text);
        if (kind > 0 || at < 0) {
          networks.add(text);
          held.push(text);
        } else {
          networks.remove(text);
          held.splice(at, 1);
        }
        if (!isTaken) continue;
        const { removed, added } = networks.takeChanges();
        for (const one of removed) assert.ok(known.delete(one));
        for (const one of added) known.add(one);
        assert.deepEqual([...known].toSorted(), outermostOf(held));
      }
      assert.deepEqual([...networks.all].toSorted(), outermostOf(held));
    }),
  );
});

test('a text that is no network changes nothing', () => {
  const networks = new OutermostNetworks();
  networks.add('10.0.0.0');
  networks.remove('10.0.0.0/33');
  assert.deepEqual(networks.takeChanges(), { removed: [], added: [] });
});
