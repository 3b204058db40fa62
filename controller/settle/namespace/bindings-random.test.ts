/** After any changes, the keys that were dirty are all keys whose plan or report has changed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf } from '../../../lib/testing-growth.ts';
import { pick, randomOf, type Random } from '../../../lib/testing-random.ts';
import type { TestCluster } from '../../testing-cluster.ts';
import { allApplied, planned } from '../../testing-reports.ts';
import { basic, created, meta, subnet, vpc } from '../../testing-vpcs.ts';
import { planKey, reportKey } from '../../plan/plan.ts';
import { parseNamespace } from '../../watch/workloads.ts';

const names = ['n0', 'n1', 'n2', 'n3'];
const vpcs = ['ovn-cluster', 'blue', 'green'];
const subnets = ['s0', 's1', 's2', 's3', 's4'];
const teams = ['red', 'gold'];

function some(random: Random): readonly string[] {
  return names.filter(() => random(10) < 3);
}

function namespace(cluster: TestCluster, name: string, labels: object | undefined): void {
  cluster.change('namespaces', name, labels && parseNamespace({ metadata: meta(name, { labels }) }));
}

function step(cluster: TestCluster, random: Random): void {
  const kind = random(20);
  if (kind < 11) {
    const at = random(subnets.length);
    const isSelecting = random(10) < 2;
    const spec = {
      // Two of them overlap in one VPC.
      cidrBlock: `10.30.${Math.floor(at / 2)}.0/24`,
      vpc: pick(random, vpcs),
      namespaces: some(random),
      ...(isSelecting && { namespaceSelectors: [{ matchLabels: { team: pick(random, teams) } }] }),
    };
    subnet(cluster, `s${at}`, random(10) < 2 ? undefined : spec, created(1 + at));
  } else if (kind < 15) {
    const spec = { namespaces: some(random), ...(random(10) < 3 && { defaultSubnet: pick(random, subnets) }) };
    const name = pick(random, vpcs);
    vpc(cluster, name, name !== 'ovn-cluster' && random(10) < 2 ? undefined : spec, created(1));
  } else namespace(cluster, pick(random, names), random(10) < 2 ? undefined : { team: pick(random, teams) });
}

test('no plan and no report of a namespace or Subnet changes without its key', () => {
  const others = new Set<string>();
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = randomOf(seed);
    const cluster = basic();
    const texts = new Map<string, string>();
    const note = (): void => {
      for (const key of cluster.settle()) texts.set(key, planned(cluster, key));
    };
    note();
    for (let at = 0; at < 40; at += 1) {
      step(cluster, random);
      if (random(10) < 3) step(cluster, random);
      note();
      const keys = [
        ...[...cluster.namespaces.keys()].map((name) => `namespace/${name}`),
        ...[...cluster.subnets.keys()].map((name) => `subnet/${name}`),
      ];
      for (const key of keys) assert.equal(planned(cluster, key), texts.get(key), `seed ${seed}, step ${at}: ${key}`);
      for (const name of subnets) for (const one of cluster.unservedNamespaces(name)) others.add(one);
    }
  }
  assert.deepEqual([...others].sort(), names, 'every namespace is requested in vain at some time');
});

test('a change of a Subnet with a namespace costs the same among 50 and among 2,000 such Subnets', async (context) => {
  const write = (cluster: TestCluster, at: number, mtu: number): void => {
    const spec = { cidrBlock: `10.${64 + (at >> 8)}.${at & 255}.0/24`, namespaces: [`n${at}`], mtu };
    subnet(cluster, `s${at}`, spec, created(2));
  };
  const round = (cluster: TestCluster): void => {
    for (const key of cluster.settle()) {
      planKey(cluster, key);
      reportKey(cluster, key, allApplied);
    }
  };
  const clusterOf = (count: number): TestCluster => {
    const cluster = basic();
    for (let at = 0; at < count; at += 1) namespace(cluster, `n${at}`, {});
    for (let at = 0; at < count; at += 1) write(cluster, at, 1300);
    round(cluster);
    return cluster;
  };
  let mtu = 1300;
  const edit = (cluster: TestCluster) => () => {
    for (let at = 0; at < 40; at += 1) {
      mtu += 1;
      write(cluster, at, mtu);
      round(cluster);
    }
  };
  const growth = await growthOf({ small: edit(clusterOf(50)), large: edit(clusterOf(2000)) });
  context.diagnostic(`an edit among 2,000 takes ${growth.toFixed(1)} times one among 50`);
  // A look at all of them would be forty times as much.
  assert.ok(growth < 4, `${growth} times`);
});
