/** An interrupted start leaves no process, no network namespace and no state. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { processesOf } from '../lab/component.ts';
import { takeDown } from '../lab/down.ts';
import { checkout, publicStateDir, realStateDir } from '../lab/layout.ts';
import { namespacesOf } from '../lab/network.ts';

const lab = `int${process.pid.toString(36)}`;
const topology = join(checkout, 'test/lab/topologies/single.yaml');

/** Starts the lab and calls `deed` when it reports a step. Returns its exit code and output. */
async function startUntil(
  step: RegExp,
  deed: (up: ReturnType<typeof spawn>) => void,
): Promise<{ readonly code: unknown; readonly output: string }> {
  const env = { ...process.env, LAB: lab, TOPOLOGY: topology };
  const argv = [join(checkout, 'test/lab/main.ts'), 'up'];
  const up = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  let isDone = false;
  const listen = (chunk: Buffer): void => {
    output += String(chunk);
    if (isDone || !step.test(output)) return;
    isDone = true;
    deed(up);
  };
  up.stdout.on('data', listen);
  up.stderr.on('data', listen);
  const [code] = (await once(up, 'close')) as unknown[];
  assert.ok(isDone, `never came to ${step}:\n${output}`);
  return { code, output };
}

describe('an interrupted start', () => {
  after(() => takeDown(lab));

  const leavesNothing = (): void => {
    assert.deepEqual(namespacesOf(lab), []);
    assert.deepEqual(processesOf(realStateDir(lab)), []);
    assert.ok(!existsSync(publicStateDir(lab)));
  };

  const moments: readonly (readonly [NodeJS.Signals, RegExp])[] = [
    ['SIGINT', /namespaces and links/],
    ['SIGTERM', /Open vSwitch on the nodes/],
    ['SIGHUP', /Kubernetes API/],
  ];
  for (const [signal, step] of moments)
    it(`leaves nothing after ${signal}`, async () => {
      const { code, output } = await startUntil(step, (up) => up.kill(signal));
      assert.equal(code, 128 + constants.signals[signal], output);
      if (signal !== 'SIGHUP') assert.match(output, new RegExp(`interrupted; taking the lab ${lab} away`));
      leavesNothing();
    });

  it('leaves nothing after a quick second Ctrl-C to the whole process group', async () => {
    const { code } = await startUntil(/Open vSwitch on the nodes/, ({ pid = 0 }) => {
      process.kill(-pid, 'SIGINT');
      setTimeout(() => process.kill(-pid, 'SIGINT'), 100);
    });
    assert.equal(code, 130);
    leavesNothing();
  });

  it('leaves nothing after its terminal is closed', async () => {
    const { code } = await startUntil(/namespaces and links/, ({ stdout, stderr }) => {
      stdout?.destroy();
      stderr?.destroy();
    });
    assert.equal(code, 129);
    leavesNothing();
  });
});
