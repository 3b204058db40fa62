import { remoteClusters } from '../../../lib/kube/resources.ts';
import { KubeApiError, orAbsent } from '../../../lib/kube/errors.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { toggle } from '../../../lib/run/flags.ts';
import { deleteMember, isMemberGone } from '../../apply/membership.ts';
import { waitFor } from '../../apply/wait.ts';
import { command, duration, durationMs, type ExitCode } from '../../command/command.ts';
import { CommandFailed } from '../../command/failure.ts';
import { findMember, lossOf, refuseRemoval } from '../../plan/mesh/removal.ts';
import { clusterFlags, withCluster } from '../../watch/cluster.ts';
import { readMesh } from '../../watch/mesh.ts';

export const remove = command(
  {
    name: 'remove',
    operands: ['CLUSTER'],
    summary: 'remove a member that is gone for good, in the cluster of the hub',
    description:
      'Deletes the HubMember of a cluster. The hub then removes its rows: its prefixes, exports, gateways and transit ports go in\nall clusters, and its certificate is refused. Refuses while the cluster is connected: there, isthmus ic leave ends the\nmembership in order; --force removes it all the same. Asks for the name of the cluster first; without a terminal, --yes is\nneeded. Waits until the HubMember is gone and, if this cluster is a member too, its RemoteCluster.',
    examples: ['isthmus ic remove west --context hub', 'isthmus ic remove west --context hub --yes'],
  },
  {
    yes: toggle('do not ask'),
    force: toggle('also if the cluster is connected'),
    wait: duration('how long to wait until it is gone', '60s'),
    ...clusterFlags,
  },
  ({ flags, operands, terminal }) =>
    withCluster(flags, terminal, async ({ client, label, namespace }): Promise<ExitCode> => {
      const [wanted = ''] = operands;
      const late = AbortSignal.timeout(durationMs(flags.timeout));
      const signal = AbortSignal.any([terminal.signal, late]);
      const mesh = await readMesh({ client, label, namespace, nowMs: terminal.now(), signal });
      const member = findMember(mesh, wanted);
      if ('code' in member) throw new CommandFailed(member);
      const refused = refuseRemoval(member, mesh, flags.force);
      if (refused !== undefined) throw new CommandFailed(refused);
      const { name, handle } = member;
      if (!flags.yes) {
        const answer = await terminal.ask(`${lossOf(member)}.\nType ${name} to confirm: `);
        if (answer?.trim() !== name) {
          const why = answer === undefined ? 'there is no terminal to ask at: add --yes' : `the answer was not ${name}`;
          throw new CommandFailed({ code: 'NotConfirmed', message: `nothing is removed; ${why}` });
        }
      }
      await deleteMember(client, member);
      // A cluster of the hub that is no member has no RemoteClusters.
      const isGone = async (): Promise<true | undefined> => {
        if (!(await isMemberGone(client, member))) return undefined;
        return (await isRemote(client, name)) ? undefined : true;
      };
      const gone = await waitFor(isGone, { timeoutMs: durationMs(flags.wait), signal: terminal.signal });
      if (gone.value === undefined)
        throw new CommandFailed({
          code: 'StillThere',
          message: `HubMember ${handle} is deleted, but this cluster still has ${name} after ${flags.wait}: see whether hub and agent run (isthmus ic diagnose)`,
        });
      terminal.out(
        `${name} is removed after ${(gone.tookMs / 1000).toFixed(1)} s\nIf it ever comes back, it needs a new token: isthmus ic join TOKEN\n`,
      );
      return 0;
    }),
);

/** False also without the permission to read RemoteClusters: the HubMember decides. */
async function isRemote(client: Pick<KubeClient, 'get'>, name: string): Promise<boolean> {
  try {
    return (await orAbsent(client.get(remoteClusters, { name }))) !== undefined;
  } catch (error) {
    if (error instanceof KubeApiError && error.status === 403) return false;
    throw error;
  }
}
