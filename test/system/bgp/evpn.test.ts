/** EVPN IP prefix routes (RFC 9136) through lib/gobgp: FRR and another gobgpd receive the node's routes, and the node theirs. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  addressFamilies,
  type BgpPath,
  type GobgpClient,
  openGobgp,
  pathFingerprint,
  type RouteChange,
  routeKey,
} from '../../../lib/gobgp/src/index.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { FrrPeer } from './frr.ts';
import { GobgpdPeer } from './gobgpd.ts';
import { type BgpLab, openBgpLab } from './lab.ts';
import { onlyGobgpd4 } from './only-gobgpd-4.ts';
import type { Peer } from './peer.ts';

let lab: BgpLab;
let gobgp: GobgpClient;
let frr: FrrPeer;
let other: GobgpdPeer;

const attributes = {
  // The node's own address in each session.
  nextHop: '0.0.0.0',
  routeTargets: ['4200000000:8', '65000:100', '192.0.2.9:7'],
  encapsulation: 'vxlan',
  routerMac: '02:00:00:00:00:01',
} as const;
const targets = 'RT:65000:100 RT:192.0.2.9:7 RT:4200000000:8';
const v4: BgpPath = { prefix: '10.1.0.0/16', evpn: { rd: '65000:100', vni: 100 }, attributes };
const v6: BgpPath = { prefix: 'fd00:1::/64', evpn: { rd: '192.0.2.1:100', vni: 16777215 }, attributes };
const plain: BgpPath = { prefix: '10.1.0.0/16', attributes: { nextHop: '0.0.0.0' } };

before(async () => {
  lab = await openBgpLab([
    { kind: 'frr', name: 'frr', asn: 65101, nodeAsn: 65001, hasEvpn: true },
    { kind: 'gobgpd', name: 'gobgpd', asn: 65102, nodeAsn: 65001, hasEvpn: true },
  ]);
  frr = lab.frr('frr');
  const peer = lab.peer('gobgpd');
  assert.ok(peer instanceof GobgpdPeer);
  other = peer;
  await start([v4, v6, plain]);
});

after(async () => {
  (gobgp as GobgpClient | undefined)?.close();
  await (lab as BgpLab | undefined)?.close();
});

/** Adds the paths to an empty gobgpd before its peers, so that sessions come up with them. */
async function start(paths: readonly BgpPath[]): Promise<void> {
  gobgp = await openGobgp({ target: lab.gobgpd.target });
  await gobgp.startBgp({ asn: 65001, routerId: lab.routerId, listenPort: 179 });
  assert.deepEqual(await apply(paths), { added: paths.map(routeKey), withdrawn: [] });
  for (const peer of lab.peers) await gobgp.addPeer(peerOf(peer));
}

function peerOf({ link, asn }: Peer): Parameters<GobgpClient['addPeer']>[0] {
  return {
    address: link.v4,
    asn,
    port: 179,
    isPassive: false,
    ebgpMultihopTtl: 1,
    holdTimeSeconds: 9,
    keepaliveSeconds: 3,
    families: ['ipv4-unicast', 'l2vpn-evpn'],
  };
}

/** Lists the present paths, and changes those that differ from the wanted ones. */
async function apply(wanted: readonly BgpPath[]): Promise<{ added: string[]; withdrawn: string[] }> {
  const tables = await Promise.all(addressFamilies.map((family) => gobgp.listPaths(family)));
  const own = tables.flat().filter(({ isLocal }) => isLocal);
  const there = new Map(own.map((path) => [routeKey(path), path.fingerprint]));
  const keys = new Set(wanted.map(routeKey));
  const added = wanted.filter((path) => there.get(routeKey(path)) !== pathFingerprint(path));
  const withdrawn = own.filter((path) => !keys.has(routeKey(path)));
  await gobgp.addPaths(added);
  await gobgp.withdrawPaths(withdrawn);
  return { added: added.map(routeKey), withdrawn: withdrawn.map(routeKey) };
}

