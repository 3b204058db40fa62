import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SwitchWatch } from './switch.ts';

const head = 'Num       RefCount Protocol Flags    Type St Inode Path\n';
const line = (flags: string, path: string) => `0000000000000000: 00000002 00000000 ${flags} 0001 01 40123 ${path}\n`;
const other = line('00010000', '/run/openvswitch/br-ext.mgmt');
const up = `${head}${line('00010000', '/run/openvswitch/br-int.mgmt')}${other}`;
const down = `${head}${other}`;

test('a switch that was seen is down while nothing listens at its socket', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const dir = mkdtempSync(join(tmpdir(), 'switch-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'unix');
  let isNeeded = true;
  let changes = 0;
  writeFileSync(file, down);
  const watch = new SwitchWatch({ file, isNeeded: () => isNeeded, onChange: () => (changes += 1) });
  t.after(() => watch.stop());
  const after = (text: string): readonly [isDown: boolean, changes: number] => {
    writeFileSync(file, text);
    t.mock.timers.tick(100);
    return [watch.isDown, changes];
  };
  assert.deepEqual(after(down), [false, 0], 'it may be in another namespace');
  assert.deepEqual(after(up), [false, 0]);
  assert.deepEqual(after(down), [true, 1]);
  // A client of the socket that is left has the path, too.
  assert.deepEqual(after(`${down}${line('00000000', '/run/openvswitch/br-int.mgmt')}`), [true, 1]);
  assert.deepEqual(after(up), [false, 2]);
  assert.deepEqual(after(down), [true, 3]);
  isNeeded = false;
  assert.deepEqual(after(up), [false, 4], 'it would else be down for ever');
  assert.deepEqual(after(down), [false, 4]);
});
