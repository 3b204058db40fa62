import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { readImports } from './source-imports.ts';

const imports = readImports();
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

describe('a path through the code', () => {
  const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const [, section = ''] = /^## Paths through the code$(.*?)^## /ms.exec(architecture) ?? [];
  const paths = section.split(/^### /m).slice(1);
  assert.ok(paths.length > 0);
  for (const path of paths) {
    const [title = ''] = path.split('\n');
    const files = [...path.matchAll(/^\d+\. `([\w./-]+)`/gm)].map(([, file = '']) => file);

    test(`has at most eight files: ${title}`, () => assert.ok(files.length > 1 && files.length <= 8, files.join(' ')));

    test(`leads forward: ${title}`, () => {
      for (const [at, file] of files.entries()) {
        const earlier = files.slice(0, at);
        assert.ok(
          at === 0 || earlier.some((from) => imports.get(from)?.has(file) === true || isNamedIn(from, file)),
          `none of ${earlier.join(', ')} imports ${file} or names it in its first comment`,
        );
      }
    });
  }
});

/** Whether the text above the first import of `from` names the file: with its folder, or by its name alone in the same folder. */
function isNamedIn(from: string, file: string): boolean {
  const [comment = ''] = readFileSync(join(root, from), 'utf8').split(/^(?:import|#include)\b/m, 1);
  const withFolder = `${basename(dirname(file))}/${basename(file)}`;
  return comment.includes(withFolder) || (dirname(from) === dirname(file) && comment.includes(`\`${basename(file)}\``));
}
