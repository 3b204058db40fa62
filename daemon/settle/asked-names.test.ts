import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AskedNames, limits, rememberedMs } from './asked-names.ts';

const startMs = 1_700_000_000_000;
const web = { uid: 'web', namespace: 'shop' };
const all = (names: AskedNames): readonly string[] => names.entries.map(({ name }) => name);

function started(): AskedNames {
  const names = new AskedNames();
  names.setPatterns(new Set(['*.example.com']));
  return names;
}

describe('names that pods ask for', () => {
  test('count if a policy names them with *, from the first question to an hour after the last', () => {
    const names = started();
    assert.equal(names.note('www.example.com', web, startMs), 'new');
    assert.equal(names.note('www.example.net', web, startMs), 'unnamed');
    assert.equal(names.note('example.com', web, startMs), 'unnamed');
    assert.equal(names.note('www.example.com', { uid: 'db', namespace: 'shop' }, startMs + 5000), 'known');
    assert.deepEqual(names.entries, [{ name: 'www.example.com', namespace: 'shop', since: startMs / 1000 }]);
    assert.equal(names.expire(startMs + rememberedMs), false);
    assert.equal(names.expire(startMs + 5000 + rememberedMs), true);
    assert.deepEqual(names.entries, []);
  });

  test('count for each Namespace of which a pod asks: nobody takes a name by asking first', () => {
    const names = started();
    assert.equal(names.note('www.example.com', { uid: 'evil', namespace: 'evil' }, startMs), 'new');
    assert.equal(names.note('www.example.com', web, startMs + 5000), 'new');
    const entry = { name: 'www.example.com', namespace: 'shop', since: startMs / 1000 + 5 };
    assert.deepEqual(names.entries, [{ name: 'www.example.com', namespace: 'evil', since: startMs / 1000 }, entry]);
    names.note('www.example.com', web, startMs + 10_000);
    assert.equal(names.expire(startMs + rememberedMs), true);
    assert.deepEqual(names.entries, [entry]);
  });

  test('are after a restart what they were before, for an hour', () => {
    const names = new AskedNames();
    names.restore([{ name: 'www.example.com', namespace: 'shop', since: 7 }], startMs);
    names.setPatterns(new Set(['*.example.com']));
    assert.equal(names.note('www.example.com', web, startMs), 'known');
    assert.deepEqual(names.entries, [{ name: 'www.example.com', namespace: 'shop', since: 7 }]);
    names.setPatterns(new Set(['*.example.net']));
    assert.deepEqual(all(names), []);
  });

  test('have a limit for each pod, namespace and node, and new ones count once others are forgotten', () => {
    const names = started();
    const ask = (pod: typeof web, count: number, ms = startMs) => {
      const results = Array.from({ length: count }, (_, at) => names.note(`${pod.uid}-${at}.example.com`, pod, ms));
      return results.at(-1);
    };
    assert.equal(ask(web, limits.pod), 'new');
    assert.equal(ask(web, limits.pod + 1), 'pod');
    assert.equal(all(names).length, limits.pod);
    for (let pod = 1; pod < limits.namespace / limits.pod; pod += 1)
      assert.equal(ask({ uid: `p${pod}`, namespace: 'shop' }, limits.pod), 'new');
    assert.equal(ask({ uid: 'one-more', namespace: 'shop' }, 1), 'namespace');
    assert.equal(ask({ uid: 'other', namespace: 'other' }, 1), 'new');
    for (let pod = 0; all(names).length < limits.node; pod += 1)
      ask({ uid: `n${pod}`, namespace: `n${pod}` }, limits.pod);
    assert.equal(ask({ uid: 'last', namespace: 'last' }, 1), 'node');
    names.expire(startMs + rememberedMs);
    assert.equal(ask(web, 1, startMs + rememberedMs), 'new');
    assert.equal(all(names).length, 1);
  });
});
