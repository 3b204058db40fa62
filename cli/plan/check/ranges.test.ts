import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterFacts } from '../../model/cluster-facts.ts';
import { checked } from '../../testing-cluster.ts';
import type { Draft } from '../../testing-snapshots.ts';

type Spoil = (facts: Draft<ClusterFacts>) => void;
const nothing: Spoil = () => undefined;
const found = (spoil: Spoil, networking: object = {}, more: object = {}) => {
  const { problems, warnings } = checked(spoil, { networking, ...more });
  return [...problems.map(({ code }) => `problem ${code}`), ...warnings.map(({ code }) => `warning ${code}`)];
};

describe('networks', () => {
  it('by themselves: apart, usable, written as networks', () => {
    assert.deepEqual(found(nothing), []);
    assert.deepEqual(found(nothing, { joinCIDR: '10.16.128.0/20' }), ['problem NetworksOverlap']);
    assert.deepEqual(found(nothing, { podCIDR: '169.254.0.0/16' }), ['problem NetworkNotUsable']);
    assert.deepEqual(found(nothing, { podCIDR: '10.20.1.0/16' }), ['warning NetworkHasHostBits']);
  });

  it('the transit network counts if there is a hub or a member', () => {
    const networking = { joinCIDR: '100.100.0.0/16' };
    assert.deepEqual(found(nothing, networking), []);
    const gateways = ['warning RoleNotGiven'];
    assert.deepEqual(found(nothing, networking, { interconnect: { hub: 'hub:6650' } }), [
      'problem NetworksOverlap',
      ...gateways,
    ]);
    const hub = {
      enabled: true,
      storage: { hostPath: '/var/lib/isthmus/hub' },
      nodeSelector: { 'kubernetes.io/hostname': 'n1' },
    };
    assert.deepEqual(found(nothing, networking, { hub }), ['problem NetworksOverlap']);
  });

  it('the join network has the families of the pods', () => {
    const { problems } = checked(nothing, { networking: { podCIDR: 'fd00:10:16::/112' } });
    assert.deepEqual(
      problems.map(({ code, fix }) => [code, fix]),
      [['JoinFamilyMissing', 'add one to networking.joinCIDR, such as fd00:100:64::/112']],
    );
  });
});

describe('addresses that are in use', () => {
  it('the Service range, as ServiceCIDRs have it', () => {
    const { problems } = checked(nothing, { networking: { podCIDR: '10.96.0.0/12' } });
    assert.equal(problems.length, 1);
    assert.equal(
      problems[0]?.message,
      "networking.podCIDR 10.96.0.0/12 overlaps 10.96.0.0/16, the cluster's range of Service addresses",
    );
  });

  it('without ServiceCIDRs the Services themselves, with a note that the list is incomplete', () => {
    const old: Spoil = (facts) => void (facts.serviceRanges = { cidrs: [], isKnown: false });
    assert.deepEqual(found(old), ['warning ServiceRangeUnknown']);
    assert.deepEqual(found(old, { podCIDR: '10.96.0.0/24' }), [
      'problem ServiceRangeOverlaps',
      // 253 addresses for 330 pods.
      'warning ServiceRangeUnknown',
      'warning PodNetworkSmall',
    ]);
    assert.deepEqual(found(old, { podCIDR: '10.96.128.0/17' }), ['warning ServiceRangeUnknown']);
  });

  it('of nodes and API servers', () => {
    const { problems } = checked(nothing, { networking: { podCIDR: '192.0.0.0/16' } });
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['MachineInNetwork'],
    );
    assert.match(problems[0]?.message ?? '', /node n1 \(192\.0\.2\.11\), node n2 .* and 1 more/);
    const outside: Spoil = (facts) => void (facts.serverAddresses = ['10.16.3.4']);
    assert.match(checked(outside).problems[0]?.message ?? '', /the API server \(10\.16\.3\.4\)/);
  });
});

describe('sizes', () => {
  it('fit the pods that kubelets take, and the nodes', () => {
    assert.deepEqual(found(nothing, { podCIDR: '10.16.0.0/23' }), []);
    assert.deepEqual(found(nothing, { podCIDR: '10.16.0.0/24' }), ['warning PodNetworkSmall']);
    assert.deepEqual(found(nothing, { joinCIDR: '100.64.0.0/29' }), []);
    assert.deepEqual(found(nothing, { joinCIDR: '100.64.0.0/30' }), ['problem JoinNetworkSmall']);
  });

  it('networks that Kubernetes allocates to nodes are a warning', () => {
    const given: Spoil = ({ machines }) => void machines?.[0]?.podCidrs.push('10.244.0.0/24');
    assert.deepEqual(found(given), ['warning NodePodCidrsUnused']);
  });
});
