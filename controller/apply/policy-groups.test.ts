/** What each port may receive, transaction by transaction, while rules and ports come to other port groups. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openOvsdbTarget, type OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { ref } from '../../lib/desired/row.ts';
import type { Contribution, Desired } from '../../lib/desired/row.ts';
import { schemaFile, startOvsdbServer, type TestServer } from '../../lib/ovsdb/src/testing.ts';
import { selectionGroup } from '../../lib/policies/group-names.ts';
import { selectionOf } from '../../lib/policies/selection.ts';
import { aclRow, portGroupRow } from '../plan/acl-tier/port-group-acl.ts';
import { DirtyKeys } from '../plan/dirty-keys.ts';
import { policyAclOf } from '../plan/network-policy/policy-acl.ts';
import { ownEntries, ownerByName } from '../plan/own-keys.ts';
import { planKey } from '../plan/plan.ts';
import { Cluster } from '../settle/cluster.ts';
import { created, meta, subnet, vpc } from '../testing-vpcs.ts';
import { parseNetworkPolicy } from '../watch/network-policies.ts';
import { parseNamespace, parseNode, parsePod } from '../watch/workloads.ts';
import { hasMovedPolicies } from './moved-policies.ts';
import { type Northbound, openNorthbound, room } from './northbound.ts';
import { Rounds } from './rounds.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const podCount = 20;
const vpcName = 'ovn-cluster';
const isolated = 'isthmus.isolated.in';

let server: TestServer;
let northbound: Northbound;
before(async () => {
  server = await startOvsdbServer({ schema: schemaFile('ovn-nb') });
  northbound = await openNorthbound({ remotes: [server.remote] });
});
after(async () => {
  await northbound.client.close();
  await server.stop();
});
beforeEach(async () => {
  const tables = ['Logical_Switch', 'Logical_Router', 'Port_Group', 'Address_Set'];
  await northbound.client.transact(tables.map((table) => ({ op: 'delete', table, where: [] })));
});

/** Some policies select all pods, one those of an application, which all pods are. */
const selectors: Readonly<Record<string, object>> = {
  first: {},
  second: {},
  third: { matchLabels: { app: 'web' } },
};

function put(cluster: Cluster, name: string, podSelector: object): void {
  const spec = { podSelector, ingress: [{ from: [{ podSelector: { matchLabels: { allowed: name } } }] }] };
  const metadata = meta(name, { namespace: 'ns', ...created(3) });
  cluster.change('networkPolicies', `ns/${name}`, parseNetworkPolicy({ metadata, spec }));
}

function clusterOf(): Cluster {
  const cluster = new Cluster();
  vpc(cluster, vpcName, {}, created(1));
  subnet(cluster, 'join', { cidrBlock: '100.64.0.0/16' }, created(1));
  subnet(cluster, 'ovn-default', { cidrBlock: '10.16.0.0/16' }, created(1));
  cluster.change('nodes', 'n1', parseNode({ metadata: meta('n1') }));
  cluster.change('namespaces', 'ns', parseNamespace({ metadata: meta('ns', created(1)) }));
  for (let at = 0; at < podCount; at += 1) {
    const metadata = meta(`p${at}`, { namespace: 'ns', labels: { app: 'web' }, ...created(2) });
    cluster.change('pods', `ns/p${at}`, parsePod({ metadata, spec: { nodeName: 'n1' } }));
  }
  for (const [name, podSelector] of Object.entries(selectors)) put(cluster, name, podSelector);
  cluster.restore(northbound.portRecords(), northbound.nodeHolders());
  return cluster;
}

interface Started {
  readonly cluster: Cluster;
  readonly rounds: Rounds;
  readonly target: OvsdbTarget;
  readonly close: () => void;
}

/** @param edit what changed while no controller ran */
function start(edit: (cluster: Cluster) => void = () => undefined): Started {
  const cluster = clusterOf();
  edit(cluster);
  const dirty = new DirtyKeys(cluster);
  cluster.onChange((change) => dirty.changed(change));
  const target = openOvsdbTarget({
    client: northbound.client,
    room,
    ownEntries,
    ownerOf: ownerByName,
    logger: quiet,
    batchDelayMs: 0,
    batchSize: 5,
    isFirstWhole: () => hasMovedPolicies(northbound, cluster),
  });
  const rounds = new Rounds({ cluster, dirty, target, publish: () => undefined });
  rounds.start();
  return {
    cluster,
    rounds,
    target,
    close() {
      rounds.close();
      target.close();
    },
  };
}

/** For each port the policies whose rules its groups have, and whether it is isolated. */
function allowed(): ReadonlyMap<string, string> {
  const rows = (table: string) => [...northbound.client.cache.table(table).rows.values()];
  const acls = new Map(rows('ACL').map((row) => [row._uuid, String(row['match'])]));
  return new Map(
    rows('Logical_Switch_Port')
      .filter(({ name }) => String(name).endsWith('.ns'))
      .map((port): [string, string] => {
        const groups = rows('Port_Group').filter((row) => (row['ports'] as readonly string[]).includes(port._uuid));
        const matches = groups
          .filter(({ name }) => name !== isolated)
          .flatMap((row) => (row['acls'] as readonly string[]).map((uuid) => acls.get(uuid) ?? ''));
        const sets = matches.flatMap((match) => [...match.matchAll(/\$sel\.\w+\.v4/g)].map(([set]) => set));
        const isIsolated = groups.some(({ name }) => name === isolated);
        return [String(port['name']), [isIsolated, ...new Set(sets.sort())].join(' ')];
      }),
  );
}

