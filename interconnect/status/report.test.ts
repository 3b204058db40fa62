import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubeClient } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Sources } from '../watch/sources.ts';
import { Reporter } from './report.ts';
import type { Situation } from './situation.ts';

describe('telling RemoteClusters', () => {
  it('leaves that of a member that is expected as it is, until it is expected no longer', async () => {
    const deleted: string[] = [];
    const client = {
      delete: (...[, { name }]: Parameters<KubeClient['delete']>) => Promise.resolve(void deleted.push(name)),
    } as unknown as KubeClient;
    const remoteClusters = new Map(['north', 'west'].map((name) => [name, { uid: name, status: {} }]));
    const sources = { remoteClusters } as unknown as Sources;
    const writer = new ObjectWriter();
    const reporter = new Reporter({ client, writer, events: { record: () => undefined }, sources });
    const tell = async (names: readonly string[] | 'all', expected: readonly string[]) => {
      const situation = { members: new Map(), expected: new Set(expected) } as unknown as Situation;
      assert.deepEqual(reporter.remoteClusters(names, situation), []);
      await writer.idle();
      return deleted.splice(0);
    };
    assert.deepEqual(await tell('all', ['west']), ['north']);
    assert.deepEqual(await tell(['west'], ['west']), []);
    assert.deepEqual(await tell(['west'], []), ['west']);
  });
});
