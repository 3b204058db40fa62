/** The start of ovn-controller in the pod of Open vSwitch, with programs that only write down how they were called. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';

const script = join(import.meta.dirname, '../../images/ovn/run-switch');
const route = 'User: 100.126.0.0/16 dev br-wg GW 169.254.126.1 SRC 169.254.126.2';

/** Starts ovn-controller; returns the calls of programs that change something. */
function start(t: TestContext, { bridge, routes }: { bridge: boolean; routes: string }): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'start-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const calls = join(folder, 'calls');
  const programs = {
    'ovs-vsctl': `case "$*" in *br-exists*) exit ${bridge ? 0 : 2};; esac; echo "vsctl $*" >>${calls}`,
    'ovs-appctl': `echo '${routes}'`,
    'ovn-controller': `echo "controller $*" >>${calls}`,
    sleep: 'exit 0',
  };
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  execFileSync('sh', [script, 'controller', `unix:${folder}/db.sock`], { env, stdio: 'pipe' });
  return readFileSync(calls, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(folder, ''));
}

describe('ovn-controller starts', () => {
  const started = 'controller unix:/db.sock';

  test('at once without encrypted tunnels, and where their route is in place', (t) => {
    assert.deepEqual(start(t, { bridge: false, routes: '' }), [started]);
    assert.deepEqual(start(t, { bridge: true, routes: route }), [started]);
  });
  test('without tunnels to other clusters as long as those would leave in the clear', (t) => {
    const calls = start(t, { bridge: true, routes: 'Cached: 0.0.0.0/0 dev br-phys GW 192.0.2.1 SRC 192.0.2.11' });
    assert.deepEqual(calls, [
      'vsctl --db=unix:/db.sock --timeout=60 --no-wait remove Open_vSwitch . external_ids ovn-is-interconn',
      started,
    ]);
  });
});
