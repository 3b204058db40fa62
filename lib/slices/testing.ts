/** For tests: slices as the API server returns them, and a reader's view of them. */
import type { RawObject } from '../kube/types.ts';
import { joinSliced, ownerLabel, type SlicedKind, type SlicedView } from './slice.ts';

export function sliceOf<Entry>(
  kind: SlicedKind<Entry>,
  { metadata }: RawObject,
  routes: readonly unknown[],
): RawObject {
  const { name, uid } = metadata;
  return {
    metadata: {
      name: `${name}.0`,
      uid: `${uid}.0`,
      resourceVersion: '1',
      labels: { [kind.label]: ownerLabel(name) },
      ownerReferences: [{ kind: kind.owners.kind, name, uid }],
    },
    [kind.field ?? 'routes']: routes,
  };
}

/** Parses an owner and, from its own field `routes`, its one slice. */
export function viewParser<Entry, Merged, T>(view: SlicedView<Entry, Merged, T>): (raw: RawObject) => T {
  return ({ routes, ...owner }) => viewOf(view, owner as RawObject, routes as readonly unknown[]);
}

/** An owner with one slice. */
export function viewOf<Entry, Merged, T>(
  view: SlicedView<Entry, Merged, T>,
  owner: RawObject,
  routes: readonly unknown[],
): T {
  const [value] = joinSliced(view, [owner], [sliceOf(view.kind, owner, routes)]).values();
  return value as T;
}
