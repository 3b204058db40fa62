import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderCounts, renderFailures, renderSlowest, withoutCounts } from './table.ts';

test('the slowest tests come first, up to the limit', () => {
  const timings = [
    { name: 'lab up', ms: 12_340 },
    { name: 'a.test.ts', ms: 100 },
    { name: 'b.test.ts', ms: 123_456, cpuMs: 61_000 },
  ];
  assert.equal(
    renderSlowest(timings, 2),
    ['the slowest files and phases:', ' 123.5 s  b.test.ts (CPU 61.0 s)', '  12.3 s  lab up'].join('\n'),
  );
});

test('counts are added up, in the words of the test runner', () => {
  const counts = { tests: 5, passed: 2, failed: 1, cancelled: 1, skipped: 1 };
  assert.equal(
    renderCounts([counts, counts]),
    ['ℹ tests 10', 'ℹ pass 4', 'ℹ fail 2', 'ℹ cancelled 2', 'ℹ skipped 2'].join('\n'),
  );
});

test('a failed test is named with its file and the first lines of its error', () => {
  const error = ['it serves: no', '', 'a', 'b', 'c', 'd', 'e', 'f'].join('\n');
  const result = { path: 'a.test.ts', ms: 1, hasFailed: true, failures: [{ test: 'restart', error }] };
  assert.equal(
    renderFailures(result),
    ['✖ a.test.ts: restart: it serves: no', ...['a', 'b', 'c', 'd', 'e'].map((line) => `    ${line}`)].join('\n'),
  );
});

test('only the counts are removed from the output of a process', () => {
  const output = '✔ one (1ms)\nℹ tests 1\nℹ 12 ms from here to there\nℹ duration_ms 3.5\n';
  assert.equal(withoutCounts(output), '✔ one (1ms)\nℹ 12 ms from here to there\n');
});
