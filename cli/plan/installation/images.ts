/**
 * Finds nodes on which an image name refers to a different image than on the others. Pure. A tag is only a name: a node that has pulled an image, or
 * got it by hand, continues to use it.
 */
import type { Installation, Missing, RolloutPod } from '../../model/installation.ts';

const architectureLabel = 'kubernetes.io/arch';

interface Holders {
  readonly id: string;
  readonly nodes: readonly string[];
}

/** The image of most nodes counts as the correct one. Images of different architectures always differ. */
export function otherImages({ pods, nodes }: Installation): readonly Missing[] {
  const architectures = new Map(nodes.map(({ name, labels }) => [name, labels[architectureLabel] ?? '']));
  const running = pods.flatMap((pod) =>
    pod.images.map((image) => ({ ...image, node: pod.node, architecture: architectures.get(pod.node) ?? '' })),
  );
  const byName = Map.groupBy(running, ({ name, architecture }) => `${name} ${architecture}`);
  return [...byName.values()].flatMap((same) => differences(same[0]?.name ?? '', same));
}

type Running = RolloutPod['images'][number] & { readonly node: string };

function differences(name: string, running: readonly Running[]): readonly Missing[] {
  const [most, ...others] = Map.groupBy(running, ({ id }) => id)
    .entries()
    .map(([id, ones]): Holders => ({ id, nodes: [...new Set(ones.map(({ node }) => node))].toSorted() }))
    .toArray()
    .toSorted((a, b) => b.nodes.length - a.nodes.length || a.id.localeCompare(b.id));
  if (most === undefined) return [];
  return others.map(({ id, nodes }) => ({
    object: `Image ${name}`,
    why:
      `is ${short(id)} on ${nodes.join(', ')} and ${short(most.id)} on ${most.nodes.join(', ')}: ` +
      'pull it again on nodes with the wrong one, and delete the pods there',
    isPassing: false,
  }));
}

/** Shortens both `docker.io/library/isthmus@sha256:…` and `sha256:…`. */
function short(id: string): string {
  return id.replace(/^.*sha256:(.{12}).*$/, 'sha256:$1');
}
