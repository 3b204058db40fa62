import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportOf } from '../../lib/bgp/exports.ts';
import { advertisementOf, instanceOf, nodeOf, peerOf, subnetOf } from '../../lib/bgp/testing.ts';
import { planSpeaker, type SpeakerPlan } from './plan.ts';
import { stateOf } from './testing.ts';

const codes = (problems: ReadonlyMap<string, { readonly code: string }>) =>
  Object.fromEntries([...problems].map(([name, { code }]) => [name, code]));

const announced = ({ table }: SpeakerPlan): string[] => [...table.routes.keys()].toSorted();

/** Prefixes that are announced to the peer at the address. */
const announcedTo = ({ table, peers }: SpeakerPlan, address: string): string[] => {
  const peer = peers.get(address);
  return [...table.routes]
    .filter(
      ([prefix, routeClass]) =>
        peer?.families.includes(prefix.includes(':') ? 'ipv6' : 'ipv4') && exportOf(peer, routeClass),
    )
    .map(([prefix]) => prefix)
    .toSorted();
};

test('ready subnets of the default VPC are announced, each address family to the peers that speak it', () => {
  const plan = planSpeaker(
    stateOf({
      peers: [peerOf('v4', '10.0.0.254'), peerOf('v6', 'fd00::fe')],
      subnets: [
        subnetOf('b', ['10.17.0.0/16', 'fd00:10:17::/64']),
        subnetOf('a', ['10.16.0.0/16']),
        subnetOf('join', ['100.64.0.0/16']),
        subnetOf('other', ['10.18.0.0/16'], { vpc: 'tenant' }),
        subnetOf('refused', []),
      ],
    }),
  );
  assert.deepEqual(announced(plan), ['10.16.0.0/16', '10.17.0.0/16', 'fd00:10:17::/64']);
  assert.deepEqual(announcedTo(plan, '10.0.0.254'), ['10.16.0.0/16', '10.17.0.0/16']);
  assert.deepEqual(announcedTo(plan, 'fd00::fe'), ['fd00:10:17::/64']);
  assert.deepEqual(plan.instance, {
    name: 'rack',
    asn: 65001,
    routerId: '10.0.0.1',
    listenPort: 179,
    restartTimeSeconds: 120,
    drain: { onCordon: 'None', settleSeconds: 5 },
  });
});

test('a peer receives only the prefixes of the advertisements that it selects', () => {
  const plan = planSpeaker(
    stateOf({
      peers: [
        peerOf('all', '10.0.0.254'),
        peerOf('public', '10.0.0.253', { advertisements: { matchLabels: { scope: 'public' } } }),
      ],
      advertisements: [
        advertisementOf('a', { selector: { matchLabels: { tier: 'db' } } }),
        advertisementOf('b', { selector: { matchLabels: { tier: 'web' } } }, { scope: 'public' }),
      ],
      subnets: [
        subnetOf('db', ['10.16.0.0/24'], { labels: { tier: 'db' } }),
        subnetOf('web', ['10.17.0.0/24'], { labels: { tier: 'web' } }),
      ],
    }),
  );
  assert.deepEqual(announcedTo(plan, '10.0.0.254'), ['10.16.0.0/24', '10.17.0.0/24']);
  assert.deepEqual(announcedTo(plan, '10.0.0.253'), ['10.17.0.0/24']);
  assert.deepEqual(plan.table.summary('a').prefixes, ['10.16.0.0/24']);
  assert.deepEqual(plan.table.summary('b').prefixes, ['10.17.0.0/24']);
});

test('the older of two instances on one node is served, and the other has a problem', () => {
  const [old, young] = [
    instanceOf('z', {}, '2024-01-01T00:00:00Z'),
    instanceOf('a', { localASN: 65002 }, '2024-01-02T00:00:00Z'),
  ];
  for (const instances of [
    [old, young],
    [young, old],
  ]) {
    const plan = planSpeaker(stateOf({ instances, peers: [peerOf('tor', '10.0.0.254', { instance: 'a' })] }));
    assert.equal(plan.instance?.name, 'z');
    assert.deepEqual(codes(plan.problems.instances), { a: 'Conflicting' });
    assert.equal(plan.peers.size, 0);
  }
});

test('a node without IPv4 address has no router ID; a node without label has no instance', () => {
  const noV4 = planSpeaker(stateOf({ nodes: [nodeOf('n1', ['fd00::1'])] }));
  assert.equal(noV4.instance, undefined);
  assert.deepEqual(codes(noV4.problems.instances), { rack: 'NoRouterID' });
  const unlabelled = planSpeaker(
    stateOf({
      nodes: [nodeOf('n1', ['10.0.0.1'], {})],
      subnets: [subnetOf('a', ['10.16.0.0/16'])],
      peers: [peerOf('tor', '10.0.0.254')],
    }),
  );
  assert.equal(unlabelled.instance, undefined);
  assert.deepEqual([announced(unlabelled), unlabelled.peers.size, unlabelled.problems.peers.size], [[], 0, 0]);
});

