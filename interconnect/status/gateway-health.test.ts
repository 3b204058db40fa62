import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayProgram, GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';
import { gateway, local, network, ownPath, west } from '../model/testing.ts';
import { renderGateway, peersOf } from './gateway.ts';
import { renderInterconnect } from './interconnect.ts';
import { renderRemoteCluster } from './remote-cluster.ts';
import type { Situation } from './situation.ts';
import { renderTransitSwitch } from './transit-switch.ts';

import { at, conditionsOf, gatewayObject, situation, stateOf } from './testing.ts';

describe('a gateway whose node is silent, or of which others report', () => {
  const alone = { ...local, gatewayNodes: local.gatewayNodes.slice(0, 1) };
  const silent = new Map([['n1', at]]);
  const behind = new Map([['n1', 0]]);
  const unreachedBy = new Set(['west']);
  const withSilent = (programs: readonly GatewayProgram[]) => (chassis: string) =>
    chassis === 'a1' ? gatewayObject('a1', { status: { chassis, silentPrograms: [...programs] } }) : undefined;
  const heardBy = (state: GatewayTunnel['state']) => (chassis: string) =>
    gatewayObject(
      chassis,
      chassis === 'a2' ? { siblingTunnels: [{ chassis: 'a1', address: '172.30.1.11', state }] } : {},
    );
  const all = (fields: Partial<Situation>) => {
    const facts = situation(stateOf(), fields);
    const own = conditionsOf(renderInterconnect(facts, {}, 1));
    const object = conditionsOf(renderGateway('n1', gatewayObject('a1'), facts, peersOf(facts)));
    const remote = renderRemoteCluster(west, stateOf(), facts, {});
    return {
      ready: own['Ready'],
      gateways: own['GatewaysReady'],
      converged: own['RoutesConverged'],
      gateway: object['Ready'],
      phase: remote.phase,
      path: remote.paths?.[0]?.state,
    };
  };

  it('is Unknown if only its daemon is silent, with no other change while other clusters reach this one', () => {
    const found = all({ silent });
    assert.deepEqual(found, {
      ready: 'True',
      gateways: 'Unknown DaemonSilent',
      converged: 'True',
      gateway: 'Unknown DaemonSilent',
      phase: 'Degraded',
      path: 'Unknown',
    });
    assert.equal(all({ silent, local: alone }).ready, 'True', 'the only one');
    assert.equal(
      all({ silent, local: alone, members: new Map() }).ready,
      'Unknown DaemonSilent',
      'no other report exists',
    );
    const link = { ...situation().link, isConnected: false };
    assert.equal(all({ silent, local: alone, link }).ready, 'Unknown DaemonSilent', 'without the hub no word is heard');
    const old = all({ silent, local: alone, unreachedBy: undefined });
    assert.equal(old.ready, 'Unknown DaemonSilent', 'an older hub passes no word on');
    assert.equal(old.path, 'Unknown');
  });
  it('is down if it is the only one and every other cluster reports this cluster unreachable', () => {
    const found = all({ silent, local: alone, unreachedBy });
    assert.deepEqual(found, {
      ready: 'False GatewayDown',
      gateways: 'False GatewayDown',
      converged: 'False GatewayDown',
      gateway: 'False GatewayDown',
      phase: 'Degraded',
      path: 'Down',
    });
  });
  it('is judged by its siblings’ tunnels, whatever other clusters report', () => {
    assert.equal(all({ silent, gatewayOf: heardBy('down') }).gateway, 'False GatewayDown');
    assert.equal(all({ silent, gatewayOf: heardBy('up'), unreachedBy }).gateway, 'Unknown DaemonSilent');
    assert.equal(all({ silent, behind, gatewayOf: heardBy('up') }).gateway, 'Unknown DaemonSilent');
    assert.equal(all({ behind, gatewayOf: heardBy('down') }).gateway, 'False GatewayDown');
    assert.equal(all({ behind, gatewayOf: heardBy('up') }).gateway, 'True');
  });
  it('has a status that names the program its daemon reports as silent', () => {
    const cases = [
      ['ovs-vswitchd', 'VswitchdDown', 'Down'],
      ['ovsdb-server', 'OvsdbServerDown', 'Unknown'],
      ['ovn-controller', 'OvnControllerDown', 'Up'],
    ] as const;
    for (const [program, code, path] of cases) {
      const found = all({ gatewayOf: withSilent([program]), behind, local: alone });
      const { ready, gateways, converged, gateway } = found;
      assert.deepEqual(new Set([ready, gateways, converged, gateway]), new Set([`False ${code}`]), program);
      assert.equal(found.path, path, program);
      assert.equal(all({ gatewayOf: withSilent([program]) }).ready, 'True', 'there is another gateway');
    }
  });
  it('is made no gateway by a daemon that is silent: that is what follows, and not the cause', () => {
    const chassis = new Map([
      ...local.chassis,
      ['a1', { gateway: gateway('a1', '172.30.1.11'), isInterconnect: false }],
    ]);
    const found = all({ silent, local: { ...local, chassis } });
    assert.deepEqual([found.gateway, found.gateways], ['Unknown DaemonSilent', 'Unknown DaemonSilent']);
    assert.equal(all({ local: { ...local, chassis } }).gateway, 'False NotInterconnect');
  });
  it('is not what its daemon said last, once that is silent', () => {
    assert.equal(all({ silent, gatewayOf: withSilent(['ovn-controller']) }).gateway, 'Unknown DaemonSilent');
  });
  it('makes a cluster unreachable by its own report, if no daemon of this cluster measures', () => {
    const both = new Map([...silent, ['n2', at]]);
    const gatewayOf = heardBy('unknown');
    assert.equal(all({ silent: both, gatewayOf }).phase, 'Degraded');
    const found = all({ silent: both, gatewayOf, unreachedBy });
    assert.deepEqual([found.phase, found.path], ['Unreachable', 'Down']);
    assert.equal(all({ unreachedBy }).phase, 'Ready', 'what is measured here counts more');
  });
  it('reports a transit switch that no other gateway holds', () => {
    const held = network([ownPath(0, { holder: 'a1' }), ownPath(1, { holder: 'a1' })]);
    const facts = situation(stateOf(), { silent, networks: new Map([['ts', held]]) });
    assert.equal(conditionsOf(renderTransitSwitch('ts', facts, {}, 1))['Ready'], 'Unknown DaemonSilent');
  });
});
