import { readToken, verifyToken, type TokenClaims } from '../../../lib/pki/join-token.ts';
import { secrets } from '../../../lib/kube/resources.ts';
import { KubeApiError } from '../../../lib/kube/errors.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { text, UsageError } from '../../../lib/run/flags.ts';
import { command, durationMs, type ExitCode } from '../../command/command.ts';
import type { Surveyed } from '../../model/join-question.ts';
import { specOf } from '../../model/snapshot.ts';
import { checkJoin } from '../../plan/join-check/check.ts';
import { renderJoinReport } from '../../render/join-check.ts';
import { paintFor } from '../../render/paint.ts';
import { clusterFlags, outputFlags, peerFlags, withCluster } from '../../watch/cluster.ts';
import { probeHub } from '../../watch/hub-probe.ts';
import { authoritySecret, secretValue } from '../../watch/secrets.ts';
import { survey } from '../../watch/survey.ts';

export const check = command(
  {
    name: 'check',
    operands: ['[TOKEN]'],
    summary: 'check before a join whether this cluster can join, and what would not work then',
    description:
      'Checks the token, the hub (port and TLS identity, from this machine), clocks, releases, overlaps of pod networks with\nprefixes of members, Services and clusterSetCIDR against them, gateways, the port of tunnels and the MTU. TOKEN may be "-"\nto read it from standard input; the token is not used up. With --peer-context or --peer-kubeconfig of the cluster of the\nhub, or of a member, the networks of all members are known; without it they are "unknown". Read-only. Exit code 1 if\nsomething fails; what is unknown does not count.',
    examples: [
      'isthmus ic check "$TOKEN" --context east --peer-context hub',
      'isthmus ic check - --peer-context west -o json | jq \'.checks[] | select(.state != "ok")\'',
    ],
  },
  {
    hub: text(
      'host:port of the hub; by default that of the token, or of the Interconnect of either cluster',
      undefined,
    ),
    ...peerFlags,
    ...clusterFlags,
    ...outputFlags,
  },
  async ({ flags, operands: [given], terminal }): Promise<ExitCode> => {
    const line = (given === '-' ? await terminal.readInput() : (given ?? '')).trim();
    const token = line === '' ? undefined : claimsOf(line);
    const { peerKubeconfig, peerContext } = flags;
    const theirs = { ...flags, kubeconfig: peerKubeconfig ?? flags.kubeconfig, context: peerContext };
    const isPeered = peerKubeconfig !== undefined || peerContext !== undefined;
    const [near, peer] = await Promise.all([
      withCluster(flags, terminal, (cluster) => survey(cluster, flags, terminal)),
      isPeered
        ? withCluster(theirs, terminal, async (cluster) => ({
            far: await survey(cluster, flags, terminal),
            isSigned: token === undefined ? undefined : await isSignedBy(cluster.client, flags.namespace, line),
          }))
        : undefined,
    ]);
    const hub = flags.hub ?? token?.hub ?? hubOf(near) ?? hubOf(peer?.far);
    const report = checkJoin({
      near,
      far: peer?.far,
      token,
      isSigned: peer?.isSigned,
      hub,
      probe: hub === undefined ? undefined : await probeHub(hub, durationMs(flags.timeout)),
      nowMs: terminal.now(),
    });
    const paint = paintFor(terminal.isColoured);
    terminal.out(
      flags.output === 'json' ? `${JSON.stringify(report, undefined, 2)}\n` : renderJoinReport(report, paint),
    );
    return report.isWell ? 0 : 1;
  },
);

function claimsOf(line: string): TokenClaims {
  const claims = readToken(line);
  if ('code' in claims) throw new UsageError(claims.message, 2);
  return claims;
}

function hubOf(side: Surveyed | undefined): string | undefined {
  return side === undefined ? undefined : specOf(side.snapshot)?.hub;
}

/** Undefined if the other cluster has no hub, or if its authority may not be read. */
async function isSignedBy(
  client: Pick<KubeClient, 'get'>,
  namespace: string,
  line: string,
): Promise<boolean | undefined> {
  try {
    const certificate = secretValue(await client.get(secrets, { namespace, name: authoritySecret }), 'tls.crt');
    return certificate === undefined ? undefined : !('code' in verifyToken({ certificate }, line));
  } catch (error) {
    if (error instanceof KubeApiError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
