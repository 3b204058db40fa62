import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hubDatabaseServers, type HubLayout, hubRemotes, layOut, podNetns } from './layout.ts';
import { checkTopology, readTopology } from './topology.ts';

const cluster = { name: 'east', podCidr: '10.16.0.0/16', asn: 65001, nodes: [{ name: 'n1' }] };

test('the topologies of the lab are valid', () => {
  for (const file of readdirSync(join(import.meta.dirname, 'topologies')))
    readTopology(join(import.meta.dirname, 'topologies', file));
});

test('every invalid field is named', () => {
  const bad = { clusters: [{ ...cluster, name: 'east-1', podCidr: '10.16', nodes: [] }], colour: 'red' };
  assert.throws(
    () => checkTopology(bad, 'mine.yaml'),
    (error: Error) =>
      ['mine.yaml', 'clusters.0.name', 'clusters.0.podCidr', 'clusters.0.nodes', 'colour'].every((part) =>
        error.message.includes(part),
      ),
  );
});

test('a name that would give two hosts one namespace or directory is refused', () => {
  assert.throws(() => checkTopology({ clusters: [cluster, cluster] }, 'x'), /east is used twice/);
  assert.throws(
    () => checkTopology({ clusters: [cluster], routers: [{ name: 'hub', asn: 1 }] }, 'x'),
    /hub is used twice/,
  );
  assert.throws(
    () => checkTopology({ clusters: [{ ...cluster, nodes: [{ name: 'pods' }] }] }, 'x'),
    /pods is used twice/,
  );
});

test('a cluster runs its own OVN, else that of the lab, else the one of this machine', () => {
  const topology = { ovn: '25.03', hub: {}, clusters: [cluster, { ...cluster, name: 'west', ovn: '23.03' }] };
  const record = { name: 'demo', without: [], apiPorts: [1, 2], isComplete: true };
  const lab = layOut({ ...record, topology: checkTopology(topology, 'x') });
  const ofNode = lab.clusters.map(({ ovn, nodes }) => [ovn, nodes[0]?.ovn]);
  assert.deepEqual([...ofNode, lab.hub?.ovn], [['25.03', '25.03'], ['23.03', '23.03'], '25.03']);
  const plain = layOut({ ...record, topology: checkTopology({ clusters: [cluster] }, 'x') });
  assert.equal(plain.clusters[0]?.ovn, '');
  assert.throws(() => checkTopology({ ovn: '25', clusters: [cluster] }, 'mine.yaml'), /ovn: must be an OVN version/);
});

test('a node has its own runtime, else that of its cluster, else none', () => {
  const nodes = [{ name: 'n1' }, { name: 'n2', runtime: 'bare' }];
  const topology = {
    clusters: [
      { ...cluster, runtime: 'containerd', nodes },
      { ...cluster, name: 'west' },
    ],
  };
  const record = { name: 'demo', without: [], apiPorts: [1, 2], isComplete: true };
  const lab = layOut({ ...record, topology: checkTopology(topology, 'x') });
  const runtimes = lab.clusters.flatMap((each) => each.nodes.map(({ runtime }) => runtime));
  assert.deepEqual(runtimes, ['containerd', 'bare', 'bare']);
  const bad = { clusters: [{ ...cluster, runtime: 'docker' }] };
  assert.throws(() => checkTopology(bad, 'mine.yaml'), /runtime: must be bare, containerd or kubelet/);
});

test('kubelets are on all nodes of a lab or on none, and leave the hub to the chart', () => {
  const machines = { ...cluster, runtime: 'kubelet' };
  assert.equal(checkTopology({ clusters: [machines] }, 'mine.yaml').clusters[0]?.runtime, 'kubelet');
  const other = { ...cluster, name: 'west' };
  for (const [wrong, reason] of [
    [{ clusters: [machines, other] }, /all nodes of all clusters/],
    [{ clusters: [machines], hub: {} }, /hub: .*chart/],
    [{ clusters: [machines], lans: [{ name: 'lan', gateways: [{ addresses: ['10.20.0.1/24'] }] }] }, /lans: /],
  ] as const)
    assert.throws(() => checkTopology(wrong, 'mine.yaml'), reason);
});

test('every host has a namespace, a directory and an address of its own', () => {
  const topology = readTopology(join(import.meta.dirname, 'topologies/default.yaml'));
  const lab = layOut({ name: 'demo', topology, without: [], apiPorts: [1, 2], isComplete: true });
  const hosts = [
    ...lab.clusters,
    ...lab.clusters.flatMap((c) => c.nodes),
    ...lab.routers,
    ...(lab.hub ? [lab.hub] : []),
  ];
  for (const field of ['netns', 'dir', 'address'] as const) {
    assert.equal(new Set(hosts.map((host) => host[field])).size, hosts.length, field);
  }
  assert.equal(lab.clusters[1]?.nodes[0]?.netns, 'demo-west-n1');
  assert.equal(podNetns(lab, 'east', 'default', 'web'), 'demo-east-default-web');
});

test('the databases between clusters are one server each, or a raft of three', () => {
  const hubOf = (hub: object) => {
    const topology = checkTopology({ clusters: [cluster], hub }, 'mine.yaml');
    return layOut({ name: 'demo', topology, without: [], apiPorts: [1], isComplete: true }).hub as HubLayout;
  };
  assert.equal(hubRemotes(hubOf({}), 'icnb'), `unix:${hubOf({}).dir}/icnb.sock`);
  const three = hubOf({ databases: 3 });
  assert.deepEqual(hubDatabaseServers(three, 'icsb'), ['icsb', 'icsb2', 'icsb3']);
  assert.equal(hubRemotes(three, 'icsb').split(',').at(-1), `unix:${three.dir}/icsb3.sock`);
  assert.throws(() => hubOf({ databases: 2 }), /hub\.databases: must be 1, or 3/);
});
