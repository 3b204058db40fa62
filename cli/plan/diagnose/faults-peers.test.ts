/** Faults of paths and other clusters, and the cause that the diagnosis must report. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { spoil, type Pair } from '../../testing-snapshots.ts';
import { tryFault, type Fault, tunnels, noIcmp, pathsAre, phaseIs, gone, unheard } from '../../testing-faults.ts';

/** All tunnels of a pair are encrypted. */
function encrypt({ east, west }: Pair): void {
  for (const [side, place] of [
    [east, 1],
    [west, 2],
  ] as const) {
    const [remote] = side.remotes;
    for (const [at, { status }] of side.gateways.entries())
      status.wireGuard = {
        guarded: true,
        publicKey: 'key',
        endpoints: [`192.0.2.${place}${at + 1}:51820`],
        peers: (status.tunnels ?? []).map(({ chassis, address }) => ({
          chassis,
          session: 'Up',
          endpoint: `${address}:51820`,
        })),
      };
    if (remote === undefined) continue;
    remote.status.encryption = 'required';
    remote.status.conditions?.push({ type: 'Encrypted', status: 'True', reason: 'Encrypted', message: 'all' });
    for (const gateway of remote.status.gateways ?? [])
      Object.assign(gateway, { encrypted: true, endpoints: [`${gateway.address}:51820`] });
  }
}

function notEncrypted(pair: Pair, mode: 'preferred' | 'required', reason: string, message: string): void {
  encrypt(pair);
  const status = pair.east.remotes[0]?.status;
  assert.ok(status);
  status.encryption = mode;
  for (const condition of status.conditions ?? [])
    if (condition.type === 'Encrypted') Object.assign(condition, { status: 'False', reason, message });
}

const faults: readonly Fault[] = [
  {
    name: 'the port of WireGuard is blocked',
    make: (pair) => {
      encrypt(pair);
      tunnels(pair.east, gone);
      tunnels(pair.west, gone);
    },
    code: 'WireGuardBlocked',
    says: /nothing arrives from the other end: udp between 192\.0\.2\.11:51820 and 192\.0\.2\.21:51820, .* is dropped/,
  },
  {
    name: 'packets of WireGuard pass in one direction only',
    make: (pair) => {
      encrypt(pair);
      tunnels(pair.east, unheard);
      tunnels(pair.west, gone);
    },
    code: 'WireGuardBlocked',
    says: /packets of east do not arrive at the other end/,
  },
  {
    name: 'a gateway there has no key, and encryption is required',
    make: (pair) => notEncrypted(pair, 'required', 'PeerHasNoKey', 'gateway w1 of west has no WireGuard key'),
    code: 'PeerHasNoKey',
    says: /not all encrypted \(required\): gateway w1 of west has no WireGuard key/,
  },
  {
    name: 'a gateway there has no key, and encryption is preferred',
    make: (pair) => notEncrypted(pair, 'preferred', 'PeerHasNoKey', 'gateway w1 of west has no WireGuard key'),
    code: 'PeerHasNoKey',
    says: /\(preferred\)/,
    as: 'warning',
  },
  {
    name: 'there is no handshake',
    make: (pair) => {
      notEncrypted(pair, 'preferred', 'NoHandshake', 'let UDP pass between 192.0.2.11:51820 and 192.0.2.21:51820');
      tunnels(pair.east, gone);
    },
    code: 'NoHandshake',
    says: /192\.0\.2\.11:51820 and 192\.0\.2\.21:51820/,
  },
  {
    name: 'every gateway is drained',
    make: ({ east }) => {
      for (const gateway of east.gateways) gateway.isDrained = true;
      spoil(east, 'GatewaysReady', 'AllDrained', 'every gateway is drained');
    },
    code: 'AllDrained',
    says: /every gateway of east is drained \(e1, e2\)/,
  },
  {
    name: 'every gateway of the other side is drained',
    make: ({ west }) => {
      for (const gateway of west.gateways) gateway.isDrained = true;
    },
    code: 'AllDrained',
    says: /every gateway of west/,
  },
  {
    name: 'a path waits for the end of its hold-down',
    make: ({ east }) => pathsAre(east, 'HoldDown', 'HoldDown'),
    code: 'PathHoldDown',
    says: /has recovered, but not long enough ago/,
    as: 'warning',
  },
  {
    name: 'a path moves',
    make: ({ east }) => pathsAre(east, 'Moving', 'FailedOver'),
    code: 'PathMoving',
    says: /ts\/0 from east to west/,
    as: 'warning',
  },
  {
    name: 'a path is drained',
    make: ({ east }) => pathsAre(east, 'Draining', 'RemoteDrain'),
    code: 'PathDraining',
    says: /RemoteDrain/,
    as: 'warning',
  },
  {
    name: 'a path waits for the hub to move',
    make: ({ east }) => spoil(east, 'GatewaysReady', 'WaitingForHub', 'path ts: the hub has not taken it up yet'),
    code: 'WaitingForHub',
    says: /path ts/,
  },
  {
    name: 'no gateway holds a port',
    make: ({ east }) => {
      for (const path of east.transitSwitches[0]?.status.paths ?? [])
        Object.assign(path, { holder: '', state: 'Unclaimed' });
      spoil(east, 'GatewaysReady', 'NotClaimed', 'no gateway has taken the port on ts, ts1 yet');
    },
    code: 'NotClaimed',
    says: /no gateway of east holds the port of ts\/0, ts\/1/,
  },
  {
    name: 'the other cluster is not known',
    make: ({ east }) => (east.remotes = []),
    code: 'PeerUnknown',
    says: /east knows no cluster west/,
  },
  {
    name: 'the other cluster has no gateway',
    make: ({ east }) =>
      phaseIs(
        east,
        'Joining',
        'NoGateway',
        'west has no gateway: it cannot be reached until one of its nodes is a gateway',
      ),
    code: 'NoGateway',
    says: /west has no gateway/,
    isAlone: true,
  },
  {
    name: 'the other cluster is dead: no session, no tunnel',
    make: ({ east }) => {
      tunnels(east, gone);
      noIcmp(east);
      phaseIs(
        east,
        'Unreachable',
        'AllPathsDown',
        'the tunnels to all gateways of west are down; and the hub has no session with it',
      );
    },
    code: 'UnderlayUnreachable',
    says: /west/,
    isAlone: true,
  },
  {
    name: 'the other cluster runs plain ovn-ic',
    make: ({ east }) => {
      const status = east.remotes[0]?.status;
      assert.ok(status);
      status.foreign = true;
    },
    code: 'PlainOvnIc',
    says: /west runs plain ovn-ic/,
    as: 'warning',
    isAlone: true,
  },
];

describe('faults of paths and peers', () => {
  for (const fault of faults) it(fault.name, () => tryFault(fault));
});
