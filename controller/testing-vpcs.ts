/** Builds clusters for the tests of VPCs and reads their plans and conditions; used by tests only. */
import assert from 'node:assert/strict';
import type { Cluster } from './settle/cluster.ts';
import { TestCluster } from './testing-cluster.ts';
import { parseSubnet, parseVpc } from './watch/networks.ts';
import { planKey } from './plan/plan.ts';
import { planVpcConditions, planVpcStatus } from './plan/vpc/status.ts';

type Metadata = Readonly<Record<string, unknown>>;

/** What every object has. */
export const meta = (name: string, more: Metadata = {}): never =>
  ({ name, uid: `uid-${name}`, resourceVersion: '1', generation: 1, ...more }) as never;
/** Metadata of an object created on a day of January 2026. The older object prevails. */
export const created = (day: number): Metadata => ({ creationTimestamp: `2026-01-0${day}T00:00:00Z` });

/** A cluster with what every one has, before its first round. */
export function basic(): TestCluster {
  const cluster = new TestCluster();
  vpc(cluster, 'ovn-cluster', {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.restore(new Map());
  return cluster;
}

/** Writes a Vpc; without spec, deletes it. */
export function vpc(cluster: Cluster, name: string, spec: object | undefined, more: Metadata = {}): void {
  cluster.change('vpcs', name, spec && parseVpc({ metadata: meta(name, more), spec }));
}

/** Writes a Subnet; without spec, deletes it. */
export function subnet(cluster: Cluster, name: string, spec: object | undefined, more: Metadata = {}): void {
  cluster.change('subnets', name, spec && parseSubnet({ metadata: meta(name, more), spec }));
}

/** Columns of the rows a key plans. */
export const columns = (cluster: TestCluster, key: string): readonly object[] =>
  planKey(cluster, key).rows.map((row) => row.columns);

/** Reason and message of the conditions `Validated` and `Ready` of a Vpc, if they are false. */
export function falseConditions(cluster: TestCluster, name: string): Readonly<Record<string, string>> {
  const object = cluster.vpcs.get(name);
  assert.ok(object);
  const conditions = planVpcConditions(cluster, object, undefined).filter(({ status }) => status === 'False');
  return Object.fromEntries(conditions.map(({ type, reason, message }) => [type, `${reason}: ${message}`]));
}

/** Peers that a Vpc's status names. */
export function peers(cluster: TestCluster, name: string): readonly string[] {
  const object = cluster.vpcs.get(name);
  return object === undefined ? [] : planVpcStatus(cluster, object).vpcPeerings;
}
