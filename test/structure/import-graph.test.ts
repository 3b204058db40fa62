/**
 * The arrows between the stages of each room run one way, and there is no circle: a reader follows an
 * object from `watch/` to the row without going back. `places.ts` lists the allowed imports.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folderOf, isTestFile, objectionTo, roomOf } from './places.ts';
import { circlesOf, importsOf, readImports, type Graph } from './source-imports.ts';

const graph = readImports();

test('the graph has the rooms and their arrows', () => {
  assert.ok(graph.get('speaker/main.ts')?.has('lib/run/room.ts'));
  assert.ok([...graph.keys()].includes('lib/ovsdb/src/client.ts'));
  for (const [file, imports] of graph)
    for (const target of imports)
      assert.ok(graph.has(target) || target.startsWith('test/'), `${file} imports ${target}, which is not there`);
});

test('every arrow between folders follows the order of the stages', () => {
  const against = new Map<string, string[]>();
  for (const [from, imports] of graph)
    for (const to of imports) {
      const arrow = objectionTo(from, to);
      if (arrow !== undefined) against.set(arrow, [...(against.get(arrow) ?? []), `  ${from} imports ${to}`]);
    }
  failWith(
    'arrows against the order',
    [...against].map(([arrow, imports]) => [arrow, ...imports].join('\n')),
  );
});

test('files have no circular imports', () => {
  failWith(
    'circles',
    circlesOf(graph).map((circle) => circle.join(' → ')),
  );
});

test('folders have no circular imports', () => {
  const folders = new Map<string, Set<string>>();
  for (const [from, imports] of graph)
    for (const to of imports) {
      const [folder, imported] = [folderOf(from, roomOf(from)!), folderOf(to, roomOf(to)!)];
      if (folder === imported || isTestFile(from)) continue;
      folders.set(folder, (folders.get(folder) ?? new Set()).add(imported));
    }
  failWith(
    'circles',
    circlesOf(folders).map((circle) => circle.join(' → ')),
  );
});

/** Prints all of them, where an assertion would cut a long list. */
function failWith(what: string, findings: readonly string[]): void {
  if (findings.length > 0) assert.fail(`${what}:\n${findings.join('\n')}`);
}

test('forbidden imports are detected', () => {
  const circle: Graph = new Map([
    ['a', new Set(['b', 'd'])],
    ['b', new Set(['c'])],
    ['c', new Set(['a'])],
    ['d', new Set()],
  ]);
  assert.deepEqual(circlesOf(circle), [['a', 'b', 'c', 'a']]);
  const source = `import type {\n  A,\n} from '../model/a.ts';\nexport { b } from './b.ts';\nimport './c.ts';\nawait import('./d.ts');\nimport { x } from 'zod';`;
  assert.deepEqual(
    [...importsOf('speaker/plan/z.ts', source)],
    ['speaker/model/a.ts', 'speaker/plan/b.ts', 'speaker/plan/c.ts', 'speaker/plan/d.ts'],
  );
  for (const [from, to, objection] of [
    ['speaker/state/a.ts', 'speaker/plan/b.ts', 'speaker/state → speaker/plan'],
    ['speaker/watch/a.ts', 'speaker/state/b.ts', 'speaker/watch → speaker/state'],
    ['speaker/apply/a.ts', 'speaker/main.ts', 'speaker/apply → speaker'],
    ['speaker/helpers/a.ts', 'speaker/model/b.ts', 'speaker/helpers has no place'],
    ['interconnect/plan/a.ts', 'interconnect/hub/plan/b.ts', 'interconnect/plan → interconnect/hub/plan'],
    ['lib/net/a.ts', 'lib/kube/b.ts', 'lib/net → lib/kube'],
    ['speaker/plan/a.ts', 'speaker/settle/b.ts', undefined],
    ['speaker/main.ts', 'speaker/status/b.ts', undefined],
    ['interconnect/hub/state/a.ts', 'interconnect/link/b.ts', undefined],
    ['speaker/state/a.test.ts', 'speaker/plan/b.ts', undefined],
  ] as const)
    assert.equal(objectionTo(from, to), objection, `${from} imports ${to}`);
});
