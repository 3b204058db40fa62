import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

test('an error of a listener ends the process, after the other listeners were called', () => {
  const program = `
    const { Emitter } = await import(${JSON.stringify(new URL('emitter.ts', import.meta.url).href)});
    const emitter = new Emitter();
    emitter.on(() => { throw new Error('fault of a listener'); });
    emitter.on((news) => console.log('told', news));
    emitter.emit(1);
    setTimeout(() => console.log('alive'), 1000);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.equal(stdout, 'told 1\n');
  assert.match(stderr, /fault of a listener/);
  assert.notEqual(status, 0);
});
