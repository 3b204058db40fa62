import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ExportedService } from '../../model/exported-service.ts';
import { mergeExports } from './merge.ts';
import { exportOf } from './testing.ts';

const http = { name: 'http', protocol: 'TCP', port: 80, appProtocol: '' } as const;

function merged(exports: Readonly<Record<string, Partial<ExportedService>>>) {
  return mergeExports(new Map(Object.entries(exports).map(([cluster, fields]) => [cluster, exportOf(fields)])));
}

describe('the import of a Service', () => {
  it('is that of the only export, without a conflict', () => {
    const one = merged({ east: { labels: { a: 'b' } } });
    assert.deepEqual([one?.clusters, one?.labels, one?.conflict], [['east'], { a: 'b' }, undefined]);
    assert.equal(mergeExports(new Map()), undefined);
  });

  it('is decided by the oldest export, then by the first cluster by name', () => {
    assert.equal(merged({ east: { createdMs: 2, type: 'Headless' }, west: { createdMs: 1 } })?.type, 'ClusterSetIP');
    assert.equal(merged({ west: {}, east: { type: 'Headless' } })?.type, 'Headless');
  });

  it('has the ports of all clusters whose names and numbers no older export has', () => {
    const dns = { name: 'dns', protocol: 'UDP', port: 80, appProtocol: '' } as const;
    const one = merged({
      east: { createdMs: 1 },
      north: { createdMs: 2, ports: [{ ...http, port: 81 }, dns] },
      west: { createdMs: 3, ports: [{ ...http, name: 'web' }] },
    });
    assert.deepEqual(
      one?.ports.map(({ name, protocol, port }) => `${name} ${protocol} ${port}`),
      ['http TCP 80', 'dns UDP 80'],
    );
    assert.equal(one.conflict?.reason, 'PortConflict');
    assert.match(one.conflict.message, /cluster east, .*: ports \(north, west\)/);
  });

  it('names each property that clusters want differently', () => {
    for (const [fields, reason] of [
      [{ type: 'Headless' }, 'TypeConflict'],
      [{ ports: [{ ...http, appProtocol: 'h2c' }] }, 'PortConflict'],
      [{ affinitySeconds: 10 }, 'SessionAffinityConflict'],
      [{ isInternalPolicyLocal: true }, 'InternalTrafficPolicyConflict'],
      [{ trafficDistribution: 'PreferClose' }, 'TrafficDistributionConflict'],
      [{ ipFamilies: [4, 6] }, 'IPFamilyConflict'],
      [{ labels: { a: 'b' } }, 'LabelsConflict'],
      [{ annotations: { a: 'b' } }, 'AnnotationsConflict'],
      [{ type: 'Headless', labels: { a: 'b' } }, 'TypeConflict,LabelsConflict'],
    ] as const)
      assert.equal(merged({ east: {}, west: { createdMs: 2000, ...fields } })?.conflict?.reason, reason);
    const affinities = { east: { affinitySeconds: 10 }, west: { affinitySeconds: 20 } };
    assert.equal(merged(affinities)?.conflict?.reason, 'SessionAffinityConfigConflict');
    assert.equal(merged({ east: { ipFamilies: [4, 6] }, west: { ipFamilies: [6, 4] } })?.conflict, undefined);
  });

  it('is the same whatever the order in which exports came', () => {
    const one = fc.record({
      createdMs: fc.constantFrom(1, 2, 3),
      type: fc.constantFrom('ClusterSetIP' as const, 'Headless' as const),
      ports: fc.uniqueArray(
        fc.record({
          name: fc.constantFrom('a', 'b', 'c'),
          protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
          port: fc.constantFrom(1, 2, 3),
          appProtocol: fc.constant(''),
        }),
        { selector: ({ name }) => name, maxLength: 3 },
      ),
      affinitySeconds: fc.constantFrom(0, 10, 20),
      labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y')),
    });
    const clusters = fc.dictionary(fc.constantFrom('east', 'north', 'south', 'west'), one, { minKeys: 1 });
    const shuffled = clusters.chain((exports) => {
      const entries = Object.entries(exports).map(([cluster, fields]) => [cluster, exportOf(fields)] as const);
      return fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, { minLength: entries.length }));
    });
    fc.assert(
      fc.property(shuffled, ([entries, others]) => {
        assert.deepEqual(mergeExports(new Map(entries)), mergeExports(new Map(others)));
      }),
      { numRuns: 1000 },
    );
  });
});
