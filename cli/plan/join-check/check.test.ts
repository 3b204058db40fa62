import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JoinQuestion } from '../../model/join-question.ts';
import { renderJoinReport } from '../../render/join-check.ts';
import { paintFor } from '../../render/paint.ts';
import { controllerOf, goodCluster } from '../../testing-cluster.ts';
import { authority, nowMs, subnetOf, wellPair, type Draft } from '../../testing-snapshots.ts';
import { checkJoin } from './check.ts';

/** North is to join east and west. */
function question(): Draft<JoinQuestion> {
  const { east, west: north } = wellPair();
  const release = (name: string) => controllerOf(name, { isOurs: true, version: '0.1.0' });
  north.label = 'north';
  north.interconnect = undefined;
  north.remotes = [];
  north.subnets = [subnetOf('ovn-default', '10.18.0.0/16')];
  const route = { prefix: '10.17.0.0/16', transitSwitch: 'ts', nextHop: '', state: 'Active' } as const;
  for (const remote of east.remotes) remote.status.routes = [route];
  const surveyed = (snapshot: typeof east, name: string) => ({
    snapshot,
    facts: { ...goodCluster(), label: snapshot.label, controllers: [release(name)] },
    heartbeatMs: nowMs - 3000,
    readMs: nowMs,
  });
  return {
    near: surveyed(north, 'isthmus-interconnect'),
    far: surveyed(east, 'isthmus-hub'),
    token: {
      id: '0123456789abcdef',
      cluster: 'north',
      hub: 'hub.example.com:6650',
      ca: authority,
      expiresMs: nowMs + 600_000,
      replace: false,
      allowedPrefixes: [],
    },
    isSigned: true,
    probe: { outcome: 'answered', authorities: [authority], notBeforeMs: nowMs - 1, notAfterMs: nowMs + 1, tookMs: 3 },
    hub: 'hub.example.com:6650',
    nowMs,
  };
}

type Spoil = (question: Draft<JoinQuestion> & { far: NonNullable<Draft<JoinQuestion>['far']> }) => void;

function codesAfter(spoil: Spoil): readonly string[] {
  const asked = question();
  spoil(asked as Parameters<Spoil>[0]);
  return checkJoin(asked).checks.flatMap(({ problems, warnings }) =>
    [...problems, ...warnings].map(({ code }) => code),
  );
}

const faults: Readonly<Record<string, Spoil>> = {
  TokenExpired: ({ token }) => token && (token.expiresMs = nowMs),
  TokenExpiresSoon: ({ token }) => token && (token.expiresMs = nowMs + 30_000),
  TokenForeign: (asked) => (asked.isSigned = false),
  ClusterNameTaken: ({ far }) =>
    far.snapshot.members.push({ name: 'north', allowedPrefixes: [], maxPrefixes: 1, status: {} }),
  OtherHub: ({ near }) => {
    near.snapshot.interconnect = wellPair().west.interconnect;
    const spec = near.snapshot.interconnect?.spec;
    if (spec !== undefined && 'hub' in spec) spec.hub = 'other:6650';
  },
  HubRefused: (asked) => (asked.probe = { outcome: 'refused', detail: 'ECONNREFUSED' }),
  HubTimeout: (asked) => (asked.probe = { outcome: 'timeout', detail: 'no answer' }),
  HubNotTls: (asked) => (asked.probe = { outcome: 'no-tls', detail: 'wrong version number' }),
  HubAddressInvalid: (asked) => (asked.probe = undefined),
  HubNotTrusted: ({ token }) => token && (token.ca = 'b'.repeat(64)),
  HubCertificateDate: (asked) => {
    if (asked.probe?.outcome === 'answered') asked.probe.notAfterMs = nowMs - 1;
  },
  ClocksApart: ({ near }) => (near.heartbeatMs = nowMs + 61_000),
  AgentMissing: ({ near }) => {
    near.facts.controllers = [];
    near.snapshot.lease = undefined;
  },
  AgentNewer: ({ near }) =>
    (near.facts.controllers = [controllerOf('isthmus-interconnect', { isOurs: true, version: '0.2.0' })]),
  AgentTooOld: ({ far }) => (far.facts.controllers = [controllerOf('isthmus-hub', { isOurs: true, version: '0.3.0' })]),
  NotAllowed: ({ token }) => token && (token.allowedPrefixes = ['10.20.0.0/16', '10.18.0.0/17']),
  NoGateway: ({ near }) => near.snapshot.nodes.forEach((node) => (node.labels = {})),
  OneGateway: ({ near }) => near.snapshot.nodes.slice(1).forEach((node) => (node.labels = {})),
  SameAddress: ({ near, far }) =>
    ((near.snapshot.nodes[0] as { addresses: string[] }).addresses = [...(far.snapshot.nodes[0]?.addresses ?? [])]),
  PortTaken: ({ near }) =>
    (near.facts.portHolders = [
      {
        namespace: 'x',
        name: 'y',
        node: near.snapshot.nodes[0]?.name ?? '',
        isOurs: false,
        ports: [{ protocol: 'UDP', port: 6081 }],
      },
    ]),
  MtuDiffers: ({ near }) => near.snapshot.gateways.forEach(({ status }) => (status.wantedMTU = 9000)),
};

