import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { providerNode } from './provider-nodes.ts';
import type { ProviderNodeSpec } from './provider-nodes.ts';

const on = (spec: Partial<ProviderNodeSpec>, labels: Readonly<Record<string, string>> = {}): unknown =>
  providerNode({
    network: { name: 'net1', spec: { defaultInterface: 'eth1', ...spec } },
    node: { name: 'n1', labels },
  });

describe('nodes of a provider network', () => {
  test('have the default interface unless another is named for them', () => {
    assert.deepEqual(on({}), { interface: 'eth1' });
    const customInterfaces = [
      { interface: 'eth2', nodes: ['n2'] },
      { interface: 'eth3', nodes: ['n1', 'n3'] },
      { interface: 'eth4', nodes: ['n1'] },
    ];
    assert.deepEqual(on({ customInterfaces }), { interface: 'eth3' });
  });

  test('are without it where they are excluded, by the spec or by their label', () => {
    const customInterfaces = [{ interface: 'eth3', nodes: ['n1'] }];
    assert.deepEqual(on({ excludeNodes: ['n1'], customInterfaces }), {
      absence: 'spec.excludeNodes of ProviderNetwork net1 names node n1',
    });
    assert.deepEqual(on({}, { 'net1.provider-network.kubernetes.io/exclude': 'true' }), {
      absence: 'node n1 has the label net1.provider-network.kubernetes.io/exclude=true',
    });
    assert.deepEqual(on({}, { 'net1.provider-network.kubernetes.io/exclude': 'false' }), { interface: 'eth1' });
    assert.deepEqual(on({}, { 'net2.provider-network.kubernetes.io/exclude': 'true' }), { interface: 'eth1' });
  });

  test('are without it where the selector does not match; an empty one matches all', () => {
    const nodeSelector = { matchLabels: { rack: 'a' } };
    assert.deepEqual(on({ nodeSelector }, { rack: 'a' }), { interface: 'eth1' });
    assert.deepEqual(on({ nodeSelector }, { rack: 'b' }), {
      absence: 'spec.nodeSelector of ProviderNetwork net1 does not match the labels of node n1',
    });
    assert.deepEqual(on({ nodeSelector: {} }), { interface: 'eth1' });
  });
});
