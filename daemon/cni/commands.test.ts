import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { cniCommands, type Outcome } from './commands.ts';
import type { ShimAnswer } from './protocol.ts';

const environment = new Map([
  ['CNI_COMMAND', 'DEL'],
  ['CNI_CONTAINERID', 'c1'],
  ['CNI_IFNAME', 'eth0'],
  ['CNI_PATH', '/opt/cni/bin'],
]);
const stdin = '{"cniVersion":"0.4.0","name":"isthmus","type":"isthmus"}';

/** A DEL with this outcome. */
function del(fault: Error, outcomes: Outcome[] = []): Promise<ShimAnswer> {
  const fail = (): Promise<never> => Promise.reject(fault);
  const answer = cniCommands({
    attachments: { add: fail, check: fail, del: fail, gc: fail },
    findUnavailable: () => undefined,
    onOutcome: (outcome) => outcomes.push(outcome),
    stopping: new AbortController().signal,
    now: () => 0,
  });
  return answer({ environment, stdin }, new AbortController().signal);
}

test('a refusal of the kernel at any step becomes a CNI error', async () => {
  const outcomes: Outcome[] = [];
  const { exitStatus, stdout } = await del(new NetlinkError('EBUSY', 'link 0123456789ab_h'), outcomes);
  assert.equal(exitStatus, 1);
  assert.deepEqual(JSON.parse(stdout), {
    cniVersion: '0.4.0',
    code: 100,
    msg: 'the kernel refused link 0123456789ab_h: EBUSY',
  });
  assert.deepEqual(
    outcomes.map(({ code, command }) => [code, command]),
    [[100, 'DEL']],
  );
});

test('a defect becomes no CNI error, and ends the process', async () => {
  const defect = new TypeError('x');
  await assert.rejects(del(defect), (error) => error === defect);
});
