import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { ExportedService } from '../../model/exported-service.ts';
import { cidr } from '../../model/testing.ts';
import type { FormerIps } from './clusterset-ips.ts';
import { Imports, type ImportInput } from './imports.ts';
import { exportOf } from './testing.ts';

describe('the imports of a cluster', () => {
  let imports: Imports;
  let exports: Map<string, Map<string, ExportedService>>;
  let namespaces: Set<string>;
  let former: FormerIps[];

  const step = (
    services: readonly string[],
    changed: readonly string[] = [],
    fields: Partial<ImportInput> = {},
  ): readonly string[] => [
    ...imports.step(
      {
        exportsOf: (key) => exports.get(key) ?? new Map(),
        hasNamespace: (name) => namespaces.has(name),
        clusterSetCidr: '100.127.0.0/29',
        occupied: [],
        families: new Set([4]),
        former: () => former,
        isComplete: true,
        ...fields,
      },
      { services, namespaces: changed },
    ),
  ];

  beforeEach(() => {
    imports = new Imports();
    exports = new Map([['shop/web', new Map([['west', exportOf()]])]]);
    namespaces = new Set(['shop']);
    former = [];
  });

  it('exist where the namespace exists, and as long as some cluster exports them', () => {
    namespaces.clear();
    assert.deepEqual(step(['shop/web']), []);
    assert.equal(imports.merged('shop/web')?.type, 'ClusterSetIP', 'conflicts are decided without the namespace');
    namespaces.add('shop');
    assert.deepEqual(step([], ['shop']), ['shop/web']);
    const ips = imports.get('shop/web')?.ips;
    assert.equal(ips?.length, 1);
    assert.deepEqual(step(['shop/web']), [], 'nothing changed');
    exports.get('shop/web')?.set('north', exportOf({ createdMs: 5 }));
    assert.deepEqual(step(['shop/web']), ['shop/web']);
    assert.deepEqual(imports.get('shop/web')?.merged.clusters, ['north', 'west']);
    assert.deepEqual(imports.get('shop/web')?.ips, ips, 'with the same address');
    exports.clear();
    assert.deepEqual([step(['shop/web']), imports.size], [['shop/web'], 0]);
  });

  it('keep their address over a restart, also while it is not known whether they are exported', () => {
    former = [{ key: 'shop/web', ips: ['100.127.0.6'], isInDatabase: false, createdMs: 1 }];
    step([], [], { isComplete: false });
    for (let index = 0; index < 5; index += 1) exports.set(`shop/x${index}`, new Map([['west', exportOf()]]));
    step(
      [...exports.keys()].filter((key) => key !== 'shop/web'),
      [],
      { isComplete: false },
    );
    assert.equal(imports.size, 5);
    assert.ok([...imports.keys()].every((key) => imports.get(key)?.ips[0] !== '100.127.0.6'));
  });

  it('get the addresses that others give back', () => {
    for (let index = 0; index < 7; index += 1) exports.set(`shop/x${index}`, new Map([['west', exportOf()]]));
    exports.delete('shop/web');
    step([...exports.keys()]);
    assert.equal(imports.get('shop/x6')?.problem?.code, 'ClusterSetIPsExhausted');
    exports.delete('shop/x0');
    assert.deepEqual(step(['shop/x0']).toSorted(), ['shop/x0', 'shop/x6']);
    assert.equal(imports.get('shop/x6')?.problem, undefined);
  });

  it('have no address in a network that something else uses, and keep what they have', () => {
    step(['shop/web']);
    exports.set('shop/new', new Map([['west', exportOf()]]));
    const occupied = [{ name: 'Subnet red', cidr: cidr('100.127.0.0/16') }];
    step(['shop/new'], [], { occupied });
    assert.equal(imports.get('shop/web')?.ips.length, 1);
    assert.match(imports.get('shop/new')?.problem?.message ?? '', /overlaps 100\.127\.0\.0\/16 \(Subnet red\)/);
    assert.deepEqual(step([], [], { occupied: [] }), ['shop/new']);
    assert.equal(imports.get('shop/new')?.ips.length, 1);
  });

  it('keep an address that they have no use for, until they are gone', () => {
    const both = { families: new Set([4, 6] as const), clusterSetCidr: '100.127.0.0/29,fd00:100:127::/125' };
    exports.set('shop/web', new Map([['west', exportOf({ ipFamilies: [4, 6] })]]));
    step(['shop/web'], [], both);
    const ips = imports.get('shop/web')?.ips ?? [];
    assert.equal(ips.length, 2);
    const others = Array.from({ length: 8 }, (_, index) => `shop/a${index}`);
    for (const key of others) exports.set(key, new Map([['west', exportOf({ ipFamilies: [4, 6] })]]));
    step(others, [], { ...both, families: new Set([4]) });
    assert.deepEqual(imports.get('shop/web')?.ips, [ips[0]], 'without pods of the other family');
    step([], [], both);
    assert.deepEqual(imports.get('shop/web')?.ips, ips);
    exports.set('shop/web', new Map([['west', exportOf({ type: 'Headless' })]]));
    step(['shop/web'], [], both);
    assert.deepEqual(imports.get('shop/web')?.ips, []);
    assert.ok(others.every((key) => !ips.some((ip) => imports.get(key)?.ips.includes(ip) === true)));
    exports.set('shop/web', new Map([['west', exportOf({ ipFamilies: [4, 6] })]]));
    step(['shop/web'], [], both);
    assert.deepEqual(imports.get('shop/web')?.ips, ips);
    exports.delete('shop/web');
    step(['shop/web'], [], both);
    assert.ok(ips.every((ip) => others.some((key) => imports.get(key)?.ips.includes(ip) === true)));
  });

  it('of a headless Service have no address, and of a family without pods neither', () => {
    exports.set('shop/db', new Map([['west', exportOf({ type: 'Headless' })]]));
    exports.set('shop/six', new Map([['west', exportOf({ ipFamilies: [6] })]]));
    step(['shop/db', 'shop/six']);
    assert.deepEqual([imports.get('shop/db')?.ips, imports.get('shop/db')?.problem], [[], undefined]);
    assert.equal(imports.get('shop/six')?.problem?.code, 'IPFamilyNotSupported');
  });
});