describe('the check before a join', () => {
  it('passes where nothing is wrong, and says that the port of tunnels is not tested', () => {
    const report = checkJoin(question());
    assert.deepEqual(
      report.checks.map(({ name, state }) => `${name} ${state}`),
      [
        'token ok',
        'name ok',
        'hub ok',
        'clocks ok',
        'releases ok',
        'networks of pods ok',
        'networks of Services ok',
        'clusterSetCIDR ok',
        'gateways ok',
        'tunnels unknown',
        'MTU ok',
      ],
    );
    assert.equal(report.isWell, true);
    assert.match(renderJoinReport(report, paintFor(false)), /tunnels +unknown +not tested: allow udp port 6081/);
  });

  for (const [code, spoil] of Object.entries(faults))
    it(`finds ${code}, and nothing else`, () => assert.deepEqual(codesAfter(spoil), [code]));

  it('finds every overlap: with the other cluster, with members that it knows, of Services on both sides, of imports', () => {
    const with16 =
      (cidr: string): Spoil =>
      ({ near }) =>
        (near.snapshot.subnets = [subnetOf('web', cidr)]);
    assert.deepEqual(codesAfter(with16('10.16.128.0/17')), ['NetworksOverlap'], 'of east itself');
    assert.deepEqual(codesAfter(with16('10.0.0.0/8')), ['NetworksOverlap', 'NetworksOverlap', 'ServicesOverlap']);
    assert.deepEqual(codesAfter(with16('10.96.128.0/17')), ['ServicesOverlap'], 'Services of east');
    assert.deepEqual(codesAfter(with16('100.127.1.0/24')), ['ClusterSetOverlap']);
    const here: Spoil = ({ near }) => (near.facts.serviceRanges = { cidrs: ['10.17.0.0/20'], isKnown: true });
    assert.deepEqual(codesAfter(here), ['ServicesOverlap'], 'Services here with a member');
    const one: Spoil = ({ near }) => {
      near.facts.serviceRanges = { cidrs: [], isKnown: false };
      near.facts.serviceAddresses = [{ service: 'a/b', address: '10.17.0.9' }];
    };
    assert.deepEqual(codesAfter(one), ['ServicesOverlap'], 'a Service before ServiceCIDRs');
    const withheld: Spoil = ({ near }) =>
      (near.snapshot.subnets = [subnetOf('web', '10.16.0.0/16', { isDisabled: true })]);
    assert.deepEqual(codesAfter(withheld), []);
  });

  it('says what is unknown with a token alone', () => {
    const asked = question();
    asked.far = undefined;
    asked.near.heartbeatMs = undefined;
    const { checks, isWell } = checkJoin(asked);
    const unknown = checks.filter(({ state }) => state === 'unknown').map(({ name }) => name);
    assert.deepEqual(unknown, ['clocks', 'releases', 'networks of pods', 'tunnels', 'MTU']);
    assert.equal(isWell, true);
  });
});

describe('networks of pods before a join', () => {
  const stateAfter = (spoil: Spoil) => {
    const asked = question();
    spoil(asked as Parameters<Spoil>[0]);
    return checkJoin(asked).checks.find(({ name }) => name === 'networks of pods')?.state;
  };

  it('are unknown where the prefixes of members may not be read, or where the other cluster is no member', () => {
    const forbidden = { code: 'Forbidden', what: 'remoteclusters', message: '' };
    assert.equal(
      stateAfter(() => undefined),
      'ok',
    );
    assert.equal(
      stateAfter(({ far }) => far.snapshot.unreadable.push(forbidden)),
      'unknown',
    );
    assert.equal(
      stateAfter(({ near }) => near.snapshot.unreadable.push({ ...forbidden, what: 'subnets' })),
      'unknown',
    );
    assert.equal(
      stateAfter(({ far }) => (far.snapshot.interconnect = undefined)),
      'unknown',
    );
  });

  it('of a successor do not overlap those of the member whose name it takes', () => {
    const takes = ({ near, far, token }: Parameters<Spoil>[0]) => {
      for (const remote of far.snapshot.remotes) remote.name = 'north';
      if (token !== undefined) token.replace = true;
      near.snapshot.subnets = far.snapshot.remotes.length > 0 ? [subnetOf('ovn-default', '10.17.0.0/16')] : [];
    };
    assert.equal(stateAfter(takes), 'ok');
  });
});
