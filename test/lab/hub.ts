/** The hub of a lab: IC databases, one join token per cluster, the hub's server. Its state is in the first cluster. */
import { startComponent } from './component.ts';
import type { ClusterLayout, HubLayout, Lab } from './layout.ts';
import { startInterconnectDatabases } from './ovn.ts';
import { hubServer, hubToken, runs } from './rooms.ts';
import { run } from './run.ts';

/** The cluster that keeps the hub's Secrets and members. */
export function homeOfHub(lab: Lab): ClusterLayout {
  const [home] = lab.clusters;
  if (home === undefined) throw new Error('a lab has a cluster');
  return home;
}

/** Preconditions of the next step of the hub's start. */
export interface HubSteps {
  /** The API server of the hub's home answers. */
  readonly api: Promise<unknown>;
  /** The chart and its accounts are in the hub's home. */
  readonly accounts: Promise<unknown>;
}

/** The join token of each cluster by name, none if this lab runs without interconnect. */
export async function makeTokens(lab: Lab, hub: HubLayout, { api }: HubSteps): Promise<ReadonlyMap<string, string>> {
  if (!runs(lab, 'interconnect')) return new Map();
  await api;
  const names = lab.clusters.filter(({ joins }) => joins).map((cluster) => cluster.name);
  const tokens = await Promise.all(names.map((name) => run(hubToken(homeOfHub(lab), hub, name))));
  return new Map(names.map((name, at) => [name, (tokens[at] ?? '').trim()]));
}

export async function startHub(lab: Lab, hub: HubLayout, { accounts }: HubSteps): Promise<void> {
  await startInterconnectDatabases(hub);
  if (!runs(lab, 'interconnect')) return;
  await accounts;
  await startComponent(hubServer(homeOfHub(lab), hub));
}
