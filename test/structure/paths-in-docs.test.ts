import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const folders = readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

/** The source files that a page names in backticks, from the root of the repository. */
function filesNamedIn(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8');
  const names = [...text.matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|c|sh|proto))`/g)].map(([, name = '']) => name);
  return names.filter((name) => folders.includes(name.slice(0, name.indexOf('/'))));
}

describe('a source file that a page names', () => {
  const adrs = readdirSync(join(root, 'docs/adr')).map((name) => `docs/adr/${name}`);
  for (const page of ['docs/architecture.md', 'CONTRIBUTING.md', 'docs/glossary.md', ...adrs])
    test(`exists: ${page}`, () => {
      const missing = filesNamedIn(page).filter((name) => !existsSync(join(root, name)));
      assert.deepEqual(missing, [], 'name the file that has taken its place');
    });
});

test('a path through the code has at most eight files', () => {
  const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const steps = architecture.split(/^### /m).map((section) => section.match(/^\d+\. /gm)?.length ?? 0);
  assert.ok(steps.some((count) => count > 0));
  assert.ok(Math.max(...steps) <= 8, `steps of the sections: ${steps.join(', ')}`);
});
