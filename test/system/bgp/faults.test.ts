/** Neighbours that send invalid messages, an unreachable gobgpd, invalid objects: other sessions are not affected. */
import assert from 'node:assert/strict';
import { chmodSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bgpAdvertisements, bgpInstances, bgpPeers } from '../../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { FrrPeer } from './frr.ts';
import type { NeighborCounters } from './peer.ts';
import { message, messageType, update } from './raw-peer.ts';
import { onlyGobgpd4 } from './only-gobgpd-4.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilQuiet, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let frr: FrrPeer;
let steady: { readonly pid: number; readonly counters: NeighborCounters };

const origin = [0x40, 1, 1, 0];
const asPath = [0x40, 2, 6, 2, 1, 0, 0, 0xfd, 0xe9];
const nextHop = [0x40, 3, 4, 172, 31, 2, 201];
const prefix = [24, 198, 51, 100];
const updateOf = (...attributes: readonly number[][]) => update(attributes.flat(), prefix);

/** Messages that end the session, with the NOTIFICATION. */
const fatal: Readonly<Record<string, { readonly bytes: Buffer; readonly notification: string }>> = {
  type9: { bytes: message(9), notification: '1/3' },
  marker: { bytes: Buffer.concat([Buffer.alloc(16), Buffer.from([0, 19, 4])]), notification: '1/1' },
  length: { bytes: Buffer.concat([Buffer.alloc(16, 0xff), Buffer.from([0x13, 0x88, 2])]), notification: '1/2' },
  nlri: { bytes: update([...origin, ...asPath, ...nextHop], [40, 10, 0, 0, 0, 0]), notification: '3/10' },
  unknown: { bytes: updateOf(origin, asPath, nextHop, [0x40, 99, 1, 0]), notification: '3/2' },
};

/** Messages whose prefix counts as withdrawn, while the session stays (RFC 7606). */
const harmless: Readonly<Record<string, Buffer>> = {
  'an ORIGIN that is none': updateOf([0x40, 1, 1, 9], asPath, nextHop),
  'an attribute longer than the message': updateOf(origin, asPath, [0x40, 3, 200, 172, 31, 2, 201]),
  'no NEXT_HOP': updateOf(origin, asPath),
  'the same attribute twice': updateOf(origin, origin, asPath, nextHop),
  'an AS_PATH that is none': updateOf(origin, [0x40, 2, 3, 9, 1, 0], nextHop),
};

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'frr', asn: 65101 },
    ...Object.keys(fatal).map((name, at) => ({ kind: 'raw', name, asn: 65201 + at }) as const),
  ]);
  frr = bed.lab.frr('frr');
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' });
  await bed.createSubnet('web', '10.20.0.0/24');
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  await bed.createPeer(frr, 4);
  for (const name of Object.keys(fatal)) await bed.createPeer(bed.lab.raw(name), 4, { passive: true });
  await untilRoutes(frr, ['10.20.0.0/24']);
  await bed.untilSession('frr', /^Established$/);
  steady = { pid: bed.lab.gobgpd.pid, counters: await untilQuiet(frr) };
});

after(() => (bed as SpeakerBed | undefined)?.close());

async function assertSteady(): Promise<void> {
  assert.equal(bed.lab.gobgpd.pid, steady.pid);
  process.kill(steady.pid, 0);
  assert.deepEqual(await counters(frr), steady.counters);
}

test(
  'an invalid message ends only the session on which it arrives, with the right NOTIFICATION',
  onlyGobgpd4('dies of some'),
  async () => {
    await Promise.all(
      Object.entries(fatal).map(async ([name, { bytes, notification }]) => {
        const session = await bed.lab.raw(name).establish();
        await bed.untilSession(name, /^Established$/);
        session.send(bytes);
        await session.untilReceived(messageType.notification);
        assert.equal(session.notification, notification, name);
        await bed.untilSession(name, /^(?!Established)/);
        session.close();
      }),
    );
    await assertSteady();
  },
);

test('a session survives an UPDATE with an invalid attribute, and ends with a truncated message', async () => {
  const host = bed.lab.raw('type9');
  const session = await host.establish();
  for (const [what, bytes] of Object.entries(harmless)) {
    session.send(bytes);
    assert.equal(session.notification, undefined, what);
  }
  session.send(updateOf(origin, asPath, nextHop));
  // When the valid UPDATE has been received, the earlier ones have been processed.
  const received = () => bed.gobgp((gobgp) => gobgp.listPaths('ipv4-unicast', { table: 'adj-in', peer: host.link.v4 }));
  await eventuallyPasses(async () => assert.equal((await received()).length, 1));
  assert.equal(session.notification, undefined);
  await bed.untilSession('type9', /^Established$/);
  session.send(updateOf(origin, asPath, nextHop).subarray(0, 30));
  session.close();
  await bed.untilSession('type9', /^(?!Established)/);
  await assertSteady();
});

