import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RemotePod } from '../../lib/api/kinds/remote-pod-slice.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Slice } from '../../lib/slices/slice.ts';
import { PodReporter, podsVerdict, type PodReporterOptions } from './pods.ts';

const known = { wanted: 2, pending: 0, refusals: new Map<string, number>(), since: undefined, isUnsupported: false };

describe('what policies know of the pods of a cluster', () => {
  it('is a condition while policies name the cluster: what is missing first, then since when it is away', () => {
    const of = (state: Parameters<typeof podsVerdict>[1]) => {
      const verdict = podsVerdict('west', state);
      return verdict && `${verdict.status} ${verdict.reason}`;
    };
    assert.equal(of(undefined), undefined);
    assert.equal(of(known), 'True Current');
    const since = '2026-01-01T00:00:00.000Z';
    assert.equal(of({ ...known, since }), 'Unknown Away');
    assert.match(podsVerdict('west', { ...known, since })?.message ?? '', new RegExp(since));
    assert.equal(of({ ...known, pending: 1, since }), 'False Pending');
    const refusals = new Map([['NotShared', 2]]);
    assert.equal(of({ ...known, pending: 1, refusals }), 'False NotSent');
    const unsupported = podsVerdict('west', { ...known, refusals, pending: 1, isUnsupported: true });
    assert.deepEqual([unsupported?.status, unsupported?.reason], ['Unknown', 'Unsupported']);
    assert.match(podsVerdict('west', { ...known, refusals })?.message ?? '', /2 of 2 .*: NotShared/);
  });

  it('is in slices of an existing RemoteCluster, written where they differ, and removed with it', async () => {
    const calls: string[] = [];
    const clusters = new Map([['west', { uid: 'u' }]]);
    let entries: ReadonlyMap<string, readonly RemotePod[]> | undefined;
    let seen: ((change: { before?: Slice<RemotePod>; after?: Slice<RemotePod> }) => void) | undefined;
    const pending: Promise<unknown>[] = [];
    const options = {
      client: {
        create: (_: unknown, body: { metadata: { name: string }; pods: readonly unknown[] }) => {
          calls.push(`create ${body.metadata.name} ${body.pods.length}`);
          return Promise.resolve({
            ...body,
            metadata: { ...body.metadata, uid: 's', resourceVersion: '5' },
          } as RawObject);
        },
        delete: (_: unknown, { name }: { name: string }) => Promise.resolve(calls.push(`delete ${name}`)),
      },
      writer: { enqueue: (_: string, write: () => Promise<void>) => pending.push(write()) },
      sources: {
        remoteClusters: { get: (name: string) => clusters.get(name) },
        remotePodSlices: { subscribe: (listener: typeof seen) => (seen = listener) },
      },
      pods: {
        get entries() {
          return entries;
        },
      },
    };
    const reporter = new PodReporter(options as unknown as PodReporterOptions);
    const report = async (isMember = true): Promise<readonly string[]> => {
      reporter.report(isMember);
      await Promise.all(pending.splice(0));
      return calls.splice(0);
    };
    assert.deepEqual(await report(), [], 'nothing is known');
    const list = [
      { set: 'a', vpc: '', address: '' },
      { set: 'a', vpc: 'v', address: '10.17.0.2' },
    ];
    entries = new Map([
      ['west', list],
      ['north', list],
      ['south', []],
    ]);
    assert.deepEqual(await report(), ['create west.0 2']);
    assert.deepEqual(await report(), []);
    const owner = { name: 'west', uid: 'u' };
    seen?.({ after: { name: 'west.0', version: '5', owner, isLabelled: true, entries: list } });
    assert.deepEqual(await report(), [], 'the watch brings what was written');
    clusters.delete('west');
    assert.deepEqual(await report(), ['delete west.0']);
  });

  it('ends with the membership', async () => {
    const deleted: string[] = [];
    let seen: ((change: { after?: Slice<RemotePod> }) => void) | undefined;
    const pending: Promise<unknown>[] = [];
    const reporter = new PodReporter({
      client: { delete: (_: unknown, { name }: { name: string }) => Promise.resolve(deleted.push(name)) },
      writer: { enqueue: (_: string, write: () => Promise<void>) => pending.push(write()) },
      sources: {
        remoteClusters: { get: () => ({ uid: 'u' }) },
        remotePodSlices: { subscribe: (listener: typeof seen) => (seen = listener) },
      },
      pods: { entries: undefined },
    } as unknown as PodReporterOptions);
    const owner = { name: 'west', uid: 'u' };
    seen?.({ after: { name: 'west.0', version: '5', owner, isLabelled: true, entries: [] } });
    reporter.report(true);
    assert.equal(pending.length, 0, 'before anything is known, what was written stays');
    reporter.report(false);
    await Promise.all(pending);
    assert.deepEqual(deleted, ['west.0']);
  });
});
