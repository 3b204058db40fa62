import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { exchange, NetlinkError, type NetlinkSocket, patientDump } from './socket.ts';

function failing(fault: Error): NetlinkSocket {
  const request = (): Promise<never> => Promise.reject(fault);
  return { request } as unknown as NetlinkSocket;
}

test('a kernel that does not answer is an error of the request, not a defect', async () => {
  const text = 'Timeout has been reached';
  await assert.rejects(exchange(failing(new Error(text)), 16, 0, [], 'veth a_h'), (error) => {
    assert.ok(error instanceof NetlinkError);
    assert.deepEqual([error.code, error.message], ['ETIMEDOUT', 'veth a_h: ETIMEDOUT']);
    return true;
  });
  const source = readFileSync(new URL('netlink.js', import.meta.resolve('netlink')), 'utf8');
  assert.ok(source.includes(`Error('${text}')`), 'the package says so still');
});

test('any other failure is passed on as it is', async () => {
  const defect = new TypeError('x');
  await assert.rejects(exchange(failing(defect), 16, 0, [], 'veth a_h'), (error) => error === defect);
});

test('a dump is requested again while the kernel is busy, and not after a refusal', async () => {
  const answers: (() => Promise<[never[]]>)[] = [
    () => Promise.reject(new Error('Timeout has been reached')),
    () => Promise.resolve([[]]),
    () => Promise.reject(new TypeError('x')),
  ];
  const socket = { request: () => answers.shift()?.() } as unknown as NetlinkSocket;
  assert.deepEqual(await patientDump(socket, 26, Buffer.alloc(0), 'routes'), []);
  assert.equal(answers.length, 1, 'the second answer counts');
  await assert.rejects(patientDump(socket, 26, Buffer.alloc(0), 'routes'), TypeError);
});
