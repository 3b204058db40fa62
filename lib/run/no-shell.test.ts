/** What comes from the API never reaches a shell: no program of ours starts one, so there is nothing to quote. */
import { strict as assert } from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
/** They take the program's arguments as an array. */
const harmless = ['execFile', 'execFileSync', 'spawn', 'spawnSync', 'ChildProcess'];

/** What in a source starts a shell, or could. */
function shellsIn(source: string): string[] {
  const imports = [...source.matchAll(/import\s+(?:type\s+)?([^'";]+?)\s+from\s+['"](?:node:)?child_process['"]/g)];
  const mentions = source.match(/['"](?:node:)?child_process['"]/g) ?? [];
  const names = imports.flatMap(([, clause = '']) =>
    clause.startsWith('{')
      ? clause
          .slice(1, -1)
          .split(',')
          .map((name) => name.trim().replace(/^type /, ''))
      : [clause],
  );
  return [
    ...names.filter((name) => name !== '' && !harmless.includes(name)),
    ...(mentions.length > imports.length ? ['child_process without a list of names'] : []),
    ...(source.match(/\bshell\s*:/g) ?? []),
    ...(source.match(/['"`](?:\/(?:usr\/)?bin\/)?(?:ba|da|z|k)?sh['"`]/g) ?? []),
  ];
}

test('no program of Isthmus starts a shell', () => {
  const files = globSync('{central,controller,daemon,interconnect,speaker,cli,lib}/**/*.ts', { cwd: root }).filter(
    (file) => !/\.test\.ts$|testing|node_modules/.test(file),
  );
  assert.ok(files.includes('daemon/host/program.ts') && files.includes('speaker/main.ts'), `${files.length} files`);
  const found = files.flatMap((file) =>
    shellsIn(readFileSync(join(root, file), 'utf8')).map((what) => `${file}: ${what}`),
  );
  assert.deepEqual(found, []);
});

test('every way to start a shell is found', () => {
  for (const [source, what] of [
    [`import { exec } from 'node:child_process';`, 'exec'],
    [`import { execFile, execSync as run } from 'child_process';`, 'execSync as run'],
    [`import { type ChildProcess, exec } from "node:child_process";`, 'exec'],
    [`import * as children from 'node:child_process';`, '* as children'],
    [`const { exec } = await import('node:child_process');`, 'child_process without a list of names'],
    [`const { exec } = require('child_process');`, 'child_process without a list of names'],
    [`spawn('ip', args, { shell: true });`, 'shell:'],
    [`execFile('/bin/sh', ['-c', text]);`, `'/bin/sh'`],
    [`spawn("bash", ["-c", text]);`, `"bash"`],
  ] as const)
    assert.deepEqual(shellsIn(source), [what], source);
  const program = `import { execFile, type ChildProcess } from 'node:child_process';\nexecFile('ip', ['link']);`;
  assert.deepEqual(shellsIn(program), []);
});
