import { readToken, type TokenClaims } from '../../lib/api/join-token.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { text, UsageError } from '../../lib/run/flags.ts';
import { command, duration, durationMs, type ExitCode } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { getInterconnect, putInterconnect, putToken } from '../apply/membership.ts';
import { waitFor } from '../apply/wait.ts';
import { diagnose } from '../plan/diagnose/diagnose.ts';
import { instant } from '../render/units.ts';
import { conditionOf } from '../state/snapshot.ts';
import { clusterFlags, readCluster, withCluster, withProbe, type Cluster } from '../watch/cluster.ts';
import { parseInterconnect } from '../watch/objects.ts';

const probeMs = 2000;

export const join = command(
  {
    name: 'join',
    operands: ['TOKEN'],
    summary: 'join the hub that a token is for, and wait until this cluster is ready',
    description:
      'Puts the token into the Secret isthmus-interconnect-token, makes the Interconnect "default" with the name and the hub\nof the token, and waits until it is Ready. The agent has to be installed (chart value interconnect.enabled). TOKEN may be\n"-" to read it from standard input, which keeps it out of the shell’s history. Exit code 1 where the cluster is not ready\nin time: the causes are printed, and the agent goes on trying.',
    examples: [
      'isthmus ic join "$TOKEN"',
      'isthmus ic token --context hub --cluster east --hub hub.example.com:6650 | isthmus ic join - --context east',
    ],
  },
  {
    cluster: text('name of this cluster, to make sure that the token is for it', undefined),
    wait: duration('how long to wait until it is ready', '60s'),
    ...clusterFlags,
  },
  async ({ flags, operands, terminal }) => {
    const [given = ''] = operands;
    const line = (given === '-' ? await terminal.readInput() : given).trim();
    const claims = checkedClaims(line, flags.cluster, terminal.now());
    return await withCluster(flags, terminal, async (cluster): Promise<ExitCode> => {
      await refuseOther(cluster, claims);
      const wish = { clusterName: claims.cluster, hub: claims.hub, token: line, namespace: cluster.namespace };
      await putToken(cluster.client, wish);
      await putInterconnect(cluster.client, wish);
      terminal.note(`joining ${claims.hub} as ${claims.cluster} …\n`);
      const ready = await waitFor(() => isReady(cluster), {
        timeoutMs: durationMs(flags.wait),
        signal: terminal.signal,
      });
      if (ready.value !== undefined) {
        terminal.out(
          `${claims.cluster} is ready after ${(ready.tookMs / 1000).toFixed(1)} s: ${ready.value.message ?? ''}\n`,
        );
        return 0;
      }
      const found = diagnose({
        near: await withProbe(await readCluster(cluster, flags, terminal), probeMs),
        far: undefined,
        peer: undefined,
      });
      const why = found.causes.map(({ code, message, fix }) => `${code}: ${message}\n  fix: ${fix}`).join('\n');
      throw new CommandFailed({
        code: 'NotReady',
        message: `${claims.cluster} is not ready after ${flags.wait}\n${why}`,
      });
    });
  },
);

function checkedClaims(line: string, cluster: string | undefined, nowMs: number): TokenClaims {
  const claims = readToken(line);
  if ('code' in claims) throw new UsageError(claims.message, 2);
  if (cluster !== undefined && cluster !== claims.cluster)
    throw new UsageError(
      `the token is for cluster "${claims.cluster}", not for "${cluster}"; make one for this name`,
      2,
    );
  if (claims.expiresMs < nowMs)
    throw new CommandFailed({
      code: 'TokenExpired',
      message: `the token ran out at ${instant(claims.expiresMs)}; make a new one: isthmus ic token --cluster ${claims.cluster} --hub ${claims.hub}`,
    });
  return claims;
}

/** A cluster has one membership: another one is left on purpose, not by the way. */
async function refuseOther({ client }: Cluster, claims: TokenClaims): Promise<void> {
  const raw = await getInterconnect(client);
  if (raw === undefined) return;
  const { spec, status, isDeleting } = parseInterconnect(raw);
  if (isDeleting)
    throw new CommandFailed({
      code: 'Leaving',
      message: 'this cluster is still leaving: wait for `isthmus ic leave`, or end it with --force',
    });
  const isJoined = conditionOf(status.conditions, 'Joined')?.status === 'True';
  const name = 'code' in spec ? claims.cluster : spec.clusterName;
  if (!isJoined || name === claims.cluster) return;
  const message = `this cluster is a member already, as "${name}"; leave first (isthmus ic leave), then join as "${claims.cluster}"`;
  throw new CommandFailed({ code: 'ClusterNameFixed', message });
}

async function isReady({ client }: Cluster): Promise<Condition | undefined> {
  const raw = await getInterconnect(client);
  if (raw === undefined) return undefined;
  const ready = conditionOf(parseInterconnect(raw).status.conditions, 'Ready');
  // A status of before the spec was written says nothing of this hub.
  const isCurrent = ready?.observedGeneration === undefined || ready.observedGeneration === raw.metadata.generation;
  return ready?.status === 'True' && isCurrent ? ready : undefined;
}
