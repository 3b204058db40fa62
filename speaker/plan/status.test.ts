import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeSession, Subnet } from '../../lib/bgp/objects.ts';
import { advertisementOf, instanceOf, nodeOf, peerOf, subnetOf } from '../../lib/bgp/testing.ts';
import type { SpeakerState } from '../model/objects.ts';
import type { Clues, Observed, ObservedSession } from '../model/observed.ts';
import { planSpeaker } from './plan.ts';
import type { PlannedCondition } from './planned.ts';
import { planStatus, type StatusPlan } from './status.ts';
import { stateOf } from './testing.ts';

const nodes = [nodeOf('n1', ['10.0.0.1']), nodeOf('n2', ['10.0.0.2']), nodeOf('n3', ['10.0.0.3'], {})];

const counts = { received: { ipv4: 0, ipv6: 0 }, flaps: 0, isLost: false, isDeferring: false, isOverLimit: false };

function seen(
  sessions: Record<string, Pick<ObservedSession, 'state'> & Partial<ObservedSession>>,
  daemon: Partial<Observed['daemon']> = {},
): Observed {
  return {
    daemon: { isReachable: true, version: '4.x', ...daemon },
    sessions: new Map(Object.entries(sessions).map(([address, session]) => [address, { ...counts, ...session }])),
    refused: new Map(),
  };
}

const nothingLearned = { peers: new Map(), hits: new Map() };

function statusOf(
  state: SpeakerState,
  observed: Observed,
  signatures: Clues['signatures'] = { wrongMs: [], unexpectedMs: [], nowMs: 0 },
  notifications: Clues['notifications'] = new Map(),
): StatusPlan {
  return planStatus(state, planSpeaker(state), observed, { signatures, notifications }, nothingLearned);
}

function conditions(status: { readonly conditions: readonly PlannedCondition[] } | undefined) {
  return Object.fromEntries(
    (status?.conditions ?? []).map(({ type, status: value, reason }) => [type, `${value} ${reason}`]),
  );
}

function withSessions(...sessions: NodeSession[]): SpeakerState {
  const peer = peerOf('tor', '10.0.0.254');
  return stateOf({ nodes, peers: [{ ...peer, status: { ...peer.status, nodes: sessions } }] });
}

const up: NodeSession = { node: 'n2', state: 'Established', advertised: 1, since: '2024-01-01T00:00:00Z' };

test('n of m counts the entries of selected nodes, and this node by the present state of gobgpd', () => {
  const state = withSessions(up, { ...up, node: 'n3' }, { ...up, node: 'gone' });
  const before = statusOf(state, seen({ '10.0.0.254': { state: 'Active', reason: 'HoldTimerExpired' } })).peers.get(
    'tor',
  );
  assert.equal(before?.summary.established, '1/2');
  assert.deepEqual(before.leftOver, ['gone', 'n3']);
  assert.deepEqual(conditions(before), { Accepted: 'True Accepted', Established: 'False HoldTimerExpired' });
  const after = statusOf(state, seen({ '10.0.0.254': { state: 'Established' } })).peers.get('tor');
  assert.equal(after?.summary.established, '2/2');
  assert.deepEqual(after.entry, { node: 'n1', state: 'Established', advertised: 0 });
  assert.deepEqual(conditions(after), { Accepted: 'True Accepted', Established: 'True Established' });
});

test('the state of a node that is silent to Kubernetes does not count', () => {
  const silent = nodes.map((node) => ({ ...node, isSilent: node.name === 'n2' }));
  const peer = peerOf('tor', '10.0.0.254');
  const instance = instanceOf('rack');
  const rack = { ...instance, status: { ...instance.status, nodes: [{ node: 'n2', ready: true }] } };
  const tor = { ...peer, status: { ...peer.status, nodes: [up] } };
  const state = stateOf({ nodes: silent, peers: [tor], instances: [rack] });
  const { peers, instances } = statusOf(state, seen({ '10.0.0.254': { state: 'Established' } }));
  assert.equal(peers.get('tor')?.summary.established, '1/2');
  assert.equal(conditions(peers.get('tor'))['Established'], 'False NodeSilent');
  assert.equal(conditions(instances.get('rack'))['Ready'], 'False NodeSilent');
});

test('a session that is still coming up keeps the state it was first shown with', () => {
  const state = withSessions({ node: 'n1', state: 'Active', since: '2024-01-01T00:00:00Z' });
  const turning = statusOf(state, seen({ '10.0.0.254': { state: 'OpenSent' } })).peers.get('tor');
  assert.equal(turning?.entry?.state, 'Active');
});

