/**
 * The kinds of objects that may hold an address. To add a kind: its file beside this one, and its line in both lists here.
 */
import type { Change } from '../../../model/change.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';
import type { PortRecord } from '../records.ts';
import { egressGatewayHolder } from './egress-gateway.ts';
import { eipHolder } from './eip.ts';
import { foreignPortHolder } from './foreign-port.ts';
import { healthCheckHolder } from './health-check.ts';
import type { HolderKind, KeptPort } from './kind.ts';
import { natGatewayHolder } from './nat-gateway.ts';
import { nodeHolder } from './node.ts';
import { nodeServiceHolder } from './node-service.ts';
import { podHolder } from './pod.ts';
import { querierHolder } from './querier.ts';
import { reservationHolder } from './reservation.ts';
import { u2oRouterHolder } from './u2o-router.ts';
import { vipHolder } from './vip.ts';

/** In the order in which they claim: addresses already on the wire first, then nodes, which every pod needs to communicate. */
const kinds: readonly HolderKind[] = [
  foreignPortHolder,
  nodeHolder,
  nodeServiceHolder,
  reservationHolder,
  vipHolder,
  eipHolder,
  natGatewayHolder,
  egressGatewayHolder,
  querierHolder,
  healthCheckHolder,
  u2oRouterHolder,
  podHolder,
];

/** In the order of precedence of their records. Vips are less trusted: their authors can write the status, which is the record. */
const byRecord: readonly (readonly [HolderKind, 'recorded' | 'borrowed'])[] = [
  [nodeHolder, 'recorded'],
  [nodeServiceHolder, 'recorded'],
  [podHolder, 'recorded'],
  [vipHolder, 'recorded'],
  [eipHolder, 'recorded'],
  [natGatewayHolder, 'recorded'],
  [egressGatewayHolder, 'recorded'],
  [podHolder, 'borrowed'],
  [querierHolder, 'recorded'],
  [healthCheckHolder, 'recorded'],
  [u2oRouterHolder, 'recorded'],
];

const byPrefix: ReadonlyMap<string, HolderKind> = new Map(kinds.map((kind) => [kind.prefix, kind]));

/** The kind of a key, `pod` of `pod/default/web`, and the name behind it. */
export function holderOf(key: string): { readonly kind: HolderKind | undefined; readonly name: string } {
  const slash = key.indexOf('/');
  return { kind: byPrefix.get(key.slice(0, slash)), name: key.slice(slash + 1) };
}

export function keyOf({ prefix }: HolderKind, name: string): string {
  return `${prefix}/${name}`;
}

/** The rank of the key's kind when several claim at once. */
export function rankOf(key: string): number {
  const { kind } = holderOf(key);
  return kind === undefined ? kinds.length : kinds.indexOf(kind);
}

/** The object of a key, if it has a right to ports now. */
export function claimantOf(view: View, key: string): Claimant | undefined {
  const { kind, name } = holderOf(key);
  return kind?.claimant?.(view, name);
}

/** Keys of all objects that may hold an address at a start. */
export function* allKeys(view: View): Generator<string> {
  for (const kind of kinds) for (const name of kind.all(view)) yield keyOf(kind, name);
}

/** Keys whose right to an address a change may grant, end or alter. */
export function* keysConcerned(change: Change, view: View): Generator<string> {
  for (const kind of kinds) for (const name of kind.concerns(change, view)) yield keyOf(kind, name);
}

/** Ports on record from before this process started, in order of precedence. */
export function* recordedPorts(
  view: View,
  rows: ReadonlyMap<string, PortRecord>,
): Generator<{ readonly key: string; readonly port: string; readonly record: PortRecord }> {
  for (const [kind, which] of byRecord)
    for (const { name, port, record } of kind[which]?.(view, rows) ?? [])
      if (record !== undefined) yield { key: keyOf(kind, name), port, record };
}

/** Ports that outlive their pods, of holders without existing pods. */
export function* keptPorts(view: View): Generator<KeptPort & { readonly key: string }> {
  for (const kind of kinds) for (const port of kind.kept?.(view) ?? []) yield { ...port, key: keyOf(kind, port.name) };
}