test('a neighbour that does not read its socket does not delay others', async () => {
  bed.lab.node.run('sysctl', '-qw', 'net.ipv4.tcp_wmem=4096 4096 4096');
  const { link } = bed.lab.raw('marker');
  const session = await bed.lab.raw('marker').establish();
  const unsent = () => Number(/ESTAB\s+\d+\s+(\d+)/.exec(bed.lab.node.run('ss', '-tn', 'dst', link.v4))?.[1]);
  const isStuck = async (): Promise<boolean> => {
    for (let look = 0; look < 10; look++, await sleep(50)) if (unsent() === 0) return false;
    return true;
  };
  session.stopReading();
  const many = Array.from({ length: 4000 }, (_, at) => `10.${100 + (at >> 8)}.${at & 255}.0/24`);
  await bed.createSubnet('many', '10.100.0.0/24', {}, false);
  const change = async (prefixes: readonly string[]): Promise<void> => {
    await bed.accept('many', prefixes.join());
    await untilRoutes(frr, ['10.20.0.0/24', ...prefixes]);
  };
  for (let round = 0; round < 20 && !(await isStuck()); round++) {
    await change(many);
    await change(many.slice(0, 1));
  }
  await change(many);
  assert.ok(await isStuck(), 'the window was not closed');
  assert.equal(await bed.session('marker'), 'Established');
  session.resumeReading();
  await eventuallyPasses(() => assert.equal(unsent(), 0));
  session.close();
  assert.equal(bed.lab.gobgpd.pid, steady.pid);
  assert.equal((await counters(frr)).established, steady.counters.established);
});

async function untilReady(condition: string): Promise<void> {
  await eventuallyPasses(async () => assert.equal(await bed.condition(bgpInstances, 'rack', 'Ready'), condition));
}

test('a BgpInstance is not ready while gobgpd’s API is unreachable, and ready again afterwards', async () => {
  const before = await untilQuiet(frr);
  const socket = bed.lab.gobgpd.target.replace('unix:', '');
  await bed.killSpeaker();
  renameSync(socket, `${socket}.away`);
  bed.startSpeaker();
  await untilReady('False DaemonUnreachable');
  await bed.untilSession('frr', /^Unreachable DaemonUnreachable$/);
  renameSync(`${socket}.away`, socket);
  await untilReady('True Ready');
  await bed.untilSession('frr', /^Established$/);

  await bed.killSpeaker();
  chmodSync(socket, 0);
  bed.startSpeaker(['setpriv', '--bounding-set', '-dac_override', '--']);
  await untilReady('False DaemonUnreachable');
  chmodSync(socket, 0o700);
  await untilReady('True Ready');
  assert.deepEqual(await counters(frr), before);
});

test('another program on gobgpd’s socket is reported as unreachable', async () => {
  const socket = bed.lab.gobgpd.target.replace('unix:', '');
  await bed.lab.gobgpd.kill();
  rmSync(socket);
  const stranger = createServer((connection) => connection.end('HTTP/1.1 200 OK\r\n\r\n')).listen(socket);
  await untilReady('False DaemonUnreachable');
  stranger.close();
  await bed.lab.gobgpd.restart();
  await untilReady('True Ready');
  await bed.untilSession('frr', /^Established$/);
});

test('an invalid address of a BgpPeer is refused before gobgpd is configured', async () => {
  // gobgpd has just restarted, and may repeat an update a second later.
  await sleep(2000);
  const before = await untilQuiet(frr);
  const bad = {
    multicast: '224.0.0.5',
    broadcast: '255.255.255.255',
    loopback: '127.0.0.1',
    none: '::',
    local: 'fe80::1',
    mapped: '::ffff:a00:1',
  };
  const specs = Object.entries(bad).map(
    ([name, address]) => [name, { instance: 'rack', address, asn: 65001 }] as const,
  );
  await bed.createStored(bgpPeers, {
    ...Object.fromEntries(specs),
    trans: { instance: 'rack', address: '172.31.1.99', asn: 23456 },
  });
  for (const name of Object.keys(bad))
    await eventuallyPasses(async () =>
      assert.equal(await bed.condition(bgpPeers, name, 'Accepted'), 'False InvalidAddress'),
    );
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(bgpPeers, 'trans', 'Accepted'), 'False AsnInvalid'),
  );
  // The CRD's pattern cannot count the groups of an IPv6 address.
  const source = { address: 'fd00:99::1', sourceAddress: '1:2:3:4:5::6:7:8:9' };
  await bed.create(bgpPeers, 'source', { instance: 'rack', asn: 65001, ...source });
  await eventuallyPasses(async () =>
    assert.equal(await bed.condition(bgpPeers, 'source', 'Accepted'), 'False InvalidAddress'),
  );
  const spec = { instance: 'rack', asn: 65001 };
  for (const address of ['fe80::1%eth0', '10.0.0', 'router', ''])
    await assert.rejects(bed.create(bgpPeers, 'zone', { ...spec, address }), /address must be an IP address/);
  const known = (await bed.gobgp((gobgp) => gobgp.listPeers())).map(({ config }) => config.address);
  assert.ok(known.every((address) => !Object.values<string>(bad).includes(address)));
  assert.deepEqual(await counters(frr), before);
});
