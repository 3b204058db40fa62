import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import { Told } from './pending-writes.ts';

const objectOf = (resourceVersion: string): RawObject => ({ metadata: { name: 'a', uid: 'u', resourceVersion } });

describe('what Kubernetes was told', () => {
  it('is told again after a conflict whose change had been seen while the write was under way', async () => {
    const writer = new ObjectWriter();
    const told = new Told(writer);
    const refused = Promise.withResolvers<RawObject>();
    const versions: string[] = [];
    const tell = (version: string, answer: Promise<RawObject>): void =>
      told.write('Subnet/a', version, { finalizers: [] }, () => {
        versions.push(version);
        return answer;
      });
    tell('1', refused.promise);
    tell('2', Promise.resolve(objectOf('3')));
    refused.reject(new KubeApiError(409, 'Conflict', 'modified'));
    await refused.promise.catch(() => undefined);
    await writer.idle();
    await writer.idle();
    assert.deepEqual(versions, ['1', '2']);
  });

  it('is not told twice while the echo of the first is under way', async () => {
    const writer = new ObjectWriter();
    const told = new Told(writer);
    let writes = 0;
    const tell = (version: string): void =>
      told.write('Subnet/a', version, { label: 'x' }, () => {
        writes += 1;
        return Promise.resolve(objectOf('5'));
      });
    tell('1');
    tell('2');
    await writer.idle();
    tell('4');
    await writer.idle();
    assert.equal(writes, 1);
    tell('6');
    await writer.idle();
    assert.equal(writes, 2, 'somebody changed it back after our write');
  });

  it('is forgotten with its echo, in time, and what has no echo yet is not told twice', async () => {
    const seen = new Map<string, string>();
    const writer = new ObjectWriter({ timing: { qps: 1e6, burst: 1e6 } });
    const told = new Told(writer, (key) => seen.get(key));
    const writes: string[] = [];
    const tell = (name: string): void => {
      const write = (): Promise<RawObject> => {
        writes.push(name);
        return Promise.resolve(objectOf('5'));
      };
      told.write(`Pod/${name}`, undefined, { name }, write);
    };
    for (let at = 0; at < 1000; at += 1) {
      if (at > 0) seen.set(`Pod/${at}`, '6');
      tell(`${at}`);
    }
    await writer.idle();
    assert.equal(writes.length, 1000);
    tell('0');
    tell('1');
    await writer.idle();
    assert.deepEqual(writes.slice(1000), ['1'], 'only of the one whose echo was seen nothing is left');
  });
});
