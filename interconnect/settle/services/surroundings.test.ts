import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cidr, local } from '../../model/testing.ts';
import { clusterSetNetworks } from './networks.ts';
import { overlapWith, surroundingsOf, type SurroundingsInput } from './surroundings.ts';
import { routeTo } from './testing.ts';

const subnet = (text: string, hasLoadBalancers = true, vpc = 'ovn-cluster') => ({
  vpc,
  cidrs: [cidr(text)],
  hasLoadBalancers,
});
const node = (zone?: string) => ({ labels: zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone } });

function of(fields: Partial<SurroundingsInput> = {}) {
  const subnets = [['ovn-default', subnet('10.16.0.0/16')] as const];
  return surroundingsOf({ local, subnets, nodes: [], serviceCidrs: [], hasLoadBalancers: true, ...fields });
}

describe('the surroundings of imports', () => {
  it('have the networks of Subnets, Services and nodes, which ClusterSet IPs must not be in', () => {
    const { occupied } = of({ serviceCidrs: [['kubernetes', [cidr('10.96.0.0/12')]]] });
    assert.deepEqual(
      occupied.map(({ name }) => name),
      ['Subnet ovn-default', 'ServiceCIDR kubernetes', 'Node n1'],
    );
    const { problems } = clusterSetNetworks('10.100.0.0/16', occupied);
    assert.match(problems.get(4)?.message ?? '', /overlaps 10\.96\.0\.0\/12 \(ServiceCIDR kubernetes\)/);
  });

  it('tell which pods have load balancers; `join` has no pods, and other VPCs do not take part', () => {
    const others = [
      ['join', subnet('100.64.0.0/16', false)],
      ['apart', subnet('10.30.0.0/16', false, 'blue')],
    ] as const;
    const some = [['ovn-default', subnet('10.16.0.0/16')], ['bare', subnet('10.18.0.0/16', false)], ...others] as const;
    assert.deepEqual([of({ subnets: some }).obstacle, of({ subnets: some }).leftOut], [undefined, ['bare']]);
    const none = of({ subnets: [['bare', subnet('10.18.0.0/16', false)], ...others] });
    assert.match(none.obstacle?.message ?? '', /enable them in bare$/);
    const refused = ['refused', { ...subnet('10.19.0.0/16'), cidrs: [] }] as const;
    assert.match(
      of({ subnets: [['bare', subnet('10.18.0.0/16', false)], refused] }).obstacle?.message ?? '',
      /in bare$/,
    );
    assert.equal(of({ hasLoadBalancers: false }).obstacle?.code, 'LoadBalancersDisabled');
    assert.equal(of({ subnets: others }).obstacle, undefined, 'without any Subnet that takes part yet');
  });

  it('have a zone if all nodes are in it', () => {
    const zoneOf = (...zones: (string | undefined)[]): string =>
      of({ nodes: zones.map((zone, at) => [`n${at}`, node(zone)] as const) }).zone;
    assert.deepEqual(
      [zoneOf('a', 'a'), zoneOf('a', 'b'), zoneOf('a', undefined), zoneOf(undefined), zoneOf()],
      ['a', '', '', '', ''],
    );
  });

  it('clash with networks of another cluster, but not with what its routers announce', () => {
    const networks = [cidr('100.127.0.0/16')];
    const found = overlapWith('west', [routeTo('10.17.0.0/16'), routeTo('100.127.4.0/24')], networks);
    assert.match(found?.message ?? '', /overlaps 100\.127\.4\.0\/24 of cluster west/);
    const learned = { ...routeTo('0.0.0.0/0'), origin: 'bgp' };
    const rejected = { ...routeTo('100.127.4.0/24'), rejected: { code: 'Denied', message: '' } };
    assert.equal(overlapWith('west', [learned, rejected], networks), undefined);
  });
});
