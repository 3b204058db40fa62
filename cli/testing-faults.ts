/**
 * Defines and runs a fault case: the modification of two healthy clusters, and the cause that must be reported first
 * (or, if it is no failure, among the notes). Called by tests only.
 */
import assert from 'node:assert/strict';
import type { GatewayTunnel } from '../lib/api/kinds/interconnect-gateway.ts';
import type { Snapshot } from './model/snapshot.ts';
import { ago, spoil, wellPair, type Draft, type Pair } from './testing-snapshots.ts';
import { diagnose } from './plan/diagnose/diagnose.ts';

export interface Fault {
  readonly name: string;
  readonly make: (pair: Pair) => void;
  readonly code: string;
  readonly says: RegExp;
  /** Whether only one side can be read. */
  readonly isAlone?: boolean;
  /** Where the cause is reported; by default as the first cause. */
  readonly as?: 'warning';
}

type Side = Draft<Snapshot>;

export function hubReports(side: Side, message: string, reason = 'HubUnreachable'): void {
  spoil(side, 'HubReachable', reason, message);
  side.probe = undefined;
}

/** Changes the tunnels of all gateways of `from`, to one gateway of the other side or to all. */
export function tunnels(from: Side, change: Partial<GatewayTunnel>, to?: string): void {
  for (const { status } of from.gateways)
    for (const tunnel of status.tunnels ?? [])
      if (to === undefined || tunnel.chassis === to) Object.assign(tunnel, change);
}

/** Changes the state that each gateway reports about the other gateway of its cluster. */
export function siblings(of: Side, ...changes: readonly Partial<GatewayTunnel>[]): void {
  for (const [index, { status }] of of.gateways.entries())
    for (const tunnel of status.siblingTunnels ?? []) Object.assign(tunnel, changes[index]);
}

/** Makes ICMP probes fail to all gateways of the other side, or to one. */
export function noIcmp(from: Side, to?: string): void {
  for (const { status } of from.gateways)
    for (const probe of status.probes ?? []) {
      if (to !== undefined && probe.chassis !== to) continue;
      probe.lossPercent = 100;
      delete probe.mtu;
      delete probe.rttMs;
    }
}

export function pathsAre(side: Side, state: 'Down' | 'HoldDown' | 'Moving' | 'Draining', reason: string): void {
  for (const path of side.remotes[0]?.status.paths ?? [])
    Object.assign(path, { state, reason, message: `because of ${reason}` });
}

export function phaseIs(side: Side, phase: 'Stale' | 'Unreachable' | 'Joining', reason: string, message: string): void {
  const status = side.remotes[0]?.status;
  assert.ok(status);
  status.phase = phase;
  status.conditions = [{ type: 'Ready', status: 'False', reason, message }];
  status.lastSeen = ago(600_000);
}

export function rejectRoute(side: Side, reason: string, message: string): void {
  const status = side.remotes[0]?.status;
  const [route] = status?.routes ?? [];
  assert.ok(status && route);
  Object.assign(route, { state: 'Rejected', reason, message });
  Object.assign(status, { routesActive: 0, routesRejected: 1 });
}

export const gone = { state: 'down', diagnostic: 'Control Detection Time Expired' } as const;
export const unheard = {
  state: 'init',
  diagnostic: 'Neighbor Signaled Session Down',
  remoteDiagnostic: 'Control Detection Time Expired',
} as const;
export const chassisOf = (name: string, more: object = {}) => ({
  name,
  hostname: name,
  addresses: ['192.0.2.11'],
  isRemote: false,
  isInterconnect: true,
  isCurrent: true,
  ...more,
});
export const ovnOf = (more: Partial<NonNullable<Side['ovn']>> = {}): NonNullable<Side['ovn']> => ({
  silent: [],
  isNorthdCurrent: true,
  chassis: [chassisOf('e1'), chassisOf('e2'), chassisOf('e3')],
  holders: new Map(),
  interconnectRows: [],
  ...more,
});

/** Applies the fault and asserts its cause. */
export function tryFault({ make, code, says, isAlone = false, as }: Fault): void {
  const pair = wellPair();
  make(pair);
  const found = diagnose({ near: pair.east, far: isAlone ? undefined : pair.west, peer: 'west' });
  const problem = as === 'warning' ? found.warnings.find((one) => one.code === code) : found.causes[0];
  const all = JSON.stringify({ causes: found.causes, warnings: found.warnings }, undefined, 1);
  assert.equal(problem?.code, code, all);
  assert.match(problem.message, says);
  assert.ok(problem.fix.length > 10, 'it says what to do');
  assert.equal(found.isWell, as === 'warning', all);
}
