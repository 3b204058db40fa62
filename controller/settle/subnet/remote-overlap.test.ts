import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewOf } from '../../../lib/slices/testing.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { remoteClusterView, parseKeySlice, parseSubnet, parseTransitSwitch, parseVpc } from '../../watch/networks.ts';
import { planSubnetConditions } from '../../plan/conditions.ts';
import { planKey } from '../../plan/plan.ts';
import { acceptedNoteOf } from './former-gateways.ts';

const at = (minute: number) => ({ creationTimestamp: `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z` });

function meta(name: string, more: object = {}): never {
  return { name, uid: `uid-${name}`, resourceVersion: '1', generation: 1, ...at(0), ...more } as never;
}

const accepted = (note: string) => ({ annotations: { 'isthmus.network/accepted': note } });

function subnet(cluster: TestCluster, name: string, spec: object | undefined, more: object = {}): void {
  const value = spec && parseSubnet({ metadata: meta(name, more), spec });
  cluster.change('subnets', name, value);
}

const route = (prefix: string, state = 'Active', transitSwitch = 'ts') => ({
  prefix,
  transitSwitch,
  nextHop: '100.100.0.2',
  state,
});

function remote(cluster: TestCluster, name: string, routes: readonly object[] | undefined, more: object = {}): void {
  const value = routes && viewOf(remoteClusterView, { metadata: meta(name, more) }, routes);
  cluster.change('remoteClusters', name, value);
}

function transit(cluster: TestCluster, name: string, vpc: string, cidr: string): void {
  cluster.change('transitSwitches', name, parseTransitSwitch({ metadata: meta(name), status: { vpc, cidr } }));
}

/** A member that reaches 10.17.0.0/16 of west over two paths. */
function member(): TestCluster {
  const cluster = new TestCluster();
  for (const vpc of ['ovn-cluster', 'blue']) cluster.change('vpcs', vpc, parseVpc({ metadata: meta(vpc), spec: {} }));
  transit(cluster, 'ts', 'ovn-cluster', '100.100.0.0/16');
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' });
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' });
  remote(cluster, 'west', [route('10.17.0.0/16'), { ...route('10.17.0.0/16'), nextHop: '100.100.32.2' }], at(1));
  return cluster;
}

function start(cluster: TestCluster): TestCluster {
  cluster.restore(new Map());
  cluster.settle();
  return cluster;
}

/** West has more prefixes than its object lists, all of them in one network. */
function cut(cluster: TestCluster, within: string): void {
  remote(cluster, 'west', [route('10.17.0.0/16'), route(within, 'Unlisted')], at(1));
}

const problemOf = (cluster: TestCluster, name: string) => cluster.verdicts.get(name)?.problem;
const rowsOf = (cluster: TestCluster, name: string) => planKey(cluster, `subnet/${name}`).rows.length;