test('each invalid peer has its reason, and the valid peer stays', () => {
  const younger = '2024-02-01T00:00:00Z';
  const plan = planSpeaker(
    stateOf({
      peers: [
        peerOf('good', '10.0.0.254'),
        peerOf('again', '10.0.0.254', {}, younger),
        peerOf('self', '10.0.0.1'),
        peerOf('self6', 'fd00::1'),
        peerOf('any', '0.0.0.0'),
        peerOf('any6', '::'),
        peerOf('multicast', '224.0.0.5'),
        peerOf('local', 'fe80::1'),
        peerOf('zone', 'fe80::1%eth0'),
        peerOf('text', 'router'),
        peerOf('source', 'fd00::fe', { sourceAddress: '1:2:3:4:5::6:7:8:9' }),
        peerOf('family', '10.0.0.250', { sourceAddress: 'fd00::1' }),
        peerOf('stray', '10.0.0.253', { instance: 'nowhere' }),
        peerOf('elsewhere', '10.0.0.252', { nodeSelector: { matchLabels: { rack: '2' } } }),
        { ...peerOf('broken', '10.0.0.251'), spec: { problem: { code: 'InvalidSpec', message: 'spec.asn: too big' } } },
      ],
    }),
  );
  assert.deepEqual([...plan.peers.keys()], ['10.0.0.254']);
  assert.equal(plan.peers.get('10.0.0.254')?.name, 'good');
  assert.deepEqual(codes(plan.problems.peers), {
    again: 'DuplicateAddress',
    self: 'OwnAddress',
    self6: 'OwnAddress',
    any: 'InvalidAddress',
    any6: 'InvalidAddress',
    multicast: 'InvalidAddress',
    local: 'InvalidAddress',
    zone: 'InvalidAddress',
    text: 'InvalidAddress',
    source: 'InvalidAddress',
    family: 'InvalidAddress',
    stray: 'UnknownInstance',
    broken: 'InvalidSpec',
  });
});

test('a password is the text of a key, or a problem that names what is missing', () => {
  const passwordOf = (secrets: Parameters<typeof stateOf>[0]['secrets'], key = 'password') => {
    const peers = [peerOf('tor', '10.0.0.254', { passwordSecretRef: { name: 's', key } })];
    const password = planSpeaker(stateOf({ peers, ...(secrets && { secrets }) })).peers.get('10.0.0.254')?.password;
    return password && ('text' in password ? password.text : password.problem.code);
  };
  const withText = (text: string) => new Map([['s', new Map([['password', text]])]]);
  assert.equal(passwordOf(undefined), 'SecretNotReadable');
  assert.equal(passwordOf(new Map([['s', 'unread' as const]])), 'SecretNotReadable');
  assert.equal(passwordOf(new Map([['s', 'missing' as const]])), 'SecretNotFound');
  assert.equal(passwordOf(withText('x'), 'other'), 'SecretKeyNotFound');
  for (const text of ['', 'x\n', 'a\0b', 'ä'.repeat(41)]) assert.equal(passwordOf(withText(text)), 'PasswordInvalid');
  assert.equal(passwordOf(withText('ä'.repeat(40))), 'ä'.repeat(40));
});

test('a passive peer needs an instance that listens', () => {
  const peers = [peerOf('tor', '10.0.0.254', { passive: true })];
  assert.deepEqual(codes(planSpeaker(stateOf({ peers })).problems.peers), {});
  const deaf = planSpeaker(stateOf({ peers, instances: [instanceOf('rack', { listenPort: -1 })] }));
  assert.deepEqual(codes(deaf.problems.peers), { tor: 'NotListening' });
});

test('a peer whose prefixes are imported has a limit of its session, its own or ten times what may be used', () => {
  const limit = (spec: object) =>
    planSpeaker(stateOf({ peers: [peerOf('tor', '10.0.0.254', spec)] })).peers.get('10.0.0.254')?.maximumPrefixes;
  assert.equal(limit({}), undefined);
  assert.deepEqual(limit({ import: { maxPrefixes: 20 } }), { limit: 200, restartSeconds: 300 });
  assert.deepEqual(limit({ import: {}, maximumPrefixes: { limit: 5 } }), { limit: 5, restartSeconds: 300 });
  const many = { maximumPrefixes: { limit: 500_000 } };
  assert.deepEqual(limit({ import: {}, ...many }), { limit: 10_000, restartSeconds: 300 }, 'the most of an import');
  assert.deepEqual(limit(many), { limit: 500_000, restartSeconds: 300 }, 'what is not used is not kept');
});