interface FrrRoute {
  readonly ip: string;
  readonly ipLen: number;
  readonly paths: readonly (readonly {
    readonly vni: string;
    readonly valid: boolean;
    readonly aspath: { readonly string: string };
    readonly extendedCommunity: { readonly string: string };
    readonly nexthops: readonly { readonly ip: string }[];
  }[])[];
}

/** FRR's routes by route distinguisher and prefix: next hop, VNI, AS path and extended communities as FRR prints them. */
async function seenByFrr(): Promise<Record<string, string>> {
  const shown = (await frr.show('bgp l2vpn evpn route detail type prefix')) as Record<string, Record<string, FrrRoute>>;
  const routes = Object.entries(shown).flatMap(([rd, ofRd]) =>
    Object.values(ofRd).flatMap((route) => ((route as Partial<FrrRoute>).paths ? [[rd, route] as const] : [])),
  );
  return Object.fromEntries(
    routes.map(([rd, { ip, ipLen, paths }]) => {
      const [path] = paths.flat();
      assert.ok(path?.valid, `${ip} is no valid path`);
      const { nexthops, vni, aspath, extendedCommunity } = path;
      return [`${rd} ${ip}/${ipLen}`, `${nexthops[0]?.ip} ${vni} ${aspath.string} ${extendedCommunity.string}`];
    }),
  );
}

interface GobgpdPath {
  readonly nlri: { readonly value: { readonly gateway: string; readonly label: number } };
  readonly attrs: readonly { readonly type: number; readonly nexthop?: string; readonly value?: unknown }[];
  readonly 'peer-address'?: string;
}

/** The other gobgpd's routes by gobgpd's key: next hop, VNI, gateway and extended communities. */
async function seenByGobgpd(): Promise<Record<string, unknown[]>> {
  const text = await other.command('global', 'rib', '-a', 'evpn', '-j');
  const learned = Object.entries(JSON.parse(text) as Record<string, readonly GobgpdPath[]>).flatMap(([key, [path]]) =>
    path?.['peer-address']?.includes('.') ? [[key, path] as const] : [],
  );
  return Object.fromEntries(
    learned.map(([key, { nlri, attrs }]) => {
      const of = (type: number) => attrs.find((each) => each.type === type);
      return [key, [of(14)?.nexthop, nlri.value.label, nlri.value.gateway, of(16)?.value]];
    }),
  );
}

async function untilFrr(wanted: Record<string, string>): Promise<void> {
  await eventuallyPasses(async () => assert.deepEqual(await seenByFrr(), wanted), undefined, 20);
}

const own = () => frr.link.nodeV4;
const seenV4 = () => ({ '65000:100 10.1.0.0/16': `${own()} 100 65001 ${targets} ET:8 Rmac:02:00:00:00:00:01` });
const seenV6 = () => ({
  '192.0.2.1:100 fd00:1::/64': `${own()} 16777215 65001 ${targets} ET:8 Rmac:02:00:00:00:00:01`,
});

test('EVPN prefixes of both families reach peers with all their attributes, beside unicast routes', async () => {
  await untilFrr({ ...seenV4(), ...seenV6() });
  await eventuallyPasses(async () => assert.deepEqual(await frr.routes(), { '10.1.0.0/16': [own()] }));
  const communities = [
    { type: 0, subtype: 2, value: '65000:100' },
    { type: 1, subtype: 2, value: '192.0.2.9:7' },
    { type: 2, subtype: 2, value: '64086.59904:8' },
    { type: 3, subtype: 12, tunnel_type: 8 },
    { type: 6, subtype: 3, mac: '02:00:00:00:00:01' },
  ];
  const nextHop = other.link.nodeV4;
  await eventuallyPasses(async () =>
    assert.deepEqual(await seenByGobgpd(), {
      '[type:Prefix][rd:65000:100][etag:0][prefix:10.1.0.0/16]': [nextHop, 100, '0.0.0.0', communities],
      '[type:Prefix][rd:192.0.2.1:100][etag:0][prefix:fd00:1::/64]': [nextHop, 16777215, '::', communities],
    }),
  );
  for (const { config, session } of await gobgp.listPeers({ advertised: true })) {
    assert.deepEqual(config.families, ['ipv4-unicast', 'l2vpn-evpn']);
    // gobgpd 3 does not report them.
    assert.deepEqual((session.remoteFamilies ?? config.families).toSorted(), ['ipv4-unicast', 'l2vpn-evpn']);
    assert.deepEqual(
      session.families.map(({ family, advertised }) => `${family} ${advertised}`),
      ['ipv4-unicast 1', 'l2vpn-evpn 2'],
    );
  }
});

