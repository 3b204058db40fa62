import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSubnet, parseVpc } from '../../watch/networks.ts';
import { parseNode } from '../../watch/workloads.ts';
import { TestCluster } from '../../testing-cluster.ts';

type Nodes = Readonly<Record<string, boolean>>;

const meta = (name: string) => ({ name, uid: `uid-${name}`, resourceVersion: '1' });

/** Changes which nodes there are, and whether they are ready. */
function set(cluster: TestCluster, nodes: Nodes): void {
  for (const name of cluster.nodes.keys()) if (nodes[name] === undefined) cluster.change('nodes', name, undefined);
  for (const [name, isReady] of Object.entries(nodes)) {
    const metadata = { ...meta(name), annotations: { 'ovn.kubernetes.io/chassis': `c-${name}` } };
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'Unknown' }];
    cluster.change('nodes', name, parseNode({ metadata, status: { conditions } }));
  }
  cluster.settle();
}

function clusterWith(spec: object, nodes: Nodes, activateGateway = ''): TestCluster {
  const cluster = new TestCluster();
  cluster.change('vpcs', 'ovn-cluster', parseVpc({ metadata: meta('ovn-cluster') }));
  cluster.change('subnets', 'join', parseSubnet({ metadata: meta('join'), spec: { cidrBlock: '100.64.0.0/16' } }));
  const gateway = { cidrBlock: '10.20.0.0/24', gatewayType: 'centralized', gatewayNode: 'n1,n2,n3', ...spec };
  cluster.change('subnets', 's', parseSubnet({ metadata: meta('s'), spec: gateway, status: { activateGateway } }));
  cluster.restore(new Map());
  set(cluster, nodes);
  return cluster;
}

const active = (cluster: TestCluster): string | undefined =>
  cluster.gateways
    .get('s')
    ?.hops.map(({ node }) => node)
    .join();
const allReady = { n1: true, n2: true, n3: true };

test('a centralized subnet uses the first healthy node, then the node that took over', () => {
  const cluster = clusterWith({}, allReady);
  assert.equal(active(cluster), 'n1');
  set(cluster, { ...allReady, n1: false });
  assert.equal(active(cluster), 'n2');
  set(cluster, allReady);
  assert.equal(active(cluster), 'n2');
  set(cluster, { n1: false, n2: false, n3: false });
  assert.equal(active(cluster), 'n2', 'the last one stays');
  set(cluster, { n1: false, n2: false, n3: true });
  assert.equal(active(cluster), 'n3');
});

test('a restart continues from the status', () => {
  assert.equal(active(clusterWith({}, allReady, 'n3')), 'n3');
  assert.equal(active(clusterWith({}, { ...allReady, n3: false }, 'n3')), 'n1');
  assert.equal(active(clusterWith({ enableEcmp: true }, { n1: false, n2: false, n3: false }, 'n2,n3')), 'n2,n3');
});

test('ECMP uses all healthy gateways; if none is healthy, the last ones stay', () => {
  const cluster = clusterWith({ enableEcmp: true }, allReady);
  assert.equal(active(cluster), 'n1,n2,n3');
  set(cluster, { ...allReady, n2: false });
  assert.equal(active(cluster), 'n1,n3');
  set(cluster, { n1: false, n2: false, n3: false });
  assert.equal(active(cluster), 'n1,n3');
  set(cluster, { n2: false });
  assert.equal(active(cluster), 'n2', 'of those that are there');
  set(cluster, {});
  assert.equal(active(cluster), '');
  assert.equal(cluster.gateways.get('s')?.problems[0]?.code, 'GatewayNodeNotFound');
});

test('a node without a chassis is not healthy once the chassis are known', () => {
  const cluster = clusterWith({}, allReady);
  cluster.setChassis(new Set(['c-n2', 'c-n3']));
  cluster.settle();
  assert.equal(active(cluster), 'n2');
  assert.equal(clusterWith({ vpc: 'blue' }, allReady).gateways.size, 0, 'nor any in another VPC');
});
