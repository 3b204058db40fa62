/** How the cost of a Service's plan grows with what it does not touch. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { growthOf } from '../../../lib/testing-growth.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { endpointOf, pod, service, slice } from '../../testing-services.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseNamespace, parseNode } from '../../watch/workloads.ts';
import { planKey } from '../plan.ts';

const edits = 200;

/** So many Services with a slice of ten endpoints each, of the same pods. */
function servicesOf(count: number): TestCluster {
  const cluster = new TestCluster({ aclTier: false, ipv6Selection: false, loadBalancers: true, externalIps: true });
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  for (let i = 0; i < 20; i += 1) cluster.change('nodes', `n${i}`, parseNode({ metadata: meta(`n${i}`) }));
  for (let i = 0; i < count; i += 1) {
    const externalIPs = [`198.51.${i >> 8}.${i & 255}`];
    service(cluster, `ns/s${i}`, { clusterIPs: [`10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`], externalIPs });
    endpoints(cluster, i, 10);
  }
  cluster.restore(new Map());
  cluster.settle();
  return cluster;
}

function endpoints(cluster: TestCluster, index: number, count: number): void {
  const all = Array.from({ length: count }, (_, i) => endpointOf(`10.16.${index >> 8}.${i + 2}`, `p${index}-${i}`));
  slice(cluster, `ns/s${index}-a`, `s${index}`, all);
}

describe('growth of Services', () => {
  const [fewServices, manyServices] = [10, 10_000];

  /** One edit after the other, and the plans of what it made dirty. */
  function edited(edit: (cluster: TestCluster, index: number) => void) {
    return (cluster: TestCluster) => () => {
      for (let i = 0; i < edits; i += 1) {
        edit(cluster, i);
        const keys = cluster.settle();
        assert.ok(keys.size < 8, `${keys.size} keys`);
        for (const key of keys) planKey(cluster, key);
      }
    };
  }

  test('the cost of an edited EndpointSlice does not grow with the number of Services', async (context) => {
    const [few, many] = [servicesOf(fewServices), servicesOf(manyServices)];
    const edit = edited((cluster, index) => endpoints(cluster, index % fewServices, 9 + (index % 3)));
    const growth = await growthOf({ small: edit(few), large: edit(many) });
    context.diagnostic(
      `an edit with ${manyServices} Services takes ${growth.toFixed(2)} times one with ${fewServices}`,
    );
    assert.ok(growth < 5, `${growth} times`);
  });

  test('the cost of a pod, and of two Services that want one address, does not grow with the number of Services', async (context) => {
    const [few, many] = [servicesOf(fewServices), servicesOf(manyServices)];
    const edit = edited((cluster, index) => {
      if (index % 2 === 0) pod(cluster, `ns/p${index % fewServices}-0`, `n${index % 20}`);
      else
        service(
          cluster,
          'ns/new',
          index % 4 === 1 ? { clusterIPs: ['10.111.0.1'], externalIPs: ['198.51.0.1'] } : undefined,
        );
    });
    const growth = await growthOf({ small: edit(few), large: edit(many) });
    context.diagnostic(
      `such edits with ${manyServices} Services take ${growth.toFixed(2)} times those with ${fewServices}`,
    );
    assert.ok(growth < 5, `${growth} times`);
  });
});
