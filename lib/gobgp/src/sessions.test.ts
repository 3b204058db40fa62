import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { GobgpClient } from './api.ts';
import { openGobgp } from './client.ts';
import { GobgpInvalidArgument, GobgpRejected, GobgpUnsupported } from './errors.ts';
import { notificationName, notificationOfLogLine, notificationOfMessage, notificationText } from './notifications.ts';
import { peerMessage } from './peer-messages.ts';
import { isSamePeer, isSessionKept, type Peer, type PeerConfig } from './peers.ts';
import { type FrrLab, labMissing, openFrrLab, plainPeer, startLabGobgpd, type TestRouter } from './testing-frr.ts';
import type { TestGobgpd } from './testing.ts';
import { eventuallyPasses } from '../../testing-eventually.ts';

const restart = { restartTimeSeconds: 20, deferralSeconds: 10 };
const bfd = { transmitMs: 100, receiveMs: 150, multiplier: 3 };
const plain = plainPeer('172.30.1.1', 65001);
const full: PeerConfig = {
  ...plain,
  sourceAddress: '172.30.1.11',
  connectRetrySeconds: 2,
  gracefulRestart: { ...restart, longLivedStaleSeconds: 3600 },
  routeReflectorClient: { clusterId: '9.9.9.9' },
  maxPrefixes: 1000,
};

test('a value that gobgpd would misread is refused', () => {
  const wrong: Partial<PeerConfig>[] = [
    { sourceAddress: 'fd00::1' },
    { sourceAddress: 'eth0' },
    { connectRetrySeconds: 0 },
    { gracefulRestart: { ...restart, longLivedStaleSeconds: 0x1000000 } },
    { routeReflectorClient: { clusterId: 'fd00::1' } },
    { bfd: { ...bfd, multiplier: 0 } },
    { bfd: { ...bfd, transmitMs: 0.5 } },
    { maxPrefixes: 0 },
    { families: [] },
  ];
  for (const change of wrong)
    assert.throws(
      () => peerMessage({ ...plain, ...change }, 'v4', false),
      GobgpInvalidArgument,
      JSON.stringify(change),
    );
  assert.throws(() => peerMessage({ ...plain, bfd }, 'v3', false), GobgpUnsupported);
  assert.ok(!('bfd' in peerMessage(full, 'v3', false)));
});

test('a NOTIFICATION is described by its name and a sentence', () => {
  const received = notificationOfMessage('notification-received code 6(cease) subcode 2(administrative shutdown)');
  assert.ok(received);
  assert.equal(notificationName(received), 'CeaseAdministrativeShutdown');
  assert.equal(
    notificationText({ ...received, communication: 'tonight' }),
    'the neighbour ended the session with NOTIFICATION 6/2 (CeaseAdministrativeShutdown): "tonight"',
  );
  const sent = notificationOfMessage('notification-sent code 2(open) subcode 2(bad peer as)');
  assert.equal(sent && notificationText(sent), 'gobgpd ended the session with NOTIFICATION 2/2 (BadPeerAs)');
  assert.equal(notificationOfMessage('hold-timer-expired'), undefined);
  assert.equal(notificationName({ direction: 'sent', code: 4, subcode: 0 }), 'HoldTimerExpired');
  assert.equal(notificationName({ direction: 'sent', code: 99, subcode: 1 }), 'UnknownNotification');
  const line =
    '{"time":"2026-01-01T00:00:00Z","level":"INFO","msg":"sent notification","Topic":"Peer","Key":"172.30.1.1","State":"BGP_FSM_ESTABLISHED","Code":6,"Subcode":4,"Communicated-Reason":"BFD is down","Data":""}';
  const parsed = notificationOfLogLine(line);
  assert.equal(parsed?.address, '172.30.1.1');
  assert.equal(notificationName(parsed.notification), 'BfdDown');
  for (const other of ['', 'plain "msg":"sent notification"', '{"msg":"Peer Up","Key":"172.30.1.1"}'])
    assert.equal(notificationOfLogLine(other), undefined);
});

