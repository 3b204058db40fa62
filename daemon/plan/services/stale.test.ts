import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Frontend } from '../../model/service.ts';
import { changedClients, changedFlows, isStaleClient, isStaleFlow } from './stale.ts';

function frontend(all: readonly string[], more: Partial<Frontend> = {}): Frontend {
  return {
    key: '10.96.0.10 . 17 . 53',
    family: 4,
    isNodePort: false,
    isUdp: true,
    all,
    local: undefined,
    refusal: undefined,
    outsideRefusal: undefined,
    isOfClientsNode: false,
    sourceRanges: undefined,
    affinitySeconds: undefined,
    ...more,
  };
}

const [a, b] = ['10.16.0.2 . 53', '10.16.0.3 . 53'] as const;
const nodeAddresses = new Set(['172.30.1.11']);

function flow(destination: string, destinationPort: number, source: string) {
  return { family: 4, original: { destination, destinationPort }, reply: { source, sourcePort: 53 } } as const;
}

describe('connections of UDP', () => {
  test('are read if an endpoint was removed, if the first one was added, and if the former plan is unknown', () => {
    assert.equal(changedFlows(frontend([a]), frontend([a, b])).size, 0);
    assert.equal(changedFlows(frontend([a, b]), frontend([a])).size, 1);
    assert.equal(changedFlows(frontend([]), frontend([a])).size, 1);
    assert.equal(changedFlows(undefined, frontend([a])).size, 1);
    assert.equal(changedFlows(frontend([a]), undefined).size, 1);
    assert.equal(changedFlows(frontend([a], { isUdp: false }), undefined).size, 0);
  });

  test('are stale if the endpoint does not serve the address and port, translated or not', () => {
    const served = changedFlows(frontend([]), frontend([a]));
    assert.equal(isStaleFlow(flow('10.96.0.10', 53, '10.16.0.2'), served, nodeAddresses), false);
    assert.equal(isStaleFlow(flow('10.96.0.10', 53, '10.16.0.3'), served, nodeAddresses), true);
    assert.equal(isStaleFlow(flow('10.96.0.10', 53, '10.96.0.10'), served, nodeAddresses), true);
    assert.equal(isStaleFlow(flow('10.96.0.10', 54, '10.16.0.3'), served, nodeAddresses), false);
  });

  test('to a NodePort have an address of the node as destination', () => {
    const served = changedFlows(undefined, frontend([a], { key: '0.0.0.0 . 17 . 30053', isNodePort: true }));
    assert.equal(isStaleFlow(flow('172.30.1.11', 30_053, '10.16.0.3'), served, nodeAddresses), true);
    assert.equal(isStaleFlow(flow('192.0.2.1', 30_053, '192.0.2.1'), served, nodeAddresses), false);
  });
});

describe('clients with affinity', () => {
  const sticky = { affinitySeconds: 60 };

  test('are read if an endpoint was removed, or no longer serves external clients', () => {
    assert.equal(changedClients(frontend([a]), frontend([a, b])).size, 0, 'without affinity');
    assert.equal(changedClients(frontend([a], sticky), frontend([a, b], sticky)).size, 0);
    assert.equal(changedClients(frontend([a, b], sticky), frontend([a], sticky)).size, 1);
    assert.equal(changedClients(frontend([a, b], sticky), frontend([a, b])).size, 1);
    const narrowed = changedClients(frontend([a, b], sticky), frontend([a, b], { ...sticky, local: [a] }));
    assert.deepEqual([...narrowed.values()], [new Set([a])]);
  });

  test('are forgotten if their endpoint does not serve', () => {
    const served = changedClients(frontend([a, b], sticky), frontend([a], sticky));
    assert.equal(isStaleClient('192.0.2.1 . 10.96.0.10 . 17 . 53', a, served), false);
    assert.equal(isStaleClient('192.0.2.1 . 10.96.0.10 . 17 . 53', b, served), true);
    assert.equal(isStaleClient('192.0.2.1 . 10.96.0.11 . 17 . 53', b, served), false);
  });
});
