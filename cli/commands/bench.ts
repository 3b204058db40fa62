import { integer, text, UsageError } from '../../lib/run/flags.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import { parseCidr } from '../../lib/net/cidr.ts';
import { command, duration, durationMs, repeatable, type ExitCode, type Invocation } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { markerName, measureMarker, type MarkerTimes } from '../apply/marker.ts';
import { distributions, pathFigures } from '../plan/bench.ts';
import { renderBench, type BenchReport } from '../render/bench.ts';
import { paintFor } from '../render/paint.ts';
import { specOf, type Snapshot } from '../model/snapshot.ts';
import { clusterFlags, outputFlags, peerFlags, readCluster, withCluster } from '../watch/cluster.ts';
import { probeHub } from '../watch/hub-probe.ts';
import { fetchMetrics } from '../watch/metrics.ts';

const benchFlags = {
  metrics: repeatable('URLs of agents’ /metrics: their histograms are shown'),
  handshakes: integer('number of connections to the hub to measure; 0 for none', 5),
  marker: text(
    'prefix that is free in all clusters: creates a Subnet "isthmus-bench" with it, measures the time until the other cluster uses the route, and deletes the Subnet; needs --peer-kubeconfig or --peer-context',
    undefined,
  ),
  wait: duration('timeout for each step of --marker', '30s'),
  ...peerFlags,
  ...clusterFlags,
  ...outputFlags,
};

export const bench = command(
  {
    name: 'bench',
    operands: [],
    summary: 'RTT, loss and MTU of the paths, and response times of the hub and the agents',
    description:
      'Shows what can be measured without pods: the gateways’ probes of each other (RTT, loss, MTU), the time of a TLS\nhandshake with the hub from here, and with --metrics the agents’ histograms. With --marker PREFIX it times a route from\none cluster to the other. Throughput and failover need traffic between pods: they are not measured here. Writes nothing\nwithout --marker. Exit code 1 if a step of --marker timed out.',
    examples: [
      'isthmus ic bench',
      'isthmus ic bench --metrics http://127.0.0.1:10669/metrics',
      'isthmus ic bench --marker 10.99.0.0/24 --peer-context west',
    ],
  },
  benchFlags,
  async ({ flags, operands, terminal }): Promise<ExitCode> => {
    if (flags.marker !== undefined && parseCidr(flags.marker) === undefined)
      throw new UsageError(`--marker ${flags.marker}: is not a prefix, such as 10.99.0.0/24`, 2);
    if (flags.marker !== undefined && flags.peerKubeconfig === undefined && flags.peerContext === undefined)
      throw new UsageError('--marker needs the other cluster: --peer-kubeconfig or --peer-context', 2);
    const report = await withCluster(flags, terminal, async (cluster): Promise<BenchReport> => {
      const near = await readCluster(cluster, flags, terminal);
      const timeoutMs = durationMs(flags.timeout);
      const samples = await Promise.all(
        (flags.metrics ?? []).map((url) => fetchMetrics(url, timeoutMs, terminal.signal)),
      );
      const hub = await timeHub(near, flags.handshakes, timeoutMs);
      const marker =
        flags.marker === undefined
          ? undefined
          : await timeMarker({ flags, operands, terminal }, near, flags.marker, cluster.client);
      return { cluster: near.label, hub, paths: pathFigures(near), agent: distributions(samples.flat()), marker };
    });
    const paint = paintFor(terminal.isColoured);
    terminal.out(
      flags.output === 'json'
        ? `${JSON.stringify(report, undefined, 2)}\n`
        : renderBench(report, terminal.now(), paint),
    );
    const { marker } = report;
    const isTimely = marker === undefined || (marker.learnedMs !== undefined && marker.withdrawnMs !== undefined);
    return isTimely ? 0 : 1;
  },
);

async function timeHub(near: Snapshot, count: number, timeoutMs: number): Promise<BenchReport['hub']> {
  const address = specOf(near)?.hub;
  if (address === undefined || count === 0) return undefined;
  const handshakesMs: number[] = [];
  for (let attempt = 0; attempt < count; attempt += 1) {
    const probe = await probeHub(address, timeoutMs);
    if (probe?.outcome !== 'answered') return { address, handshakesMs, problem: probe?.detail ?? 'is not a host:port' };
    handshakesMs.push(probe.tookMs);
  }
  return { address, handshakesMs, problem: undefined };
}

/** Precision of the times of --marker, besides the requests themselves. */
const markerPauseMs = 20;

/** @throws CommandFailed if one of the two clusters is not a member: its route would never arrive */
async function timeMarker(
  { flags, terminal }: Invocation<typeof benchFlags>,
  snapshot: Snapshot,
  cidr: string,
  near: Parameters<typeof measureMarker>[0]['near'],
): Promise<MarkerTimes & { cidr: string; peer: string }> {
  const theirs = { ...flags, kubeconfig: flags.peerKubeconfig ?? flags.kubeconfig, context: flags.peerContext };
  const patience = { timeoutMs: durationMs(flags.wait), signal: terminal.signal, pauseMs: markerPauseMs };
  return await withCluster(theirs, terminal, async (cluster) => {
    const other = await readCluster(cluster, flags, terminal);
    const [spec] = [snapshot, other].map(memberSpec);
    terminal.note(`creating Subnet ${markerName} (${cidr}); it is deleted at the end …\n`);
    const vpc = spec?.vpc ?? defaultVpc;
    const times = await measureMarker({ near, far: cluster.client, cluster: snapshot.label, cidr, vpc, patience });
    return { cidr, peer: other.label, ...times };
  });
}

function memberSpec(snapshot: Snapshot): ReturnType<typeof specOf> {
  if (snapshot.interconnect !== undefined) return specOf(snapshot);
  throw new CommandFailed({
    code: 'NotAMember',
    message: `${snapshot.label} is not a member: --marker needs two that are`,
  });
}