describe('sessions of gobgpd with FRR', { skip: labMissing() }, () => {
  let lab: FrrLab;
  let daemon: TestGobgpd;
  let gobgp: GobgpClient;
  let router: TestRouter;

  before(async () => {
    lab = await openFrrLab([
      ({ v4, nodeV4 }) => [
        'router bgp 65001',
        ` bgp router-id ${v4}`,
        ' no bgp network import-check',
        ' bgp graceful-restart',
        ` neighbor ${nodeV4} remote-as 65001`,
        ` neighbor ${nodeV4} timers connect 1`,
        ` neighbor ${nodeV4} timers 2 6`,
        ' address-family ipv4 unicast',
        '  network 10.50.0.0/24',
        '  network 10.51.0.0/24',
        ' exit-address-family',
        ' address-family ipv6 unicast',
        `  neighbor ${nodeV4} activate`,
        '  network fd50::/64',
        ' exit-address-family',
      ],
    ]);
    router = lab.routers[0] as TestRouter;
    ({ daemon, gobgp } = await startLabGobgpd(lab));
  });
  afterEach(async () => {
    for (const { config } of await gobgp.listPeers()) await gobgp.deletePeer(config.address);
  });
  after(async () => {
    gobgp.close();
    await daemon.stop();
    await lab.close();
  });

  const only = async (): Promise<Peer> => {
    const [peer] = await gobgp.listPeers({ advertised: true });
    assert.ok(peer);
    return peer;
  };
  const untilUp = () => eventuallyPasses(async () => (await only()).session.state === 'Established');
  const atRouter = () => {
    const all = router.show(`bgp neighbors ${router.nodeV4}`);
    return (all as Record<string, { connectionsEstablished: number; bgpState: string }>)[router.nodeV4];
  };
  const sessionsMade = () => atRouter()?.connectionsEstablished ?? 0;
  const stateAtRouter = () => atRouter()?.bgpState;
  const prefixesAtRouter = () =>
    Object.keys((router.show('bgp ipv4 unicast') as { routes?: object }).routes ?? {}).length;

  test('an established session reports the negotiated values; its peer reads back as it was added', async () => {
    const startedAt = Math.floor(Date.now() / 1000);
    await gobgp.addPeer(full);
    assert.ok(isSamePeer((await only()).config, full), JSON.stringify(await only()));
    assert.equal((await only()).session.establishedSince, undefined);
    await untilUp();
    await eventuallyPasses(async () => (await only()).session.received === 3);
    await gobgp.addPaths([{ prefix: '10.1.0.0/16', attributes: { nextHop: '0.0.0.0' } }]);
    const { config, session } = await only();
    assert.ok(isSamePeer(config, full), JSON.stringify(config));
    const { establishedSince = 0, ...rest } = session;
    assert.ok(establishedSince >= startedAt && establishedSince <= Date.now() / 1000, `${establishedSince}`);
    assert.deepEqual(rest, {
      state: 'Established',
      adminState: 'Up',
      flaps: 0,
      notifications: { sent: 0, received: 0 },
      localAddress: '172.30.1.11',
      routerId: '172.30.1.1',
      holdTimeSeconds: 6,
      remoteFamilies: session.remoteFamilies,
      hasExtendedNextHop: false,
      gracefulRestart: { isNegotiated: true, isHelping: false, isDeferring: false },
      families: [
        { family: 'ipv4-unicast', received: 2, accepted: 2, advertised: 1 },
        { family: 'ipv6-unicast', received: 1, accepted: 1, advertised: 0 },
      ],
      received: 3,
      accepted: 3,
      advertised: 1,
    });
    assert.deepEqual(session.remoteFamilies?.toSorted(), ['ipv4-unicast', 'ipv6-unicast']);
    await gobgp.withdrawPaths(['10.1.0.0/16']);

    await router.signal('bgpd', 'SIGKILL');
    await eventuallyPasses(async () => (await only()).session.gracefulRestart?.isHelping === true);
    await router.start('bgpd');
  });

  test('the source address is the wanted one, not the one of the session', async () => {
    await gobgp.addPeer(plain);
    await untilUp();
    const { config, session } = await only();
    assert.equal(session.localAddress, '172.30.1.11');
    assert.ok(isSamePeer(config, plain), JSON.stringify(config));
    assert.ok(!isSamePeer(config, { ...plain, sourceAddress: '172.30.1.11' }));
  });

  test('an update keeps the session or starts a new one, as isSessionKept says, and always takes effect', async () => {
    let current: PeerConfig = { ...plain, gracefulRestart: restart };
    await gobgp.addPeer(current);
    await untilUp();
    const changes: readonly [boolean, Partial<PeerConfig>][] = [
      [true, { connectRetrySeconds: 3 }],
      [true, { holdTimeSeconds: 60, keepaliveSeconds: 20 }],
      [true, { maxPrefixes: 10 }],
      [true, { bfd }],
      [false, { gracefulRestart: { ...restart, longLivedStaleSeconds: 60 } }],
      [true, { gracefulRestart: { ...restart, longLivedStaleSeconds: 70 } }],
      [false, { sourceAddress: '172.30.1.11' }],
      [false, { routeReflectorClient: { clusterId: '9.9.9.9' } }],
    ];
    for (const [isKept, change] of changes) {
      const wanted = { ...current, ...change };
      const before = sessionsMade();
      await gobgp.updatePeer(wanted);
      await eventuallyPasses(() => sessionsMade() === before + (isKept ? 0 : 1));
      await untilUp();
      const { config } = await only();
      assert.ok(isSamePeer(config, wanted) && !isSamePeer(config, current), JSON.stringify([change, config]));
      assert.equal(isSessionKept(current, wanted), isKept, JSON.stringify(change));
      current = wanted;
    }
  });

  test('a peer over its limit is down until it is enabled', async () => {
    await gobgp.addPeer({ ...plain, maxPrefixes: 1 });
    await eventuallyPasses(async () => (await only()).session.adminState === 'PrefixLimit');
    await eventuallyPasses(async () => (await only()).session.state === 'Idle');
    assert.equal((await only()).session.reason, 'PrefixLimit');
    assert.equal((await only()).session.notifications.sent, 1);
    await gobgp.updatePeer({ ...plain, maxPrefixes: 2 });
    await gobgp.enablePeer(plain.address);
    await untilUp();
    await eventuallyPasses(async () => (await only()).session.received === 3);
    assert.equal((await only()).session.adminState, 'Up');
  });

  test('an OPEN that either side refuses is reported, without the reason', async () => {
    await gobgp.addPeer({ ...plain, asn: 65102 });
    await eventuallyPasses(async () => (await only()).session.reason === 'OpenRefused');
    await gobgp.deletePeer(plain.address);
    router.configure('router bgp 65001', `neighbor ${router.nodeV4} remote-as 65009`);
    await gobgp.addPeer(plain);
    await eventuallyPasses(async () => (await only()).session.reason === 'OpenRefusedByNeighbor');
    router.configure('router bgp 65001', `neighbor ${router.nodeV4} remote-as 65001`);
  });

  test('BFD comes up, and the session goes down with it', async () => {
    await router.start('bfdd');
    router.configure('bfd', `peer ${router.nodeV4}`, 'receive-interval 100', 'transmit-interval 100');
    router.configure('router bgp 65001', `neighbor ${router.nodeV4} bfd`);
    await gobgp.addPeer({ ...plain, bfd });
    await eventuallyPasses(async () => (await only()).session.bfdState === 'Up');
    await untilUp();
    assert.ok(isSamePeer((await only()).config, { ...plain, bfd }));
    await router.signal('bgpd', 'SIGSTOP');
    await router.signal('bfdd', 'SIGSTOP');
    await eventuallyPasses(async () => (await only()).session.state !== 'Established');
    await eventuallyPasses(async () => (await only()).session.reason === 'BfdDown');
    await router.signal('bgpd', 'SIGCONT');
    await router.signal('bfdd', 'SIGCONT');
    await untilUp();
    await eventuallyPasses(async () => (await only()).session.bfdState === 'Up');
  });

  test('BGP stops for good, and with graceful restart the routes stay', async () => {
    await gobgp.addPaths([{ prefix: '10.1.0.0/16', attributes: { nextHop: '0.0.0.0' } }]);
    await gobgp.addPeer({ ...plain, gracefulRestart: restart });
    await untilUp();
    await eventuallyPasses(() => prefixesAtRouter() === 3);
    await gobgp.stopBgp({ allowGracefulRestart: true });
    await eventuallyPasses(() => stateAtRouter() !== 'Established');
    assert.equal(prefixesAtRouter(), 3, 'the router keeps what a restarting neighbour told it');
    await assert.rejects(gobgp.getBgp(), GobgpRejected);
    const again = await openGobgp({ target: daemon.target });
    await assert.rejects(again.startBgp({ asn: 65001, routerId: '192.0.2.1', listenPort: 179 }), GobgpRejected);
    again.close();
    await daemon.restart();
    gobgp.close();
    gobgp = await openGobgp({ target: daemon.target });
  });
});