describe('a Subnet that overlaps what another cluster offers', () => {
  it('is refused if it may be one of the prefixes that the RemoteCluster has no room for', () => {
    const cluster = start(member());
    cut(cluster, '10.32.0.0/12');
    subnet(cluster, 'inside', { cidrBlock: '10.40.0.0/24' }, at(5));
    subnet(cluster, 'outside', { cidrBlock: '10.64.0.0/24' }, at(5));
    cluster.settle();
    assert.equal(problemOf(cluster, 'inside')?.code, 'InterconnectOverlap');
    assert.match(
      problemOf(cluster, 'inside')?.message ?? '',
      /may overlap a prefix of cluster west.* 10\.32\.0\.0\/12/,
    );
    assert.equal(rowsOf(cluster, 'inside'), 0);
    assert.notEqual(problemOf(cluster, 'outside')?.code, 'InterconnectOverlap');
    cut(cluster, '192.0.2.0/24');
    cluster.settle();
    assert.notEqual(problemOf(cluster, 'inside')?.code, 'InterconnectOverlap');
    assert.ok(rowsOf(cluster, 'inside') > 0);
  });

  it('is not refused for prefixes that the other cluster learned from its routers', () => {
    const cluster = start(member());
    remote(cluster, 'west', [{ ...route('10.0.0.0/8'), origin: 'bgp' }], at(1));
    for (const [name, cidrBlock] of [
      ['inside', '10.20.0.0/16'],
      ['equal', '10.0.0.0/8'],
    ] as const) {
      subnet(cluster, name, { cidrBlock, vpc: 'ovn-cluster' }, at(2));
      cluster.settle();
      assert.notEqual(problemOf(cluster, name)?.code, 'InterconnectOverlap', name);
      subnet(cluster, name, undefined);
    }
  });

  it('is refused before anything is written, if equal, inside or around; the message names both sides', () => {
    for (const cidrBlock of ['10.17.0.0/16', '10.17.4.0/24', '10.0.0.0/8']) {
      const cluster = start(member());
      if (cidrBlock === '10.0.0.0/8') subnet(cluster, 'ovn-default', { cidrBlock: '192.168.0.0/16' });
      subnet(cluster, 'new', { cidrBlock }, at(5));
      cluster.settle();
      assert.equal(problemOf(cluster, 'new')?.code, 'InterconnectOverlap', cidrBlock);
      assert.equal(rowsOf(cluster, 'new'), 0);
      assert.equal(acceptedNoteOf(cluster, 'new'), undefined);
      const conditions = planSubnetConditions(cluster, 'new', undefined);
      for (const type of ['Validated', 'Ready']) {
        const condition = conditions.find((one) => one.type === type);
        assert.deepEqual([condition?.status, condition?.reason], ['False', 'InterconnectOverlap']);
        assert.match(
          condition?.message ?? '',
          /overlaps 10\.17\.0\.0\/16 of cluster west, .* transit switch ts: choose a free CIDR/,
        );
      }
    }
  });

  it('is refused even if it is not offered to other clusters', () => {
    const cluster = start(member());
    subnet(cluster, 'new', { cidrBlock: '10.17.4.0/24', disableInterConnection: true }, at(5));
    cluster.settle();
    assert.equal(problemOf(cluster, 'new')?.code, 'InterconnectOverlap');
  });

  it('comes into force once the prefix is withdrawn or its cluster removed, not while only its paths are down', () => {
    for (const last of [[], [route('10.17.0.0/16', 'Rejected')], undefined]) {
      const cluster = start(member());
      subnet(cluster, 'new', { cidrBlock: '10.17.4.0/24' }, at(5));
      cluster.settle();
      remote(cluster, 'west', [route('10.17.0.0/16', 'Backup')], at(1));
      cluster.settle();
      assert.equal(problemOf(cluster, 'new')?.code, 'InterconnectOverlap');
      remote(cluster, 'west', last, at(1));
      assert.ok(cluster.settle().has('subnet/new'));
      assert.equal(problemOf(cluster, 'new'), undefined);
      assert.ok(rowsOf(cluster, 'new') > 0);
    }
  });

  it('stays refused if the other cluster continues under another name', () => {
    const cluster = start(member());
    const spec = { cidrBlock: '10.17.4.0/24' };
    subnet(cluster, 'new', spec, at(5));
    cluster.settle();
    const conditions = planSubnetConditions(cluster, 'new', undefined);
    cluster.change('subnets', 'new', parseSubnet({ metadata: meta('new', at(5)), spec, status: { conditions } }));
    remote(cluster, 'occident', [route('10.17.0.0/16')], at(9));
    remote(cluster, 'west', undefined);
    cluster.settle();
    assert.match(problemOf(cluster, 'new')?.message ?? '', /of cluster occident/);
  });

  it('stays in force whatever another cluster does later, also after a restart', () => {
    const cluster = start(member());
    subnet(cluster, 'mine', { cidrBlock: '10.20.0.0/16' }, at(5));
    cluster.settle();
    remote(cluster, 'west', [route('10.20.0.0/16'), route('10.16.0.0/15')], at(1));
    cluster.settle();
    assert.equal(problemOf(cluster, 'mine'), undefined);
    assert.equal(problemOf(cluster, 'ovn-default'), undefined);
    const note = acceptedNoteOf(cluster, 'mine') ?? '';
    const again = member();
    subnet(again, 'mine', { cidrBlock: '10.20.0.0/16' }, { ...at(5), ...accepted(note) });
    remote(again, 'west', [route('10.20.0.0/16')], at(1));
    start(again);
    assert.equal(problemOf(again, 'mine'), undefined);
    assert.ok(rowsOf(again, 'mine') > 0);
  });

  it('is served without an earlier verdict if it is older than the RemoteCluster', () => {
    const cluster = member();
    subnet(cluster, 'taken-over', { cidrBlock: '10.17.4.0/24' }, at(0));
    subnet(cluster, 'ovn-default', { cidrBlock: '10.17.32.0/20' }, at(9));
    start(cluster);
    assert.equal(problemOf(cluster, 'ovn-default'), undefined, 'no pod runs without it');
    assert.equal(problemOf(cluster, 'taken-over'), undefined);
  });

  it('keeps its network if an edit is refused, with pods in it and without', () => {
    const cluster = start(member());
    subnet(cluster, 'mine', { cidrBlock: '10.20.0.0/16' }, at(5));
    cluster.settle();
    const note = accepted(acceptedNoteOf(cluster, 'mine') ?? '');
    for (const name of ['mine', 'ovn-default']) {
      subnet(cluster, name, { cidrBlock: '10.17.4.0/24' }, { ...at(5), ...note });
      cluster.settle();
      assert.equal(problemOf(cluster, name)?.code, 'InterconnectOverlap', name);
      assert.ok(rowsOf(cluster, name) > 0);
    }
    assert.match(acceptedNoteOf(cluster, 'mine') ?? '', /^10\.20\.0\.0\/16 /);
    subnet(cluster, 'other', { cidrBlock: '10.20.3.0/24' }, at(6));
    cluster.settle();
    assert.match(problemOf(cluster, 'other')?.message ?? '', /overlaps 10\.20\.0\.0\/16 of subnet mine/);
  });

  it('may get a second family while another cluster offers a prefix around its first', () => {
    const cluster = start(member());
    remote(cluster, 'west', [route('10.16.0.0/12')], at(1));
    subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16,fd00:10:16::/112' });
    cluster.settle();
    assert.equal(problemOf(cluster, 'ovn-default'), undefined);
  });

  it('in a VPC that the transit switch does not join is accepted', () => {
    const cluster = start(member());
    subnet(cluster, 'new', { cidrBlock: '10.17.4.0/24', vpc: 'blue' }, at(5));
    cluster.settle();
    assert.equal(problemOf(cluster, 'new'), undefined);
    transit(cluster, 'bts', 'blue', '100.101.0.0/16');
    remote(cluster, 'north', [route('10.99.0.0/16', 'Active', 'bts')], at(1));
    subnet(cluster, 'joined', { cidrBlock: '10.99.1.0/24', vpc: 'blue' }, at(6));
    subnet(cluster, 'between', { cidrBlock: '100.101.3.0/24', vpc: 'blue' }, at(6));
    cluster.settle();
    assert.equal(problemOf(cluster, 'joined')?.code, 'InterconnectOverlap');
    assert.match(problemOf(cluster, 'between')?.message ?? '', /transit switch bts/);
    assert.equal(problemOf(cluster, 'new'), undefined);
  });
});

