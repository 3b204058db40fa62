/** Which paths between clusters are with the gateway that anchors them, by what the agents report. */
import type { LabHandle } from './lab.ts';

/** A path in one of these states stays where it is until a gateway dies or somebody changes an object. */
const atRest: readonly string[] = ['Settled', 'Unprotected'];

interface Networks {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly paths?: readonly { readonly path: number; readonly state?: string }[] };
  }[];
}

/** @returns the first path of a cluster that moves, with its state, as `ts/0 is Draining`; empty where every path is at rest */
export async function movingPath(lab: LabHandle, cluster: string): Promise<string> {
  const { items } = JSON.parse(await lab.kubectl(cluster, ['get', 'transitswitches', '-o', 'json'])) as Networks;
  const ends = items.flatMap(({ metadata, status }) =>
    (status?.paths ?? []).map(({ path, state = 'unknown' }) => ({ path: `${metadata.name}/${path}`, state })),
  );
  const moving = ends.find(({ state }) => !atRest.includes(state));
  return moving === undefined ? '' : `${moving.path} is ${moving.state}`;
}
