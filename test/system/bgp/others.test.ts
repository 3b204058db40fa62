/** OpenBGPD and ExaBGP as routers: sessions, announced and withdrawn routes, attributes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bgpAdvertisements, bgpInstances, pods, subnets } from '../../../lib/kube/resources.ts';
import { nameOf, openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { untilEstablished, untilRoutes } from './until.ts';

let bed: SpeakerBed;
const families = [4, 6] as const;

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'openbgpd', name: 'openbgpd', asn: 65101, nodeAsn: 65001 },
    { kind: 'exabgp', name: 'exabgp', asn: 65102, nodeAsn: 65001 },
  ]);
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
});

after(() => (bed as SpeakerBed | undefined)?.close());

/** Waits until all peers have exactly these prefixes, each with the node as next hop. */
async function untilRoutesAnnounced(v4: readonly string[], v6: readonly string[]): Promise<void> {
  for (const peer of bed.lab.peers) {
    await untilRoutes(peer, Object.fromEntries(v4.map((prefix) => [prefix, [peer.link.nodeV4]])));
    await untilRoutes(peer, Object.fromEntries(v6.map((prefix) => [prefix, [peer.link.nodeV6]])), 6);
  }
}

test('sessions over IPv4 and IPv6 are established and reported in statuses', async () => {
  for (const peer of bed.lab.peers) for (const family of families) await bed.createPeer(peer, family);
  for (const peer of bed.lab.peers)
    for (const family of families) {
      await untilEstablished(peer, family);
      await bed.untilSession(nameOf(peer, family), /^Established$/);
    }
});

test('subnets and pods are announced while they exist', async () => {
  await bed.create(bgpAdvertisements, 'subnets', { source: 'Subnet' });
  await bed.create(bgpAdvertisements, 'pods', { source: 'Pod' });
  await bed.createSubnet('ovn-default', '10.16.0.0/16,fd00:10:16::/64');
  await untilRoutesAnnounced(['10.16.0.0/16'], ['fd00:10:16::/64']);
  await bed.createPod('a', '10.16.0.5,fd00:10:16::5');
  await untilRoutesAnnounced(['10.16.0.0/16', '10.16.0.5/32'], ['fd00:10:16::/64', 'fd00:10:16::5/128']);
  await bed.kube.delete(pods, { name: 'a', namespace: 'default' });
  await untilRoutesAnnounced(['10.16.0.0/16'], ['fd00:10:16::/64']);
  await bed.kube.delete(subnets, { name: 'ovn-default' });
  await untilRoutesAnnounced([], []);
  for (const name of ['subnets', 'pods']) await bed.kube.delete(bgpAdvertisements, { name });
});

test('communities, MED and prepended AS numbers reach the peers', async () => {
  const attributes = {
    communities: { standard: ['65001:100'], large: ['65001:1:2'], wellKnown: ['no-export'] },
    localPreference: 250,
    med: 42,
    asPathPrepend: 2,
  };
  await bed.create(bgpAdvertisements, 'subnets', { source: 'Subnet', attributes });
  await bed.createSubnet('ovn-default', '10.16.0.0/16,fd00:10:16::/64');
  await untilRoutesAnnounced(['10.16.0.0/16'], ['fd00:10:16::/64']);
  for (const peer of bed.lab.peers) {
    const { kind } = peer.setup;
    for (const [prefix, nextHop] of [
      ['10.16.0.0/16', peer.link.nodeV4],
      ['fd00:10:16::/64', peer.link.nodeV6],
    ] as const) {
      const { communities = [], ...path } = (await peer.path(prefix)) ?? {};
      assert.deepEqual(communities.toSorted(), ['65001:100', 'no-export'], kind);
      // The local preference stays within the AS; OpenBGPD shows its own.
      const wanted = { nextHop, asPath: [65001, 65001, 65001], med: 42, largeCommunities: ['65001:1:2'] };
      assert.deepEqual(path, kind === 'openbgpd' ? { ...wanted, localPref: 100 } : wanted, kind);
    }
  }
});
