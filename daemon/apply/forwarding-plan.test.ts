import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf } from '../../lib/testing-growth.ts';
import type { RemoteRoute } from '../model/interconnect.ts';
import type { HostNetwork } from '../model/host-network.ts';
import { planHostNetwork, planSubnet, type HostInput } from '../plan/host-network.ts';
import { joinedNode } from '../testing-subnets.ts';
import { ForwardingPlan } from './forwarding-plan.ts';

const routesOf = (count: number, first = 0): readonly RemoteRoute[] =>
  Array.from({ length: count }, (_, at) => {
    const index = first + at;
    return { prefix: `10.${128 + (index >> 8)}.${index & 255}.0/24`, transitSwitch: 'ts1' };
  });

/** Each call makes new values of everything but the lists, as a refresh does. */
const inputOf = (remotes: readonly (readonly RemoteRoute[])[], more: Partial<HostInput> = {}): HostInput => ({
  node: structuredClone(joinedNode),
  subnets: [],
  mtu: 1400,
  addresses: ['172.30.0.11'],
  otherNodes: [],
  mirrorInterface: '',
  forwarding: { isSpeaker: true, vpcs: new Map([['ts1', 'ovn-cluster']]), remotes },
  hasServices: false,
  routedNetworks: new Set(),
  ...more,
});

const planned = (plan: ForwardingPlan, input: HostInput): HostNetwork =>
  planHostNetwork(input, planSubnet, (facts) => plan.of(facts)).network;

test('routes to other clusters are the same value until something that they depend on changes', () => {
  const plan = new ForwardingPlan();
  const [west, north] = [routesOf(3), routesOf(2, 3)];
  const partOf = (input: HostInput) => {
    const network = planned(plan, input);
    assert.deepEqual(network, planHostNetwork(input).network);
    return network.parts.get('other clusters');
  };
  const before = partOf(inputOf([west, north]));
  assert.equal(before?.routes.length, 5);
  assert.equal(partOf(inputOf([west, north])), before);
  assert.equal(partOf(inputOf([structuredClone(west), north], { otherNodes: ['172.30.0.12'] })), before);
  const { forwarding } = inputOf([west, north]);
  const changes: readonly Partial<HostInput>[] = [
    { addresses: ['10.128.1.7'] },
    { forwarding: { ...forwarding, remotes: [west] } },
    { forwarding: { ...forwarding, remotes: [west, routesOf(2, 4)] } },
    { forwarding: { ...forwarding, isSpeaker: false } },
    { forwarding: { ...forwarding, vpcs: new Map([['ts1', 'blue']]) } },
    { node: { ...joinedNode, network: undefined } },
  ];
  for (const change of changes) {
    assert.notDeepEqual(partOf(inputOf([west, north], change)), before);
    assert.deepEqual(partOf(inputOf([west, north])), before);
  }
});

test('a refresh that does not concern prefixes of other clusters costs the same for 50 and for 5,000', async (context) => {
  const refreshes = 300;
  const refresh = (count: number) => {
    const plan = new ForwardingPlan();
    const remotes = [routesOf(count)];
    return () => {
      for (let at = 0; at < refreshes; at += 1)
        planned(plan, inputOf(remotes, { otherNodes: [`172.30.1.${at & 255}`] }));
    };
  };
  const growth = await growthOf({ small: refresh(50), large: refresh(5000) });
  context.diagnostic(`a refresh with 5,000 prefixes takes ${growth.toFixed(2)} times one with 50`);
  // A plan of all prefixes would be a hundred times as much.
  assert.ok(growth < 3, `${growth} times`);
});
