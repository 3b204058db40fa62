import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGateway, parseInterconnect, parseTransitSwitch } from './gateway.ts';

const metadata = { name: 'n1', uid: 'u', resourceVersion: '7' };

test('an object without a status, and one with all the daemon reads', () => {
  const { name, uid, resourceVersion } = metadata;
  const empty = {
    name,
    uid,
    resourceVersion,
    peers: [],
    refused: [],
    endpoints: [],
    rotateKey: '',
    siblings: [],
    wantedMtu: undefined,
    tunnels: [],
    probes: [],
    siblingTunnels: [],
    silentPrograms: [],
    wireGuard: undefined,
    checkedAt: undefined,
  };
  assert.deepEqual(parseGateway({ metadata }), empty);
  const peers = [{ chassis: 'b1', cluster: 'west', address: 'fd00::11' }];
  const tunnels = [{ chassis: 'b1', address: 'fd00::11', state: 'up' }];
  const probes = [{ chassis: 'b1', address: 'fd00::11', lossPercent: 0, at: '2026-01-01T00:00:00Z' }];
  const siblings = [{ chassis: 'a2', address: 'fd00::2', cutOff: true }];
  const siblingTunnels = [{ chassis: 'a2', address: 'fd00::2', state: 'down' }];
  const own = { siblings, siblingTunnels, silentPrograms: ['ovs-vswitchd'], checkedAt: '2026-01-01T00:00:00Z' };
  const status = { chassis: 'a1', peers, tunnels, probes, wantedMTU: 1500, ...own };
  assert.deepEqual(parseGateway({ metadata, spec: { rotateKey: 'now' }, status }), {
    ...empty,
    rotateKey: 'now',
    peers,
    tunnels,
    probes,
    wantedMtu: 1500,
    ...own,
  });
});

test('an invalid address reaches no program, and is named', () => {
  const peers = [
    { chassis: 'b1', cluster: 'west', address: '-f' },
    { chassis: 'b2', cluster: 'west', address: '172.30.2.12' },
  ];
  const facts = parseGateway({ metadata, status: { peers } });
  assert.deepEqual(facts.peers, [peers[1]]);
  assert.match(facts.refused.join('\n'), /^gateway b1 of cluster west has no usable tunnel address: "-f"/);
});

test('a field of an unknown form is absent, and the others are read', () => {
  const peers = [{ chassis: 'b1', cluster: 'west', address: '172.30.2.11' }];
  const facts = parseGateway({ metadata, status: { peers, tunnels: 'none', wantedMTU: 'auto' } });
  assert.deepEqual([facts.peers, facts.tunnels, facts.wantedMtu], [peers, [], undefined]);
});

test('the selector of an Interconnect, the VPC it joins, its hub without the port, and its rotation of keys', () => {
  const noRotation = { intervalMs: 0, maxWaitMs: 86_400_000 };
  const encryption = { keyRotation: { intervalHours: 2, maxWaitHours: 0 } };
  const gatewayNodeSelector = { matchLabels: { gw: 'true' } };
  assert.deepEqual(
    parseInterconnect({ metadata, spec: { gatewayNodeSelector, vpc: 'blue', hub: '[fd00::9]:6650', encryption } }),
    {
      keyRotation: { intervalMs: 7_200_000, maxWaitMs: 0 },
      gateways: gatewayNodeSelector,
      vpc: 'blue',
      hub: 'fd00::9',
    },
  );
  assert.deepEqual(parseInterconnect({ metadata, spec: {} }), {
    gateways: undefined,
    vpc: 'ovn-cluster',
    hub: '',
    keyRotation: noRotation,
  });
});

test('a transit switch belongs to the VPC in force, not to the VPC in the spec', () => {
  const vpcOf = (object: object) => parseTransitSwitch({ metadata: {}, ...object } as never).vpc;
  assert.equal(vpcOf({ spec: { vpc: 'red' }, status: { vpc: 'blue' } }), 'blue');
  assert.equal(vpcOf({ spec: { vpc: 'red' } }), 'red');
  assert.equal(vpcOf({ spec: {} }), 'ovn-cluster');
});
