import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { array, assert as assertProperty, boolean, nat, property, record } from 'fast-check';
import { changed, changeOf } from './export-change.ts';
import type { ExportedService } from './exported-service.ts';
import { endpoint, exported } from './testing-exports.ts';

const addresses = (count: number) => Array.from({ length: count }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
const [first = '', second = '', ...others] = addresses(1000);
const before = exported('shop/web', [first, second, ...others]);

describe('a change of an exported Service', () => {
  it('has only the endpoints that differ', () => {
    const after = { ...before, endpoints: [endpoint(first, { isReady: false }), ...before.endpoints.slice(2)] };
    const change = changeOf(before, after);
    assert.deepEqual(change?.endpoints, [endpoint(first, { isReady: false })]);
    assert.deepEqual(change.removedAddresses, [second]);
    assert.ok(JSON.stringify(change).length < 1000);
    const back = changed(before, change);
    assert.deepEqual(new Set(back?.endpoints), new Set(after.endpoints));
  });

  it('is none between equal Services, whatever the order of labels', () => {
    const [a, b] = [
      { a: '1', b: '2' },
      { b: '2', a: '1' },
    ].map((labels) => exported('shop/web', [first], { labels }));
    assert.ok(a && b);
    assert.equal(changeOf(a, b), undefined);
    assert.equal(changeOf(a, { ...b, createdMs: 2 })?.endpoints.length, 0);
  });

  it('needs what it builds on', () => {
    const change = changeOf(before, { ...before, affinitySeconds: 10 });
    assert.equal(change?.isWhole, false);
    assert.equal(changed(undefined, change), undefined);
  });

  it('leads from any Service to any other', () => {
    const one = record({ at: nat(5), port: nat(2), isReady: boolean() });
    const service = record({ endpoints: array(one), affinitySeconds: nat(1) }).map(
      ({ endpoints, affinitySeconds }): ExportedService => ({
        ...exported('shop/web', []),
        affinitySeconds,
        endpoints: endpoints.map(({ at, port, isReady }) =>
          endpoint(`10.0.0.${at}`, { isReady, ports: [{ name: '', protocol: 'UDP', port }] }),
        ),
      }),
    );
    const text = (value: ExportedService) => {
      const groups = [...Map.groupBy(value.endpoints, ({ address }) => address)];
      return JSON.stringify({ ...value, endpoints: groups.sort(([a], [b]) => (a < b ? -1 : 1)) });
    };
    assertProperty(
      property(array(service), (services) => {
        let there: ExportedService | undefined;
        for (const here of services) {
          const change = changeOf(there, here);
          if (change !== undefined) there = changed(there, change);
          assert.ok(there);
          assert.equal(text(there), text(here));
          const order = there.endpoints.map(({ address }) => address);
          assert.deepEqual(order, order.toSorted());
        }
      }),
    );
  });
});
