import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExportUpdate } from '../model/export-messages.ts';
import { changeOf } from '../model/export-change.ts';
import { exported } from '../model/testing-exports.ts';
import { RemoteExports } from '../state/remote-exports.ts';
import { openExchange, type ExchangeParts } from './export-exchange.ts';

const first: ExportUpdate = {
  revision: 1,
  begins: true,
  isComplete: true,
  members: [],
  expected: ['west'],
  known: [],
  wanted: [],
  rejections: null,
};

function exchangeOf(carriesExports = true) {
  const exports = new RemoteExports();
  const membership = {
    areExportsKnown: true,
    isSurplusExport: (key: string) => key === 'shop/surplus',
    state: { isConnected: true },
    sendExports: () => undefined,
  };
  const parts = { membership, clusters: { exports, hub: { carriesExports } } };
  return { exports, exchange: openExchange(parts as unknown as ExchangeParts) };
}

describe('the exports of all clusters over the membership', () => {
  it('of a cluster are unknown while only a part of them was sent', () => {
    const { exports, exchange } = exchangeOf();
    exports.apply(first);
    const changed = [changeOf(undefined, exported('shop/web', ['10.0.0.1']))].flatMap((change) => change ?? []);
    exports.apply({ ...first, begins: false, isComplete: false, members: [{ member: 'west', changed, removed: [] }] });
    const { unknown } = exchange;
    assert.deepEqual(unknown, new Set(['west']));
    exports.apply({ ...first, begins: false, known: ['west'] });
    assert.deepEqual([unknown, exchange.unknown], [new Set(['west']), new Set()], 'a value of its own each time');
  });

  it('of this cluster that are too many have a condition that says so', () => {
    const { exchange } = exchangeOf();
    assert.match(JSON.stringify(exchange.deliveryOf('shop/surplus')), /"refused".*more than 20000 Services/);
    assert.deepEqual(exchange.deliveryOf('shop/web'), { kind: 'delivered', message: '' });
  });

  it('of this cluster are delivered although the hub leaves endpoints of them out', () => {
    const { exports, exchange } = exchangeOf();
    const rejection = (value: string, code: string) =>
      ({ kind: 'export', value, code, message: `${value} ${code}`, holder: '', transitSwitch: '' }) as const;
    const rejections = [
      rejection('shop/web', 'MaxEndpoints'),
      rejection('shop/web', 'EndpointNotOffered'),
      rejection('shop/db', 'ExportInvalid'),
    ];
    exports.apply({ ...first, rejections: { rejections } });
    const message = 'shop/web MaxEndpoints; shop/web EndpointNotOffered';
    assert.deepEqual(exchange.deliveryOf('shop/web'), { kind: 'delivered', message });
    assert.equal(exchange.deliveryOf('shop/db').kind, 'refused');
  });

  it('are all known where the hub does not carry any', () => {
    const { exports, exchange } = exchangeOf(false);
    exports.apply(first);
    assert.deepEqual([exchange.isReceived, exchange.unknown], [true, new Set()]);
  });
});
