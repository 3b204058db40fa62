/** Faults of paths and other clusters, and the cause that the diagnosis must report. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { spoil } from '../../testing-snapshots.ts';
import { tryFault, type Fault, tunnels, noIcmp, pathsAre, phaseIs, gone } from '../../testing-faults.ts';

const faults: readonly Fault[] = [
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
