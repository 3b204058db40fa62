import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeStatus } from '../plan/node-status.ts';
import type { Node } from '../model/node.ts';
import { NodeStatusWriter } from './node.ts';

const well: NodeStatus = { condition: { status: 'False', reason: 'NetworkReady', message: 'm' }, isReady: true };
const ill: NodeStatus = { condition: { status: 'True', reason: 'SwitchDown', message: 'm' }, isReady: false };

const values = { chassis: 'c', servicesDryRun: null };

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
    servicesDryRun: undefined,
    unavailable: { ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' },
    isToBeDeleted: false,
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
  for (const status of [well, well, ill, ill, ill]) writer.publish(nodeWithCondition(well), values, status);
  writer.publish(nodeWithCondition(ill), values, ill);
  assert.deepEqual(done.splice(0), ['Warning SwitchDown', 'write Node/n1/status', 'cancel Node/n1/status']);
  for (const node of [nodeWithCondition(ill), nodeWithCondition(ill), nodeWithCondition(well)])
    writer.publish(node, values, well);
  assert.deepEqual(done, ['write Node/n1/status', 'cancel Node/n1/status']);
});

test('a status that ended before its write is cancelled, and written when it returns', () => {
  const { writer, done } = open();
  writer.publish(nodeWithCondition(well), values, ill);
  writer.publish(nodeWithCondition(well), values, well);
  writer.publish(nodeWithCondition(well), values, well);
  writer.publish(nodeWithCondition(well), values, ill);
  const write = ['Warning SwitchDown', 'write Node/n1/status'];
  assert.deepEqual(done, [...write, 'cancel Node/n1/status', ...write]);
});

test('the report of a dry run is written once, left until there is a new one, and removed without a dry run', () => {
  const { writer, done } = open();
  const bare = nodeWithCondition(well);
  const reported = { ...bare, servicesDryRun: '{}' };
  const publish = (node: Node, servicesDryRun: string | null | undefined): string[] => {
    writer.publish(node, { chassis: 'c', servicesDryRun }, well);
    return done.splice(0);
  };
  assert.deepEqual(publish(bare, undefined), []);
  assert.deepEqual(publish(bare, '{}'), ['write Node/n1']);
  assert.deepEqual(publish(bare, '{}'), []);
  for (const report of ['{}', undefined]) assert.deepEqual(publish(reported, report), []);
  assert.deepEqual(publish(reported, null), ['write Node/n1']);
  assert.deepEqual(publish(bare, null), []);
});
