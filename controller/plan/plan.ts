/** One key in, its rows and reports out. Called by `apply/` and `status/` for each dirty key. */
import type { Desired } from '../../lib/desired/row.ts';
import { recognisable } from './adoption.ts';
import type { Feature } from './feature.ts';
import { nothing } from './feature.ts';
import { features } from './features.ts';
import type { View } from '../model/view.ts';
import type { ObjectReport, Outcome } from './report.ts';

const byName: ReadonlyMap<string, Feature> = new Map(features.map((feature) => [feature.name, feature]));
const ranks: ReadonlyMap<string, number> = new Map(features.map(({ name }, rank) => [name, rank]));
const none: readonly ObjectReport[] = [];

function nameOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}

function idOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}

/** Rows and contributions of `feature/id`; nothing for features without rows. */
export function planKey(view: View, key: string): Desired {
  return recognisable(byName.get(nameOf(key))?.plan?.(view, idOf(key)) ?? nothing);
}

/** What Kubernetes should hold about `feature/id`, given what became of its rows. */
export function reportKey(view: View, key: string, outcome: Outcome): readonly ObjectReport[] {
  return byName.get(nameOf(key))?.report?.(view, idOf(key), outcome) ?? none;
}

/** The key whose status includes the outcome of this one; itself where there is no other. */
export function statusKeyOf(key: string): string {
  return byName.get(nameOf(key))?.statusOf?.(idOf(key)) ?? key;
}

/** The place of a key's feature in `features.ts`. */
export function rankOf(key: string): number {
  return ranks.get(nameOf(key)) ?? features.length;
}
