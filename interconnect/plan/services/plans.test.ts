import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { ExportedEndpoint, ExportedService } from '../../model/exported-service.ts';
import type { Affinity } from '../../model/service-objects.ts';
import type { ImportState } from '../../settle/services/imports.ts';
import { mergeExports, type MergedImport } from '../../settle/services/merge.ts';
import { endpointAt, exportOf } from '../../settle/services/testing.ts';
import { planBalancers } from './balancers.ts';
import { exportConditions, importBody, importStatus } from './objects.ts';
import { planImportSlices } from './slices.ts';

function stateOf(exports: Readonly<Record<string, Partial<ExportedService>>>, ips = ['100.127.0.9']): ImportState {
  const all = new Map(Object.entries(exports).map(([cluster, fields]) => [cluster, exportOf(fields)]));
  return { merged: mergeExports(all) as MergedImport, exports: all, ips, problem: undefined };
}

const everywhere = { obstacle: undefined, leftOut: [] };
const nowhere = { address: '10.17.0.12', port: 0 };

interface Places {
  readonly own?: readonly ExportedEndpoint[];
  readonly vpcs?: readonly string[];
  readonly unreached?: string;
  readonly affinity?: Affinity;
  readonly zone?: string;
  readonly distances?: Readonly<Record<string, number>>;
}

function rowsOf(
  state: ImportState,
  {
    own = [],
    vpcs = ['ovn-cluster'],
    unreached = nowhere.address,
    affinity = 'none',
    zone = '',
    distances = {},
  }: Places = {},
): readonly DesiredRow[] {
  return planBalancers({
    state,
    cluster: 'east',
    vpcs,
    ownEndpoints: () => own,
    reaches: (_, __, address) => address !== unreached,
    affinity,
    zone,
    distanceOf: (cluster) => distances[cluster],
    ipv6Selection: true,
  }).rows;
}

const west = { endpoints: [endpointAt('10.17.0.11'), endpointAt('10.17.0.12')] };
const vipsOf = (rows: readonly DesiredRow[]) => rows.map(({ columns }) => columns['vips']);