test('an unreachable gobgpd is reported at the peer and at the instance', () => {
  const problem = { code: 'DaemonUnreachable', message: 'gobgpd does not answer' };
  const status = statusOf(withSessions(), seen({}, { isReachable: false, problem }));
  assert.deepEqual(status.peers.get('tor')?.entry, {
    node: 'n1',
    state: 'Unreachable',
    reason: problem.code,
    message: problem.message,
  });
  assert.deepEqual(conditions(status.instances.get('rack')), {
    Accepted: 'True Accepted',
    Ready: 'False DaemonUnreachable',
    DaemonOutdated: 'False Current',
  });
});

test('a refused peer has an entry only where the cause is this node', () => {
  const state = stateOf({ nodes, peers: [peerOf('self', '10.0.0.1'), peerOf('any', '0.0.0.0')] });
  const { peers } = statusOf(state, seen({}));
  assert.equal(peers.get('self')?.entry?.state, 'Refused');
  assert.deepEqual(conditions(peers.get('self')), { Accepted: 'False OwnAddress', Established: 'False OwnAddress' });
  assert.equal(peers.get('any')?.entry, undefined);
  assert.equal(peers.get('any')?.summary.established, '0/0');
  assert.deepEqual(conditions(peers.get('any')), {
    Accepted: 'False InvalidAddress',
    Established: 'False NotAccepted',
  });
});

test('an old gobgpd and a second instance are conditions of the instances', () => {
  const state = stateOf({
    nodes: nodes.slice(0, 1),
    instances: [instanceOf('rack'), instanceOf('second', {}, '2024-02-01T00:00:00Z')],
  });
  const { instances } = statusOf(state, seen({}, { version: '3.x' }));
  assert.deepEqual(conditions(instances.get('rack')), {
    Accepted: 'True Accepted',
    Ready: 'True Ready',
    DaemonOutdated: 'True DaemonOutdated',
  });
  assert.equal(conditions(instances.get('second'))['Accepted'], 'False Conflicting');
});

test('a subnet of another VPC that an advertisement selects is named, and not announced', () => {
  const labels = { tier: 'db' };
  const red = subnetOf('red', ['10.16.0.0/16'], { vpc: 'tenant', labels });
  const statusWith = (subnets: readonly Subnet[], selector: object) =>
    statusOf(
      stateOf({
        nodes,
        subnets,
        peers: [peerOf('tor', '10.0.0.254')],
        advertisements: [advertisementOf('db', { selector })],
      }),
      seen({}),
    ).advertisements.get('db');
  const alone = statusWith([red], { matchLabels: labels });
  assert.deepEqual(alone?.summary.prefixes, []);
  assert.deepEqual(conditions(alone), { Ready: 'False VpcNotRouted' });
  assert.match(alone.conditions[0]?.message ?? '', /subnet red is in VPC tenant/);
  const both = [red, subnetOf('blue', ['10.17.0.0/16'], { labels })];
  const beside = statusWith(both, { matchLabels: labels });
  assert.deepEqual(beside?.summary.prefixes, ['10.17.0.0/16']);
  assert.match(
    beside.conditions[0]?.message ?? '',
    /^1 prefixes of 1 objects are announced .*subnet red is in VPC tenant/,
  );
  assert.doesNotMatch(statusWith(both, {})?.conditions[0]?.message ?? '', /red/, 'it is not requested by name');
});

