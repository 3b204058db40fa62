/**
 * A cluster of a lab becomes a member of the hub, as `helm upgrade --set interconnect.hub=… --set interconnect.token=…`
 * makes it one, and leaves again as `kubectl delete interconnect default` lets it.
 */
import { join } from 'node:path';
import { openAdmin } from './control-plane.ts';
import { installChart, renderChart, writeAccountKubeconfig } from './chart.ts';
import { startComponent, stateOf } from './component.ts';
import { homeOfHub } from './hub.ts';
import type { ClusterLayout, Lab } from './layout.ts';
import { agentOf, hubToken } from './rooms.ts';
import { run } from './run.ts';
import { tool } from './tools.ts';

/** A new join token of the lab's hub. @throws Error if the lab has no hub. */
export async function joinToken(lab: Lab, cluster: string): Promise<string> {
  if (lab.hub === undefined) throw new Error(`lab ${lab.name} has no hub`);
  return (await run(hubToken(homeOfHub(lab), lab.hub, cluster))).trim();
}

/** Applies the chart with the token and starts the agent if it does not run; whether it has joined is the Interconnect's status. */
export async function joinCluster(lab: Lab, cluster: ClusterLayout, token: string): Promise<void> {
  if (lab.hub === undefined) throw new Error(`lab ${lab.name} has no hub`);
  const hubAddress = cluster === homeOfHub(lab) ? lab.hub.address : undefined;
  const manifests = await renderChart(cluster, { join: { hub: `${lab.hub.address}:6650`, token }, hubAddress });
  const kube = openAdmin(cluster);
  try {
    await installChart(kube, manifests);
    await writeAccountKubeconfig(kube, cluster, 'isthmus-interconnect');
  } finally {
    await kube.close();
  }
  const agent = agentOf(cluster);
  if (stateOf(agent) === 'dead') await startComponent(agent);
}

/** Resolves when the Interconnect is deleted, after the agent has removed all its rows. @throws Error if that takes longer than 60 seconds. */
export async function leaveCluster(cluster: ClusterLayout): Promise<void> {
  const kubectl = [tool('kubectl'), `--kubeconfig=${join(cluster.dir, 'kubeconfig')}`];
  await run([...kubectl, 'delete', 'interconnect', 'default', '--timeout=60s'], { timeoutMs: 90_000 });
}
