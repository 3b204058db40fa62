/** How the cost of a SwitchLBRule grows with the number of others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { growthOf } from '../../../lib/testing-growth.ts';
import { TestCluster } from '../../testing-cluster.ts';
import { addressOf, endpointOf, pod, rule, slice } from '../../testing-services.ts';
import { created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { parseNamespace } from '../../watch/workloads.ts';
import { planKey, reportKey } from '../plan.ts';
import { allApplied } from '../../testing-reports.ts';

const edits = 200;
const [fewRules, manyRules] = [10, 5000];

/** So many rules with a pod as the backend of each. */
function rulesOf(count: number): TestCluster {
  const cluster = new TestCluster({ aclTier: false, ipv6Selection: false, loadBalancers: true });
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  for (let i = 0; i < count; i += 1) pod(cluster, `ns/p${i}`, 'n1');
  cluster.restore(new Map());
  cluster.settle();
  cluster.setMonitors(new Map());
  for (let i = 0; i < count; i += 1) {
    rule(cluster, `r${i}`, { vip: `1.1.${i >> 8}.${i & 255}`, namespace: 'ns' }, created(2));
    backed(cluster, i);
  }
  cluster.settle();
  return cluster;
}

function backed(cluster: TestCluster, index: number): void {
  const address = addressOf(cluster, `ns/p${index}`);
  slice(cluster, `ns/slr-r${index}-a`, `slr-r${index}`, [endpointOf(address, `p${index}`)]);
}

/** One edit after the other, with the plans and reports of what it made dirty. */
function edited(edit: (cluster: TestCluster, index: number) => void) {
  return (cluster: TestCluster) => () => {
    for (let i = 0; i < edits; i += 1) {
      edit(cluster, i);
      const keys = cluster.settle();
      assert.ok(keys.size < 12, [...keys].join(' '));
      for (const key of keys) {
        planKey(cluster, key);
        reportKey(cluster, key, allApplied);
      }
    }
  };
}

describe('SwitchLBRules of a number that does not matter', () => {
  const [few, many] = [rulesOf(fewRules), rulesOf(manyRules)];
  for (const [name, edit] of [
    [
      'to one of them and its backends',
      (cluster: TestCluster, index: number): void => {
        const vip = index % 2 === 0 ? '1.1.0.1' : '1.2.0.1';
        rule(cluster, 'r1', { vip, namespace: 'ns' }, created(2));
        backed(cluster, index % fewRules);
      },
    ],
    [
      'to a pod',
      (cluster: TestCluster, index: number): void =>
        pod(cluster, `ns/p${index % fewRules}`, index % 20 < fewRules ? undefined : 'n1'),
    ],
    [
      'to the state of a health check',
      (cluster: TestCluster, index: number): void => {
        const key = `p3.ns tcp ${addressOf(cluster, 'ns/p3')}:8080`;
        cluster.setMonitors(new Map([[key, index % 2 === 0 ? 'online' : 'offline']]));
      },
    ],
  ] as const)
    test(name, async (context) => {
      const work = edited(edit);
      const growth = await growthOf({ small: work(few), large: work(many) });
      context.diagnostic(`with ${manyRules} rules it takes ${growth.toFixed(2)} times as long as with ${fewRules}`);
      assert.ok(growth < 5, `${growth} times`);
    });
});