describe('the load balancers of an import', () => {
  it('have ready endpoints of this cluster and those of others that a route leads to', () => {
    const own = [endpointAt('10.16.0.11'), endpointAt('10.16.0.12', { isReady: false })];
    const rows = rowsOf(stateOf({ east: { endpoints: own }, west }), { own });
    assert.deepEqual(
      rows.map(({ key }) => key),
      ['clusterset/ovn-cluster/shop/web/tcp/ipv4'],
    );
    assert.deepEqual(vipsOf(rows), [{ '100.127.0.9:80': '10.16.0.11:8080,10.17.0.11:8080' }]);
  });

  it('reject connections without any backend, and where the policy is not implemented', () => {
    const local = stateOf({ west: { ...west, isInternalPolicyLocal: true } });
    for (const state of [stateOf({ west: { endpoints: [endpointAt('10.17.0.12')] } }), local]) {
      const [row] = rowsOf(state);
      assert.deepEqual(row?.columns['vips'], { '100.127.0.9:80': '' });
      assert.equal((row.columns['options'] as Record<string, string>)['reject'], 'true');
    }
    assert.match(JSON.stringify(importStatus(local, everywhere, {}, 1, '')), /InternalTrafficPolicyNotSupported/);
  });

  it('have endpoints of the preferred side as long as one is ready, and are never empty while any is', () => {
    const states = ['ready', 'leaving', 'gone'] as const;
    const at = (address: string, state: (typeof states)[number]) =>
      endpointAt(address, { isReady: state === 'ready', isServingWhileTerminating: state === 'leaving' });
    const sides = { local: '10.16.0.11:8080', remote: '10.17.0.11:8080' };
    for (const affinity of ['local', 'remote', 'none'] as const)
      for (const local of states)
        for (const remote of states) {
          const own = [at('10.16.0.11', local)];
          const exports = { east: { endpoints: own }, west: { endpoints: [at('10.17.0.11', remote)] } };
          const [vips] = vipsOf(rowsOf(stateOf(exports), { own, affinity }));
          const found = (['local', 'remote'] as const).filter((side) => JSON.stringify(vips).includes(sides[side]));
          const best = states.slice(0, 2).find((state) => state === local || state === remote);
          const able = (['local', 'remote'] as const).filter((side) => best === { local, remote }[side]);
          const wanted = affinity !== 'none' && able.includes(affinity) ? [affinity] : able;
          assert.deepEqual(found, wanted, `affinity ${affinity}, local ${local}, remote ${remote}`);
        }
  });

  it('prefer this cluster, then the nearest ones, those that are equally near alike, and those without a time last', () => {
    const at = (address: string, isReady = true) => [endpointAt(address, { isReady })];
    const distances = { west: 20, north: 5, south: 6 };
    const backendsWith = (own: boolean, near: boolean, west = true): unknown => {
      const exports = {
        dark: { endpoints: at('10.20.0.1') },
        west: { endpoints: at('10.17.0.1', west) },
        south: { endpoints: at('10.19.0.1', near) },
        north: { endpoints: at('10.18.0.1', near) },
      };
      const places = { own: at('10.16.0.1', own), affinity: 'nearest', distances } as const;
      return vipsOf(rowsOf(stateOf(exports), places))[0];
    };
    const expected = (backends: string) => ({ '100.127.0.9:80': backends });
    assert.deepEqual(backendsWith(true, true), expected('10.16.0.1:8080'));
    assert.deepEqual(backendsWith(false, true), expected('10.18.0.1:8080,10.19.0.1:8080'));
    assert.deepEqual(backendsWith(false, false), expected('10.17.0.1:8080'));
    assert.deepEqual(backendsWith(false, false, false), expected('10.20.0.1:8080'));
  });

  it('have endpoints of a cluster that does not share them, for its own clients', () => {
    const own = [endpointAt('10.16.0.11')];
    assert.deepEqual(vipsOf(rowsOf(stateOf({ west }), { own })), [
      { '100.127.0.9:80': '10.16.0.11:8080,10.17.0.11:8080' },
    ]);
  });

  it('prefer endpoints in the zone of the clients if the traffic distribution says so', () => {
    const endpoints = [endpointAt('10.17.0.11', { zone: 'a' }), endpointAt('10.17.0.13', { zone: 'b' })];
    const backendsFor = (trafficDistribution: string, zone: string): string =>
      JSON.stringify(vipsOf(rowsOf(stateOf({ west: { endpoints, trafficDistribution } }), { zone }))[0]);
    assert.match(backendsFor('PreferClose', 'a'), /"10\.17\.0\.11:8080"/);
    assert.match(backendsFor('PreferSameZone', 'b'), /"10\.17\.0\.13:8080"/);
    for (const [distribution, zone] of [
      ['PreferClose', ''],
      ['PreferClose', 'c'],
      ['', 'a'],
    ] as const)
      assert.match(backendsFor(distribution, zone), /"10\.17\.0\.11:8080,10\.17\.0\.13:8080"/);
  });

  it('use what serves while terminating only if nothing is ready', () => {
    const leaving = endpointAt('10.17.0.13', { isReady: false, isServingWhileTerminating: true });
    assert.deepEqual(vipsOf(rowsOf(stateOf({ west: { endpoints: [leaving] } }))), [
      { '100.127.0.9:80': '10.17.0.13:8080' },
    ]);
    assert.deepEqual(vipsOf(rowsOf(stateOf({ west: { endpoints: [leaving, endpointAt('10.17.0.11')] } }))), [
      { '100.127.0.9:80': '10.17.0.11:8080' },
    ]);
  });

  it('are one for each VPC, protocol and family', () => {
    const ports = [
      { name: 'http', protocol: 'TCP', port: 80, appProtocol: '' },
      { name: 'dns', protocol: 'UDP', port: 53, appProtocol: '' },
    ] as const;
    const six = endpointAt('fd00:17::b', { ports: [{ name: 'dns', protocol: 'UDP', port: 5353 }] });
    const state = stateOf({ west: { ports, ipFamilies: [4, 6], affinitySeconds: 10, endpoints: [six] } }, [
      '100.127.0.9',
      'fd00:100:127::9',
    ]);
    const rows = rowsOf(state, { vpcs: ['ovn-cluster', 'blue'] });
    assert.equal(rows.length, 8);
    const udp = rows.find(({ key }) => key === 'clusterset/blue/shop/web/udp/ipv6');
    assert.deepEqual(udp?.columns, {
      protocol: 'udp',
      vips: { '[fd00:100:127::9]:53': '[fd00:17::b]:5353' },
      selection_fields: ['ipv6_src'],
      options: { reject: 'true', hairpin_snat_ip: '169.254.169.5 fd69::5', ct_flush: 'true' },
    });
  });

  it('are none for a headless Service', () => {
    assert.deepEqual(rowsOf(stateOf({ west: { ...west, type: 'Headless' } }, [])), []);
  });
});

