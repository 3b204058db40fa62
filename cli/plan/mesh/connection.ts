/** What is missing before two clusters are connected, and how their paths stand. Pure. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { conditionOf, specOf, type Snapshot } from '../../model/snapshot.ts';

const nameForm = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;

/** Where members reach the hub of this cluster: by the flag, or as this cluster itself does. */
export function hubAddressOf(near: Snapshot, wished: string | undefined): string | Problem {
  const hub = wished ?? specOf(near)?.hub;
  if (hub !== undefined) return hub;
  return {
    code: 'HubAddressUnknown',
    message: `${near.label} is no member itself, so the address of its hub is not known: give --hub host:port`,
  };
}

/** The name by which a cluster joins: the one it has, the flag's, or that of its context. */
export function nameOf(cluster: Snapshot, wished: string | undefined, flag: string): string | Problem {
  const present = specOf(cluster)?.clusterName;
  const name = wished ?? present ?? cluster.label;
  if (present !== undefined && wished !== undefined && wished !== present)
    return { code: 'ClusterNameFixed', message: `${present} has that name already, not ${wished}: leave out ${flag}` };
  if (nameForm.test(name)) return name;
  return { code: 'NameNeeded', message: `"${name}" cannot be the name of a member: give ${flag} NAME` };
}

/** Whether all paths to the other are up, on this side. */
export function arePathsUp({ remotes }: Snapshot, other: string): boolean {
  const paths = remotes.find(({ name }) => name === other)?.status.paths ?? [];
  return paths.length > 0 && paths.every(({ state }) => state === 'Up');
}

/** Why they are not, for a message. */
export function pathsOf({ label, remotes }: Snapshot, other: string): string {
  const remote = remotes.find(({ name }) => name === other);
  if (remote === undefined) return `${label} does not know ${other} yet`;
  const ready = conditionOf(remote.status.conditions, 'Ready');
  return `${label} to ${other}: ${remote.status.pathsUp ?? 'no paths'}${ready?.status === 'True' ? '' : `, ${ready?.message ?? 'not ready'}`}`;
}
