import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayReport, TunnelReport } from '../model/tunnels.ts';
import { takeoverProblem, type TakeoverFacts } from './takeover.ts';

const tunnel = (chassis: string, state: TunnelReport['state'] = 'up'): TunnelReport => ({ chassis, state, sinceMs: 0 });
const report = (
  chassis: string,
  tunnels: readonly TunnelReport[],
  siblings: readonly TunnelReport[],
): GatewayReport => ({
  chassis,
  tunnels,
  siblings,
});
const all = ['b1', 'b2'].map((chassis) => tunnel(chassis));

const path = { switch: 'ts', order: ['a1', 'a2'], holder: 'a1' };

function codeOf(
  { order = path.order, holder = path.holder }: { order?: readonly string[]; holder?: string },
  reports: readonly GatewayReport[],
  fields: Partial<TakeoverFacts> = {},
): string | undefined {
  const known = new Map(reports.map((one) => [one.chassis, one]));
  const facts: TakeoverFacts = {
    reportOf: (chassis) => known.get(chassis) ?? report(chassis, [], []),
    isDead: () => false,
    isStuck: () => false,
    witnesses: new Set(['a1', 'a2', 'b1', 'b2']),
    isPlainNode: () => false,
    ...fields,
  };
  return takeoverProblem({ switch: 'ts', order, holder }, facts)?.code;
}

const two = [report('a1', all, [tunnel('a2')]), report('a2', all, [tunnel('a1')])];

describe('the port of a path', () => {
  it('is taken over by the other of two gateways, which hears one of another cluster', () => {
    assert.equal(codeOf({}, two), undefined);
    assert.equal(codeOf({ holder: 'a2' }, two), undefined, 'independent of the holder');
    assert.equal(codeOf({ holder: '' }, two), undefined, 'without a holder');
  });

  it('is not taken over in a cluster with one gateway', () => {
    assert.equal(codeOf({ order: ['a1'] }, two), 'NoStandby');
  });

  it('is not taken over by a gateway that the holder does not hear, that is dead or stuck, or that no gateway reports', () => {
    const deaf = [report('a1', all, [tunnel('a2', 'down')]), report('a2', [], [])];
    assert.equal(codeOf({}, deaf), 'NoStandby');
    assert.equal(codeOf({}, two, { isDead: (chassis) => chassis === 'a2' }), 'NoStandby');
    assert.equal(codeOf({}, two, { isStuck: (chassis) => chassis === 'a2' }), 'NoStandby');
    assert.equal(codeOf({}, []), 'NoStandby');
  });

  it('is not taken over by the only gateway left if it hears no witness of OVN', () => {
    const noPeers = [report('a1', all, [tunnel('a2')]), report('a2', [tunnel('b1', 'down')], [tunnel('a1')])];
    assert.equal(codeOf({}, noPeers), 'NoWitness');
    assert.equal(codeOf({}, two, { witnesses: new Set(['a1', 'a2']) }), 'NoWitness', 'BFD is up, OVN does not ask');
    assert.equal(codeOf({}, two, { witnesses: new Set() }), 'NoWitness');
  });

  it('is taken over by the only gateway left if a node of this cluster has pods of the VPC', () => {
    const noPeers = [report('a1', [], [tunnel('a2')]), report('a2', [], [tunnel('a1')])];
    const witnesses = new Set(['a1', 'a3']);
    assert.equal(codeOf({}, noPeers, { witnesses, isPlainNode: (chassis) => chassis === 'a3' }), undefined);
  });

  it('is taken over by one of two gateways that are left, with or without witnesses', () => {
    const three = [report('a1', [], [tunnel('a2'), tunnel('a3')])];
    assert.equal(codeOf({ order: ['a1', 'a2', 'a3'] }, three, { witnesses: new Set() }), undefined);
  });
});
