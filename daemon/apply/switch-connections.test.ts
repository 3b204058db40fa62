import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestTimers } from '../../lib/rounds/testing.ts';
import { udpFrontend } from '../testing-frontends.ts';
import { SwitchConnections } from './switch-connections.ts';

function bed() {
  const timers = new TestTimers();
  const flushed: string[] = [];
  const warnings: string[] = [];
  const state = { isDown: false };
  const connections = new SwitchConnections({
    timers,
    flush: (original, reply) => {
      if (state.isDown) return Promise.reject(new Error('ECONNREFUSED'));
      flushed.push(`${original} ${reply}`.trim());
      return Promise.resolve();
    },
    log: { warn: (_: unknown, text?: string) => void warnings.push(text ?? '') } as never,
  });
  const untilIdle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  };
  const pass = async (ms: number): Promise<void> => {
    await untilIdle();
    timers.pass(ms);
    await untilIdle();
  };
  return { connections, flushed, warnings, state, pass };
}

const [a, b] = ['10.16.0.2 . 5353', '10.16.0.3 . 5353'] as const;
const toA = 'ct_nw_dst=10.96.0.10,ct_nw_proto=17,ct_tp_dst=53 ct_nw_src=10.16.0.2,ct_nw_proto=17,ct_tp_src=5353';

test('connections to an endpoint that is gone are deleted twice, after OVN has changed its flows', async () => {
  const { connections, flushed, pass } = bed();
  connections.add([{ before: udpFrontend([a, b]), after: udpFrontend([b]) }]);
  await pass(900);
  assert.deepEqual(flushed, []);
  await pass(200);
  assert.deepEqual(flushed, [toA]);
  await pass(6000);
  assert.deepEqual(flushed, [toA, toA]);
  await pass(60_000);
  assert.equal(flushed.length, 2);
  await connections.close();
});

test('connections that were not translated are deleted once there is an endpoint', async () => {
  const { connections, flushed, pass } = bed();
  connections.add([{ before: udpFrontend([]), after: udpFrontend([a]) }]);
  await pass(1100);
  const untranslated =
    'ct_nw_dst=10.96.0.10,ct_nw_proto=17,ct_tp_dst=53 ct_nw_src=10.96.0.10,ct_nw_proto=17,ct_tp_src=53';
  assert.deepEqual(flushed, [untranslated]);
  await connections.close();
});

test('those to an endpoint that serves again, of TCP and of NodePorts stay', async () => {
  const { connections, flushed, pass } = bed();
  connections.add([{ before: udpFrontend([a, b]), after: udpFrontend([b]) }]);
  connections.add([{ before: udpFrontend([b]), after: udpFrontend([a, b]) }]);
  connections.add([{ before: udpFrontend([a], { isUdp: false }), after: undefined }]);
  connections.add([{ before: udpFrontend([a], { isNodePort: true }), after: undefined }]);
  connections.add([{ before: undefined, after: udpFrontend([a]) }]);
  await pass(10_000);
  assert.deepEqual(flushed, []);
  await connections.close();
});

test('of a Service that is gone with many endpoints, all are deleted at once, also over IPv6', async () => {
  const { connections, flushed, pass } = bed();
  const many = Array.from({ length: 9 }, (_, index) => `fd00:10::${index} . 53`);
  connections.add([{ before: udpFrontend(many, { key: 'fd00:96::a . 17 . 53', family: 6 }), after: undefined }]);
  await pass(1000);
  assert.deepEqual(flushed, ['ct_ipv6_dst=fd00:96::a,ct_nw_proto=17,ct_tp_dst=53']);
  await connections.close();
});

test('an Open vSwitch that does not answer is a warning, once', async () => {
  const { connections, flushed, warnings, state, pass } = bed();
  state.isDown = true;
  connections.add([{ before: udpFrontend([a, b]), after: undefined }]);
  await pass(1000);
  assert.equal(warnings.length, 1);
  state.isDown = false;
  await pass(5000);
  assert.deepEqual([flushed.length, warnings.length], [2, 1]);
  await connections.close();
});
