import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { udpFrontend } from '../../testing-frontends.ts';
import { changedClients, changedFlows, isStaleClient, isStaleFlow } from './stale.ts';

const [a, b] = ['10.16.0.2 . 53', '10.16.0.3 . 53'] as const;
const nodeAddresses = new Set(['172.30.1.11']);

function flow(destination: string, destinationPort: number, source: string) {
  return { family: 4, original: { destination, destinationPort }, reply: { source, sourcePort: 53 } } as const;
}

describe('connections of UDP', () => {
  test('are read if an endpoint was removed, if the first one was added, and if the former plan is unknown', () => {
    assert.equal(changedFlows(udpFrontend([a]), udpFrontend([a, b])).size, 0);
    assert.equal(changedFlows(udpFrontend([a, b]), udpFrontend([a])).size, 1);
    assert.equal(changedFlows(udpFrontend([]), udpFrontend([a])).size, 1);
    assert.equal(changedFlows(undefined, udpFrontend([a])).size, 1);
    assert.equal(changedFlows(udpFrontend([a]), undefined).size, 1);
    assert.equal(changedFlows(udpFrontend([a], { isUdp: false }), undefined).size, 0);
  });

  test('are stale if the endpoint does not serve the address and port, translated or not', () => {
    const served = changedFlows(udpFrontend([]), udpFrontend([a]));
    assert.equal(isStaleFlow(flow('10.96.0.10', 53, '10.16.0.2'), served, nodeAddresses), false);
    assert.equal(isStaleFlow(flow('10.96.0.10', 53, '10.16.0.3'), served, nodeAddresses), true);
    assert.equal(isStaleFlow(flow('10.96.0.10', 53, '10.96.0.10'), served, nodeAddresses), true);
    assert.equal(isStaleFlow(flow('10.96.0.10', 54, '10.16.0.3'), served, nodeAddresses), false);
  });

  test('to a NodePort have an address of the node as destination', () => {
    const served = changedFlows(undefined, udpFrontend([a], { key: '0.0.0.0 . 17 . 30053', isNodePort: true }));
    assert.equal(isStaleFlow(flow('172.30.1.11', 30_053, '10.16.0.3'), served, nodeAddresses), true);
    assert.equal(isStaleFlow(flow('192.0.2.1', 30_053, '192.0.2.1'), served, nodeAddresses), false);
  });
});

describe('clients with affinity', () => {
  const sticky = { affinitySeconds: 60 };

  test('are read if an endpoint was removed, or no longer serves external clients', () => {
    assert.equal(changedClients(udpFrontend([a]), udpFrontend([a, b])).size, 0, 'without affinity');
    assert.equal(changedClients(udpFrontend([a], sticky), udpFrontend([a, b], sticky)).size, 0);
    assert.equal(changedClients(udpFrontend([a, b], sticky), udpFrontend([a], sticky)).size, 1);
    assert.equal(changedClients(udpFrontend([a, b], sticky), udpFrontend([a, b])).size, 1);
    const narrowed = changedClients(udpFrontend([a, b], sticky), udpFrontend([a, b], { ...sticky, local: [a] }));
    assert.deepEqual([...narrowed.values()], [new Set([a])]);
  });

  test('are read if external clients have endpoints again, or lost one that serves others', () => {
    const withLocal = (...local: readonly string[]) => udpFrontend([a, b], { ...sticky, local });
    assert.equal(changedClients(udpFrontend([a, b], sticky), withLocal()).size, 0, 'their packets are dropped');
    assert.deepEqual([...changedClients(withLocal(), withLocal(a)).values()], [new Set([a])]);
    assert.deepEqual([...changedClients(withLocal(b), withLocal(a)).values()], [new Set([a])]);
    assert.equal(changedClients(withLocal(a), withLocal(a, b)).size, 0);
  });

  test('are forgotten if their endpoint does not serve', () => {
    const served = changedClients(udpFrontend([a, b], sticky), udpFrontend([a], sticky));
    assert.equal(isStaleClient('192.0.2.1 . 10.96.0.10 . 17 . 53', a, served), false);
    assert.equal(isStaleClient('192.0.2.1 . 10.96.0.10 . 17 . 53', b, served), true);
    assert.equal(isStaleClient('192.0.2.1 . 10.96.0.11 . 17 . 53', b, served), false);
  });
});
