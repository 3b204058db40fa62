import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type NodeElementsInput, planNodeElements } from './node-elements.ts';

const input: NodeElementsInput = {
  ownPods: ['10.16.0.2', 'fd00:10::2'],
  podNetworks: ['10.16.0.0/16', '10.16.5.0/24', 'fd00:10::/64'],
  serviceCidrs: ['10.96.0.0/16'],
  internalIps: ['172.30.1.11', 'fd00::11'],
  otherNodes: ['172.30.1.12'],
  addresses: ['127.0.0.1', '::1', 'fe80::1', '172.30.1.11', '192.0.2.1', 'fd00::11'],
  nodePortNetworks: [],
  ownAddresses: ['100.64.0.2'],
  serviceAddresses: ['100.64.0.9'],
};

function linesOf(more: Partial<NodeElementsInput> = {}): readonly string[] {
  return planNodeElements({ ...input, ...more }).map(({ set, key, value }) => `${set} ${key} ${value}`.trimEnd());
}

test('elements of the node are networks that are not in another one, addresses with NodePorts, and sources', () => {
  assert.deepEqual(linesOf(), [
    'own-pods4 10.16.0.2',
    'pods4 10.16.0.0/16',
    'service-cidrs4 10.96.0.0/16',
    'internal-addresses4 172.30.1.11',
    'other-nodes4 172.30.1.12',
    'node-addresses4 172.30.1.11',
    'node-addresses4 192.0.2.1',
    'own-sources4 ovn0 100.64.0.2',
    'service-sources4 ovn0 100.64.0.9',
    'own-pods6 fd00:10::2',
    'pods6 fd00:10::/64',
    'internal-addresses6 fd00::11',
    'node-addresses6 fd00::11',
  ]);
});

test('NodePorts are on addresses of the given networks, never on loopback', () => {
  const addressesIn = (...nodePortNetworks: string[]): readonly string[] =>
    linesOf({ nodePortNetworks }).filter((line) => line.startsWith('node-addresses'));
  assert.deepEqual(addressesIn('192.0.2.0/24', 'no network'), ['node-addresses4 192.0.2.1']);
  assert.deepEqual(addressesIn('127.0.0.0/8'), []);
});
