/** Whether the paths between clusters are at their anchor, according to the agents' status. */
import type { LabHandle } from './lab.ts';

/** A path in one of these states does not move until a gateway dies or an object changes. */
const atRest: readonly string[] = ['Settled', 'Unprotected'];

interface Networks {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly paths?: readonly { readonly path: number; readonly state?: string }[] };
  }[];
}

/** @returns the first moving path of a cluster with its state, as `ts/0 is Draining`; empty if no path moves */
export async function movingPath(lab: LabHandle, cluster: string): Promise<string> {
  const { items } = JSON.parse(await lab.kubectl(cluster, ['get', 'transitswitches', '-o', 'json'])) as Networks;
  const ends = items.flatMap(({ metadata, status }) =>
    (status?.paths ?? []).map(({ path, state = 'unknown' }) => ({ path: `${metadata.name}/${path}`, state })),
  );
  const moving = ends.find(({ state }) => !atRest.includes(state));
  return moving === undefined ? '' : `${moving.path} is ${moving.state}`;
}
