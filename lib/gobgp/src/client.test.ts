import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, describe, test } from 'node:test';
import type { BgpPath, GobgpClient } from './api.ts';
import { openGobgp, pathFingerprint } from './client.ts';
import { GobgpInvalidArgument, GobgpRejected, GobgpUnreachable } from './errors.ts';
import { addressFamilies } from './nlri.ts';
import { isSamePeer, type PeerConfig } from './peers.ts';
import { isSamePolicies, type RoutingPolicies } from './policies.ts';
import { routeKey } from './route-nlri.ts';
import { gobgpdBinaries, startGobgpd } from './testing.ts';

const restart = { restartTimeSeconds: 120, deferralSeconds: 10 };
const peer: PeerConfig = {
  address: '127.0.0.9',
  asn: 65002,
  port: 1790,
  isPassive: false,
  ebgpMultihopTtl: 3,
  holdTimeSeconds: 9,
  keepaliveSeconds: 3,
  families: ['ipv4-unicast'],
  gracefulRestart: restart,
};
const { gracefulRestart: _, ...withoutRestart } = peer;
const peers: PeerConfig[] = [
  peer,
  { ...peer, address: 'fd00::9', asn: 65001, port: 179, ebgpMultihopTtl: 1, families: ['ipv6-unicast'] },
  {
    ...withoutRestart,
    address: '127.0.0.10',
    asn: 4200000000,
    ebgpMultihopTtl: 255,
    holdTimeSeconds: 3,
    keepaliveSeconds: 1,
  },
  { ...peer, address: '127.0.0.11', holdTimeSeconds: 65535, keepaliveSeconds: 21845, ebgpMultihopTtl: 1 },
  {
    ...peer,
    address: '127.0.0.12',
    localAsn: 65077,
    password: 'öffne "dich"',
    isPassive: true,
    ebgpMultihopTtl: 1,
    ttlMin: 254,
  },
  { ...peer, address: '127.0.0.13', families: [...addressFamilies], maxPrefixes: 10 },
  { ...peer, address: '127.0.0.14', families: ['l2vpn-evpn'] },
  {
    ...peer,
    address: 'fe80::9%lo',
    sourceAddress: 'fe80::1%lo',
    ebgpMultihopTtl: 1,
    families: ['ipv4-unicast', 'ipv6-unicast'],
  },
];
const policies: RoutingPolicies = {
  prefixSets: { 'to-127.0.0.9': ['10.16.0.0/16', '10.17.0.0/24'], 'to-fd00::9': ['fd00:10::/64'] },
  neighborSets: { 'to-127.0.0.9': ['127.0.0.9'], 'to-fd00::9': ['fd00::9', 'fe80::9%lo'] },
  largeCommunitySets: {},
  policies: {
    import: [{ name: 'own', isLocal: true, action: 'accept' }],
    export: [
      { name: 'v4', prefixSet: 'to-127.0.0.9', neighborSet: 'to-127.0.0.9', action: 'accept' },
      { name: 'v6', prefixSet: 'to-fd00::9', neighborSet: 'to-fd00::9', action: 'accept' },
    ],
  },
  import: { policies: ['import'], otherwise: 'reject' },
  export: { policies: ['export'], otherwise: 'reject' },
};
const overVxlan = {
  nextHop: '10.0.0.9',
  communities: ['65000:1'],
  routeTargets: ['65000:7', '10.0.0.9:7', '4200000000:7', '0.65000:7', '65000:7'],
  encapsulation: 'vxlan',
  routerMac: '02:00:00:00:00:01',
} as const;
const paths: BgpPath[] = [
  { prefix: '10.16.0.0/16', attributes: { nextHop: '0.0.0.0' } },
  { prefix: 'fd00:10::/64', attributes: { nextHop: '::' } },
  {
    prefix: '10.17.0.0/24',
    attributes: {
      nextHop: '10.0.0.9',
      med: 5,
      localPref: 200,
      asPath: [65009],
      communities: ['65000:1'],
      largeCommunities: ['1:2:3'],
    },
  },
  { prefix: '10.16.0.0/16', evpn: { rd: '65000:7', vni: 7 }, attributes: overVxlan },
  { prefix: '10.16.0.0/16', evpn: { rd: '0.65000:7', vni: 7 }, attributes: { nextHop: '0.0.0.0' } },
  { prefix: '10.16.0.0/16', evpn: { rd: '65000:7', ethernetTag: 9, vni: 8 }, attributes: overVxlan },
  { prefix: 'fd00:10::/64', evpn: { rd: '10.0.0.9:7', vni: 16777215, gateway: 'fd00::9' }, attributes: overVxlan },
];

const byText = (one: unknown, two: unknown) => (JSON.stringify(one) < JSON.stringify(two) ? -1 : 1);

