/**
 * Reads the addresses of pods of other clusters, as the agent received them. In: a client of the API. Out: the sets that have each address. Rule: what the user may not read
 * is part of the value.
 * @throws KubeUnreachable, KubeApiError, or the signal's reason
 */
import { entryOf } from '../../lib/desired/entry-of.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import { remotePodSlices } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { RemoteMember } from '../../lib/policies/judge.ts';
import { remotePods } from '../../lib/slices/remote-pods.ts';
import { parseSlice } from '../../lib/slices/slice.ts';
import type { Unreadable } from '../model/snapshot.ts';

export interface RemotePodReading {
  /** By address. */
  readonly members: ReadonlyMap<string, readonly RemoteMember[]>;
  readonly unread: readonly Unreadable[];
}

export const noMembers: RemotePodReading['members'] = new Map();

export async function readRemotePods(client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<RemotePodReading> {
  try {
    const members = new Map<string, RemoteMember[]>();
    for (const raw of await client.list(remotePodSlices, { signal })) {
      const { owner, entries } = parseSlice(remotePods, raw);
      for (const { set, vpc, address } of entries)
        if (address !== '') entryOf(members, address, () => []).push({ cluster: owner.name, set, vpc });
    }
    return { members, unread: [] };
  } catch (error) {
    if (!(error instanceof KubeApiError) || (error.status !== 404 && error.status !== 403)) throw error;
    const what = remotePodSlices.plural;
    const message = `${what} cannot be read (${error.message}): which addresses are pods of other clusters is not part of this answer`;
    return { members: noMembers, unread: [{ code: 'Forbidden', what, message }] };
  }
}
