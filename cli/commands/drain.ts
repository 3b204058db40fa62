import { toggle } from '../../lib/run/flags.ts';
import { command, duration, durationMs, type ExitCode, type Terminal } from '../command/command.ts';
import { CommandFailed } from '../command/failure.ts';
import { pathsThrough, setDrain } from '../apply/drain.ts';
import { waitFor } from '../apply/wait.ts';
import { usableGateways } from '../plan/diagnose/gateways.ts';
import { milliseconds } from '../model/units.ts';
import type { Gateway, Snapshot } from '../model/snapshot.ts';
import { clusterFlags, readCluster, withCluster, type Cluster, type ClusterFlags } from '../watch/cluster.ts';

export const drain = command(
  {
    name: 'drain',
    operands: ['NODE'],
    summary: 'move all paths off a gateway, without loss, before maintenance',
    description:
      'Sets spec.drain of the node’s InterconnectGateway and waits until no path leads through it. Traffic leaves first, the\nport moves then. The last gateway that is not drained is refused without --force: nothing would be left to carry traffic.\nExit code 1 if paths remain when the time is over; the drain continues.',
    examples: ['isthmus ic drain n1', 'isthmus ic drain n1 --wait 2m'],
  },
  {
    wait: duration('how long to wait until no path leads through it', '60s'),
    force: toggle('drain also the last gateway, which cuts this cluster off from the others'),
    ...clusterFlags,
  },
  ({ flags, operands, terminal }) =>
    withCluster(flags, terminal, async (cluster): Promise<ExitCode> => {
      const [node = ''] = operands;
      const before = await readCluster(cluster, flags, terminal);
      const gateway = gatewayOf(before, node);
      const others = usableGateways(before).filter((one) => one.node !== node && !one.isDrained);
      if (others.length === 0 && !flags.force)
        throw new CommandFailed({ code: 'LastGateway', message: lastGateway(node) });
      if (gateway.isDrained) terminal.note(`${node} is drained already\n`);
      else await setDrain(cluster.client, node, true);
      if (others.length === 0) {
        terminal.out(`${node} is drained; no other gateway is left, so its paths cannot move\n`);
        return 0;
      }
      const patience = { timeoutMs: durationMs(flags.wait), signal: terminal.signal };
      const moved = await waitFor(() => holdersOnceMoved(cluster, flags, terminal, node), patience);
      if (moved.value === undefined) {
        const after = await readCluster(cluster, flags, terminal);
        const left = pathsThrough(after, gatewayOf(after, node)).join(', ');
        const message = `${node} is marked, but ${left} still leads through it after ${flags.wait}; the agent continues; isthmus ic diagnose shows what it waits for`;
        throw new CommandFailed({ code: 'StillDraining', message });
      }
      terminal.out(`${node} is drained after ${milliseconds(moved.tookMs)}: ${moved.value}\n`);
      return 0;
    }),
);

export const undrain = command(
  {
    name: 'undrain',
    operands: ['NODE'],
    summary: 'allow a drained gateway to carry traffic again',
    description:
      'Clears spec.drain of the node’s InterconnectGateway. The agent assigns paths to it as planned, once the hold-down time has\npassed; nothing moves immediately.',
    examples: ['isthmus ic undrain n1'],
  },
  clusterFlags,
  ({ flags, operands, terminal }) =>
    withCluster(flags, terminal, async (cluster): Promise<ExitCode> => {
      const [node = ''] = operands;
      const { isDrained } = gatewayOf(await readCluster(cluster, flags, terminal), node);
      if (isDrained) await setDrain(cluster.client, node, false);
      terminal.out(
        isDrained
          ? `${node} may carry traffic again; isthmus ic status shows when it does\n`
          : `${node} is not drained\n`,
      );
      return 0;
    }),
);

/** @throws CommandFailed if the node is not a gateway */
export function gatewayOf(snapshot: Snapshot, node: string): Gateway {
  const found = snapshot.gateways.find((one) => one.node === node);
  if (found !== undefined) return found;
  const known = snapshot.gateways.map((one) => one.node).join(', ');
  const message = `${node} is not a gateway of ${snapshot.label}; ${known === '' ? 'there is none' : `there are ${known}`}`;
  throw new CommandFailed({ code: 'NoSuchGateway', message });
}

function lastGateway(node: string): string {
  return `${node} is the last gateway that is not drained: the paths have nowhere to go; undrain another one first, or drain it anyway with --force`;
}

/** The present holders of the paths; undefined while a path still uses the node. */
async function holdersOnceMoved(
  cluster: Cluster,
  flags: ClusterFlags,
  terminal: Terminal,
  node: string,
): Promise<string | undefined> {
  const now = await readCluster(cluster, flags, terminal);
  if (pathsThrough(now, gatewayOf(now, node)).length > 0) return undefined;
  return describeHolders(now);
}

export function describeHolders({ transitSwitches }: Snapshot): string {
  const held = transitSwitches.flatMap(({ name, status }) =>
    (status.paths ?? []).map(({ path, holder = '' }) => `${name}/${path} on ${holder === '' ? 'no gateway' : holder}`),
  );
  return held.length === 0 ? 'there are no paths' : held.join(', ');
}
