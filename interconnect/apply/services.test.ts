import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { OvsdbClient } from 'ovsdb-client';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { externalId } from '../../lib/api/names.ts';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Desired } from '../../lib/desired/row.ts';
import { noEdges } from '../model/edges.ts';
import type { ExportedService, ExportedServices } from '../model/exported-service.ts';
import { importOwner } from '../model/owners.ts';
import {
  importsOfAgent,
  type GlobalService,
  type ImportedSlice,
  type ServiceImportObject,
  type SharedAddressObject,
  type SharedPool,
} from '../model/service-objects.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import { cidr, local } from '../model/testing.ts';
import type { RouteUse } from '../settle/route-use.ts';
import { endpointAt, exportOf, routeTo } from '../settle/services/testing.ts';
import type { ExportParts } from '../watch/exported-services.ts';
import {
  parseLocalService,
  parseServiceExport,
  parseSharedAddress,
  parseSharedPool,
  plainService,
} from '../watch/service-objects.ts';
import { Services, type ServicesOptions } from './services.ts';

const key = 'shop/web';
const west = exportOf({ endpoints: [endpointAt('10.17.0.11')] });
const spec = { clusterSetCIDR: '100.127.0.0/16', ciliumAnnotations: true } as InterconnectSpec;

describe('imported Services in a round', () => {
  let services: Services;
  let exports: Map<string, Map<string, ExportedService>>;
  let dirty: Set<string>;
  let plans: Map<string, Desired>;
  let objects: Map<string, ServiceImportObject>;
  let slices: Map<string, Pick<ImportedSlice, 'namespace' | 'service'>>;
  let exchange: { isReceived: boolean; unknown: Set<string> };
  let uses: Map<string, readonly RouteUse[]>;
  let sent: ExportedServices[];
  let own: Map<string, ExportParts>;
  let ownDirty: Set<string>;
  let rows: Map<string, object>;
  let serviceCidrs: Map<string, readonly Cidr[]>;
  let globalServices: Map<string, GlobalService>;
  let pools: Map<string, SharedPool>;
  let addresses: Map<string, SharedAddressObject>;
  let forgotten: string[];

  beforeEach(() => {
    exports = new Map([[key, new Map([['west', west]])]]);
    dirty = new Set([key]);
    plans = new Map();
    objects = new Map();
    slices = new Map();
    exchange = { isReceived: true, unknown: new Set() };
    uses = new Map([['west', [routeTo('10.17.0.0/16')]]]);
    sent = [];
    const target: Pick<OvsdbTarget, 'desired' | 'set' | 'drop' | 'owners'> = {
      desired: (owner) => plans.get(owner),
      set: (owner, plan) => void plans.set(owner, plan),
      drop: (owner) => void plans.delete(owner),
      owners: () => [...plans.keys()],
    };
    own = new Map();
    ownDirty = new Set();
    rows = new Map();
    serviceCidrs = new Map();
    globalServices = new Map();
    pools = new Map();
    addresses = new Map();
    forgotten = [];
    const reflected = <T>(map: Map<string, T>) => ({
      get: (name: string) => map.get(name),
      entries: () => map.entries(),
    });
    services = new Services({
      watch: {
        takeDirty: () => {
          const taken = ownDirty;
          ownDirty = new Set();
          return taken;
        },
        keys: () => own.keys(),
        get: (one) => own.get(one) ?? 'gone',
      },
      sources: {
        subnets: reflected(new Map()),
        nodes: reflected(new Map()),
        serviceCidrs: reflected(serviceCidrs),
        globalServices: reflected(globalServices),
        namespaces: reflected(new Map([['shop', { isDeleting: false, labels: {} }]])),
        serviceImports: reflected(objects),
        importedSlices: reflected(slices),
        sharedPools: reflected(pools),
        sharedAddresses: reflected(addresses),
        remoteClusters: reflected(new Map([['west', { status: { rttMs: 20 } }]])),
      } as unknown as ServicesOptions['sources'],
      northbound: { cache: { table: () => ({ rows }) }, schema: { tables: {} } } as unknown as OvsdbClient,
      target: target as OvsdbTarget,
      remotes: {
        view: {
          get: (name: string) => ({ uses: uses.get(name) ?? [] }),
          entries: () => uses.entries(),
        },
      } as unknown as ServicesOptions['remotes'],
      measure: () => undefined,
      exchange: {
        of: (one) => exports.get(one) ?? new Map(),
        takeDirty: () => {
          const taken = dirty;
          dirty = new Set();
          return taken;
        },
        get isReceived() {
          return exchange.isReceived;
        },
        get unknown() {
          return exchange.unknown;
        },
        send: (own) => void sent.push(own),
        deliveryOf: () => ({ kind: 'delivered', message: '' }),
        answerTo: () => undefined,
        forgetAnswer: (one) => void forgotten.push(one),
      },
      exports: { readAnnotations: () => undefined },
      hasLoadBalancers: true,
    });
  });

  const round = (changed: readonly string[] = []): void => {
    services.observe(local, spec);
    const changes = { changed: new Set(changed), gone: [], released: [], isComplete: true };
    services.apply({ spec, local, edges: noEdges, changes });
  };
  /** The API server has taken the ServiceImport. */
  const publish = (clusters: readonly string[] = ['west']): void => {
    const ips = services.imports.get(key)?.ips ?? ['100.127.0.9'];
    objects.set(key, {
      namespace: 'shop',
      name: 'web',
      uid: 'u',
      generation: 1,
      createdMs: 1,
      isDeleting: false,
      isOurs: true,
      labels: importsOfAgent,
      annotations: {},
      spec: { ips },
      status: { clusters: clusters.map((cluster) => ({ cluster })) },
    });
    services.importSeen(key);
  };
  const backends = (): unknown =>
    plans.get(`import/${key}`)?.rows.map(({ columns }) => Object.values(columns['vips'] ?? {}));

  it('have a load balancer once the ServiceImport has the address, and keep it if somebody changes that', () => {
    round(['west']);
    assert.deepEqual(backends(), []);
    publish();
    round();
    assert.deepEqual(backends(), [['10.17.0.11:8080']]);
    objects.clear();
    services.importSeen(key);
    round();
    assert.deepEqual(backends(), [['10.17.0.11:8080']]);
  });

  it('lose the endpoints of a cluster in the round in which its last path goes down', () => {
    round(['west']);
    publish();
    round();
    uses.set('west', [routeTo('10.17.0.0/16', false)]);
    round(['west']);
    assert.deepEqual(backends(), [['']]);
    uses.set('west', [routeTo('10.17.0.0/16')]);
    round(['west']);
    assert.deepEqual(backends(), [['10.17.0.11:8080']]);
  });

  it('are not planned before the exports of others are known, nor while a cluster that exported them is not', () => {
    exchange.isReceived = false;
    publish();
    round(['west']);
    assert.deepEqual([services.local, services.isComplete, plans.size], [undefined, false, 0]);
    exchange.isReceived = true;
    exchange.unknown = new Set(['north']);
    publish(['north', 'west']);
    round();
    assert.deepEqual([services.isHeld(key), plans.size], [true, 0]);
    exchange.unknown = new Set();
    round();
    assert.deepEqual([services.isComplete, backends()], [true, [['10.17.0.11:8080']]]);
  });

  it('are judged again with their objects once the last cluster that may have exported them is known', () => {
    exports.clear();
    exchange.unknown = new Set(['west']);
    publish();
    slices.set('shop/db-west-1', { namespace: 'shop', service: 'db' });
    round();
    services.takeNews();
    round();
    assert.deepEqual([services.isHeld(key), services.takeNews()], [true, new Set()]);
    exchange.unknown = new Set();
    round();
    assert.deepEqual([services.isHeld(key), services.takeNews()], [false, new Set([key, 'shop/db'])]);
  });

  it('have addresses of networks that nothing else uses, here and in other clusters', () => {
    const codes = () => services.clusterSetProblems?.map(({ code, message }) => `${code} ${message}`);
    assert.equal(codes(), undefined, 'before the exports are known');
    round(['west']);
    assert.deepEqual(codes(), []);
    uses.set('west', [routeTo('10.17.0.0/16'), routeTo('100.127.8.0/24')]);
    round(['west']);
    assert.match(codes()?.join() ?? '', /^ClusterSetCIDROverlap .* of cluster west/);
    assert.equal(services.imports.get(key)?.ips.length, 1, 'another cluster cannot keep imports from being made');
    uses.set('west', [routeTo('10.17.0.0/16')]);
    serviceCidrs.set('kubernetes', [cidr('100.64.0.0/10')]);
    services.surroundingsChanged();
    const ips = services.imports.get(key)?.ips;
    exports.set('shop/db', new Map([['west', exportOf({ name: 'db' })]]));
    dirty.add('shop/db');
    round(['west']);
    assert.match(codes()?.join() ?? '', /^ClusterSetCIDROverlap .*\(ServiceCIDR kubernetes\)/);
    assert.deepEqual([services.imports.get(key)?.ips, services.imports.get('shop/db')?.ips], [ips, []]);
    serviceCidrs.clear();
    services.surroundingsChanged();
    round();
    assert.deepEqual([codes(), services.imports.get('shop/db')?.ips.length], [[], 1]);
  });

  it('prefer the side that an annotation of the Service names', () => {
    const metadata = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1' };
    const service = parseLocalService({
      metadata,
      spec: { clusterIPs: ['10.96.0.9'], ipFamilies: ['IPv4'], ports: [{ name: 'http', port: 80 }] },
    });
    const slices = [{ service: key, endpoints: [endpointAt('10.16.0.11')] }];
    own.set(key, { object: parseServiceExport({ metadata }), service, slices });
    ownDirty.add(key);
    round(['west']);
    publish();
    round();
    assert.deepEqual(backends(), [['10.16.0.11:8080,10.17.0.11:8080']]);
    globalServices.set(key, { ...plainService, affinity: 'local' });
    services.globalServiceChanged(key);
    round();
    assert.deepEqual(backends(), [['10.16.0.11:8080']]);
    services.withdraw();
    globalServices.set(key, { ...plainService, affinity: 'remote' });
    services.globalServiceChanged(key);
    round(['west']);
    round();
    assert.deepEqual(backends(), [['10.17.0.11:8080']], 'also if the annotation was there before the import');
  });

  it('are gone with the last export, and when the cluster leaves', () => {
    round(['west']);
    publish();
    round();
    exports.clear();
    dirty.add(key);
    round();
    assert.equal(plans.size, 0);
    exports.set(key, new Map([['west', west]]));
    dirty.add(key);
    round();
    services.withdraw();
    assert.deepEqual([plans.size, services.local, services.imports.size], [0, undefined, 0]);
  });

  it('send the exports of this cluster once, and again to another membership', () => {
    round();
    round();
    assert.equal(sent.length, 1);
    services.namespaceChanged('shop');
    round();
    assert.equal(sent.length, 2);
    const metadata = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1' };
    const service = parseLocalService({ metadata, spec: { clusterIPs: ['10.96.0.9'] } });
    own.set(key, { object: parseServiceExport({ metadata }), service, slices: [] });
    ownDirty.add(key);
    round();
    assert.deepEqual([sent.length, sent[2]?.has(key)], [3, true]);
    services.withdraw();
    round();
    assert.deepEqual([sent.length, sent[3]?.has(key)], [4, true]);
  });

  it('have endpoints that are not shared in the EndpointSlices of this cluster only', () => {
    const metadata = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1' };
    const spec = { clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4'], ports: [{ name: 'http', port: 80 }] };
    const service = parseLocalService({ metadata, spec });
    const slices = [{ service: key, endpoints: [endpointAt('10.16.0.11')] }];
    const object = parseServiceExport({ metadata });
    const inSlices = (): unknown => {
      const state = services.imports.get(key);
      const all = state === undefined ? [] : [...services.endpointsOf(key, state)];
      return all.map(([cluster, { endpoints }]) => [cluster, endpoints.map(({ address }) => address).join()]);
    };
    own.set(key, { object: { ...object, isShared: false }, service, slices });
    ownDirty.add(key);
    round(['west']);
    assert.deepEqual(sent.at(-1)?.has(key), false);
    assert.deepEqual(inSlices(), [
      ['west', '10.17.0.11'],
      [local.cluster, '10.16.0.11'],
    ]);
    services.takeNews();
    own.set(key, { object, service, slices });
    ownDirty.add(key);
    round();
    assert.deepEqual([sent.at(-1)?.has(key), services.takeNews().has(key)], [true, true]);
    assert.equal((inSlices() as unknown[]).length, 2);
  });

  it('claim a shared address for an exported Service that names a pool, as long as it does', () => {
    const metadata = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1' };
    const annotations = { 'isthmus.network/load-balancer-pool': 'world' };
    const spec = { type: 'LoadBalancer', clusterIPs: ['10.96.0.9'] };
    const service = parseLocalService({ metadata: { ...metadata, annotations }, spec });
    own.set(key, { object: parseServiceExport({ metadata }), service, slices: [] });
    ownDirty.add(key);
    round();
    const claimed = () => services.own.get(key)?.exported?.shared;
    assert.equal(claimed(), undefined);
    const [status, pool] = [
      { conditions: [{ type: 'Validated', status: 'True' }] },
      { addresses: ['198.51.100.0/28'], shared: {} },
    ];
    pools.set('world', parseSharedPool({ metadata: { ...metadata, name: 'world' }, spec: pool, status }));
    services.poolsChanged();
    round();
    assert.deepEqual([claimed()?.ranges, claimed()?.held], [['198.51.100.0/28'], []]);
    assert.equal(sent.at(-1)?.get(key)?.shared, claimed());
    const given = { service: { namespace: 'shop', name: 'web' }, pool: 'world', addresses: ['198.51.100.3'] };
    addresses.set('shop.web', parseSharedAddress({ metadata: { ...metadata, name: 'shop.web' }, spec: given }));
    services.sharedAddressSeen(key);
    round();
    assert.deepEqual(claimed()?.held, ['198.51.100.3']);
    forgotten = [];
    own.set(key, {
      object: parseServiceExport({ metadata }),
      service: parseLocalService({ metadata, spec }),
      slices: [],
    });
    ownDirty.add(key);
    round();
    assert.deepEqual([claimed(), forgotten], [undefined, [key]]);
  });

  it('keep their load balancer over a restart, also if somebody changed or deleted the ServiceImport meanwhile', () => {
    const external_ids = { [externalId.owner]: `interconnect/${importOwner(key)}` };
    rows.set('row', { external_ids, vips: { '100.127.0.77:80': '10.17.0.11:8080' } });
    round(['west']);
    assert.deepEqual(services.imports.get(key)?.ips, ['100.127.0.77']);
    assert.deepEqual(backends(), [['10.17.0.11:8080']]);
  });
});
