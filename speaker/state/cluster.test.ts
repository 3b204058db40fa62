import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eipOf, instanceOf, nodeOf, peerOf, podOf, readyOn, routerPortOf, serviceOf } from '../../lib/bgp/testing.ts';
import { Cluster } from './cluster.ts';

function clusterAt(monotonicMs: () => number = () => 0): Cluster {
  const [instances, peers, neighbors] = [new Map(), new Map(), new Map()];
  return new Cluster({ node: 'n1', instances, peers, neighbors, ownAddresses: new Set(), monotonicMs });
}

test('a change of an object that all routes depend on concerns everything; a status or a repetition concerns nothing', () => {
  const cluster = clusterAt();
  const rack = instanceOf('rack');
  cluster.change('instances', 'rack', rack);
  assert.equal(cluster.takeChanges().isEverything, true);
  cluster.change('instances', 'rack', { ...rack, status: { nodes: [], conditions: [{ type: 'Ready' } as never] } });
  cluster.change('nodes', 'n2', undefined);
  assert.deepEqual(cluster.takeChanges(), { isEverything: false, objects: [], sinceMs: undefined });
  cluster.change('nodes', 'n1', nodeOf('n1', ['10.0.0.1']));
  cluster.takeChanges();
  cluster.change('nodes', 'n1', nodeOf('n1', ['10.0.0.1']));
  assert.equal(cluster.takeChanges().isEverything, false);
  cluster.change('nodes', 'n1', undefined);
  assert.equal(cluster.takeChanges().isEverything, true);
  assert.equal(cluster.objects.nodes.size, 0);
});

test('a change of an object with routes of its own concerns that object, with the time of the first change', () => {
  let nowMs = 5;
  const cluster = clusterAt(() => nowMs);
  const pod = podOf('web', ['10.16.0.2']);
  cluster.change('pods', 'default/web', pod);
  nowMs = 9;
  cluster.change('eips', 'OvnEip/e1', { kind: 'OvnEip', name: 'e1' } as never);
  cluster.change('pods', 'default/web', { ...pod });
  assert.deepEqual(cluster.takeChanges(), {
    isEverything: false,
    objects: [
      { source: 'Pod', key: 'default/web' },
      { source: 'Eip', key: 'OvnEip/e1' },
    ],
    sinceMs: 5,
  });
});

test('a router port that moves concerns the EIPs that it translates, and the address of a peer everything', () => {
  const cluster = clusterAt();
  cluster.change('eips', 'OvnEip/out', eipOf('out', ['203.0.113.7']));
  cluster.change('eips', 'IptablesEIP/web', eipOf('web', ['203.0.113.8'], { kind: 'IptablesEIP' }));
  cluster.change('eips', 'OvnEip/other', eipOf('other', ['203.0.113.9'], { gatewayPort: 'red-external' }));
  cluster.change('eips', 'OvnEip/blue-external', routerPortOf('n1', 'n2'));
  assert.equal(cluster.takeChanges().isEverything, true, 'Services lose an external IP that is one of these');
  cluster.change('eips', 'OvnEip/blue-external', routerPortOf('n2', 'n1'));
  const { isEverything, objects } = cluster.takeChanges();
  const keys = objects.map(({ key }) => key).toSorted();
  assert.deepEqual([isEverything, keys], [false, ['IptablesEIP/web', 'OvnEip/blue-external', 'OvnEip/out']]);
  cluster.change('peers', 'tor', peerOf('tor', '10.0.0.254'));
  assert.equal(cluster.takeChanges().isEverything, true);
  cluster.change('peers', 'tor', peerOf('tor', '10.0.0.254', { holdTimeSeconds: 30 }));
  assert.equal(cluster.takeChanges().isEverything, false);
});

test('the switch of a node that may have a router port concerns everything', () => {
  const cluster = clusterAt();
  assert.equal(cluster.isGateway, false);
  cluster.change('eips', 'OvnEip/blue-external', routerPortOf('n2', 'n1'));
  assert.equal(cluster.isGateway, true);
  cluster.takeChanges();
  cluster.setSwitch(true);
  assert.deepEqual([cluster.takeChanges().isEverything, cluster.objects.isSwitchDown], [true, true]);
});

test('labels of a namespace concern its pods and services, and no others', () => {
  const cluster = clusterAt();
  cluster.change('pods', 'default/web', podOf('web', []));
  cluster.change('pods', 'default-2/web', podOf('web', [], { namespace: 'default-2' }));
  cluster.change('services', 'default/lb', serviceOf('lb'));
  cluster.takeChanges();
  cluster.change('namespaces', 'default', { team: 'a' });
  assert.deepEqual(cluster.takeChanges().objects, [
    { source: 'Pod', key: 'default/web' },
    { source: 'Service', key: 'default/lb' },
  ]);
});

test('slices are grouped by service; one that moves concerns both services', () => {
  const cluster = clusterAt();
  cluster.change('slices', 'default/s1', { service: 'default/a', endpoints: readyOn('n1') });
  cluster.takeChanges();
  cluster.change('slices', 'default/s1', { service: 'default/b', endpoints: readyOn('n1') });
  assert.deepEqual([...cluster.objects.slices.keys()], ['default/b']);
  assert.deepEqual(
    cluster.takeChanges().objects.map(({ key }) => key),
    ['default/a', 'default/b'],
  );
});
