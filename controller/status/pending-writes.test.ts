import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import { PendingWrites } from './pending-writes.ts';

const objectOf = (resourceVersion: string): RawObject => ({ metadata: { name: 'a', uid: 'u', resourceVersion } });

describe('pending writes', () => {
  it('a write is repeated after a conflict whose change was observed while the write was in flight', async () => {
    const writer = new ObjectWriter();
    const pending = new PendingWrites(writer);
    const refused = Promise.withResolvers<RawObject>();
    const versions: string[] = [];
    const request = (version: string, answer: Promise<RawObject>): void =>
      pending.write('Subnet/a', version, { finalizers: [] }, () => {
        versions.push(version);
        return answer;
      });
    request('1', refused.promise);
    request('2', Promise.resolve(objectOf('3')));
    refused.reject(new KubeApiError(409, 'Conflict', 'modified'));
    await refused.promise.catch(() => undefined);
    await writer.idle();
    await writer.idle();
    assert.deepEqual(versions, ['1', '2']);
  });

  it('a write is not repeated before its result is observed', async () => {
    const writer = new ObjectWriter();
    const pending = new PendingWrites(writer);
    let writes = 0;
    const request = (version: string): void =>
      pending.write('Subnet/a', version, { label: 'x' }, () => {
        writes += 1;
        return Promise.resolve(objectOf('5'));
      });
    request('1');
    request('2');
    await writer.idle();
    request('4');
    await writer.idle();
    assert.equal(writes, 1);
    request('6');
    await writer.idle();
    assert.equal(writes, 2, 'another client reverted the write');
  });

  it('a write is forgotten some time after its result is observed, and not before', async () => {
    const seen = new Map<string, string>();
    const writer = new ObjectWriter({ timing: { qps: 1e6, burst: 1e6 } });
    const pending = new PendingWrites(writer, (key) => seen.get(key));
    const writes: string[] = [];
    const request = (name: string): void => {
      const write = (): Promise<RawObject> => {
        writes.push(name);
        return Promise.resolve(objectOf('5'));
      };
      pending.write(`Pod/${name}`, undefined, { name }, write);
    };
    for (let at = 0; at < 1000; at += 1) {
      if (at > 0) seen.set(`Pod/${at}`, '6');
      request(`${at}`);
    }
    await writer.idle();
    assert.equal(writes.length, 1000);
    request('0');
    request('1');
    await writer.idle();
    assert.deepEqual(writes.slice(1000), ['1'], 'only the write whose result was observed was forgotten');
  });
});
