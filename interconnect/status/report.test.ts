import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import type { KubeClient, ReflectorChange } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Slice } from '../../lib/slices/slice.ts';
import type { Sources } from '../watch/sources.ts';
import { Reporter } from './report.ts';
import type { Situation } from './situation.ts';

describe('reports of RemoteClusters', () => {
  it('leave the RemoteCluster of an expected member and its slices unchanged until it is no longer expected', async () => {
    const deleted: string[] = [];
    const client = {
      delete: (...[, { name }]: Parameters<KubeClient['delete']>) => Promise.resolve(void deleted.push(name)),
    } as unknown as KubeClient;
    const remoteClusters = new Map(['north', 'west'].map((name) => [name, { uid: name, status: {} }]));
    const seen: ((change: ReflectorChange<Slice<RemoteRoute>>) => void)[] = [];
    const remoteRouteSlices = { subscribe: (listener: (typeof seen)[number]) => seen.push(listener) };
    const sources = { remoteClusters, remoteRouteSlices } as unknown as Sources;
    const writer = new ObjectWriter();
    const reporter = new Reporter({ client, writer, events: { record: () => undefined }, sources });
    for (const name of ['north', 'west', 'gone']) {
      const owner = { name, uid: name };
      const after = { name: `${name}.0`, version: '1', owner, isLabelled: true, entries: [] };
      for (const listener of seen) listener({ key: after.name, before: undefined, after });
    }
    const tell = async (names: readonly string[] | 'all', expected: readonly string[]) => {
      const situation = { members: new Map(), expected: new Set(expected) } as unknown as Situation;
      assert.deepEqual(reporter.remoteClusters(names, situation), []);
      await writer.idle();
      return deleted.splice(0).sort();
    };
    assert.deepEqual(await tell('all', ['west']), ['gone.0', 'north', 'north.0']);
    assert.deepEqual(await tell(['west'], ['west']), []);
    assert.deepEqual(await tell(['west'], []), ['west', 'west.0']);
  });
});
