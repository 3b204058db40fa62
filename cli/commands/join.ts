import { readToken, type TokenClaims } from '../../lib/pki/join-token.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { text, toggle, UsageError } from '../../lib/run/flags.ts';
import { command, duration, durationMs, type ExitCode, type Terminal } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { getInterconnect, putInterconnect, putToken } from '../apply/membership.ts';
import { waitFor } from '../apply/wait.ts';
import { diagnose } from '../plan/diagnose/diagnose.ts';
import { joinVerdict } from '../plan/join.ts';
import { instant } from '../model/units.ts';
import { conditionOf } from '../model/snapshot.ts';
import {
  clusterFlags,
  readCluster,
  withCluster,
  withProbe,
  type Cluster,
  type ClusterFlags,
} from '../watch/cluster.ts';
import { parseInterconnect } from '../watch/objects.ts';

const probeMs = 2000;

export const join = command(
  {
    name: 'join',
    operands: ['TOKEN'],
    summary: 'join the hub of a token, or take another name there, and wait until this cluster is ready',
    description:
      'Writes the token into the Secret isthmus-interconnect-token, creates the Interconnect "default" with the name and the hub\nof the token, and waits until it is Ready. The agent has to be installed (chart value interconnect.enabled). TOKEN may be\n"-" to read it from standard input, which keeps it out of the shell’s history. Exit code 1 if the cluster is not ready\nin time: the causes are printed, and the agent keeps trying. With --rename a member takes the name of the token: its\naddresses, ports and traffic stay as they are.',
    examples: [
      'isthmus ic join "$TOKEN"',
      'isthmus ic token --cluster orient --hub hub.example.com:6650 | isthmus ic join - --rename',
      'isthmus ic token --context hub --cluster east --hub hub.example.com:6650 | isthmus ic join - --context east',
    ],
  },
  {
    cluster: text('expected name of this cluster; a token for another name is refused', undefined),
    rename: toggle('rename this cluster, which is a member under another name, to the name of the token'),
    wait: duration('how long to wait until it is ready', '60s'),
    ...clusterFlags,
  },
  async ({ flags, operands, terminal }) => {
    const [given = ''] = operands;
    const line = (given === '-' ? await terminal.readInput() : given).trim();
    const claims = checkedClaims(line, flags.cluster, terminal.now());
    return await withCluster(flags, terminal, async (cluster): Promise<ExitCode> => {
      if (await isMember(cluster, claims, flags.rename)) {
        terminal.out(`${claims.cluster} is a member of ${claims.hub} already; the token was not used\n`);
        return 0;
      }
      await joinWith(cluster, { line, claims }, flags, terminal);
      return 0;
    });
  },
);

interface Ticket {
  readonly line: string;
  readonly claims: TokenClaims;
}

/** Joins and waits until the cluster is ready. @throws CommandFailed with the causes if it is not in time */
export async function joinWith(
  cluster: Cluster,
  { line, claims }: Ticket,
  flags: ClusterFlags & { readonly wait: string },
  terminal: Terminal,
): Promise<void> {
  const wish = { clusterName: claims.cluster, hub: claims.hub, token: line, namespace: cluster.namespace };
  await putToken(cluster.client, wish);
  await putInterconnect(cluster.client, wish);
  terminal.note(`joining ${claims.hub} as ${claims.cluster} …\n`);
  const startMs = terminal.now();
  const verdict = await waitFor(() => verdictOf(cluster, terminal.now() - startMs), {
    timeoutMs: durationMs(flags.wait),
    signal: terminal.signal,
  });
  const after = `${(verdict.tookMs / 1000).toFixed(1)} s`;
  if (verdict.value?.status === 'True') {
    terminal.out(`${claims.cluster} is ready after ${after}: ${verdict.value.message ?? ''}\n`);
    return;
  }
  const found = diagnose({
    near: await withProbe(await readCluster(cluster, flags, terminal), probeMs),
    far: undefined,
    peer: undefined,
  });
  const why = found.causes.map(({ code, message, fix }) => `${code}: ${message}\n  fix: ${fix}`).join('\n');
  throw new CommandFailed({
    code: 'NotReady',
    message: `${claims.cluster} is not ready after ${after}\n${why}`,
  });
}

function checkedClaims(line: string, cluster: string | undefined, nowMs: number): TokenClaims {
  const claims = readToken(line);
  if ('code' in claims) throw new UsageError(claims.message, 2);
  if (cluster !== undefined && cluster !== claims.cluster)
    throw new UsageError(
      `the token is for cluster "${claims.cluster}", not for "${cluster}"; create one for this name`,
      2,
    );
  if (claims.expiresMs < nowMs)
    throw new CommandFailed({
      code: 'TokenExpired',
      message: `the token expired at ${instant(claims.expiresMs)}; create a new one: isthmus ic token --cluster ${claims.cluster} --hub ${claims.hub}`,
    });
  return claims;
}

/**
 * Whether the cluster is a working member of that hub with that name.
 * @throws CommandFailed if it has another membership: a cluster has one membership, which must be left or renamed explicitly
 */
export async function isMember({ client }: Cluster, claims: TokenClaims, mayRename: boolean): Promise<boolean> {
  const raw = await getInterconnect(client);
  if (raw === undefined) return false;
  const { spec, status, isDeleting } = parseInterconnect(raw);
  if (isDeleting)
    throw new CommandFailed({
      code: 'Leaving',
      message: 'this cluster is still leaving: wait for `isthmus ic leave`, or end it with --force',
    });
  const isJoined = conditionOf(status.conditions, 'Joined')?.status === 'True';
  const isReachable = conditionOf(status.conditions, 'HubReachable')?.status === 'True';
  const [name, hub] = 'code' in spec ? [claims.cluster, ''] : [spec.clusterName, spec.hub];
  if (!isJoined || name === claims.cluster) return isJoined && isReachable && hub === claims.hub;
  if (mayRename && hub === claims.hub) return false;
  const leave = `leave first (isthmus ic leave), then join as "${claims.cluster}"`;
  const what =
    hub === claims.hub ? `--rename renames it to "${claims.cluster}" instead, without loss of traffic` : leave;
  const message = `this cluster is a member already, as "${name}" of ${hub}; ${what}`;
  throw new CommandFailed({ code: 'ClusterNameFixed', message });
}

async function verdictOf({ client }: Cluster, elapsedMs: number): Promise<Condition | undefined> {
  const raw = await getInterconnect(client);
  if (raw === undefined) return undefined;
  return joinVerdict(parseInterconnect(raw).status.conditions ?? [], raw.metadata.generation, elapsedMs);
}
