import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildNetworks } from './networks.ts';
import { memberState, publishedGateways } from '../plan/member-state.ts';
import type { Ends } from '../model/networks.ts';
import { cidr, gateway, granted, local, port } from '../model/testing.ts';

const ends: Ends = new Map([
  [0, { index: 0, order: ['a1', 'a2'], holder: 'a1', phase: 'draining' }],
  [1, { index: 1, order: ['a2', 'a1'], holder: 'a2', phase: 'settled' }],
]);
const held = [{ switch: 'ts', mac: port('east', 1, 0).mac, networks: ['100.100.0.1/19'], tunnelKey: 1 }];
const parts = {
  local,
  gateways: ['a1', 'a2'],
  endsOf: () => ends,
  heldOf: () => held,
  prefixesOf: () => [{ cidr: '10.16.0.0/16', origin: 'connected', tags: [], via: [], only: [], except: [] }],
  unreachable: ['z', 'b'],
  encryption: { mode: 'off', clusters: {} } as const,
  wireGuardOf: () => undefined,
  tunnelAddresses: {},
  acceptedKeys: [],
};

describe('the state for the hub', () => {
  it('contains the gateways, and the prefixes, ends and ports of each network', () => {
    const { gateways, attachments, unreachable } = memberState(parts);
    assert.deepEqual(gateways, [gateway('a1', '172.30.1.11'), gateway('a2', '172.30.1.12')]);
    assert.deepEqual(unreachable, ['b', 'z']);
    assert.deepEqual(attachments, [
      {
        transitSwitch: 'ts',
        vpc: 'ovn-cluster',
        routerId: 'uuid',
        prefixes: parts.prefixesOf(),
        ends: [
          { index: 0, gateways: ['a1', 'a2'], holder: 'a1', draining: true },
          { index: 1, gateways: ['a2', 'a1'], holder: 'a2', draining: false },
        ],
        held,
        cidrs: [],
        paths: 0,
        clusters: [],
      },
    ]);
  });

  it('names only gateways that it publishes', () => {
    const [attachment] = memberState({ ...parts, gateways: ['a2'] }).attachments;
    assert.deepEqual(attachment?.ends[0], { index: 0, gateways: ['a2'], holder: '', draining: true });
  });

  it('omits a network whose VPC does not exist, or whose object is invalid', () => {
    const [request] = local.transitRequests;
    assert.ok(request);
    const problem = { code: 'SpecInvalid', message: 'm' };
    const transitRequests = [
      { ...request, vpc: 'none' },
      { ...request, problem },
    ];
    assert.deepEqual(memberState({ ...parts, local: { ...local, transitRequests } }).attachments, []);
  });
});

describe('gateways that others may have tunnels to', () => {
  it('are the selected ones, and those that still anchor a path, as long as they can', () => {
    const [first] = local.gatewayNodes;
    assert.ok(first);
    const one = { ...local, gatewayNodes: [first] };
    assert.deepEqual(publishedGateways(one, new Set(['a2', 'gone'])), ['a1', 'a2']);
    const off = new Map(local.chassis).set('a2', { gateway: gateway('a2', '172.30.1.12'), isInterconnect: false });
    assert.deepEqual(publishedGateways({ ...one, chassis: off }, new Set(['a2'])), ['a1']);
  });
});

describe('the networks of this cluster', () => {
  it('are those that are wanted, granted by the hub and in an existing VPC, with the state of each path’s end', () => {
    const { networks } = buildNetworks(local, [granted, { ...granted, name: 'other' }], () => ends);
    assert.deepEqual([...networks.keys()], ['ts']);
    const [first, second] = networks.get('ts')?.paths ?? [];
    assert.deepEqual([first?.order, first?.phase, second?.holder], [['a1', 'a2'], 'draining', 'a2']);
    const waiting = { ...granted, paths: granted.paths.map((path) => ({ ...path, port: null })) };
    assert.equal(buildNetworks(local, [waiting], () => ends).networks.size, 0);
  });

  it('get no port if their addresses overlap a subnet', () => {
    const vpc = local.vpcs.get('ovn-cluster');
    assert.ok(vpc);
    const ranges = [...vpc.ranges, { name: 'subnet clash', cidr: cidr('100.100.7.0/24') }];
    const clashing = { ...local, vpcs: new Map([['ovn-cluster', { ...vpc, ranges }]]) };
    const { networks, problems } = buildNetworks(clashing, [granted], () => ends);
    assert.equal(problems.get('ts')?.code, 'TransitOverlap');
    assert.deepEqual(
      networks.get('ts')?.paths.map(({ order }) => order),
      [[], []],
    );
  });

  it('get no port if their addresses overlap a peering, and keep ports that are older than the peering', () => {
    const vpc = local.vpcs.get('ovn-cluster');
    const [request] = local.transitRequests;
    assert.ok(vpc && request);
    const links = [{ name: 'peering ovn-cluster-blue', cidr: cidr('100.100.7.0/30') }];
    const linked = { ...local, vpcs: new Map([['ovn-cluster', { ...vpc, links }]]) };
    assert.equal(buildNetworks(linked, [granted], () => ends).problems.size, 0);
    const { networks, problems } = buildNetworks(
      { ...linked, transitRequests: [{ ...request, isJoined: false }] },
      [granted],
      () => ends,
    );
    assert.match(problems.get('ts')?.message ?? '', /overlaps 100\.100\.7\.0\/30 \(peering ovn-cluster-blue\)/);
    assert.deepEqual(
      networks.get('ts')?.paths.map(({ order }) => order),
      [[], []],
    );
  });
});
