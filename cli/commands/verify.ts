import { randomUUID } from 'node:crypto';
import { text, toggle, UsageError } from '../../lib/run/flags.ts';
import { command, duration, durationMs, repeatable, type ExitCode, type Terminal } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { setDrain } from '../apply/drain.ts';
import { drainable, exerciseGateways } from '../apply/exercise.ts';
import type { TestSite } from '../apply/test-site.ts';
import { testTraffic } from '../apply/test-traffic.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { planTests } from '../plan/traffic/networks.ts';
import { verifyAll, type Check } from '../plan/verify.ts';
import { paintFor } from '../render/paint.ts';
import { renderChecks } from '../render/verification.ts';
import {
  clusterFlags,
  outputFlags,
  readCluster,
  readNear,
  withCluster,
  type Cluster,
  type ClusterFlags,
} from '../watch/cluster.ts';
import { readDatabases } from '../watch/databases.ts';
import { testImage } from '../watch/test-image.ts';
import { databaseFlags } from './diagnose.ts';

export const verify = command(
  {
    name: 'verify',
    operands: [],
    summary: 'check that everything works and that the clusters agree',
    description:
      'Checks all conditions, ports, paths, tunnels and MTUs. With --peer-context or --peer-kubeconfig, which may be repeated, it also\nchecks that each cluster uses every prefix the others offer; with --nb and --sb it checks that no rows of removed clusters remain.\n--pods also sends packets: it makes a client and a server in a Namespace isthmus-verify-… for each joined VPC of each cluster,\npings and connects from every client to the servers of the other clusters, and deletes all of it, also after Ctrl-C. --service also\nexports a Service of each cluster, and asks for it by its ClusterSetIP and its name. --disruptive drains each gateway in turn,\nchecks that a path to every cluster stays up, and undrains it. Without these three, nothing is written (but see --nb). Exit\ncode 1 if a check failed.',
    examples: [
      'isthmus ic verify --peer-context west',
      'isthmus ic verify --context east --peer-context west --peer-context north --pods --service',
      'isthmus ic verify --disruptive',
    ],
  },
  {
    pods: toggle(
      'test pods in each joined VPC, and packets between clusters; needs --peer-context or --peer-kubeconfig',
    ),
    service: toggle('with test pods (--pods is not needed): also exported Services, by address and name'),
    image: text('with --pods: image with busybox and ping; by default that of the daemons of each cluster', undefined),
    disruptive: toggle('drain each gateway in turn; traffic moves and must not be lost'),
    wait: duration('timeout for the test pods and imports; with --disruptive for each move', '60s'),
    'peer-kubeconfig': repeatable('kubeconfig file of another cluster, or of all of --peer-context'),
    'peer-context': repeatable('context of another cluster, in the same kubeconfig or in that of --peer-kubeconfig'),
    ...databaseFlags,
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, terminal }): Promise<ExitCode> => {
    const timeoutMs = durationMs(flags.timeout);
    const peers = peersOf(flags);
    const sendsPackets = flags.pods || flags.service;
    if (sendsPackets && peers.length === 0)
      throw new UsageError('verify: --pods needs --peer-context or --peer-kubeconfig; see --help', 2);
    const [near, ovn, ...far] = await Promise.all([
      readNear(flags, terminal),
      readDatabases({ nb: flags.nb ?? [], sb: flags.sb ?? [], timeoutMs, signal: terminal.signal }),
      ...peers.map((peer) => readNear(peer, terminal)),
    ]);
    const clusters = [{ ...near, ovn }, ...far];
    refuseSameNames(clusters);
    const still = verifyAll(clusters);
    const sent = sendsPackets ? await sendPackets(clusters, [flags, ...peers], flags, terminal) : [];
    const isWell = [...still, ...sent].every((check) => check.isWell);
    const moved = flags.disruptive ? await exercise(flags, terminal, isWell) : [];
    const checks = [...still, ...sent, ...moved];
    const paint = paintFor(terminal.isColoured);
    terminal.out(
      flags.output === 'json' ? `${JSON.stringify({ checks }, undefined, 2)}\n` : renderChecks(checks, paint),
    );
    return checks.every((check) => check.isWell) ? 0 : 1;
  },
);

