import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { buildLocal, type LocalParts } from './local.ts';
import { parseGateway, parseInterconnect, parseNode, parseSubnet, parseTransitSwitch } from './objects.ts';

const raw = (name: string, fields: object, metadata: object = {}): RawObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: '1', ...metadata },
  ...fields,
});
const accepted = (cidr: string) => ({ annotations: { 'isthmus.network/accepted': `${cidr} ${cidr}` } });

describe('parsing', () => {
  it('a node has a network until its daemon reports that it has none, ready or not', () => {
    const parsed = (...conditions: readonly object[]) => parseNode(raw('n1', { status: { conditions } }));
    const down = { type: 'NetworkUnavailable', status: 'True', reason: 'OvnControllerDown' };
    assert.equal(parsed().hasNetwork, true);
    assert.equal(parsed({ type: 'Ready', status: 'True' }, down).hasNetwork, false);
    assert.equal(parsed({ ...down, status: 'False' }).hasNetwork, true);
  });

  it('fills in the defaults of an Interconnect and keeps an invalid field as a problem', () => {
    const good = parseInterconnect(
      raw('default', { spec: { clusterName: 'east', hub: 'h:6650', tokenSecretRef: { name: 't' } } }),
    );
    assert.deepEqual(good.spec, {
      clusterName: 'east',
      hub: 'h:6650',
      tokenSecretRef: { name: 't', key: 'token' },
      vpc: 'ovn-cluster',
      gatewayNodeSelector: { matchLabels: { 'ovn.kubernetes.io/ic-gw': 'true' } },
      clusterSetCIDR: '100.127.0.0/16,fd00:100:127::/112',
      sharePods: { enabled: true, namespaceSelector: {} },
      encryption: { mode: 'off', clusters: [], keyRotation: { intervalHours: 720, maxWaitHours: 24 } },
      failback: { holdDownSeconds: 5 },
      ciliumAnnotations: true,
      mtu: 0,
    });
    const bad = parseInterconnect(raw('default', { spec: { clusterName: 'East' } }));
    assert.equal((bad.spec as { code: string }).code, 'SpecInvalid');
  });

  it('shares a subnet only when it is in force, routed by OVN and open; one that waits for its pods still is', () => {
    const shared = (fields: object, name = 'a', metadata: object = {}) =>
      parseSubnet(raw(name, { spec: fields }, { ...accepted('10.16.0.0/16'), ...metadata })).isShared;
    const inVlan = (routing: string, fields: object = {}) =>
      shared(fields, 'a', accepted(`192.168.1.0/24 192.168.1.1 net1/10/${routing}`));
    assert.equal(shared({}), true);
    assert.equal(shared({ vlan: 'not-in-force' }), true, 'an edit that is refused takes nothing from others');
    assert.equal(inVlan('physical'), false);
    assert.equal(inVlan('logicalGateway'), true);
    assert.equal(inVlan('u2o'), true);
    assert.equal(inVlan('u2o', { u2oFeatures: { overlayOnlyRouting: true } }), false);
    assert.equal(shared({ disableInterConnection: true }), false);
    assert.equal(shared({}, 'join'), false);
    assert.equal(shared({}, 'a', { deletionTimestamp: 'now' }), true);
    assert.deepEqual(parseSubnet(raw('a', { spec: { cidrBlock: '10.16.0.0/16' } })).cidrs, []);
  });
});

describe('a gateway object', () => {
  it('drains on request of the user, and is removed by the agent only if the agent created it', () => {
    const labels = { 'app.kubernetes.io/managed-by': 'isthmus-interconnect' };
    const ours = parseGateway(raw('n1', { spec: { drain: true } }, { labels }));
    assert.deepEqual([ours.isDrained, ours.isMadeByAgent], [true, true]);
    const theirs = parseGateway(raw('n1', { spec: { drain: 'yes' } }));
    assert.deepEqual([theirs.isDrained, theirs.isMadeByAgent, theirs.tunnels], [false, false, []]);
  });
});

