/** How the cost of a plan grows with what it does not touch. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { growthOf } from '../../lib/testing-growth.ts';
import { TestCluster } from '../testing-cluster.ts';
import { created, meta, subnet, vpc } from '../testing-vpcs.ts';
import { parseSecurityGroup } from '../watch/networks.ts';
import { parseNamespace, parseNode, parsePod } from '../watch/workloads.ts';
import { planKey } from './plan.ts';

const [pods, few, many] = [10_000, 10, 1000];
const fewPods = 1000;
const edits = 200;

function group(cluster: TestCluster, name: string, remote: string): void {
  const rule = { ipVersion: 'ipv4', protocol: 'tcp', priority: 1, policy: 'allow', portRangeMin: 80, portRangeMax: 80 };
  const ingressRules = [{ ...rule, remoteType: 'securityGroup', remoteSecurityGroup: remote }];
  cluster.change('securityGroups', name, parseSecurityGroup({ metadata: meta(name), spec: { ingressRules } }));
}

function pod(cluster: TestCluster, index: number, groups: number, rate = 1): void {
  const annotations = {
    'ovn.kubernetes.io/ingress_rate': `${rate}`,
    ...(groups > 0 && { 'ovn.kubernetes.io/security_groups': `sg${index % groups}` }),
  };
  const metadata = meta(`p${index}`, { namespace: 'ns', annotations, ...created(3) });
  cluster.change('pods', `ns/p${index}`, parsePod({ metadata, spec: { nodeName: `n${index % 20}` } }));
}

interface Planned {
  readonly cluster: TestCluster;
  readonly keys: ReadonlySet<string>;
}

/** Pods in so many groups, ten of them in each where there are a thousand; with the keys of the full round. */
function clusterOf(groups: number, size: number): Planned {
  const cluster = new TestCluster();
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns') }));
  for (let i = 0; i < 20; i += 1) cluster.change('nodes', `n${i}`, parseNode({ metadata: meta(`n${i}`) }));
  for (let i = 0; i < groups; i += 1) group(cluster, `sg${i}`, `sg${(i + 1) % groups}`);
  for (let i = 0; i < size; i += 1) pod(cluster, i, groups);
  cluster.restore(new Map());
  return { cluster, keys: cluster.settle() };
}

describe('security groups', () => {
  test('of a number that does not matter to one pod', async (context) => {
    const [ten, thousand] = [clusterOf(few, fewPods), clusterOf(many, fewPods)];
    let rate = 1;
    const edit =
      ({ cluster }: Planned, groups: number) =>
      () => {
        rate += 1;
        for (let i = 0; i < edits; i += 1) {
          pod(cluster, i, groups, rate);
          for (const key of cluster.settle()) planKey(cluster, key);
        }
      };
    const growth = await growthOf({ small: edit(ten, few), large: edit(thousand, many) });
    context.diagnostic(`an edit with ${many} groups takes ${growth.toFixed(2)} times one with ${few}`);
    // A look at all groups would be a hundred times as much.
    assert.ok(growth < 5, `${growth} times`);
  });

  test('that come and go cost what names them', async (context) => {
    const [ten, thousand] = [clusterOf(few, fewPods), clusterOf(many, fewPods)];
    const comeAndGo =
      ({ cluster }: Planned) =>
      () => {
        for (let i = 0; i < edits; i += 1) {
          group(cluster, 'new', 'sg1');
          for (const key of cluster.settle()) planKey(cluster, key);
          cluster.change('securityGroups', 'new', undefined);
          for (const key of cluster.settle()) planKey(cluster, key);
        }
      };
    const growth = await growthOf({ small: comeAndGo(ten), large: comeAndGo(thousand) });
    context.diagnostic(
      `a group among ${many} comes and goes in ${growth.toFixed(2)} times the time of one among ${few}`,
    );
    assert.ok(growth < 5, `${growth} times`);
  });

  test('add about half to a full plan', async (context) => {
    const [none, thousand] = [clusterOf(0, pods), clusterOf(many, pods)];
    const plan =
      ({ cluster, keys }: Planned) =>
      () => {
        for (const key of keys) planKey(cluster, key);
      };
    const growth = await growthOf({ small: plan(none), large: plan(thousand) });
    context.diagnostic(`${pods} pods in ${many} groups take ${growth.toFixed(2)} times those in none`);
    // The rows and the memberships are near half of what is planned; a look at all groups for each would be thirty times as much.
    assert.ok(growth < 2, `${growth} times`);
  });
});
