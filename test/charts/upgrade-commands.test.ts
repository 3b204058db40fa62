/** The commands of README and guides that upgrade the chart: none may leave out values that a newer chart has. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { chart } from './render.ts';

const root = join(chart, '../..');
const pages = ['README.md', 'charts/isthmus/README.md', ...globSync('docs/guides/*.md', { cwd: root })];

/** The upgrades in the blocks of commands of a page, each with its continued lines. */
function upgradesIn(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/\\\n\s*/g, '');
  return text.split('\n').filter((line) => /^\s*helm upgrade /.test(line));
}

test('an upgrade uses the defaults of the new chart for new values', () => {
  const upgrades = pages.flatMap((page) => upgradesIn(page).map((line) => `${page}: ${line.trim()}`));
  assert.ok(upgrades.length > 5, upgrades.join('\n'));
  assert.deepEqual(
    upgrades.filter((line) => line.includes('--reuse-values') || !/ --reset-then-reuse-values\b| -f values/.test(line)),
    [],
  );
});
