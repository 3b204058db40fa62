import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planIpPoolConditions } from '../plan/address/ip-pool.ts';
import type { WantedCondition } from '../plan/conditions.ts';
import { planVlanConditions } from '../plan/underlay/vlan.ts';
import { basic, created, meta, subnet, told, vpc } from '../testing-vpcs.ts';
import { network } from '../testing-underlay.ts';
import { parseIpPool } from '../watch/addresses.ts';
import { parseVlan } from '../watch/underlay.ts';
import { parseNamespace } from '../watch/workloads.ts';
import type { Cluster } from './cluster.ts';

type Write = (cluster: Cluster, name: string, spec: object, more: object) => void;
interface Kind {
  readonly write: Write;
  readonly conditions: (cluster: Cluster, name: string) => readonly WantedCondition[];
  readonly mine: object;
  readonly other: object;
  readonly code: string;
}

const kinds: Readonly<Record<string, Kind>> = {
  'the id of a Vlan': {
    write: (cluster, name, spec, { status, ...more }: { status?: object }) =>
      cluster.change('vlans', name, parseVlan({ metadata: meta(name, more), spec, status })),
    conditions: (cluster, name) => {
      const vlan = cluster.vlans.get(name);
      return vlan === undefined ? [] : planVlanConditions(cluster, vlan);
    },
    mine: { id: 10, provider: 'net1' },
    other: { id: 20, provider: 'net1' },
    code: 'VlanConflict',
  },
  'the addresses of an IPPool': {
    write: (cluster, name, spec, { status, ...more }: { status?: object }) =>
      cluster.change('ipPools', name, parseIpPool({ metadata: meta(name, more), spec, status })),
    conditions: (cluster, name) => planIpPoolConditions(cluster, name, undefined),
    mine: { subnet: 'ovn-default', ips: ['10.16.0.10..10.16.0.20'] },
    other: { subnet: 'ovn-default', ips: ['10.16.0.30'] },
    code: 'IPPoolOverlap',
  },
};

describe('what is in force keeps', () => {
  for (const [what, { write, conditions, mine, other, code }] of Object.entries(kinds))
    test(`${what}, against an older object that comes to ask for it, and over a restart`, () => {
      const validated = (cluster: Cluster, name: string): string =>
        conditions(cluster, name).find(({ type }) => type === 'Validated')?.reason ?? '';
      const statusOf = (cluster: Cluster, name: string): object => ({ conditions: conditions(cluster, name) });
      const cluster = basic();
      network(cluster, 'net1', { defaultInterface: 'eth1' });
      write(cluster, 'young', mine, created(5));
      write(cluster, 'old', other, created(2));
      cluster.settle();
      const accepted = { young: statusOf(cluster, 'young'), old: statusOf(cluster, 'old') };
      write(cluster, 'young', mine, { ...created(5), status: accepted.young });
      write(cluster, 'old', mine, { ...created(2), generation: 2, status: accepted.old });
      cluster.settle();
      assert.deepEqual([validated(cluster, 'young'), validated(cluster, 'old')], ['Validated', code]);

      const next = basic();
      network(next, 'net1', { defaultInterface: 'eth1' });
      write(next, 'old', mine, { ...created(2), generation: 2, status: statusOf(cluster, 'old') });
      // Edited in something else meanwhile.
      write(next, 'young', mine, { ...created(5), generation: 2, status: accepted.young });
      next.settle();
      assert.deepEqual([validated(next, 'young'), validated(next, 'old')], ['Validated', code]);
    });

  test('a namespace in its Vpc, against an older one that comes to list it', () => {
    const cluster = basic();
    cluster.change('namespaces', 'shop', parseNamespace({ metadata: meta('shop') }));
    vpc(cluster, 'old', {}, created(1));
    vpc(cluster, 'young', { namespaces: ['shop'] }, created(3));
    subnet(cluster, 'sea', { cidrBlock: '10.30.0.0/24', vpc: 'young' }, created(3));
    subnet(cluster, 'lake', { cidrBlock: '10.31.0.0/24', vpc: 'old' }, created(2));
    cluster.settle();
    vpc(cluster, 'old', { namespaces: ['shop'] }, created(1));
    cluster.settle();
    assert.deepEqual(cluster.binding('shop'), { vpc: 'young', subnets: ['sea'], others: [] });
    assert.match(told(cluster, 'old')['Validated'] ?? '', /shop is in Vpc young by sea, which had it before/);
    vpc(cluster, 'young', {}, created(3));
    cluster.settle();
    assert.deepEqual(cluster.binding('shop').subnets, ['lake']);
  });
});
