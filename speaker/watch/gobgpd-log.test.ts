import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { GobgpdLog } from './gobgpd-log.ts';

const line = (address: string, code: number, subcode: number): string =>
  `${JSON.stringify({ msg: 'received notification', Key: address, Code: code, Subcode: subcode })}\n`;

test('the last notification of a neighbour counts until its session is up', (context) => {
  const dir = mkdtempSync(join(tmpdir(), 'gobgpd-log-'));
  const file = join(dir, 'gobgpd.log');
  writeFileSync(
    file,
    [
      line('10.0.0.1', 6, 2),
      line('10.0.0.2', 6, 4),
      line('10.0.0.3', 6, 2),
      line('10.0.0.2', 4, 0),
      line('10.0.0.3', 6, 7),
    ].join(''),
  );
  const log = new GobgpdLog({ file, onChange: () => {} });
  context.after(() => {
    log.close();
    rmSync(dir, { recursive: true });
  });
  const reasons = () => [...log.last].map(([address, { reason }]) => `${address} ${reason}`);
  assert.deepEqual(reasons(), [
    '10.0.0.1 CeaseAdministrativeShutdown',
    '10.0.0.2 HoldTimerExpired',
    '10.0.0.3 CeaseAdministrativeShutdown',
  ]);
  log.forget(
    new Map([
      ['10.0.0.1', { state: 'Established' }],
      ['10.0.0.2', { state: 'Idle' }],
    ]),
  );
  assert.deepEqual(reasons(), ['10.0.0.2 HoldTimerExpired']);
});
