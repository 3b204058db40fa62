/** Prefixes of another cluster, announced to a router: 5,000 prefixes over four paths, and the cost of one change. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { remoteRoutes } from '../../../lib/slices/remote-routes.ts';
import { bgpAdvertisements, bgpInstances, remoteClusters } from '../../../lib/kube/resources.ts';
import { manyPrefixes, overFourPaths, putRoutes, sliceVersions } from '../route-lists.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { untilEstablished, untilRoutes } from './until.ts';

const prefixes = manyPrefixes(5000);
const last = prefixes.at(-1) ?? '';
let bed: SpeakerBed;

before(async () => {
  bed = await openSpeakerBed([{ kind: 'frr', name: 'tor', asn: 65101 }]);
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  await bed.create(bgpAdvertisements, 'west', { source: 'Interconnect' });
  await bed.create(remoteClusters, 'west', {});
  await bed.createPeer(bed.lab.frr('tor'), 4);
  await untilEstablished(bed.lab.frr('tor'));
});

after(() => bed.close());

const put = (down: readonly string[] = [], of = prefixes): Promise<void> =>
  putRoutes(bed.kube, remoteRoutes, 'west', overFourPaths(of, down));

test('all prefixes of another cluster are announced to the router', async () => {
  await put();
  await untilRoutes(bed.lab.frr('tor'), [...prefixes]);
});

test('a prefix that loses its paths is withdrawn alone, with one written slice', async () => {
  const before = await sliceVersions(bed.kube, remoteRoutes);
  assert.ok(before.size >= 10);
  await put([last]);
  await untilRoutes(bed.lab.frr('tor'), prefixes.slice(0, -1));
  const after = await sliceVersions(bed.kube, remoteRoutes);
  const written = [...after].filter(([name, version]) => before.get(name) !== version);
  assert.equal(written.length, 1);
  await put();
  await untilRoutes(bed.lab.frr('tor'), [...prefixes]);
});

test('slices of an earlier RemoteCluster with the same name are not used', async () => {
  await bed.kube.delete(remoteClusters, { name: 'west' });
  await untilRoutes(bed.lab.frr('tor'), []);
  await bed.create(remoteClusters, 'west', {});
  await put([], [last]);
  await untilRoutes(bed.lab.frr('tor'), [last]);
  assert.deepEqual([...(await sliceVersions(bed.kube, remoteRoutes)).keys()], ['west.0']);
});
