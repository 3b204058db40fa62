import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RawObject } from '../kube/types.ts';
import { formatCidr } from '../net/cidr.ts';
import { joinSliced, parseSlice } from './slice.ts';
import type { RemoteRoute } from '../api/kinds/remote-route-slice.ts';
import { bgpRoutes } from './bgp-routes.ts';
import { remotePrefixes, remoteRoutes } from './remote-routes.ts';

const meta = (name: string, uid = 'u') => ({ name, uid, resourceVersion: '1' });

function slice(name: string, cluster: string, uid: string, routes: unknown): RawObject {
  const ownerReferences = [{ kind: 'RemoteCluster', name: cluster, uid }];
  return { metadata: { ...meta(name), ownerReferences }, routes };
}

const route = (prefix: string, more: object = {}) => ({ prefix, transitSwitch: 'ts', state: 'Active', ...more });

const prefixesOf = (status: unknown, ...slices: readonly RawObject[]) => {
  const owner = { metadata: meta('west', 'w'), status };
  const merge = (entries: readonly RemoteRoute[]) => entries.map(({ prefix }) => prefix);
  const view = { kind: remoteRoutes, merge, parse: () => (prefixes: readonly string[]) => prefixes };
  return joinSliced(view, [owner], slices).get('west');
};

describe('routes in slices', () => {
  it('are those of all slices of the owner, in the order of their names', () => {
    const [second, first] = [
      slice('west.1', 'west', 'w', [route('10.2.0.0/16')]),
      slice('west.0', 'west', 'w', [route('10.1.0.0/16')]),
    ];
    assert.deepEqual(prefixesOf({}, second, first), ['10.1.0.0/16', '10.2.0.0/16']);
  });

  it('are none of another cluster, nor of an earlier object of the name', () => {
    const slices = [
      slice('west.0', 'west', 'w', [route('10.1.0.0/16')]),
      slice('west.1', 'west', 'earlier', [route('10.2.0.0/16')]),
      slice('west.2', 'east', 'w', [route('10.3.0.0/16')]),
      { metadata: meta('west.3'), routes: [route('10.4.0.0/16')] },
    ];
    assert.deepEqual(prefixesOf({}, ...slices), ['10.1.0.0/16']);
  });

  it('come from the status only while there is no slice, not even an empty one', () => {
    const status = {
      routes: [route('10.9.0.0/16', { nextHop: 'a' })],
      unlisted: [{ transitSwitch: 'ts', count: 5, within: ['10.32.0.0/12'] }],
    };
    assert.deepEqual(prefixesOf(status), ['10.9.0.0/16', '10.32.0.0/12']);
    assert.deepEqual(prefixesOf(status, slice('west.0', 'west', 'w', [])), []);
    assert.deepEqual(prefixesOf(status, slice('west.0', 'west', 'earlier', [])), ['10.9.0.0/16', '10.32.0.0/12']);
  });

  it('are read one by one: what cannot be read takes nothing from the rest', () => {
    const junk = [null, 1, 'x', {}, route('10.1.0.0/16', { state: 'Odd' }), route('10.2.0.0/16'), { prefix: 7 }];
    assert.deepEqual(
      parseSlice(remoteRoutes, slice('west.0', 'west', 'w', junk)).entries.map(({ prefix }) => prefix),
      ['10.2.0.0/16'],
    );
    for (const routes of [undefined, null, 5, 'x', {}]) {
      const raw = slice('west.0', 'west', 'w', routes);
      assert.deepEqual(parseSlice(remoteRoutes, raw).entries, []);
      assert.deepEqual(parseSlice(bgpRoutes, raw).entries, []);
    }
    for (const status of [undefined, null, 5, { routes: 1, learned: 'x', unlisted: [3] }])
      assert.deepEqual(
        [...remoteRoutes.sample({ metadata: meta('w'), status }), ...bgpRoutes.sample({ metadata: meta('w'), status })],
        [],
      );
  });

  it('name their owner by a label, too, of which the name may be longer', () => {
    const name = `${'x'.repeat(62)}.example`;
    const ownerReferences = [{ kind: 'BgpNodeState', name, uid: 'u' }];
    const labels = { 'isthmus.network/bgp-node-state': 'x'.repeat(62) };
    const raw = { metadata: { ...meta(`${name}.0`), ownerReferences, labels }, routes: [] };
    assert.equal(parseSlice(bgpRoutes, raw).isLabelled, true);
    assert.equal(parseSlice(bgpRoutes, { ...raw, metadata: { ...raw.metadata, labels: {} } }).isLabelled, false);
  });
});

describe('prefixes of another cluster', () => {
  const read = (...routes: readonly object[]) => {
    const { listed, unlisted } = remotePrefixes(parseSlice(remoteRoutes, slice('west.0', 'west', 'w', routes)).entries);
    return {
      listed: listed.map(({ cidr, isActive }) => `${formatCidr(cidr)} ${isActive}`),
      unlisted: unlisted.map(({ cidr }) => formatCidr(cidr)),
    };
  };

  it('are each listed once, Active if one entry is Active; rejected ones are not listed', () => {
    const routes = [
      route('10.1.0.0/16', { state: 'Backup' }),
      route('10.1.0.0/16'),
      route('10.1.0.0/16', { state: 'Backup' }),
      route('10.2.0.0/16', { state: 'Backup' }),
      route('10.3.0.0/16', { state: 'Rejected', reason: 'Denied' }),
      route('nonsense'),
    ];
    assert.deepEqual(read(...routes), { listed: ['10.1.0.0/16 true', '10.2.0.0/16 false'], unlisted: [] });
  });

  it('may be the network that holds others that are not listed', () => {
    const routes = [route('10.0.0.0/8'), route('10.0.0.0/8', { state: 'Unlisted' })];
    assert.deepEqual(read(...routes), { listed: ['10.0.0.0/8 true'], unlisted: ['10.0.0.0/8'] });
    assert.equal(
      new Set(routes.map((one) => remoteRoutes.keyOf(one as Parameters<typeof remoteRoutes.keyOf>[0]))).size,
      2,
    );
  });
});
