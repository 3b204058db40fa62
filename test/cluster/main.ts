/**
 * `make cluster`: clusters of machines with kubelets, joined with a user's commands, and measured pings between all ends. Exits with 1
 * and a reason if one fails; leaves the lab up. In: LAB and TOPOLOGY from the environment, images in the cache.
 */
import { join } from 'node:path';
import { interruptible } from '../lab/interrupt.ts';
import { labName } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { upFromEnvironment } from '../lab/main.ts';
import { tool } from '../lab/tools.ts';
import { namespace, User } from './user.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const started = performance.now();
const passed = (sinceMs = started): string => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
const say = (text: string): void => console.log(`${passed().padStart(8)}  ${text}`);

async function bringUp(): Promise<void> {
  await upFromEnvironment();
  const user = new User(openLab());
  const { clusters, name: lab } = user.lab.layout;
  await Promise.all(clusters.map(({ name }) => installOnce(user, name)));
  await Promise.all(clusters.map(({ name }) => Promise.all([user.peer(name), user.runPods(name, 'demo')])));
  say('a pod runs on each node');
  if (clusters.length > 1) {
    for (const { name } of clusters) await joinOnce(user, name);
    await user.untilWell();
    say('all paths between the clusters are up');
  }
  await measure(user);
  say(`lab ${lab} is ready`);
  console.log(`\nThe lab stays up. To look around:\n\n  export PATH="${join(tool('helm'), '..')}:$PATH"`);
  for (const { dir } of clusters) console.log(`  kubectl --kubeconfig "${dir}/kubeconfig" get pods -A -o wide`);
  console.log(`\n  make cluster-down${lab === 'cluster' ? '' : ` LAB=${lab}`}`);
}

async function installOnce(user: User, cluster: string): Promise<void> {
  if ((await user.tryRun(cluster, ['helm', 'status', 'isthmus', '-n', namespace])).code === 0) return;
  const sinceMs = performance.now();
  await user.install(cluster);
  await user.untilReady(cluster);
  say(`${cluster}: installed, all nodes Ready ${passed(sinceMs)} after the command`);
}

/** The first member has no other cluster to reach; from the second on, the time to the first ping counts. */
async function joinOnce(user: User, cluster: string): Promise<void> {
  const { lab } = user;
  const [home] = lab.layout.clusters;
  const found = await user.tryRun(cluster, ['kubectl', 'get', 'interconnect', 'default']);
  if (found.code === 0 || home === undefined) return;
  const sinceMs = performance.now();
  await user.join(cluster);
  if (cluster === home.name) return say(`${cluster}: joined the hub`);
  await firstAnswer(user, home.name, cluster);
  say(`${cluster}: joined, first ping from ${home.name} ${passed(sinceMs)} after the command`);
}

async function firstAnswer(user: User, from: string, to: string): Promise<void> {
  const address = await user.lab.addressOf(to, 'demo/web-1');
  await eventually(
    `a ping from ${from} to ${to}`,
    async () => (await user.lab.answers(user.lab.ns(from, 'demo/web-1'), address)) || notYet('no echo reply'),
    120_000,
  );
}

/** Pings from a pod of each cluster to every pod of all clusters, and from the router to all pods. */
async function measure(user: User): Promise<void> {
  const { lab } = user;
  const { clusters, routers } = lab.layout;
  const places = clusters.flatMap((cluster) => cluster.nodes.map((_, at) => [cluster.name, `web-${at + 1}`] as const));
  const sources = [
    ...clusters.map(({ name }) => ({ from: `${name} web-1`, netns: lab.ns(name, 'demo/web-1') })),
    ...routers.map(({ name, netns }) => ({ from: `router ${name}`, netns })),
  ];
  for (const { from, netns } of sources)
    for (const [cluster, pod] of places) {
      const { avgMs } = await lab.ping(netns, await lab.addressOf(cluster, `demo/${pod}`));
      console.log(`          ${from.padEnd(12)} → ${cluster} ${pod}  ${avgMs.toFixed(2)} ms`);
    }
}

if (import.meta.main)
  interruptible(labName(), bringUp).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