test('only paths that differ from the wanted ones are replaced or withdrawn', async () => {
  const before = await frr.neighbor(own());
  assert.deepEqual(await apply([v4, v6, plain]), { added: [], withdrawn: [] });
  const moved: BgpPath = { ...v4, evpn: { rd: '65000:100', vni: 200 } };
  const beside: BgpPath = {
    ...v4,
    evpn: { rd: '65000:101', vni: 101 },
    attributes: { ...attributes, routeTargets: ['65000:101'] },
  };
  const changed = await apply([moved, beside, v6, plain]);
  assert.deepEqual(changed, { added: [moved, beside].map(routeKey), withdrawn: [] });
  const seenBeside = { '65000:101 10.1.0.0/16': `${own()} 101 65001 RT:65000:101 ET:8 Rmac:02:00:00:00:00:01` };
  await untilFrr({
    '65000:100 10.1.0.0/16': `${own()} 200 65001 ${targets} ET:8 Rmac:02:00:00:00:00:01`,
    ...seenBeside,
    ...seenV6(),
  });
  const { added, withdrawn } = await apply([beside, plain]);
  assert.deepEqual([added, withdrawn.toSorted()], [[], [moved, v6].map(routeKey)]);
  await untilFrr(seenBeside);
  assert.deepEqual(await frr.routes(), { '10.1.0.0/16': [own()] }, 'unicast stays');
  await apply([v4, v6]);
  await untilFrr({ ...seenV4(), ...seenV6() });
  await eventuallyPasses(async () => assert.deepEqual(await frr.routes(), {}));
  await apply([v4, v6, plain]);
  assert.equal((await frr.neighbor(own())).established, before.established, 'one session all the time');
});