/** The different states of each port from now on. */
function follow(): { readonly states: ReadonlyMap<string, ReadonlySet<string>>; stop(): number } {
  const states = new Map<string, Set<string>>();
  let transactions = 0;
  const look = (): void => {
    for (const [port, state] of allowed()) states.set(port, (states.get(port) ?? new Set<string>()).add(state));
  };
  look();
  const stop = northbound.client.subscribe(() => {
    transactions += 1;
    look();
  });
  return {
    states,
    stop() {
      stop();
      return transactions;
    },
  };
}

/** The plan of a key as earlier versions had it: each policy has a group. */
function formerPlan(cluster: Cluster, key: string): Desired | undefined {
  if (key.startsWith('selection/')) return undefined;
  const plan = planKey(cluster, key);
  if (key.startsWith('network-policy/')) {
    const group = `np.${key.slice(key.lastIndexOf('/') + 1)}.in`;
    const match = String(plan.rows[0]?.columns['match']).replace(/@[\w.]+/, `@${group}`);
    const acl = policyAclOf(cluster.capabilities, 'ingress', 'allow', match);
    return { rows: [portGroupRow(group, { np: key }), aclRow(group, acl)] };
  }
  const isOwn = ({ key: group }: Contribution): boolean => group.startsWith('np.');
  if (plan.contributions?.some(isOwn) !== true) return plan;
  const port = plan.rows.find(({ table }) => table === 'Logical_Switch_Port')?.key ?? '';
  const groups = Object.keys(selectors).map((name): Contribution => ({
    table: 'Port_Group',
    key: `np.${name}.in`,
    column: 'ports',
    values: [ref('Logical_Switch_Port', port)],
  }));
  return { ...plan, contributions: [...plan.contributions.filter((one) => !isOwn(one)), ...groups] };
}

test('policies with groups of their own come to shared ones in one transaction', async () => {
  const cluster = clusterOf();
  const target = openOvsdbTarget({
    client: northbound.client,
    room,
    ownEntries,
    ownerOf: ownerByName,
    logger: quiet,
  });
  cluster.settle();
  for (const key of new DirtyKeys(cluster).take()) {
    const plan = formerPlan(cluster, key);
    if (plan !== undefined && plan.rows.length + (plan.contributions?.length ?? 0) > 0) target.set(key, plan);
  }
  target.seal();
  await target.untilApplied();
  target.close();
  assert.equal(northbound.hasGroupsOfPolicies(), true);
  const followed = follow();
  assert.equal(followed.states.size, podCount);
  const { rounds, close } = start();
  await rounds.untilApplied();
  assert.equal(followed.stop(), 1);
  for (const [port, states] of followed.states) assert.equal(states.size, 1, port);
  assert.match([...(followed.states.get('p0.ns') ?? [])].join(''), /^true( \$sel\S+){3}$/);
  assert.equal(northbound.hasGroupsOfPolicies(), false);
  close();
  const again = follow();
  const second = start();
  await second.rounds.untilApplied();
  assert.equal(again.stop(), 0, 'a restart writes nothing');
  second.close();
});

test('a policy that selects the same pods in another way is in force for them throughout, with more pods than a transaction has owners', async () => {
  const { cluster, rounds, close } = start();
  await rounds.untilApplied();
  const groupOf = (): string => {
    const policy = cluster.networkPolicies.get('ns/first');
    return selectionGroup((policy && selectionOf(policy)) ?? '', 'ingress', vpcName);
  };
  const followed = follow();
  // To a new group, then to one that another policy has, and back.
  const expressions = [{ key: 'app', operator: 'Exists' }];
  for (const podSelector of [{ matchExpressions: expressions }, selectors['third'] ?? {}, {}]) {
    put(cluster, 'first', podSelector);
    rounds.request();
    await rounds.untilApplied();
    const groups = [...northbound.client.cache.table('Port_Group').rows.values()];
    const ports = groups.find(({ name }) => name === groupOf())?.['ports'];
    assert.equal(Array.isArray(ports) && ports.length, podCount);
  }
  assert.equal(followed.stop(), 3);
  for (const [port, states] of followed.states) assert.equal(states.size, 1, port);
  close();
});

test('a selector that was changed while no controller ran comes into force in one transaction for all ports', async () => {
  const first = start();
  await first.rounds.untilApplied();
  first.close();
  const followed = follow();
  const second = start((cluster) => put(cluster, 'first', { matchExpressions: [{ key: 'app', operator: 'Exists' }] }));
  await second.rounds.untilApplied();
  assert.equal(followed.stop(), 1);
  for (const [port, states] of followed.states) assert.equal(states.size, 1, port);
  second.close();
});
