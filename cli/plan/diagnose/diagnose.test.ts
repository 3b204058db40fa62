import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nowMs, spoil, wellPair } from '../../testing-snapshots.ts';
import { diagnose } from './diagnose.ts';
import { gone, hubReports, pathsAre, phaseIs, tunnels, unheard } from '../../testing-faults.ts';

describe('the diagnosis', () => {
  it('an open session takes precedence over the probe of the address from here', () => {
    const { east } = wellPair();
    for (const authorities of [[], ['c'.repeat(64)]]) {
      east.probe = {
        outcome: 'answered',
        authorities,
        notBeforeMs: nowMs + 9000,
        notAfterMs: nowMs + 99_000,
        tookMs: 3,
      };
      assert.deepEqual(diagnose({ near: east, far: undefined, peer: undefined }).causes, []);
    }
    east.probe = { outcome: 'refused', detail: 'connect ECONNREFUSED' };
    assert.deepEqual(diagnose({ near: east, far: undefined, peer: undefined }).causes, []);
  });

  it('the status of the agent takes precedence over the probe of the address from here', () => {
    const { east } = wellPair();
    const message =
      'the hub did not answer: No connection established. Last error: connect ECONNREFUSED 192.0.2.99:6650';
    spoil(east, 'HubReachable', 'HubUnreachable', message);
    east.probe = {
      outcome: 'answered',
      authorities: ['c'.repeat(64)],
      notBeforeMs: 0,
      notAfterMs: nowMs + 99_000,
      tookMs: 3,
    };
    assert.deepEqual(
      diagnose({ near: east, far: undefined, peer: undefined }).causes.map(({ code }) => code),
      ['HubDown'],
    );
    spoil(east, 'HubReachable', 'HubUnreachable', 'the hub did not answer: Deadline exceeded');
    assert.deepEqual(
      diagnose({ near: east, far: undefined, peer: undefined }).causes.map(({ code }) => code),
      ['HubSilent'],
    );
  });

  it('finds nothing in a healthy pair, from one side and from both', () => {
    const { east, west } = wellPair();
    for (const far of [undefined, west]) {
      const found = diagnose({ near: east, far, peer: far === undefined ? undefined : 'west' });
      assert.deepEqual([found.causes, found.consequences, found.warnings], [[], [], []]);
      assert.equal(found.isWell, true);
      assert.ok(
        found.steps.every(({ state }) => state === 'ok'),
        JSON.stringify(found.steps),
      );
    }
  });

  it('distinguishes causes from consequences', () => {
    const { east } = wellPair();
    tunnels(east, unheard);
    pathsAre(east, 'Down', 'TunnelDown');
    phaseIs(east, 'Unreachable', 'AllPathsDown', 'the tunnels to all gateways of west are down');
    const found = diagnose({ near: east, far: undefined, peer: 'west' });
    assert.deepEqual(
      found.causes.map(({ code }) => code),
      ['TunnelBlockedOutgoing'],
    );
    assert.deepEqual(
      found.consequences.map(({ code }) => code),
      ['PeerUnreachable', 'PathDown', 'PathDown'],
    );
    assert.equal(found.steps.find(({ id }) => id === 'paths')?.because, 'tunnels');
  });

  it('keeps two independent faults apart', () => {
    const { east } = wellPair();
    hubReports(east, 'connect ECONNREFUSED 192.0.2.99:6650');
    tunnels(east, unheard, 'w1');
    const found = diagnose({ near: east, far: undefined, peer: undefined });
    assert.deepEqual(
      found.causes.map(({ code }) => code),
      ['HubDown', 'TunnelBlockedOutgoing'],
    );
  });

  it('examines one cluster if one is named', () => {
    const { east } = wellPair();
    tunnels(east, gone);
    east.remotes = [...east.remotes, { name: 'north', status: { phase: 'Ready', routesActive: 1 }, prefixes: [] }];
    assert.equal(diagnose({ near: east, far: undefined, peer: 'north' }).isWell, true);
    assert.equal(diagnose({ near: east, far: undefined, peer: undefined }).isWell, false);
  });

  it('reports unknown where it may not read, and finds no fault in that', () => {
    const { east } = wellPair();
    const kinds = ['leases', 'nodes', 'interconnectgateways', 'transitswitches', 'remoteclusters', 'subnets', 'vpcs'];
    const unreadable = kinds.map((what) => ({ code: 'Forbidden', what, message: `no permission to read ${what}` }));
    const none = { nodes: [], gateways: [], transitSwitches: [], remotes: [], subnets: [], vpcs: [] };
    const blind = { ...east, ...none, lease: undefined, unreadable };
    const found = diagnose({ near: blind, far: undefined, peer: 'west' });
    assert.deepEqual([found.causes, found.warnings], [[], []]);
    const open = found.steps.filter(({ state }) => state === 'unknown').map(({ id }) => id);
    assert.deepEqual(open, ['agent', 'gateway-nodes', 'reports', 'transit', 'peer', 'offer']);
    assert.equal(found.unreadable.length, kinds.length);
  });
});
