import type { Problem } from '../../../lib/desired/problem.ts';
import { readToken } from '../../../lib/pki/join-token.ts';
import { text, UsageError } from '../../../lib/run/flags.ts';
import { waitFor } from '../../apply/wait.ts';
import { command, duration, durationMs, type ExitCode, type Terminal } from '../../command/command.ts';
import { CommandFailed } from '../../command/failure.ts';
import type { Surveyed } from '../../model/join-question.ts';
import { checkJoin } from '../../plan/join-check/check.ts';
import { arePathsUp, hubAddressOf, nameOf, pathsOf } from '../../plan/mesh/connection.ts';
import {
  clusterFlags,
  peerFlags,
  readCluster,
  withCluster,
  type Cluster,
  type ClusterFlags,
} from '../../watch/cluster.ts';
import { probeHub } from '../../watch/hub-probe.ts';
import { survey } from '../../watch/survey.ts';
import { isMember, joinWith } from '../join.ts';
import { tokenFor } from '../token.ts';

const tokenMs = 600_000;

export const connect = command(
  {
    name: 'connect',
    operands: [],
    summary: 'join two clusters to the hub in the first, and wait until the paths between them are up',
    description:
      'The cluster of --context has the hub. Whichever of the two is no member yet is checked as isthmus ic check does, gets a token\nand joins. Then both are watched until all paths between them are up. Safe to run again: members stay as they are. The hub\nitself is part of the installation (hub.enabled of the chart); without one the command says how to get it. Exit code 1\nif a check fails, with the problems, or if the paths are not up in time.',
    examples: [
      'isthmus ic connect --context east --peer-context west',
      'isthmus ic connect --context hub --hub hub.example.com:6650 --cluster east --peer-context arn:west --peer-cluster west',
    ],
  },
  {
    hub: text('host:port at which both reach the hub; by default as the first cluster does', undefined),
    cluster: text('name of the first cluster among the members; by default its context', undefined),
    'peer-cluster': text('name of the other; by default its context', undefined),
    wait: duration('how long to wait for each cluster to be ready, and for the paths', '60s'),
    ...peerFlags,
    ...clusterFlags,
  },
  async ({ flags, terminal }): Promise<ExitCode> => {
    const { peerKubeconfig, peerContext } = flags;
    if (peerKubeconfig === undefined && peerContext === undefined)
      throw new UsageError('connect: --peer-context or --peer-kubeconfig is missing; see --help', 2);
    const theirs = { ...flags, kubeconfig: peerKubeconfig ?? flags.kubeconfig, context: peerContext };
    return await withCluster(flags, terminal, (first) =>
      withCluster(theirs, terminal, (second) => connectBoth({ first, second }, flags, terminal)),
    );
  },
);

interface Both {
  readonly first: Cluster;
  readonly second: Cluster;
}

interface Flags extends ClusterFlags {
  readonly hub: string | undefined;
  readonly cluster: string | undefined;
  readonly peerCluster: string | undefined;
  readonly wait: string;
}

async function connectBoth({ first, second }: Both, flags: Flags, terminal: Terminal): Promise<ExitCode> {
  const [near, far] = await Promise.all([survey(first, flags, terminal), survey(second, flags, terminal)]);
  if (near.snapshot.authority === undefined)
    throw new CommandFailed({
      code: 'NoHub',
      message: `there is no hub in ${first.label}, or you may not read its Secret; install one there: helm upgrade --install isthmus charts/isthmus -n ${first.namespace} --reset-then-reuse-values --set hub.enabled=true --set hub.address=ADDRESS, or exchange the two clusters`,
    });
  const hub = expected(hubAddressOf(near.snapshot, flags.hub));
  const own = expected(nameOf(near.snapshot, flags.cluster, '--cluster'));
  const other = expected(nameOf(far.snapshot, flags.peerCluster, '--peer-cluster'));
  if (own === other)
    throw new CommandFailed({
      code: 'SameName',
      message: `both clusters would be called ${own}: give --peer-cluster NAME`,
    });
  await admit({ cluster: first, name: own, hub, by: first, sides: { near, far: undefined } }, flags, terminal);
  await admit({ cluster: second, name: other, hub, by: first, sides: { near: far, far: near } }, flags, terminal);
  const both = () => Promise.all([readCluster(first, flags, terminal), readCluster(second, flags, terminal)]);
  let last = await both();
  const isUp = async (): Promise<true | undefined> => {
    last = await both();
    return arePathsUp(last[0], other) && arePathsUp(last[1], own) ? true : undefined;
  };
  const patience = { timeoutMs: durationMs(flags.wait), signal: terminal.signal, pauseMs: 1000 };
  const { value, tookMs } = await waitFor(isUp, patience);
  const states = `${pathsOf(last[0], other)}\n${pathsOf(last[1], own)}\n`;
  if (value === true) {
    terminal.out(`${own} and ${other} are connected after ${(tookMs / 1000).toFixed(1)} s\n${states}`);
    return 0;
  }
  throw new CommandFailed({
    code: 'PathsNotUp',
    message: `both are members, but the paths between them are not up after ${flags.wait}\n${states}isthmus ic diagnose ${other} names the cause`,
  });
}

interface Admission {
  readonly cluster: Cluster;
  readonly name: string;
  readonly hub: string;
  /** The cluster of the hub. */
  readonly by: Cluster;
  readonly sides: { readonly near: Surveyed; readonly far: Surveyed | undefined };
}

/** Joins the cluster if it is no member. Nothing is written before its checks have passed. */
async function admit({ cluster, name, hub, by, sides }: Admission, flags: Flags, terminal: Terminal): Promise<void> {
  const line = await tokenFor(by, { cluster: name, hub, expiresMs: terminal.now() + tokenMs, replace: false });
  const claims = readToken(line);
  if ('code' in claims) throw new CommandFailed(claims);
  if (await isMember(cluster, claims, false)) {
    terminal.out(`${name} is a member of ${hub} already\n`);
    return;
  }
  const probe = await probeHub(hub, durationMs(flags.timeout));
  const report = checkJoin({ ...sides, token: claims, isSigned: true, hub, probe, nowMs: terminal.now() });
  const problems = report.checks.flatMap((one) => one.problems);
  if (problems.length > 0) {
    const list = problems.map(({ code, message, fix }) => `${code}: ${message}\n  fix: ${fix}`).join('\n');
    throw new CommandFailed({
      code: 'CannotJoin',
      message: `${name} cannot join ${hub}; nothing was changed in it\n${list}`,
    });
  }
  await joinWith(cluster, { line, claims }, flags, terminal);
}

/** @throws CommandFailed */
function expected(value: string | Problem): string {
  if (typeof value === 'string') return value;
  throw new CommandFailed(value);
}