test('an advertisement names peers that do not receive it: a missing peer, or a peer on none of its nodes', () => {
  const at = (
    spec: object,
    peers = [peerOf('tor', '10.0.0.254', { nodeSelector: { matchLabels: { rack: 'a' } } })],
  ) => {
    const racks = nodes.map((node) => ({ ...node, labels: { ...node.labels, rack: node.name === 'n1' ? 'a' : 'b' } }));
    const objects = { nodes: racks, peers, subnets: [subnetOf('web', ['10.16.0.0/16'])] };
    const state = stateOf({ ...objects, advertisements: [advertisementOf('web', spec)] });
    const { conditions: [ready] = [] } = statusOf(state, seen({})).advertisements.get('web') ?? {};
    return `${ready?.status} ${ready?.reason} ${ready?.message}`;
  };
  assert.match(at({}), /^True Announced/);
  assert.match(at({ peers: ['tor'] }), /^True Announced/);
  assert.match(at({ peers: ['nosuch'] }), /^False UnknownPeer spec.peers names nosuch, which does not exist; create/);
  assert.match(at({ peers: ['tor', 'nosuch'] }), /^False UnknownPeer .*; the advertisement goes to the others only/);
  assert.match(
    at({ nodeSelector: { matchLabels: { rack: 'b' } } }),
    /^False NoPeer no BgpPeer for this advertisement is on its nodes \(n/,
  );
  assert.match(at({}, []), /^False NoPeer no usable BgpPeer selects this advertisement/);
  assert.match(at({}, [peerOf('tor', '127.0.0.1')]), /^False NoPeer no usable BgpPeer/);
  assert.match(at({ nodeSelector: { matchLabels: { rack: 'c' } } }), /^False NoNode/);
});

test('a session beyond its prefix limit is reported with the limit and the way to restore it', () => {
  const of = (spec: object) => {
    const state = stateOf({ nodes: nodes.slice(0, 1), peers: [peerOf('tor', '10.0.0.254', spec)] });
    const session = { state: 'Idle', reason: 'PrefixLimit', isOverLimit: true } as const;
    return statusOf(state, seen({ '10.0.0.254': session })).peers.get('tor')?.entry;
  };
  const own = of({ maximumPrefixes: { limit: 7, restartSeconds: 60 } });
  assert.equal(own?.reason, 'PrefixLimit');
  assert.match(own.message ?? '', /than the 7 of spec.maximumPrefixes.limit; the session returns after 60 seconds/);
  assert.match(of({ import: { maxPrefixes: 20 } })?.message ?? '', /than the 200 of 10 times spec.import.maxPrefixes/);
  const most = /than 10000, the maximum for a neighbour whose prefixes are imported/;
  const old = of({ import: {}, maximumPrefixes: { limit: 500_000 } })?.message ?? '';
  assert.match(old, most);
  assert.match(old, /spec.maximumPrefixes.limit, 500000, is above it and not in force/);
  assert.match(old, /after 300 seconds, or immediately when the limit is lowered, or import is removed/);
  assert.match(
    of({ import: {}, maximumPrefixes: { limit: 10_000 } })?.message ?? '',
    /than the 10000 of spec.maximumPrefixes.limit/,
  );
});

const address = '10.0.0.254';
const signed = (secrets: SpeakerState['secrets']): SpeakerState =>
  stateOf({ nodes: nodes.slice(0, 1), peers: [peerOf('tor', address, { passwordSecretRef: { name: 's' } })], secrets });

test('an unreadable password is reported, with or without a session', () => {
  const state = signed(new Map([['s', 'missing' as const]]));
  const without = statusOf(state, seen({})).peers.get('tor');
  assert.deepEqual(conditions(without), {
    Accepted: 'False SecretNotFound',
    SecretResolved: 'False SecretNotFound',
    Established: 'False SecretNotFound',
  });
  const going = statusOf(state, seen({ [address]: { state: 'Established' } })).peers.get('tor');
  assert.deepEqual(conditions(going), {
    Accepted: 'True Accepted',
    SecretResolved: 'False SecretNotFound',
    Established: 'True Established',
  });
  assert.match(going?.entry?.message ?? '', /continues unchanged/);
});

test('signatures that the kernel refused are the reason of sessions that are down, by the side that has a password', () => {
  const withOne = signed(new Map([['s', new Map([['password', 'x']])]]));
  const down = seen({ [address]: { state: 'Active' } });
  const reasonOf = (state: SpeakerState, observed: Observed, wrong: boolean, unexpected: boolean) =>
    statusOf(state, observed, {
      wrongMs: wrong ? [1000] : [],
      unexpectedMs: unexpected ? [1000] : [],
      nowMs: 1000,
    }).peers.get('tor')?.entry?.reason;
  assert.equal(reasonOf(withOne, down, true, false), 'AuthenticationFailed');
  assert.equal(reasonOf(withOne, down, false, true), 'NotConnected');
  assert.equal(reasonOf(withSessions(), down, false, true), 'AuthenticationFailed');
  assert.equal(reasonOf(withSessions(), down, true, false), 'NotConnected');
  assert.equal(reasonOf(withOne, seen({ [address]: { state: 'Established' } }), true, true), undefined);
});

test('refused signatures are not blamed on a neighbour that TCP has a connection with, nor on one of several', () => {
  const secrets = new Map([['s', new Map([['password', 'x']])]]);
  const passwordSecretRef = { name: 's' };
  const other = '10.0.0.253';
  const both = [peerOf('tor', address, { passwordSecretRef }), peerOf('tor2', other, { passwordSecretRef })];
  const of = (sessions: Record<string, Partial<ObservedSession> & Pick<ObservedSession, 'state'>>, peers = both) => {
    const state = stateOf({ nodes: nodes.slice(0, 1), peers, secrets });
    const { peers: statuses } = statusOf(state, seen(sessions), { wrongMs: [1000], unexpectedMs: [], nowMs: 1000 });
    return ['tor', 'tor2'].map((name) => statuses.get(name)?.entry?.reason);
  };
  const up = { state: 'Established' } as const;
  assert.deepEqual(of({ [address]: { state: 'Active' }, [other]: up }), ['AuthenticationFailed', undefined]);
  // A frozen neighbour: its kernel accepts connections, but the program does not respond.
  const frozen = { state: 'OpenSent', reason: 'HoldTimerExpired', connectedAtMs: 900 } as const;
  assert.deepEqual(of({ [address]: frozen, [other]: up }), ['HoldTimerExpired', undefined]);
  assert.deepEqual(of({ [address]: { ...frozen, state: 'Idle', connectedAtMs: 1100 }, [other]: up }), [
    'HoldTimerExpired',
    undefined,
  ]);
  assert.deepEqual(of({ [address]: frozen, [other]: { state: 'Active' } }), [
    'HoldTimerExpired',
    'AuthenticationFailed',
  ]);
  assert.deepEqual(of({ [address]: { ...frozen, state: 'Active' }, [other]: { state: 'Active' } }), [
    'HoldTimerExpired',
    'NotConnected',
  ]);
  const state = stateOf({ nodes: nodes.slice(0, 1), peers: both, secrets });
  const down = seen({ [address]: { state: 'Active' }, [other]: { state: 'Active' } });
  const { message } =
    statusOf(state, down, { wrongMs: [1000], unexpectedMs: [], nowMs: 1000 }).peers.get('tor')?.entry ?? {};
  assert.match(message ?? '', /for this session or for tor2: the kernel does not report which/);
});

test('a host that is not a BgpPeer and signs its segments is not blamed on a neighbour without a password', () => {
  const entryOf = (unexpectedMs: readonly number[], heardMs?: ObservedSession['heardMs']) => {
    const lost = {
      state: 'Active',
      reason: 'HoldTimerExpired',
      connectedAtMs: 29_000,
      ...(heardMs && { heardMs }),
    } as const;
    const signatures = { wrongMs: [], unexpectedMs, nowMs: 40_000 };
    return statusOf(withSessions(), seen({ [address]: lost }), signatures).peers.get('tor')?.entry;
  };
  const heard = { from: 0, to: 20_000 };
  const stranger = entryOf([10_000, 35_000], heard);
  assert.equal(stranger?.reason, 'HoldTimerExpired');
  assert.match(
    stranger.message ?? '',
    /for this session or for a host that is not a BgpPeer: the kernel does not report which/,
  );
  // In the hold time before the loss, the neighbour may already have signed its segments.
  assert.equal(entryOf([25_000, 35_000], heard)?.reason, 'AuthenticationFailed');
  assert.equal(entryOf([10_000, 35_000])?.reason, 'AuthenticationFailed');
});

test('a problem of the link is the reason while the session is down, and does not hide a session that is up', () => {
  const address = 'fe80::1%eth1';
  const reasonOf = (code: string, session: Pick<ObservedSession, 'state' | 'reason'>) => {
    const neighbors = { eth1: { address, ownAddress: 'fe80::9%eth1', problem: { code, message: `${code} on eth1` } } };
    const peers = [peerOf('tor', undefined, { interface: 'eth1' })];
    return statusOf(stateOf({ nodes, peers, neighbors }), seen({ [address]: session })).peers.get('tor')?.entry;
  };
  const lost = { state: 'Active', reason: 'HoldTimerExpired' } as const;
  assert.equal(reasonOf('InterfaceDown', lost)?.reason, 'InterfaceDown');
  assert.equal(reasonOf('NoNeighbor', { state: 'Established' })?.reason, undefined);
  const several = reasonOf('SeveralNeighbors', { state: 'Established' });
  assert.deepEqual([several?.state, several?.reason], ['Established', 'SeveralNeighbors']);
  assert.match(several?.message ?? '', /on eth1; the session continues until its present neighbour is gone/);
});

test('a notification in the log of gobgpd is the reason where its API has none', () => {
  const last = {
    reason: 'BadPeerAs',
    message: 'gobgpd ended the session with NOTIFICATION 2/2 (BadPeerAs)',
    isSent: true,
  };
  const entryOf = (session: Pick<ObservedSession, 'state' | 'reason'>) =>
    statusOf(withSessions(), seen({ [address]: session }), undefined, new Map([[address, last]])).peers.get('tor')
      ?.entry;
  assert.equal(entryOf({ state: 'Active' })?.reason, 'BadPeerAs');
  assert.match(entryOf({ state: 'Active' })?.message ?? '', /the neighbour's AS is not 65000/);
  assert.equal(entryOf({ state: 'Idle', reason: 'PrefixLimit' })?.reason, 'PrefixLimit');
  assert.equal(entryOf({ state: 'Established' })?.reason, undefined);
});

test('a notification that ended the session does not explain an OPEN that is refused after it', () => {
  const reasonOf = (reason: string, session: Pick<ObservedSession, 'state' | 'reason'>) => {
    const notifications = new Map([[address, { reason, message: reason, isSent: false }]]);
    return statusOf(withSessions(), seen({ [address]: session }), undefined, notifications).peers.get('tor')?.entry
      ?.reason;
  };
  const refused = { state: 'Idle', reason: 'OpenRefusedByNeighbor' } as const;
  assert.equal(reasonOf('CeaseOtherConfigurationChange', refused), 'OpenRefusedByNeighbor');
  assert.equal(reasonOf('CeaseOtherConfigurationChange', { state: 'Idle' }), 'CeaseOtherConfigurationChange');
  assert.equal(reasonOf('CeaseAdministrativeShutdown', refused), 'CeaseAdministrativeShutdown');
  assert.equal(reasonOf('BadBgpIdentifier', refused), 'BadBgpIdentifier');
});

test("gobgpd's answer to a NOTIFICATION in place of an OPEN is not the reason why the neighbour refuses", () => {
  const reasonOf = (isSent: boolean, session: Pick<ObservedSession, 'state' | 'reason'>) => {
    const reason = 'FiniteStateMachineError';
    const notifications = new Map([[address, { reason, message: reason, isSent }]]);
    return statusOf(withSessions(), seen({ [address]: session }), undefined, notifications).peers.get('tor')?.entry
      ?.reason;
  };
  const refused = { state: 'Idle', reason: 'OpenRefusedByNeighbor' } as const;
  assert.equal(reasonOf(true, refused), 'OpenRefusedByNeighbor');
  assert.equal(reasonOf(false, refused), 'FiniteStateMachineError');
  // No NOTIFICATION came: another message did.
  assert.equal(reasonOf(true, { state: 'Idle', reason: 'OpenRefused' }), 'FiniteStateMachineError');
  assert.equal(reasonOf(true, { state: 'Idle' }), 'FiniteStateMachineError');
});

test('a source address that the node does not have is reported, and does not end a session', () => {
  const peers = [peerOf('tor', '10.0.0.254', { sourceAddress: '10.0.0.77' }), peerOf('self', '10.0.0.99')];
  const at = (ownAddresses: readonly string[] | undefined, session: ObservedSession['state']) => {
    const state = stateOf({ nodes: nodes.slice(0, 1), peers, ...(ownAddresses && { ownAddresses }) });
    const { peers: statuses } = statusOf(state, seen({ '10.0.0.254': { state: session } }));
    const tor = statuses.get('tor');
    return `${tor?.entry?.state} ${conditions(tor)['Accepted']}`;
  };
  assert.equal(at(['10.0.0.1'], 'Active'), 'Refused False SourceAddressNotFound');
  assert.equal(at(['10.0.0.1', '10.0.0.77'], 'Active'), 'Active True Accepted');
  assert.equal(at(['10.0.0.1'], 'Established'), 'Established True Accepted');
  assert.equal(at(undefined, 'Active'), 'Active True Accepted');
  // Any address of the node identifies the node, whether Kubernetes knows the address or not.
  const state = stateOf({ nodes: nodes.slice(0, 1), peers, ownAddresses: ['10.0.0.1', '10.0.0.77', '10.0.0.99'] });
  assert.equal(conditions(statusOf(state, seen({})).peers.get('self'))['Accepted'], 'False OwnAddress');
});

test('refused signatures are not the reason of a session whose messages come through', () => {
  const reasonOf = (reason: string) =>
    statusOf(withSessions(), seen({ [address]: { state: 'Idle', reason } }), {
      wrongMs: [],
      unexpectedMs: [1000],
      nowMs: 1000,
    }).peers.get('tor')?.entry?.reason;
  assert.equal(reasonOf('OpenRefused'), 'OpenRefused');
  assert.equal(reasonOf('PrefixLimit'), 'PrefixLimit');
  assert.equal(reasonOf('HoldTimerExpired'), 'AuthenticationFailed');
});
