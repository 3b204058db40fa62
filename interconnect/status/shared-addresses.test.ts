import { fieldsOf, type Fields } from '../../lib/kube/fields.ts';
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { SharedAnswer } from '../model/export-messages.ts';
import type { SharedAddressObject } from '../model/service-objects.ts';
import { exported } from '../model/testing-exports.ts';
import { parseSharedAddress } from '../watch/service-objects.ts';
import { SharedAddressReporter, type SharedAddressReporterOptions } from './shared-addresses.ts';

const key = 'shop/web';
const claim = { pool: 'world', ranges: ['198.51.100.0/29'], clusters: [], requested: [], held: [], sinceMs: 0 };
const answer: SharedAnswer = {
  service: key,
  addresses: ['198.51.100.3'],
  sinceMs: 5250,
  clusters: ['west'],
  code: '',
  message: '',
};

describe('SharedAddresses', () => {
  let objects: Map<string, SharedAddressObject>;
  let answers: Map<string, SharedAnswer>;
  let exports: Set<string>;
  let claims: Map<string, object>;
  let writes: string[];
  let reporter: SharedAddressReporter;

  const specOf = (name: string): Fields => fieldsOf(JSON.parse(objects.get(name)?.specText ?? '{}'));
  const take = (name: string, spec: Readonly<Record<string, unknown>>): void => {
    objects.set(name, parseSharedAddress({ metadata: { name, uid: `u-${name}`, resourceVersion: '1' }, spec }));
    reporter.seen(name);
  };

  beforeEach(() => {
    objects = new Map();
    answers = new Map();
    exports = new Set([key]);
    claims = new Map([[key, { exported: exported(key, [], { shared: claim }) }]]);
    writes = [];
    const client = {
      create: async (_: unknown, { metadata, spec }: { metadata: { name: string }; spec: Record<string, unknown> }) => {
        writes.push(`create ${metadata.name}`);
        take(metadata.name, spec);
      },
      patch: async (
        _: unknown,
        { name }: { name: string },
        __: string,
        { spec }: { spec: Record<string, unknown> },
      ) => {
        writes.push(`patch ${name}`);
        const present = { ...specOf(name), ...spec };
        take(name, Object.fromEntries(Object.entries(present).filter(([, value]) => value !== null)));
      },
      delete: async (_: unknown, { name }: { name: string }) => {
        writes.push(`delete ${name}`);
        objects.delete(name);
        reporter.seen(name);
      },
    } as unknown as KubeClient;
    const writer = {
      enqueue: async (_: string, write: () => Promise<unknown>) => {
        await write();
        return 'written' as const;
      },
    } as unknown as ObjectWriter;
    reporter = new SharedAddressReporter({
      client,
      writer,
      sources: {
        serviceExports: { get: (name: string) => (exports.has(name) ? {} : undefined) },
        sharedAddresses: { get: (name: string) => objects.get(name), entries: () => objects.entries() },
      } as unknown as SharedAddressReporterOptions['sources'],
      services: {
        own: { get: (name: string) => claims.get(name), keys: () => claims.keys() },
      } as unknown as SharedAddressReporterOptions['services'],
      exchange: { answerTo: (name) => answers.get(name) },
      onDue: () => undefined,
    });
  });

  const reported = async (isMember = true): Promise<readonly string[]> => {
    reporter.report(isMember);
    await Promise.resolve();
    return writes.splice(0);
  };

  it('say what the hub answered, once', async () => {
    assert.deepEqual(await reported(), [], 'no answer yet');
    answers.set(key, answer);
    assert.deepEqual(await reported(), ['create shop.web']);
    assert.deepEqual(specOf('shop.web'), {
      service: { namespace: 'shop', name: 'web' },
      pool: 'world',
      addresses: ['198.51.100.3'],
      since: '1970-01-01T00:00:05.250Z',
      clusters: ['west'],
    });
    assert.equal(objects.get('shop.web')?.sinceMs, 5250);
    assert.deepEqual(await reported(), []);
    answers.set(key, { ...answer, addresses: [], sinceMs: 0, clusters: [], code: 'PoolDiffers', message: 'because' });
    assert.deepEqual(await reported(), ['patch shop.web']);
    assert.deepEqual([objects.get('shop.web')?.sinceMs, specOf('shop.web')['reason']], [0, 'PoolDiffers']);
    assert.deepEqual(await reported(), []);
  });

  it('do not have the address of the pool that the Service named before', async () => {
    const other = { ...claim, pool: 'other', ranges: ['203.0.113.0/29'] };
    answers.set(key, answer);
    await reported();
    claims.set(key, { exported: exported(key, [], { shared: other }) });
    assert.deepEqual(await reported(), [], 'the answer is to the former claim');
    answers.set(key, { ...answer, addresses: ['203.0.113.4'] });
    assert.deepEqual(await reported(), ['patch shop.web']);
    assert.deepEqual(objects.get('shop.web')?.addresses, ['203.0.113.4']);
  });

  it('have no time that is no date', async () => {
    answers.set(key, { ...answer, sinceMs: Number.MAX_SAFE_INTEGER });
    assert.deepEqual(await reported(), ['create shop.web']);
    assert.equal(objects.get('shop.web')?.sinceMs, 0);
  });

  it('stay without a hub and before their export is settled, and go with the claim, the export and the membership', async () => {
    answers.set(key, answer);
    await reported();
    answers.clear();
    assert.deepEqual(await reported(), []);
    const former = new Map(claims);
    claims.clear();
    assert.deepEqual(await reported(), [], 'the export is not settled yet');
    claims.set(key, { exported: exported(key, []) });
    assert.deepEqual(await reported(), ['delete shop.web']);
    claims = former;
    answers.set(key, answer);
    assert.deepEqual(await reported(), ['create shop.web']);
    claims.clear();
    exports.clear();
    assert.deepEqual(await reported(), ['delete shop.web']);
    take('shop.web', { service: { namespace: 'shop', name: 'web' } });
    exports.add(key);
    assert.deepEqual(await reported(false), ['delete shop.web']);
    take('other.name', { service: { namespace: 'shop', name: 'web' } });
    assert.deepEqual(await reported(), ['delete other.name']);
  });
});
