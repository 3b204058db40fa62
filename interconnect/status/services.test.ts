import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { WriteOutcome } from '../../lib/kube/writer.ts';
import type { Delivery } from '../model/export-exchange.ts';
import type { GlobalService, ImportedSlice, ServiceExportObject } from '../model/service-objects.ts';
import type { ImportState } from '../settle/services/imports.ts';
import { mergeExports, type MergedImport } from '../settle/services/merge.ts';
import { exportOf } from '../settle/services/testing.ts';
import type { OwnExport } from '../settle/services/valid-exports.ts';
import { parseServiceExport, plainService } from '../watch/service-objects.ts';
import { ServiceReporter, type ServiceReporterOptions } from './services.ts';

const stateOf = (name: string): ImportState => {
  const exports = new Map([['west', exportOf({ name })]]);
  return { merged: mergeExports(exports) as MergedImport, exports, ips: [], problem: undefined };
};

describe('the objects of Services', () => {
  let reporter: ServiceReporter;
  let states: Map<string, ImportState>;
  let news: Set<string>;
  let slices: Map<string, ImportedSlice>;
  let writes: string[];
  let outcome: WriteOutcome;
  let nowMs: number;
  let dues: number;
  let events: string[];
  let delivery: Delivery;
  let areAnnotationsRead: boolean;
  let own: Map<string, OwnExport>;
  let serviceExports: Map<string, ServiceExportObject>;
  let globalServices: Map<string, GlobalService>;

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    states = new Map();
    news = new Set();
    slices = new Map();
    writes = [];
    outcome = 'written';
    [nowMs, dues] = [0, 0];
    events = [];
    areAnnotationsRead = true;
    delivery = { kind: 'delivered', message: '' };
    own = new Map();
    serviceExports = new Map();
    globalServices = new Map();
    const none = new Map<string, never>();
    const options = {
      client: {},
      writer: {
        enqueue: (id: string) => {
          writes.push(id);
          return Promise.resolve(outcome);
        },
      },
      events: {
        record: ({ kind }: { kind: string }, _: string, reason: string) => events.push(`${kind} ${reason}`),
      },
      sources: { serviceExports, serviceImports: none, importedSlices: slices, namespaces: none, globalServices },
      services: {
        own,
        imports: Object.assign(states, { merged: () => undefined }),
        isComplete: true,
        get areAnnotationsRead() {
          return areAnnotationsRead;
        },
        isHeld: () => false,
        isReached: () => true,
        endpointsOf: (_: string, { exports }: ImportState) => exports,
        takeNews: () => {
          const taken = news;
          news = new Set();
          return taken;
        },
      },
      exchange: { deliveryOf: () => delivery },
      now: () => nowMs,
      onDue: () => (dues += 1),
    };
    reporter = new ServiceReporter(options as unknown as ServiceReporterOptions);
    reporter.start();
  });
  afterEach(() => {
    reporter.close();
    mock.timers.reset();
  });

  const add = (name: string): void => {
    states.set(`shop/${name}`, stateOf(name));
    news.add(`shop/${name}`);
  };
  /** Returns what was written, once its outcome has arrived. */
  const report = async (): Promise<readonly string[]> => {
    writes = [];
    reporter.report(true);
    await Promise.resolve();
    await Promise.resolve();
    return writes;
  };
  const pass = (ms: number): void => {
    nowMs += ms;
    mock.timers.tick(ms);
  };

  it('that were refused while their kind was not served are written when it is', async () => {
    outcome = new KubeApiError(404, 'NotFound', 'the kind is not served');
    add('web');
    assert.deepEqual(await report(), ['ServiceImport/shop/web']);
    pass(20_000);
    add('db');
    assert.deepEqual(await report(), ['ServiceImport/shop/db']);
    pass(10_001);
    outcome = 'written';
    assert.equal(dues, 1);
    assert.deepEqual(await report(), ['ServiceImport/shop/web'], 'the other is not due yet');
    pass(30_001);
    assert.equal(dues, 2);
    assert.ok((await report()).includes('ServiceImport/shop/db'));
  });

  it('that an earlier process left are judged after a start', async () => {
    slices.set('shop/web-west-1', {
      namespace: 'shop',
      name: 'web-west-1',
      uid: 'u',
      service: 'web',
      body: { addressType: 'IPv4', labels: {}, owner: '', ports: [], endpoints: [] },
    });
    reporter.start();
    assert.deepEqual(await report(), ['EndpointSlice/shop/web-west-1']);
  });

  it('of Services that annotations export are events, once for each cause', async () => {
    const metadata = { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '1' };
    const key = 'shop/web';
    const object = { ...parseServiceExport({ metadata }), isAlias: true };
    globalServices.set(key, { ...plainService, namespace: 'shop', name: 'web', uid: 'u', isGlobal: true });
    own.set(key, { object, invalid: undefined, exported: undefined, unshared: undefined, endpoints: new Map() });
    news.add(key);
    await report();
    assert.deepEqual(events, []);
    delivery = { kind: 'refused', problem: { code: 'MaxExports', message: 'too many' } };
    await report();
    news.add(key);
    await report();
    assert.deepEqual(events, ['Service ExportRefused']);
    globalServices.set(key, { ...plainService, namespace: 'shop', name: 'web', uid: 'u', isShared: false });
    serviceExports.set(key, parseServiceExport({ metadata }));
    own.set(key, {
      object: parseServiceExport({ metadata }),
      invalid: undefined,
      exported: undefined,
      unshared: undefined,
      endpoints: new Map(),
    });
    reporter.seen('Service', key);
    await report();
    assert.deepEqual(events.slice(1), ['Service ExportContradicted']);
  });

  it('of Services whose annotations are wrong are events, also after a start, unless they are not read', async () => {
    const service = { ...plainService, namespace: 'shop', name: 'web', uid: 'u', mistakes: ['m'] };
    globalServices.set('shop/web', service);
    globalServices.set('shop/db', plainService);
    reporter.start();
    areAnnotationsRead = false;
    await report();
    assert.deepEqual(events, []);
    areAnnotationsRead = true;
    news.add('shop/web');
    await report();
    reporter.start();
    await report();
    assert.deepEqual(events, ['Service AnnotationInvalid']);
  });
});
