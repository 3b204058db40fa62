import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRemote } from './remote.ts';

test('remotes of all kinds are parsed', () => {
  assert.deepEqual(parseRemote('unix:/run/ovn/nb.sock'), {
    kind: 'unix',
    path: '/run/ovn/nb.sock',
    text: 'unix:/run/ovn/nb.sock',
  });
  const cases = [
    ['tcp:10.0.0.1:6641', 'tcp', '10.0.0.1', 6641],
    ['ssl:ovn.example:6642', 'ssl', 'ovn.example', 6642],
    ['tcp:[fd00::1]:6641', 'tcp', 'fd00::1', 6641],
    ['tcp:[fe80::1%eth0]:6641', 'tcp', 'fe80::1%eth0', 6641],
    ['tcp:127.0.0.1', 'tcp', '127.0.0.1', 6640],
  ] as const;
  for (const [text, kind, host, port] of cases) assert.deepEqual(parseRemote(text), { kind, host, port, text });
});

test('an invalid remote is refused with its text', () => {
  for (const text of [
    '',
    'unix:',
    'tcp:',
    'tcp:fd00::1:6641',
    'tcp:host:0',
    'tcp:host:70000',
    'udp:host:1',
    '/run/x.sock',
  ]) {
    assert.throws(() => parseRemote(text), { name: 'TypeError', message: /is not one of unix:PATH/ }, text);
  }
});