describe('names of a Subnet and its Vpc', () => {
  it('that are equal are a NameConflict', () => {
    const cluster = start(member());
    subnet(cluster, 'blue', { cidrBlock: '10.30.0.0/24', vpc: 'blue' }, at(5));
    cluster.settle();
    assert.equal(problemOf(cluster, 'blue')?.code, 'NameConflict');
    assert.match(problemOf(cluster, 'blue')?.message ?? '', /is also the name of its Vpc.*blue-blue: choose another/);
  });

  it('that are crosswise in two pairs are a NameConflict, because two ports would share a name', () => {
    const cluster = start(member());
    cluster.change('vpcs', 'red', parseVpc({ metadata: meta('red'), spec: {} }));
    subnet(cluster, 'red', { cidrBlock: '10.30.0.0/24', vpc: 'blue' }, at(5));
    subnet(cluster, 'blue', { cidrBlock: '10.31.0.0/24', vpc: 'red' }, at(6));
    cluster.settle();
    assert.equal(problemOf(cluster, 'red'), undefined);
    assert.equal(problemOf(cluster, 'blue')?.code, 'NameConflict');
  });
});

describe('the network of addresses within encrypted tunnels', () => {
  const encrypt = (cluster: TestCluster, cidr: string | undefined): void => {
    const value = cidr === undefined ? undefined : parseKeySlice({ metadata: meta('east'), cidr });
    cluster.change('keySlices', 'east', value);
    cluster.settle();
  };
  const problemOf = (cluster: TestCluster, name: string) => {
    cluster.settle();
    const problem = cluster.verdicts.get(name)?.problem;
    return problem && `${problem.code} ${problem.message}`;
  };

  it('is refused to new subnets of VPCs that other clusters reach, as long as some pair is encrypted', () => {
    const cluster = start(member());
    encrypt(cluster, '100.126.0.0/16');
    const within = { cidrBlock: '100.126.8.0/24' };
    subnet(cluster, 'inside', within);
    assert.match(
      problemOf(cluster, 'inside') ?? '',
      /^CIDROverlap spec.cidrBlock 100.126.8.0\/24 overlaps 100.126.0.0\/16,/,
    );
    subnet(cluster, 'isolated', { cidrBlock: '100.126.9.0/24', vpc: 'blue' });
    assert.equal(problemOf(cluster, 'isolated'), undefined);
    encrypt(cluster, '100.125.0.0/16');
    assert.equal(problemOf(cluster, 'inside'), undefined);
    encrypt(cluster, '100.126.0.0/16');
    assert.equal(problemOf(cluster, 'inside'), undefined, 'the interconnect refuses the network instead');
    subnet(cluster, 'wide', { cidrBlock: '100.124.0.0/14' });
    assert.match(problemOf(cluster, 'wide') ?? '', /^CIDROverlap/);
    encrypt(cluster, undefined);
    subnet(cluster, 'inside', undefined);
    assert.equal(problemOf(cluster, 'wide'), undefined);
  });
  it('of a form that cannot be read refuses nothing', () => {
    const cluster = start(member());
    encrypt(cluster, 'everything');
    subnet(cluster, 'inside', { cidrBlock: '100.126.8.0/24' });
    assert.equal(problemOf(cluster, 'inside'), undefined);
  });
});