test(
  'routes of a neighbour are reported with all attributes in watches and lists, and withdrawn',
  onlyGobgpd4('tells of no routes'),
  async () => {
    const address = other.link.v4;
    const table = new Map<string, RouteChange>();
    const watch = gobgp.watchRoutes(
      [address],
      (changes) => {
        for (const change of changes) {
          const key = routeKey(change);
          if (change.isWithdrawn) assert.ok(table.delete(key), `${key} was withdrawn and never announced`);
          else table.set(key, change);
        }
      },
      ['l2vpn-evpn'],
    );
    const fields = ['gw', '0.0.0.0', 'etag', '7', 'label', '700', 'rd', '65102:7'];
    const beside = ['gw', '0.0.0.0', 'etag', '7', 'label', '800', 'rd', '65102:8', 'rt', '65102:8'];
    const more = ['rt', '65102:7', '192.0.2.9:8', 'encap', 'vxlan', 'router-mac', '02:00:00:00:00:07'];
    const v6Fields = ['gw', 'fd00::9', 'etag', '0', 'label', '701', 'rd', '192.0.2.2:7', 'rt', '65102:7'];
    const rib = async (...words: readonly string[]) => other.command('global', 'rib', ...words, '-a', 'evpn');
    try {
      await watch.ready;
      assert.equal(table.size, 0);
      // Routes of another type or family are not reported, although both come first.
      await rib('add', 'multicast', '192.0.2.2', 'etag', '0', 'rd', '65102:7', 'rt', '65102:7');
      await other.command('global', 'rib', 'add', '10.70.0.0/16', '-a', 'ipv4');
      await rib('add', 'prefix', '10.70.0.0/16', ...fields, ...more);
      await rib('add', 'prefix', '10.70.0.0/16', ...beside);
      await rib('add', 'prefix', 'fd00:70::/64', ...v6Fields);
      await eventuallyPasses(() => assert.equal(table.size, 3));
      const listed = await eventuallyPasses(async () => {
        const paths = await gobgp.listPaths('l2vpn-evpn', { table: 'adj-in', peer: address });
        return paths.length === 3 && paths;
      });
      assert.ok(listed);
      const { session } = (await gobgp.listPeers()).find(({ config }) => config.address === address) ?? {};
      const received = session?.families.map(({ family, received: count }) => `${family} ${count}`);
      assert.deepEqual(received, ['ipv4-unicast 1', 'l2vpn-evpn 4']);
      const common = { asPath: [65102], origin: 'incomplete', communities: [], largeCommunities: [] };
      const wanted = [
        {
          family: 'l2vpn-evpn',
          prefix: '10.70.0.0/16',
          evpn: { rd: '65102:7', ethernetTag: 7, vni: 700 },
          attributes: {
            nextHop: address,
            ...common,
            routeTargets: ['65102:7', '192.0.2.9:8'],
            encapsulation: 'vxlan',
            routerMac: '02:00:00:00:00:07',
          },
        },
        {
          family: 'l2vpn-evpn',
          prefix: '10.70.0.0/16',
          evpn: { rd: '65102:8', ethernetTag: 7, vni: 800 },
          attributes: { nextHop: address, ...common, routeTargets: ['65102:8'] },
        },
        {
          family: 'l2vpn-evpn',
          prefix: 'fd00:70::/64',
          evpn: { rd: '192.0.2.2:7', vni: 701, gateway: 'fd00::9' },
          attributes: { nextHop: address, ...common, routeTargets: ['65102:7'] },
        },
      ];
      const sorted = listed.toSorted((one, two) => (routeKey(one) < routeKey(two) ? -1 : 1));
      assert.deepEqual(
        sorted.map(({ family, prefix, evpn, attributes: given }) => ({ family, prefix, evpn, attributes: given })),
        wanted,
      );
      assert.ok(listed.every(({ isLocal, isStale }) => !isLocal && !isStale));
      for (const path of listed) {
        const { peer, isWithdrawn, ...received } = table.get(routeKey(path)) ?? {};
        assert.deepEqual([peer, isWithdrawn], [address, false]);
        assert.deepEqual(received, {
          family: path.family,
          prefix: path.prefix,
          evpn: path.evpn,
          attributes: path.attributes,
        });
      }
      await rib('del', 'prefix', '10.70.0.0/16', ...fields);
      await eventuallyPasses(() =>
        assert.deepEqual([...table.keys()].toSorted(), [
          routeKey({ prefix: '10.70.0.0/16', evpn: { rd: '65102:8', ethernetTag: 7 } }),
          routeKey({ prefix: 'fd00:70::/64', evpn: { rd: '192.0.2.2:7' } }),
        ]),
      );
      await gobgp.deletePeer(address);
      await eventuallyPasses(() => assert.equal(table.size, 0, 'with the session'));
    } finally {
      watch.close();
    }
    await gobgp.addPeer(peerOf(other));
  },
);

test('a killed gobgpd has all its paths again after a restart', async () => {
  const ended = gobgp;
  await lab.gobgpd.kill();
  await untilFrr({});
  ended.close();
  await lab.gobgpd.restart();
  await start([v4, v6, plain]);
  await untilFrr({ ...seenV4(), ...seenV6() });
  await eventuallyPasses(async () => assert.deepEqual(await frr.routes(), { '10.1.0.0/16': [own()] }));
});