interface Peers {
  readonly peerKubeconfig: readonly string[] | undefined;
  readonly peerContext: readonly string[] | undefined;
}

/** @throws UsageError */
function peersOf(flags: ClusterFlags & Peers): readonly ClusterFlags[] {
  const { peerKubeconfig: files = [], peerContext: contexts = [] } = flags;
  if (files.length > 1 && contexts.length > 0 && contexts.length !== files.length)
    throw new UsageError('verify: give one --peer-kubeconfig for all, or one for each --peer-context', 2);
  return Array.from({ length: Math.max(files.length, contexts.length) }, (_, at) => ({
    ...flags,
    kubeconfig: files[at] ?? files[0] ?? flags.kubeconfig,
    context: contexts[at],
  }));
}

/** @throws CommandFailed if two kubeconfigs lead to one cluster */
function refuseSameNames(clusters: readonly Snapshot[]): void {
  const twice = clusters.find(({ label }, at) => clusters.findIndex((one) => one.label === label) < at);
  if (twice === undefined) return;
  const message = `two of the contexts lead to clusters called ${twice.label}: each cluster is to be given once`;
  throw new CommandFailed({ code: 'SameName', message });
}

interface PacketFlags {
  readonly service: boolean;
  readonly image: string | undefined;
  readonly wait: string;
}

/** Time between two attempts of a probe. */
const attemptMs = 2000;

async function sendPackets(
  clusters: readonly Snapshot[],
  places: readonly ClusterFlags[],
  { service, image, wait }: PacketFlags,
  terminal: Terminal,
): Promise<readonly Check[]> {
  const id = randomUUID();
  return await withClusters(places, terminal, async (opened) => {
    const sites = await Promise.all(
      opened.map(async (one, at): Promise<TestSite> => {
        const { client, exec } = one;
        const run = { id, ...(await testImage(one, image, terminal.signal)) };
        return { cluster: clusters[at]?.label ?? one.label, client, exec, run };
      }),
    );
    return await testTraffic({
      sites,
      clusters,
      plan: planTests(clusters),
      withServices: service,
      timeoutMs: durationMs(wait),
      pauseMs: attemptMs,
      signal: terminal.signal,
      note: terminal.note,
    });
  });
}

async function withClusters<T>(
  [first, ...rest]: readonly ClusterFlags[],
  terminal: Terminal,
  use: (clusters: readonly Cluster[]) => Promise<T>,
): Promise<T> {
  if (first === undefined) return await use([]);
  return await withCluster(first, terminal, (cluster) =>
    withClusters(rest, terminal, (others) => use([cluster, ...others])),
  );
}

async function exercise(
  flags: ClusterFlags & { readonly wait: string },
  terminal: Terminal,
  isWell: boolean,
): Promise<readonly Check[]> {
  if (!isWell)
    throw new CommandFailed({
      code: 'NotWell',
      message:
        '--disruptive needs a network without problems: run isthmus ic verify without it, and fix what it reports',
    });
  return await withCluster(flags, terminal, async (cluster) => {
    const nodes = drainable(await readCluster(cluster, flags, terminal));
    if (nodes.length === 0)
      throw new CommandFailed({
        code: 'LastGateway',
        message: '--disruptive needs two gateways, none of them drained; otherwise a drain would cut the cluster off',
      });
    const bench = {
      look: () => readCluster(cluster, flags, terminal),
      drain: (node: string, drain: boolean) => setDrain(cluster.client, node, drain),
      note: terminal.note,
    };
    return await exerciseGateways(bench, nodes, { timeoutMs: durationMs(flags.wait), signal: terminal.signal });
  });
}
