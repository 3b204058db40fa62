/** One key in, its rows out. Called by `apply/` for each dirty key. */
import type { Desired } from '../../lib/desired/row.ts';
import { recognisable } from './adoption.ts';
import type { Feature } from './feature.ts';
import { nothing } from './feature.ts';
import { features } from './features.ts';
import type { View } from '../model/view.ts';

const byName: ReadonlyMap<string, Feature> = new Map(features.map((feature) => [feature.name, feature]));

/** Rows and contributions of `feature/id`; nothing for features without rows. */
export function planKey(view: View, key: string): Desired {
  const slash = key.indexOf('/');
  return recognisable(byName.get(key.slice(0, slash))?.plan?.(view, key.slice(slash + 1)) ?? nothing);
}