for (const binary of gobgpdBinaries()) {
  const { name, path } = binary;
  describe(name, { skip: existsSync(path) ? false : `${path} is not installed` }, async () => {
    let client: GobgpClient | undefined;
    const daemon = existsSync(path) ? await startGobgpd(binary) : undefined;
    after(async () => {
      client?.close();
      await daemon?.stop();
    });
    const opened = async (): Promise<GobgpClient> => (client ??= await openGobgp({ target: daemon?.target ?? '' }));

    test('the probe finds the generation; before StartBgp there is nothing', async () => {
      const gobgp = await opened();
      assert.equal(gobgp.generation, name === 'gobgpd 4' ? 'v4' : 'v3');
      assert.equal(await gobgp.getBgp(), undefined);
      await assert.rejects(gobgp.addPaths(paths), GobgpRejected);
    });

    test('StartBgp takes effect once and is refused the second time', async () => {
      const gobgp = await opened();
      const wanted = { asn: 65001, routerId: '192.0.2.1', listenPort: -1 };
      await assert.rejects(gobgp.startBgp({ ...wanted, routerId: 'fd00::1' }), GobgpInvalidArgument);
      await gobgp.startBgp(wanted);
      assert.deepEqual(await gobgp.getBgp(), wanted);
      await assert.rejects(gobgp.startBgp({ ...wanted, asn: 65009 }), GobgpInvalidArgument);
      assert.deepEqual(await gobgp.getBgp(), wanted);
    });

    test('policies read back as they were set, also when set again and when empty', async () => {
      const gobgp = await opened();
      await gobgp.setPolicies(policies);
      assert.ok(isSamePolicies(policies, await gobgp.listPolicies()));
      const none: RoutingPolicies = {
        ...policies,
        prefixSets: {},
        neighborSets: {},
        policies: { ...policies.policies, export: [] },
      };
      await gobgp.setPolicies(none);
      const read = await gobgp.listPolicies();
      assert.ok(isSamePolicies(none, read), JSON.stringify(read));
      assert.ok(!isSamePolicies(policies, read));
      await gobgp.setPolicies(policies);
      assert.ok(isSamePolicies(policies, await gobgp.listPolicies()));
    });

    test('paths read back with the fingerprint with which they were added, and are withdrawn', async () => {
      const gobgp = await opened();
      await gobgp.addPaths(paths);
      const list = async () => (await Promise.all(addressFamilies.map((family) => gobgp.listPaths(family)))).flat();
      const listed = await list();
      assert.deepEqual(
        listed.map((path) => `${routeKey(path)} ${path.fingerprint} ${path.isLocal}`).toSorted(),
        paths.map((path) => `${routeKey(path)} ${pathFingerprint(path)} true`).toSorted(),
      );
      const evpn = listed.filter(({ family }) => family === 'l2vpn-evpn');
      assert.deepEqual(
        evpn.map((path) => path.evpn).toSorted(byText),
        paths.flatMap((path) => path.evpn ?? []).toSorted(byText),
      );
      await gobgp.withdrawPaths(paths.filter((path) => !path.evpn).map(({ prefix }) => prefix));
      assert.deepEqual((await list()).map(routeKey).toSorted(), evpn.map(routeKey).toSorted());
      await gobgp.withdrawPaths(evpn);
      assert.deepEqual(await list(), []);
    });

    test('ten thousand paths are added in one stream', async () => {
      const gobgp = await opened();
      const many = Array.from({ length: 10_000 }, (_, at) => ({
        prefix: `10.100.${at >> 8}.${at & 255}/32`,
        attributes: { nextHop: '0.0.0.0' },
      }));
      await gobgp.addPaths(many);
      assert.equal((await gobgp.listPaths('ipv4-unicast')).length, many.length);
      await gobgp.withdrawPaths(many.map(({ prefix }) => prefix));
      assert.equal((await gobgp.listPaths('ipv4-unicast')).length, 0);
    });

    test('peers read back as they were added, are updated and deleted, and each is an event', async () => {
      const gobgp = await opened();
      const events = new Set<string>();
      const watch = gobgp.watchPeers(({ address }) => events.add(address));
      await watch.ready;
      for (const each of peers) await gobgp.addPeer(each);
      await assert.rejects(gobgp.addPeer(peer), GobgpRejected);
      for (const wanted of peers) {
        const found = (await gobgp.listPeers({ advertised: true })).find(
          ({ config }) => config.address === wanted.address,
        );
        assert.ok(found && isSamePeer(found.config, wanted), JSON.stringify([wanted, found]));
      }
      const changed = { ...peer, keepaliveSeconds: 2, asn: 65003 };
      await gobgp.updatePeer(changed);
      const [read] = (await gobgp.listPeers()).filter(({ config }) => config.address === peer.address);
      assert.ok(read && isSamePeer(read.config, changed) && !isSamePeer(read.config, peer));
      for (const { address } of peers) await gobgp.deletePeer(address);
      assert.deepEqual(await gobgp.listPeers(), []);
      while (events.size < peers.length) await sleep(10);
      watch.close();
      assert.ok((await watch.ended) instanceof GobgpUnreachable);
    });

    test('an address that would end gobgpd is refused before it is sent', async () => {
      const gobgp = await opened();
      for (const address of ['', 'router', '10.0.0.1/32', 'fe80::1%', 'fd00::1%eth0']) {
        await assert.rejects(gobgp.deletePeer(address), GobgpInvalidArgument);
        await assert.rejects(gobgp.resetPeer(address, { soft: true, direction: 'out' }), GobgpInvalidArgument);
        await assert.rejects(gobgp.addPeer({ ...peer, address }), GobgpInvalidArgument);
      }
      assert.ok(await gobgp.getBgp());
    });

    test('the end of the process ends the watch and every call', async () => {
      const gobgp = await opened();
      const watch = gobgp.watchPeers(() => {});
      await watch.ready;
      await daemon?.kill();
      assert.ok((await watch.ended) instanceof GobgpUnreachable);
      await assert.rejects(gobgp.getBgp(), GobgpUnreachable);
    });
  });
}

test('a target without a server is GobgpUnreachable', async () => {
  await assert.rejects(openGobgp({ target: 'unix:/nonexistent/gobgpd.sock' }), GobgpUnreachable);
});
