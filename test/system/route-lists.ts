/** Writes slices like the agent and speakers, for tests without these. */
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import { parseSlice, type SlicedKind } from '../../lib/slices/slice.ts';
import { SliceWriter } from '../../lib/slices/writer.ts';
import { listRoutes } from '../../interconnect/status/prefix-list.ts';
import type { RouteUse } from '../../interconnect/settle/route-use.ts';

/** Writes the slices of an owner so that they contain exactly these routes. */
export async function putRoutes<Entry>(
  client: KubeClient,
  kind: SlicedKind<Entry>,
  owner: string,
  routes: readonly Entry[],
): Promise<void> {
  const { metadata } = await client.get(kind.owners, { name: owner });
  const writer = new ObjectWriter();
  const slices = new SliceWriter(kind, { client, writer });
  for (const raw of await client.list(kind.slices)) slices.seen(undefined, parseSlice(kind, raw));
  slices.write({ name: owner, uid: metadata.uid }, routes);
  await writer.idle();
  await writer.close();
}

/** The resource versions of the slices by name; each write changes one. */
export async function sliceVersions(
  client: KubeClient,
  { slices }: { readonly slices: Resource },
): Promise<ReadonlyMap<string, string>> {
  const found = await client.list(slices);
  return new Map(found.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

/** The networks 10.64.0.0/24, 10.64.1.0/24 and so on. */
export function manyPrefixes(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `10.${64 + (at >> 8)}.${at & 255}.0/24`);
}

const paths = [0, 1, 2, 3].map((path) => ({ switch: path === 0 ? 'ts' : `ts${path}`, address: `100.100.${path}.2` }));

/** The routes that an agent writes for another cluster with these prefixes over four paths. @param down prefixes without a path that is up */
export function overFourPaths(prefixes: readonly string[], down: readonly string[] = []): readonly RemoteRoute[] {
  const problem = { code: 'NextHopDown', message: 'no path is up' };
  const uses = prefixes.map((prefix): RouteUse => {
    const isUsed = !down.includes(prefix);
    const hops = paths.map((hop) => ({ ...hop, isUsed, problem: isUsed ? undefined : problem }));
    const common = { transitSwitch: 'ts', router: 'ovn-cluster', origin: 'connected', tags: [] };
    return { ...common, prefix, isChosen: true, hops, rejected: undefined };
  });
  return listRoutes('west', uses).entries;
}
