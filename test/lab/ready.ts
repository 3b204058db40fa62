/** Readiness of a lab: polls the reports of its parts until all are ready or the timeout ends. */
import { openAdmin } from './control-plane.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { type Component, lastLines, stateOf } from './component.ts';
import { allComponents } from './heal.ts';
import { type ClusterLayout, isSpeaker, type Lab, type NodeLayout, type RouterLayout, runsKubelets } from './layout.ts';
import { runs } from './rooms.ts';
import { vtysh } from './router.ts';
import { tryRun } from './run.ts';
import { eventually, type NotYet, notYet } from '../../lib/testing-eventually.ts';

const readyTimeoutMs = 300_000;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}
interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly conditions?: readonly Condition[] } & Readonly<Record<string, unknown>>;
  }[];
}

/** One condition of readiness; `culprits` are the processes whose logs explain a failure. */
interface Check {
  readonly what: string;
  readonly culprits: readonly Pick<Component, 'dir' | 'name'>[];
  readonly ask: () => Promise<true | NotYet>;
}

/** @throws Error naming the parts that are not ready, with the last log lines of the processes at fault. */
export async function waitUntilReady(lab: Lab, say: (step: string) => void): Promise<void> {
  const clients = lab.clusters.map((cluster) => ({
    cluster,
    kube: openAdmin(cluster),
  }));
  const end = Date.now() + readyTimeoutMs;
  const checks = [
    ...clients.flatMap(({ cluster, kube }) => clusterChecks(lab, cluster, kube)),
    ...lab.routers.flatMap((router) => routerChecks(lab, router)),
  ];
  try {
    const results = await Promise.allSettled(
      checks.map((check) => eventually(check.what, check.ask, end - Date.now(), 500).then(() => say(check.what))),
    );
    const failed = results.flatMap((result, at) =>
      result.status === 'rejected' ? [{ check: checks[at], reason: result.reason as Error }] : [],
    );
    const dead = allComponents(lab).filter((component) => stateOf(component) === 'dead');
    if (failed.length === 0 && dead.length === 0) return;
    throw new Error(explain(lab, failed, dead));
  } finally {
    await Promise.all(clients.map(({ kube }) => kube.close()));
  }
}

function explain(
  lab: Lab,
  failed: readonly { check: Check | undefined; reason: Error }[],
  dead: readonly Component[],
): string {
  const culprits = new Map<string, Pick<Component, 'dir' | 'name'>>();
  for (const component of [...failed.flatMap(({ check }) => check?.culprits ?? []), ...dead])
    culprits.set(`${component.dir}/${component.name}`, component);
  const logs = [...culprits].map(
    ([path, component]) => `${path.slice(lab.dir.length + 1)}.log (${stateOf(component)}):\n${lastLines(component, 8)}`,
  );
  return [
    `lab ${lab.name} is not ready:`,
    ...failed.map(({ reason }) => `- ${reason.message}`),
    ...dead.map(({ name, dir }) => `- ${dir}/${name} is dead`),
    ...logs,
  ].join('\n');
}

function clusterChecks(lab: Lab, cluster: ClusterLayout, kube: KubeClient): Check[] {
  const checks: Check[] = [];
  // Isthmus has no processes here until it is installed.
  if (runsKubelets(cluster)) return [];
  const controller = { dir: cluster.dir, name: 'controller' };
  if (runs(lab, 'daemon') && runs(lab, 'controller')) {
    const daemons = cluster.nodes.map((node) => ({ dir: node.dir, name: 'daemon' }));
    checks.push({
      what: `${cluster.name}: nodes are in the network`,
      culprits: [controller, ...daemons],
      ask: () => nodesAreIn(cluster, kube),
    });
  }
  if (lab.hub && cluster.joins && runs(lab, 'interconnect') && runs(lab, 'controller') && runs(lab, 'daemon')) {
    const culprits = [
      { dir: cluster.dir, name: 'interconnect' },
      { dir: lab.hub.dir, name: 'hub' },
    ];
    checks.push({
      what: `${cluster.name}: joined with ${String(membersOf(lab) - 1)} other cluster(s)`,
      culprits,
      ask: () => isJoined(lab, kube),
    });
  }
  return checks;
}

function membersOf(lab: Lab): number {
  return lab.clusters.filter(({ joins }) => joins).length;
}

async function nodesAreIn(cluster: ClusterLayout, kube: KubeClient): Promise<true | NotYet> {
  const nodes = (await kube.request('GET', '/api/v1/nodes')) as Listed;
  for (const node of nodes.items) {
    const condition = node.status?.conditions?.find(({ type }) => type === 'NetworkUnavailable');
    if (condition?.status !== 'False')
      return notYet(`node ${node.metadata.name}: ${condition?.message ?? 'the daemon has reported nothing'}`);
  }
  for (const node of cluster.nodes) {
    const shown = await tryRun(['ip', '-n', node.netns, '-o', '-4', 'addr', 'show', 'dev', 'ovn0']);
    if (shown.code !== 0 || shown.stdout === '') return notYet(`node ${node.name}: ovn0 has no address`);
  }
  return true;
}

async function isJoined(lab: Lab, kube: KubeClient): Promise<true | NotYet> {
  const found = (await kube.request('GET', '/apis/isthmus.network/v1alpha1/interconnects')) as Listed;
  const status = found.items[0]?.status;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True') return notYet(`Interconnect is not Ready: ${ready?.message ?? 'no status yet'}`);
  const learned = Number(status?.['routesLearned'] ?? 0);
  const wanted = membersOf(lab) - 1;
  if (learned < wanted) return notYet(`${String(learned)} routes learned, at least ${String(wanted)} expected`);
  const remotes = (await kube.request('GET', '/apis/isthmus.network/v1alpha1/remoteclusters')) as Listed;
  for (const { metadata, status: remote } of remotes.items) {
    const pathsUp = typeof remote?.['pathsUp'] === 'string' ? remote['pathsUp'] : '';
    const [up, all] = pathsUp.split('/');
    if (up === '' || up !== all) return notYet(`paths to ${metadata.name} that are up: ${pathsUp || 'not known yet'}`);
  }
  return true;
}

function routerChecks(lab: Lab, router: RouterLayout): Check[] {
  if (!runs(lab, 'speaker') || !runs(lab, 'controller')) return [];
  const speakers = lab.clusters.flatMap((cluster) => (runsKubelets(cluster) ? [] : cluster.nodes.filter(isSpeaker)));
  if (speakers.length === 0) return [];
  const culprits = speakers.flatMap(({ dir }) => ['speaker', 'gobgpd'].map((name) => ({ dir, name })));
  const what = `${router.name}: BGP sessions with ${String(speakers.length)} nodes, routes received`;
  return [{ what, culprits, ask: () => areEstablished(router, speakers) }];
}

async function areEstablished(router: RouterLayout, speakers: readonly NodeLayout[]): Promise<true | NotYet> {
  const summary = JSON.parse(await vtysh(router, 'show bgp ipv4 unicast summary json')) as {
    peers?: Record<string, { state: string; pfxRcd?: number }>;
  };
  for (const { cluster, name, address } of speakers) {
    const peer = summary.peers?.[address];
    if (peer?.state !== 'Established')
      return notYet(`the session with ${cluster}/${name} is ${peer?.state ?? 'unknown'}`);
    if ((peer.pfxRcd ?? 0) === 0) return notYet(`${cluster}/${name} has sent no route`);
  }
  return true;
}