describe('the EndpointSlices of an import', () => {
  const slicesOf = (state: ImportState, unreached = '') => {
    const isReached = (_: string, address: string) => address !== unreached;
    return planImportSlices({ state, exports: state.exports, owner: 'u', isReached });
  };

  it('name the cluster, and call only endpoints ready that are reached', () => {
    const pod = endpointAt('10.17.0.11', { hostname: 'web-0', zone: 'z1', node: 'b1' });
    const slices = slicesOf(stateOf({ west: { endpoints: [pod, endpointAt('10.17.0.12')] } }), '10.17.0.12');
    const [[name, body] = []] = [...slices];
    assert.match(name ?? '', /^web-west-[0-9a-f]{10}$/);
    assert.deepEqual(body, {
      addressType: 'IPv4',
      labels: {
        'endpointslice.kubernetes.io/managed-by': 'isthmus.network',
        'multicluster.kubernetes.io/service-name': 'web',
        'multicluster.kubernetes.io/source-cluster': 'west',
      },
      owner: 'u',
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
      endpoints: [
        {
          addresses: ['10.17.0.11'],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: 'web-0',
          zone: 'z1',
        },
        { addresses: ['10.17.0.12'], conditions: { ready: false, serving: false, terminating: false } },
      ],
    });
  });

  it('have at most a hundred endpoints, and one endpoint more changes one slice', () => {
    const many = Array.from({ length: 1000 }, (_, index) => endpointAt(`10.17.${index >> 8}.${index & 255}`));
    const before = slicesOf(stateOf({ west: { endpoints: many } }));
    assert.ok([...before.values()].every(({ endpoints }) => endpoints.length <= 100));
    const all = [...before.values()].flatMap(({ endpoints }) => endpoints.map((one) => String(one['addresses'])));
    assert.equal(new Set(all).size, 1000);
    const after = slicesOf(stateOf({ west: { endpoints: many.slice(1) } }));
    const differing = [...after].filter(([name, body]) => JSON.stringify(before.get(name)) !== JSON.stringify(body));
    assert.equal(differing.length, 1);
    const reversed = slicesOf(stateOf({ west: { endpoints: many.toReversed() } }));
    assert.deepEqual(Object.fromEntries(reversed), Object.fromEntries(before), 'in any order');
  });

  it('are separate for endpoints with other ports, and for each cluster', () => {
    const other = endpointAt('10.17.0.12', { ports: [{ name: 'http', protocol: 'TCP', port: 9090 }] });
    const slices = slicesOf(stateOf({ west: { endpoints: [endpointAt('10.17.0.11'), other] }, north: west }));
    assert.deepEqual(
      [...slices.values()].map(({ ports, endpoints }) => `${String(ports[0]?.['port'])} ${endpoints.length}`).sort(),
      ['8080 1', '8080 2', '9090 1'],
    );
  });
});

describe('the objects', () => {
  it('say that no pod reaches an import, or which do not', () => {
    const obstacle = { code: 'LoadBalancersDisabled', message: 'm' };
    const readyOf = (state: ImportState, clients: { obstacle: typeof obstacle | undefined; leftOut: string[] }) => {
      const [ready] = importStatus(state, clients, {}, 1, '')['conditions'] as { reason: string; message: string }[];
      return `${ready?.reason}: ${ready?.message}`;
    };
    assert.equal(readyOf(stateOf({ west }), { obstacle, leftOut: [] }), 'LoadBalancersDisabled: m');
    assert.match(
      readyOf(stateOf({ west }), { obstacle: undefined, leftOut: ['bare'] }),
      /^Ready: .*not reach it: bare$/,
    );
    assert.match(readyOf(stateOf({ west: { type: 'Headless' } }, []), { obstacle, leftOut: [] }), /^Ready: /);
  });

  it('leave out labels that the API server refuses, and never give their own away', () => {
    const labels = { good: 'x', 'bad key': 'x', bad: 'a b', 'app.kubernetes.io/managed-by': 'evil' };
    assert.deepEqual(importBody(stateOf({ west: { labels } })).labels, {
      good: 'x',
      'app.kubernetes.io/managed-by': 'isthmus-interconnect',
    });
  });

  it('say what conflicts, and keep conditions of other types', () => {
    const other = { type: 'Theirs', status: 'True', reason: 'R', message: '', lastTransitionTime: 'before' } as const;
    const object = {
      namespace: 'shop',
      name: 'web',
      uid: 'u',
      generation: 3,
      createdMs: 1,
      isDeleting: false,
      labels: {},
      annotations: {},
      conditions: [other],
      isAlias: false,
      isShared: true,
    };
    const conflict = { reason: 'PortConflict', message: 'm' };
    const conditions = exportConditions(
      { object, invalid: undefined },
      conflict,
      { kind: 'delivered', message: '' },
      'now',
    );
    assert.deepEqual(
      conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
      ['Theirs True R', 'Valid True Valid', 'Ready True Exported', 'Conflict True PortConflict'],
    );
    const invalid = { code: 'NoService', message: 'm' };
    const later = exportConditions(
      { object: { ...object, conditions }, invalid },
      conflict,
      { kind: 'delivered', message: '' },
      'x',
    );
    assert.deepEqual(
      later.map(({ type, status, reason }) => `${type} ${status} ${reason}`),
      ['Theirs True R', 'Valid False NoService', 'Ready False Failed'],
    );
    const cut = exportConditions({ object, invalid: undefined }, undefined, { kind: 'delivered', message: 'cut' }, '');
    const ready = cut.find(({ type }) => type === 'Ready');
    assert.deepEqual([ready?.status, ready?.message], ['True', 'cut'], 'an export without some of its endpoints');
    const again = { object: { ...object, conditions: later }, invalid };
    assert.equal(
      exportConditions(again, undefined, { kind: 'delivered', message: '' }, 'y'),
      later,
      'and nothing twice',
    );
  });
});
