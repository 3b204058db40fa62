import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';
import { planHostNetwork } from '../plan/host-network.ts';
import { aSubnet, joinedNode } from '../testing-subnets.ts';
import { SubnetPlans } from './subnet-plans.ts';

const plans = new SubnetPlans();
function partsOf(node: Node, subnets: readonly Subnet[], addresses: readonly string[] = []) {
  const input = {
    node,
    subnets,
    mtu: 1400,
    addresses,
    otherNodes: [],
    mirrorInterface: '',
    forwarding: { isSpeaker: false, vpcs: new Map<string, string>(), remotes: [] },
    hasServices: false,
    routedNetworks: new Set<string>(),
  };
  const { network } = planHostNetwork(input, (subnet, facts) => plans.of(subnet, facts));
  assert.deepEqual(network, planHostNetwork(input).network);
  return network.parts;
}

test('a Subnet keeps its part while neither it nor the node changes', () => {
  const [one, other] = [aSubnet('one', '10.64.0.0/24'), aSubnet('other', '10.64.1.0/24')];
  const before = partsOf(joinedNode, [one, other]);
  assert.deepEqual([...before.keys()], ['node', 'other clusters', 'subnet one', 'subnet other']);
  const after = partsOf({ ...joinedNode }, [{ ...one, isNatOutgoing: true }, other]);
  assert.notEqual(after.get('subnet one'), before.get('subnet one'));
  assert.equal(after.get('subnet other'), before.get('subnet other'));
  const moved = partsOf(joinedNode, [one, other], ['172.30.0.1']);
  assert.notEqual(moved.get('subnet other'), before.get('subnet other'));
});
