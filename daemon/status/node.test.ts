import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeStatus } from '../plan/node-status.ts';
import type { Node } from '../model/node.ts';
import { NodeStatusWriter } from './node.ts';

const well: NodeStatus = { condition: { status: 'False', reason: 'NetworkReady', message: 'm' }, isReady: true };
const ill: NodeStatus = { condition: { status: 'True', reason: 'SwitchDown', message: 'm' }, isReady: false };

function nodeWithCondition({ condition }: NodeStatus): Node {
  return {
    name: 'n1',
    uid: 'u',
    network: undefined,
    internalIps: [],
    labels: {},
    networkNotes: {},
    chassis: 'c',
    leave: undefined,
    serviceAddresses: [],
    unavailable: { ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' },
  };
}

function open(): { readonly writer: NodeStatusWriter; readonly done: string[] } {
  const done: string[] = [];
  const writer = new NodeStatusWriter({
    client: { patch: () => Promise.reject(new Error('not called here')) },
    writer: {
      enqueue: (key) => {
        done.push(`write ${key}`);
        return Promise.resolve('written');
      },
      cancel: (key) => void done.push(`cancel ${key}`),
    },
    events: { record: (_object, type, reason) => void done.push(`${type} ${reason}`) },
    log: { info: () => undefined },
    now: () => new Date(0),
  });
  return { writer, done };
}

test('one write and one event for a change, none while nothing changes', () => {
  const { writer, done } = open();
  for (const status of [well, well, ill, ill, ill]) writer.publish(nodeWithCondition(well), 'c', status);
  writer.publish(nodeWithCondition(ill), 'c', ill);
  assert.deepEqual(done.splice(0), ['Warning SwitchDown', 'write Node/n1/status', 'cancel Node/n1/status']);
  for (const node of [nodeWithCondition(ill), nodeWithCondition(ill), nodeWithCondition(well)])
    writer.publish(node, 'c', well);
  assert.deepEqual(done, ['write Node/n1/status', 'cancel Node/n1/status']);
});

test('a status that ended before its write is cancelled, and written when it returns', () => {
  const { writer, done } = open();
  writer.publish(nodeWithCondition(well), 'c', ill);
  writer.publish(nodeWithCondition(well), 'c', well);
  writer.publish(nodeWithCondition(well), 'c', well);
  writer.publish(nodeWithCondition(well), 'c', ill);
  const write = ['Warning SwitchDown', 'write Node/n1/status'];
  assert.deepEqual(done, [...write, 'cancel Node/n1/status', ...write]);
});
