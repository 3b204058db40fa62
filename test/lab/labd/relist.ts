/** What the runtime of a node has, against what labd knows of: the difference is work. Pure. */
import type { Sandbox as ListedSandbox } from '../cri/messages.ts';
import type { Sandbox } from './sandbox.ts';

export interface Difference {
  /** Known ones whose process has ended, or that somebody else removed. */
  readonly ended: readonly Sandbox[];
  /** Those of pods that are gone, and of which nothing is known. */
  readonly orphans: readonly ListedSandbox[];
}

/**
 * `known` are the finished sandboxes from before the runtime was asked: one that is made meanwhile may be missing from its
 * answer. `isKnown` tells whether a pod is there, or a sandbox of it still recorded. Others than pods' sandboxes have no uid.
 */
export function compareSandboxes(
  known: readonly Sandbox[],
  listed: readonly ListedSandbox[],
  isKnown: (podUid: string) => boolean,
): Difference {
  const ready = new Set(listed.filter(({ state }) => state === 'SANDBOX_READY').map(({ id }) => id));
  return {
    ended: known.filter(({ containerId }) => !ready.has(containerId)),
    orphans: listed.filter(({ labels }) => {
      const uid = labels['io.kubernetes.pod.uid'];
      return uid !== undefined && !isKnown(uid);
    }),
  };
}
