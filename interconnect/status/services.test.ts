import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { WriteOutcome } from '../../lib/kube/writer.ts';
import type { Delivery } from '../model/export-exchange.ts';
import type { ImportedSlice } from '../model/service-objects.ts';
import type { ImportState } from '../settle/services/imports.ts';
import { mergeExports, type MergedImport } from '../settle/services/merge.ts';
import { exportOf } from '../settle/services/testing.ts';
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

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    states = new Map();
    news = new Set();
    slices = new Map();
    writes = [];
    outcome = 'written';
    [nowMs, dues] = [0, 0];
    const none = new Map<string, never>();
    const options = {
      client: {},
      writer: {
        enqueue: (id: string) => {
          writes.push(id);
          return Promise.resolve(outcome);
        },
      },
      events: { record: () => undefined },
      sources: { serviceExports: none, serviceImports: none, importedSlices: slices, namespaces: none },
      services: {
        own: none,
        imports: states,
        isComplete: true,
        isHeld: () => false,
        isReached: () => true,
        takeNews: () => {
          const taken = news;
          news = new Set();
          return taken;
        },
      },
      exchange: { deliveryOf: (): Delivery => ({ kind: 'delivered', message: '' }) },
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
});
