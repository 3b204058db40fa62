/**
 * 5,000 prefixes over four paths on a real API server, written like the agent does, and read by the views of the controller, the daemon
 * and the speaker. Each program has all prefixes, and a change of one prefix writes one slice.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { remoteClusterView as controllerView } from '../../controller/watch/networks.ts';
import { remoteClusterView as daemonView } from '../../daemon/watch/remote-cluster.ts';
import { mostRoutesInSlice } from '../../lib/api/kinds/route-slice.ts';
import { remoteView as speakerView } from '../../lib/bgp/parse/remote.ts';
import { apiVersionOf, remoteClusters, remoteRouteSlices } from '../../lib/kube/resources.ts';
import type { Reflector } from '../../lib/kube/types.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import { reflectSliced } from '../../lib/slices/reflect.ts';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import { eventuallyPasses } from '../../lib/testing-eventually.ts';
import { openCrdBed, type CrdBed } from './crd-bed.ts';
import { manyPrefixes, overFourPaths, putRoutes, sliceVersions } from './route-lists.ts';

const prefixes = manyPrefixes(5000);
const last = prefixes.at(-1) ?? '';
const stop = new AbortController();
let bed: CrdBed;
let readers: ReturnType<typeof openReaders>;

before(async () => {
  bed = await openCrdBed([remoteClusters, remoteRouteSlices]);
  readers = openReaders();
  await make();
});
after(async () => {
  stop.abort();
  await Promise.all(Object.values(readers).map((reader) => reader.stop()));
  await bed.close();
});

function openReaders() {
  const options = { client: bed.kube, signal: stop.signal };
  return {
    controller: reflectSliced(controllerView, options),
    daemon: reflectSliced(daemonView, options),
    speaker: reflectSliced(speakerView, options),
  };
}

const make = (): Promise<unknown> =>
  bed.kube.create(remoteClusters, {
    apiVersion: apiVersionOf(remoteClusters),
    kind: 'RemoteCluster',
    metadata: { name: 'west' },
  });
const put = (down: readonly string[] = [], of = prefixes): Promise<void> =>
  putRoutes(bed.kube, remoteRoutes, 'west', overFourPaths(of, down));

/** The prefixes that each room uses. */
function known() {
  const { controller, daemon, speaker } = readers;
  return {
    compared: controller.get('west')?.routes.map(({ cidr }) => formatCidr(cidr)) ?? [],
    forwarded: daemon.get('west')?.map(({ prefix }) => prefix) ?? [],
    announced: speaker.get('west')?.routes.map(({ prefix }) => prefix) ?? [],
  };
}

const countsAre = (compared: number, active: number): Promise<unknown> =>
  eventuallyPasses(() => {
    const now = known();
    const counts = [now.compared.length, now.forwarded.length, now.announced.length];
    assert.deepEqual(counts, [compared, active, active]);
  });

describe('5,000 prefixes over four paths', () => {
  test('are all compared, forwarded and announced', async () => {
    await put();
    await countsAre(5000, 5000);
    for (const [what, all] of Object.entries(known())) assert.ok(all.includes(last), what);
    const slices = await bed.kube.list(remoteRouteSlices);
    assert.equal(slices.length, 5000 / mostRoutesInSlice);
  });

  test('are written in one slice when one prefix loses its paths, which is then only compared', async () => {
    const versions = await sliceVersions(bed.kube, remoteRoutes);
    await put([last]);
    await countsAre(5000, 4999);
    assert.ok(known().compared.includes(last));
    assert.ok(!known().forwarded.includes(last) && !known().announced.includes(last));
    const now = await sliceVersions(bed.kube, remoteRoutes);
    assert.equal([...now].filter(([name, version]) => versions.get(name) !== version).length, 1);
    await put();
    await countsAre(5000, 5000);
  });

  test('stay complete while slices are rewritten', async () => {
    const least = follow(readers.daemon);
    // All routes change, except for their prefixes.
    const tagged = overFourPaths(prefixes).map((route) => ({ ...route, tags: ['x'] }));
    await putRoutes(bed.kube, remoteRoutes, 'west', tagged);
    await eventuallyPasses(() =>
      assert.ok(readers.speaker.get('west')?.routes.every(({ tags }) => tags.includes('x'))),
    );
    await putRoutes(bed.kube, remoteRoutes, 'west', [...tagged.slice(0, 4000), ...tagged.slice(4000).toReversed()]);
    assert.equal(least(), 5000);
  });

  test('do not belong to a later cluster with the same name', async () => {
    await bed.kube.delete(remoteClusters, { name: 'west' });
    const all = () => Object.values(readers).map((reader) => reader.get('west'));
    await eventuallyPasses(() => assert.ok(all().every((known) => known === undefined)));
    await make();
    await eventuallyPasses(() => assert.ok(all().every((known) => known !== undefined)));
    assert.deepEqual(known(), { compared: [], forwarded: [], announced: [] });
    await put([], [last]);
    await countsAre(1, 1);
    assert.deepEqual([...(await sliceVersions(bed.kube, remoteRoutes)).keys()], ['west.0']);
  });
});

/** Returns a function that returns the smallest number of prefixes since then. */
function follow(reader: Reflector<readonly unknown[]>): () => number {
  let least = Infinity;
  const unfollow = reader.subscribe(({ after: now }) => {
    least = Math.min(least, now?.length ?? 0);
  });
  return () => {
    unfollow();
    return least;
  };
}