describe('the local view', () => {
  const spec: InterconnectSpec = {
    clusterName: 'east',
    hub: 'h:1',
    tokenSecretRef: { name: 't', key: 'token' },
    vpc: 'ovn-cluster',
    gatewayNodeSelector: { matchLabels: { gw: 'true' } },
    failback: { holdDownSeconds: 5 },
    clusterSetCIDR: '100.127.0.0/16',
    ciliumAnnotations: true,
    sharePods: { enabled: true, namespaceSelector: {} },
    encryption: { mode: 'off', clusters: [], keyRotation: { intervalHours: 720, maxWaitHours: 24 } },
    mtu: 0,
  };
  const subnet = (name: string, cidrBlock: string, vpc = '') =>
    [name, parseSubnet(raw(name, { spec: { vpc } }, accepted(cidrBlock)))] as const;
  const node = (name: string, labels: Record<string, string>, chassis?: string) =>
    [
      name,
      parseNode(
        raw(name, {}, { labels, annotations: chassis === undefined ? {} : { 'ovn.kubernetes.io/chassis': chassis } }),
      ),
    ] as const;
  const parts = (): LocalParts => ({
    spec,
    names: { cluster: 'east', handle: 'east' },
    routerIdOf: (vpc) => `uuid of ${vpc}`,
    joinedRouter: () => '',
    linksOf: () => [],
    transitSwitches: [],
    isDrained: (name) => name === 'n2',
    subnets: [
      subnet('b', '10.17.0.0/16'),
      subnet('a', '10.16.0.0/16'),
      subnet('other', '10.99.0.0/16', 'vpc2'),
      subnet('join', '100.64.0.0/16'),
    ],
    nodes: [node('n1', { gw: 'true' }, 'c1'), node('n2', { gw: 'true' }), node('n3', {}), node('n4', { gw: 'true' })],
    chassis: new Map([['c2', { gateway: { chassis: 'c2', hostname: 'n2', encaps: [] }, isInterconnect: true }]]),
  });

  it('has the prefixes and ranges of its VPC, and gateways whose chassis is known', () => {
    const local = buildLocal(parts(), undefined);
    const vpc = local.vpcs.get('ovn-cluster');
    assert.deepEqual([...local.vpcs.keys()], ['ovn-cluster']);
    assert.equal(vpc?.routerId, 'uuid of ovn-cluster');
    assert.deepEqual(
      vpc.prefixes.map((prefix) => prefix.cidr),
      ['10.16.0.0/16', '10.17.0.0/16'],
    );
    assert.deepEqual(
      vpc.ranges.map(({ name }) => name),
      ['subnet a', 'subnet b', 'subnet join'],
    );
    assert.deepEqual(local.gatewayNodes, [
      { node: 'n1', chassis: 'c1', isDrained: false },
      { node: 'n2', chassis: 'c2', isDrained: true },
    ]);
    assert.deepEqual(local.unknownNodes, ['n4']);
  });

  it('takes part in the network of the hub and in transit switches of users, each for its VPC', () => {
    const made = (name: string, spec_: object, metadata: object = {}) =>
      [name, parseTransitSwitch(raw(name, { spec: spec_ }, metadata))] as const;
    const local = buildLocal(
      {
        ...parts(),
        transitSwitches: [
          made('ts', { vpc: 'whatever' }),
          made('blue', { vpc: 'vpc2', cidr: '100.101.0.0/16,fd01::/64', paths: 4, clusters: ['east', 'west'] }),
          made('gone', {}, { deletionTimestamp: 'now' }),
          made('wrong', { paths: 'many' }),
        ],
      },
      undefined,
    );
    assert.deepEqual(
      local.transitRequests.map(({ name, vpc, problem }) => [name, vpc, problem?.code]),
      [
        ['ts', 'ovn-cluster', undefined],
        ['blue', 'vpc2', undefined],
        ['wrong', '', 'SpecInvalid'],
      ],
    );
    assert.deepEqual(local.transitRequests[1]?.cidrs, ['100.101.0.0/16', 'fd01::/64']);
    assert.deepEqual(
      local.vpcs.get('vpc2')?.prefixes.map((prefix) => prefix.cidr),
      ['10.99.0.0/16'],
    );
  });

  it('knows a VPC by its router; only that of the default VPC may be missing for a while', () => {
    const custom = { ...spec, vpc: 'nowhere' };
    const none = { ...parts(), routerIdOf: () => '' };
    assert.deepEqual([...buildLocal({ ...none, spec: custom }, undefined).vpcs.keys()], []);
    assert.deepEqual([...buildLocal(none, undefined).vpcs.keys()], ['ovn-cluster']);
    assert.deepEqual([...buildLocal({ ...parts(), spec: custom }, undefined).vpcs.keys()], ['nowhere']);
  });

  it('has no transit switch with the name of a subnet, unless the transit switch already exists', () => {
    const made = ['a', parseTransitSwitch(raw('a', { spec: { paths: 2 } }))] as const;
    const other = ['clash', parseTransitSwitch(raw('clash', { spec: { paths: 2 } }))] as const;
    const subnets = [...parts().subnets, subnet('clash1', '10.18.0.0/16')];
    const codes = (joinedRouter: (network: string) => string) =>
      buildLocal({ ...parts(), subnets, transitSwitches: [made, other], joinedRouter }, undefined).transitRequests.map(
        ({ name, problem }) => [name, problem?.code],
      );
    assert.deepEqual(
      codes(() => ''),
      [
        ['ts', undefined],
        ['a', 'NameConflict'],
        ['clash', 'NameConflict'],
      ],
    );
    assert.deepEqual(
      codes(() => 'ovn-cluster').map(([, code]) => code),
      [undefined, undefined, undefined],
    );
  });

  it('keeps the VPC that takes part until the wanted VPC exists', () => {
    const made = ['blue', parseTransitSwitch(raw('blue', { spec: { vpc: 'nowhere' } }))] as const;
    const routerIdOf = (vpc: string): string => (vpc === 'nowhere' ? '' : `uuid of ${vpc}`);
    const moved = { ...parts(), spec: { ...spec, vpc: 'nowhere' }, transitSwitches: [made], routerIdOf };
    const [first, blue] = buildLocal(
      { ...moved, joinedRouter: (network) => (network === 'ts' ? 'ovn-cluster' : '') },
      undefined,
    ).transitRequests;
    assert.deepEqual([first?.vpc, blue?.vpc], ['ovn-cluster', 'nowhere']);
    assert.match(
      first?.vpcProblem?.message ?? '',
      /VPC nowhere does not exist.* until then VPC ovn-cluster stays joined/,
    );
    assert.doesNotMatch(blue?.vpcProblem?.message ?? 'until', /until/);
    const there = buildLocal({ ...moved, routerIdOf: () => 'uuid' }, undefined).transitRequests[0];
    assert.deepEqual([there?.vpc, there?.vpcProblem], ['nowhere', undefined]);
  });

  it('ignores a subnet of another VPC, also one with addresses of its own', () => {
    const overlapping = { ...parts(), subnets: [...parts().subnets, subnet('tenant', '10.16.0.0/16', 'vpc2')] };
    assert.deepEqual(buildLocal(overlapping, undefined), buildLocal(parts(), undefined));
  });

  it('is the same object for the same parts, and a new one for other parts', () => {
    const first = buildLocal(parts(), undefined);
    assert.equal(buildLocal(parts(), first), first);
    assert.notEqual(buildLocal({ ...parts(), routerIdOf: () => 'other' }, first), first);
  });
});
