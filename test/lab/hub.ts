/** The hub of a lab: IC databases, the hub's server, and one join token per cluster. */
import { startComponent } from './component.ts';
import type { HubLayout, Lab } from './layout.ts';
import { startInterconnectDatabases } from './ovn.ts';
import { hubInit, hubServer, hubToken, runs } from './rooms.ts';
import { run } from './run.ts';

/** Starts the hub; gives the join token of each cluster by name, none if this lab runs without interconnect. */
export async function startHub(lab: Lab, hub: HubLayout): Promise<ReadonlyMap<string, string>> {
  const databases = startInterconnectDatabases(hub);
  if (!runs(lab, 'interconnect')) {
    await databases;
    return new Map();
  }
  await Promise.all([databases, run(hubInit(hub), { netns: hub.netns })]);
  await startComponent(hubServer(hub));
  const names = lab.clusters.map((cluster) => cluster.name);
  const tokens = await Promise.all(names.map((name) => run(hubToken(hub, name), { netns: hub.netns })));
  return new Map(names.map((name, at) => [name, (tokens[at] ?? '').trim()]));
}
