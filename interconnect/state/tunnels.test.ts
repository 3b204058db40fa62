import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { GatewayObject } from '../model/objects.ts';
import { Tunnels } from './tunnels.ts';

const tunnel = (chassis: string, since: string, state: GatewayTunnel['state'] = 'up'): GatewayTunnel => ({
  chassis,
  address: '192.0.2.1',
  state,
  since: `2026-01-01T00:00:${since}.000Z`,
});

function gateway(
  chassis: string,
  tunnels: readonly GatewayTunnel[],
  siblings: readonly GatewayTunnel[],
): GatewayObject {
  return {
    uid: chassis,
    isDeleting: false,
    finalizers: [],
    isMadeByAgent: true,
    isDrained: false,
    status: { chassis },
    tunnels: [...tunnels],
    probes: [],
    siblingTunnels: [...siblings],
    checkedAt: undefined,
  };
}

const at = (seconds: number): number => Date.UTC(2026, 0, 1, 0, 0, seconds);

describe('when a gateway was last seen to come up', () => {
  it('is reported by its own daemon', () => {
    const tunnels = new Tunnels();
    tunnels.set(
      'n1',
      undefined,
      gateway('a1', [tunnel('b1', '10'), tunnel('b2', '20'), tunnel('b3', '30', 'down')], []),
    );
    assert.equal(tunnels.upSinceMs('a1'), at(20));
  });

  it('is reported by the other gateways where its daemon died with it', () => {
    const tunnels = new Tunnels();
    tunnels.set('n1', undefined, gateway('a1', [tunnel('b1', '10')], [tunnel('a2', '10')]));
    tunnels.set('n2', undefined, gateway('a2', [tunnel('b1', '10')], [tunnel('a1', '40')]));
    assert.equal(tunnels.upSinceMs('a1'), at(40));
    assert.equal(tunnels.upSinceMs('a2'), at(10));
  });

  it('is unknown while no gateway hears it', () => {
    const tunnels = new Tunnels();
    tunnels.set('n1', undefined, gateway('a1', [tunnel('b1', '10', 'down')], []));
    tunnels.set('n2', undefined, gateway('a2', [], [tunnel('a1', '40', 'down')]));
    assert.equal(tunnels.upSinceMs('a1'), undefined);
  });
});
