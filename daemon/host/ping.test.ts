import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePing, passes } from './ping.ts';

const head = 'PING 172.30.2.11 (172.30.2.11) from 172.30.1.11 : 56(84) bytes of data.\n\n';

test('the output of ping is parsed with all answers, with losses and with no answer', () => {
  const times = 'rtt min/avg/max/mdev = 0.027/0.036/0.046/0.006 ms\n';
  const counts = '5 packets transmitted, 4 received, 20% packet loss, time 804ms\n';
  assert.deepEqual(parsePing(`${head}--- 172.30.2.11 ping statistics ---\n${counts}${times}`, ''), {
    sent: 5,
    received: 4,
    rttMs: { min: 0.027, avg: 0.036, max: 0.046 },
    problem: undefined,
  });
  const errors = '5 packets transmitted, 0 received, +5 errors, 100% packet loss, time 4082ms\npipe 4\n';
  const none = parsePing(`${head}${errors}`, '');
  assert.deepEqual([none.sent, none.received, none.rttMs, none.problem], [5, 0, undefined, undefined]);
});

test('a ping that could not send reports the reason', () => {
  assert.equal(parsePing('', 'ping: connect: Network is unreachable').problem, 'ping: connect: Network is unreachable');
  assert.equal(parsePing('', '').problem, 'ping ended silently');
});

test('a packet of the MTU of loopback passes, one byte more does not', async () => {
  const signal = new AbortController().signal;
  const options = { source: '127.0.0.1', target: '127.0.0.1', signal };
  // Loopback's MTU of 65,536 is more than an IPv4 packet can have.
  assert.equal(await passes(options, 65_507), true);
  assert.equal(await passes(options, 65_536), false);
});
