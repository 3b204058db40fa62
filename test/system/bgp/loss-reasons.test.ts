/**
 * The reason of a lost session names its cause: the router froze or died, its password or AS has changed, or it refuses a session at once. A
 * correct password is never the reported reason, nor is a missing password.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bgpInstances, bgpPeers, secrets } from '../../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { FrrPeer } from './frr.ts';
import { message, messageType } from './raw-peer.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';

const password = 'right-5f0c';
const passwordSecretRef = { name: 'isthmus-bgp-passwords', key: 'router' };
const holdSeconds = 3;
const holdMs = holdSeconds * 1000;
/** A machine without CPU time does not keep so short a hold time. */
const establishedMs = 300_000;
const timers = { holdTimeSeconds: holdSeconds, keepaliveSeconds: 1 };

let bed: SpeakerBed;
let signed: FrrPeer;
let plain: FrrPeer;

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'signed', asn: 65101, holdSeconds, session: [`password ${password}`] },
    { kind: 'frr', name: 'plain', asn: 65102, holdSeconds },
    { kind: 'raw', name: 'curt', asn: 65103 },
  ]);
  [signed, plain] = [bed.lab.frr('signed'), bed.lab.frr('plain')];
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  await bed.kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'kube-system', name: passwordSecretRef.name },
    stringData: { [passwordSecretRef.key]: password },
  });
  // The router's IPv6 address has no BgpPeer, and sends signed segments every second.
  await bed.createPeer(signed, 4, { ...timers, passwordSecretRef });
  await bed.createPeer(plain, 4, timers);
  await bed.createPeer(bed.lab.raw('curt'), 4, { ...timers, passive: true });
  for (const { name } of [signed, plain]) await bed.untilSession(name, /^Established$/, establishedMs);
});

after(() => (bed as SpeakerBed | undefined)?.close());

/** The distinct reasons that a session reports during this time. */
async function reasonsFor(peer: Pick<FrrPeer, 'name'>, lengthMs: number): Promise<readonly string[]> {
  const seen = new Set<string>();
  for (const end = performance.now() + lengthMs; performance.now() < end; await sleep(100))
    seen.add((await bed.entry(peer.name)).reason ?? '');
  return [...seen].filter((reason) => reason !== '');
}

const unblamed = ['HoldTimerExpired', 'ConnectionLost', 'NotConnected', 'ConnectionClosed'];

for (const name of ['signed', 'plain'] as const)
  test(`the session of a frozen router (${name}) reports HoldTimerExpired and no wrong password`, async (context) => {
    const peer = bed.lab.frr(name);
    peer.daemon.freeze();
    const [reasons] = await Promise.all([
      reasonsFor(peer, 3 * holdMs),
      bed.untilSession(name, /HoldTimerExpired$/),
    ]).finally(() => peer.daemon.resume());
    context.diagnostic(reasons.join(', '));
    assert.deepEqual(
      reasons.filter((reason) => !unblamed.includes(reason)),
      [],
    );
    const back = await reasonsFor(peer, holdMs);
    context.diagnostic(`back: ${back.join(', ')}`);
    assert.ok(!back.includes('AuthenticationFailed'), back.join(', '));
    await bed.untilSession(name, /^Established$/, establishedMs);
  });

for (const name of ['signed', 'plain'] as const)
  test(`the session of a dead router (${name}) reports a lost connection and no wrong password`, async (context) => {
    const peer = bed.lab.frr(name);
    await peer.daemon.kill();
    const [reasons] = await Promise.all([
      reasonsFor(peer, 2 * holdMs),
      bed.untilSession(name, new RegExp(`(${unblamed.join('|')})$`)),
    ]);
    context.diagnostic(reasons.join(', '));
    assert.deepEqual(
      reasons.filter((reason) => !unblamed.includes(reason)),
      [],
    );
    await peer.start();
    const back = await reasonsFor(peer, holdMs);
    context.diagnostic(`back: ${back.join(', ')}`);
    assert.ok(!back.includes('AuthenticationFailed'), back.join(', '));
    await bed.untilSession(name, /^Established$/, establishedMs);
  });

test('a session reports OpenRefusedByNeighbor for another remote-as and AuthenticationFailed for another password', async () => {
  await plain.configureSessions('remote-as 65009');
  // gobgpd does not log the NOTIFICATION that answers its OPEN, only that the OPEN was refused.
  await bed.untilSession('plain', /OpenRefusedByNeighbor$/);
  await signed.configureSessions('password wrong-77aa');
  await bed.untilSession('signed', /AuthenticationFailed$/);
  assert.deepEqual(await reasonsFor(plain, holdMs), ['OpenRefusedByNeighbor']);
  await plain.configureSessions('remote-as external');
  await signed.configureSessions(`password ${password}`);
  for (const name of ['plain', 'signed']) await bed.untilSession(name, /^Established$/, establishedMs);
  await bed.untilCondition(bgpPeers, 'signed', 'Established', 'True Established');
});

test('a session reports OpenRefusedByNeighbor also if the neighbour refuses in place of an OPEN', async () => {
  const curt = bed.lab.raw('curt');
  const badPeerAs = message(messageType.notification, [2, 2]);
  await eventuallyPasses(async () => {
    const session = await curt.connect();
    try {
      session.send(badPeerAs);
      await session.untilReceived(messageType.notification, 1000);
      assert.equal(session.notification, '5/1', 'the answer of gobgpd, which its log has in place of the cause');
    } finally {
      session.close();
    }
  });
  await bed.untilSession('curt', /OpenRefusedByNeighbor$/);
  assert.deepEqual(await reasonsFor(curt, holdMs), ['OpenRefusedByNeighbor']);
});
