/** Faults of membership, hub and databases, and the cause that the diagnosis must report. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nowMs, spoil } from '../../testing-snapshots.ts';
import { tryFault, type Fault, hubReports, phaseIs, ovnOf } from '../../testing-faults.ts';

const faults: readonly Fault[] = [
  {
    name: 'this cluster has never joined',
    make: ({ east }) => (east.interconnect = undefined),
    code: 'NotAMember',
    says: /no Interconnect "default"/,
  },
  {
    name: 'the agent is dead',
    make: ({ east }) =>
      (east.lease = { holder: 'agent-0', renewedMs: nowMs - 40_000, durationMs: 15_000, movement: 'still' }),
    code: 'AgentNotRunning',
    says: /does not renew its lease \(age 40 s\)/,
  },
  {
    name: 'the agent has never run, its pod cannot start',
    make: ({ east }) => {
      east.lease = undefined;
      east.workloads = [
        {
          component: 'isthmus-interconnect',
          pod: 'isthmus-interconnect-x',
          node: 'e3',
          isReady: false,
          reason: 'ImagePullBackOff',
        },
      ];
    },
    code: 'AgentNotRunning',
    says: /ImagePullBackOff/,
  },
  {
    name: 'the agent of the other side is dead',
    make: ({ east, west }) => {
      west.lease = { holder: 'agent-0', renewedMs: nowMs - 40_000, durationMs: 15_000, movement: 'still' };
      phaseIs(east, 'Stale', 'NoSession', 'west has no session with the hub; its last known routes remain');
    },
    code: 'PeerStale',
    says: /west has no session with the hub, last seen 10m ago/,
    isAlone: true,
  },
  {
    name: 'the hub is down',
    make: ({ east }) => {
      spoil(
        east,
        'HubReachable',
        'HubUnreachable',
        'the hub at hub.example.com:6650 did not answer: connect ECONNREFUSED 192.0.2.99:6650',
      );
      east.probe = { outcome: 'refused', detail: 'connect ECONNREFUSED 192.0.2.99:6650' };
    },
    code: 'HubDown',
    says: /nothing listens there .*ECONNREFUSED/,
  },
  {
    name: 'the hub is down, and only the agent can tell',
    make: ({ east }) =>
      hubReports(
        east,
        'the hub did not answer: No connection established. Last error: connect ECONNREFUSED 192.0.2.99:6650',
      ),
    code: 'HubDown',
    says: /nothing listens/,
  },
  {
    name: 'the hub is frozen',
    make: ({ east }) => {
      spoil(
        east,
        'HubReachable',
        'HubUnreachable',
        'the hub at hub.example.com:6650 did not answer: Deadline exceeded',
      );
      east.probe = { outcome: 'no-tls', detail: 'the connection opens, but no TLS handshake within 3000 ms' };
    },
    code: 'HubFrozen',
    says: /accepts connections but does not respond/,
  },
  {
    name: 'a firewall drops what goes to the hub',
    make: ({ east }) => {
      spoil(
        east,
        'HubReachable',
        'HubUnreachable',
        'the hub at hub.example.com:6650 did not answer: Deadline exceeded',
      );
      east.probe = { outcome: 'timeout', detail: 'no answer to the connection within 3000 ms' };
    },
    code: 'HubUnreachable',
    says: /cannot be reached/,
  },
  {
    name: 'only the agent cannot reach the hub',
    make: ({ east }) =>
      spoil(
        east,
        'HubReachable',
        'HubUnreachable',
        'the hub at hub.example.com:6650 did not answer: Deadline exceeded',
      ),
    code: 'HubUnreachableFromAgent',
    says: /answers here, but not the agent/,
  },
  {
    name: 'the name of the hub does not resolve',
    make: ({ east }) =>
      hubReports(east, 'the hub did not answer: Name resolution failed for target dns:hub.example.com:6650'),
    code: 'HubNameUnresolved',
    says: /does not resolve/,
  },
  {
    name: 'the hub was recreated: another authority',
    make: ({ east }) => {
      hubReports(
        east,
        'the hub did not answer: No connection established. Last error: self-signed certificate in certificate chain',
      );
      east.probe = {
        outcome: 'answered',
        authorities: ['c'.repeat(64)],
        notBeforeMs: nowMs - 1000,
        notAfterMs: nowMs + 1000,
        tookMs: 3,
      };
    },
    code: 'HubNotTrusted',
    says: /expected by east: authority aaaaaaaaaaaa…, met from here: cccccccccccc…/,
  },
  {
    name: 'the hub was recreated: its Secret has another authority',
    make: ({ east, west }) => {
      hubReports(east, 'the hub did not answer: unable to verify the first certificate');
      west.authority = 'd'.repeat(64);
      west.members = [{ name: 'east', allowedPrefixes: [], maxPrefixes: 10_000, status: {} }];
    },
    code: 'HubNotTrusted',
    says: /that of the hub in west is dddddddddddd…/,
  },
  {
    name: 'the token pins another hub',
    make: ({ east }) => {
      east.identity = undefined;
      const message =
        'the server at hub.example.com:6650 is not the hub that created the token; check the address, and that nothing intercepts the connection';
      spoil(east, 'Joined', 'HubNotTrusted', message);
      spoil(east, 'HubReachable', 'HubNotTrusted', message);
    },
    code: 'HubNotTrusted',
    says: /./,
  },
  ...(
    [
      ['TokenMissing', 'no Secret with the token'],
      ['TokenMalformed', 'this is no join token'],
      ['TokenExpired', 'join token 0123 expired'],
      ['TokenRedeemed', 'join token 0123 was already redeemed with another key'],
      ['TokenSpent', 'join token 0123 belongs to a membership that has ended'],
      ['TokenForeign', 'the token for east was not made by this hub'],
      ['TokenForOtherCluster', 'the join token is for cluster "west", this is "east"'],
      ['ClusterNameTaken', 'cluster east has joined already with another key'],
      ['NotAMember', 'the hub knows no member east'],
    ] as const
  ).map(([code, message]): Fault => ({
    name: `the hub or the agent refuses: ${code}`,
    make: ({ east }) => {
      east.identity = undefined;
      spoil(east, 'Joined', code, message);
      spoil(east, 'HubReachable', code, message);
    },
    code,
    says: new RegExp(message),
  })),
  {
    name: 'the certificate has expired',
    make: ({ east }) => {
      assert.ok(east.identity && 'notAfterMs' in east.identity);
      east.identity.notAfterMs = nowMs - 86_400_000;
      spoil(
        east,
        'HubReachable',
        'CertificateInvalid',
        'the hub requires a valid member certificate that it issued itself',
      );
    },
    code: 'CertificateExpired',
    says: /expired at 2026-02-28T12:00:00Z/,
  },
  {
    name: 'the clock of the hub is ahead: the certificate is not valid yet',
    make: ({ east }) => {
      assert.ok(east.identity && 'notBeforeMs' in east.identity);
      east.identity.notBeforeMs = nowMs + 3_600_000;
      hubReports(east, 'the hub did not answer: certificate is not yet valid');
    },
    code: 'CertificateNotYetValid',
    says: /not valid before 2026-03-01T13:00:00Z/,
  },
  {
    name: 'the clock of the agent is behind',
    make: ({ east }) =>
      (east.lease = { holder: 'agent-0', renewedMs: nowMs - 900_000, durationMs: 15_000, movement: 'moving' }),
    code: 'ClockSkew',
    says: /900 s behind/,
  },
  {
    name: 'the IC databases are frozen, this cluster’s own are not',
    make: ({ east }) => {
      spoil(east, 'RoutesConverged', 'InProgress', 'changes are on their way to the hub or the databases');
      east.ovn = ovnOf();
    },
    code: 'HubDatabasesStuck',
    says: /IC databases are frozen, read-only or without a leader/,
  },
  {
    name: 'the databases of the hub do not answer it',
    make: ({ east }) =>
      spoil(
        east,
        'HubDatabasesReady',
        'HubDatabasesStuck',
        'databases do not answer the hub: OVN_IC_Southbound since 2026-03-01T11:59:50.000Z: they are frozen',
      ),
    code: 'HubDatabasesStuck',
    says: /OVN_IC_Southbound since/,
  },
  {
    name: 'a change waits for the databases of the hub, and no session is left that could tell',
    make: ({ east }) =>
      spoil(
        east,
        'RoutesConverged',
        'HubDatabasesStuck',
        'changes wait for the hub, because databases do not answer it',
      ),
    code: 'HubDatabasesStuck',
    says: /changes wait for the hub/,
  },
  ...(
    [
      ['NorthboundSilent', 'the northbound database of this cluster has not answered'],
      ['SouthboundSilent', 'the southbound database of this cluster has not answered'],
      ['NorthdStuck', 'ovn-northd of this cluster has processed no changes'],
      ['OvnControllerStuck', 'ovn-controller of gateway e1 has processed no changes'],
    ] as const
  ).map(([code, message]): Fault => ({
    name: `the agent found that its OVN stands still: ${code}`,
    make: ({ east }) => spoil(east, 'RoutesConverged', code, message),
    code,
    says: new RegExp(message),
  })),
  {
    name: 'nothing is taken up, and the databases were not asked',
    make: ({ east }) =>
      spoil(east, 'RoutesConverged', 'InProgress', 'changes are on their way to the hub or the databases'),
    code: 'InProgress',
    says: /hub or the databases/,
  },
  {
    name: 'a write is refused: the database is read-only',
    make: ({ east }) =>
      spoil(east, 'RoutesConverged', 'WriteRefused', 'the northbound database refused: not allowed, read only'),
    code: 'WriteRefused',
    says: /read only/,
  },
  {
    name: 'what is offered here has not been received there',
    make: ({ west, east }) => {
      assert.ok(west.remotes[0]);
      Object.assign(west.remotes[0].status, { routes: [], routesActive: 0 });
      east.members = [];
    },
    code: 'NotLearned',
    says: /west has not received 10\.16\.0\.0\/16 of east/,
  },
  {
    name: 'leaving waits for the hub',
    make: ({ east }) => {
      assert.ok(east.interconnect);
      east.interconnect.isDeleting = true;
    },
    code: 'Leaving',
    says: /isthmus\.network\/interconnect/,
  },
];

describe('faults of membership, hub and databases', () => {
  for (const fault of faults) it(fault.name, () => tryFault(fault));
});
