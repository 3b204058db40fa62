import { setRotation, stateOf, type Rotation } from '../../apply/rotation.ts';
import { waitFor } from '../../apply/wait.ts';
import { command, duration, durationMs, type ExitCode } from '../../command/command.ts';
import { CommandFailed } from '../../command/failure.ts';
import { milliseconds, plural } from '../../model/units.ts';
import { usableGateways } from '../../plan/diagnose/gateways.ts';
import { clusterFlags, readCluster, withCluster } from '../../watch/cluster.ts';
import { gatewayOf } from '../drain.ts';

export const rotateKeys = command(
  {
    name: 'rotate-keys',
    operands: ['[NODE]'],
    summary: 'replace the WireGuard keys of the gateways of this cluster, without loss',
    description:
      'Sets spec.rotateKey of the InterconnectGateways, or of the one of NODE, and waits until each has its new key. A node makes the\nkey itself. It changes to it when the gateways of all other clusters accept both; a cluster that is away is waited for as long\nas encryption.keyRotation.maxWaitHours of the Interconnect says. Exit code 1 if a gateway still has its old key when the time is\nover; the rotation continues.',
    examples: ['isthmus ic rotate-keys', 'isthmus ic rotate-keys n1 --wait 10m'],
  },
  { wait: duration('how long to wait until each gateway has its new key', '60s'), ...clusterFlags },
  ({ flags, operands: [node], terminal }) =>
    withCluster(flags, terminal, async (cluster): Promise<ExitCode> => {
      const before = await readCluster(cluster, flags, terminal);
      const gateways = node === undefined ? usableGateways(before) : [gatewayOf(before, node)];
      const keyed = gateways.filter(({ status }) => status.wireGuard?.publicKey !== undefined);
      if (keyed.length === 0) {
        const whose = node === undefined ? `no gateway of ${before.label} has a` : `${node} has no`;
        const message = `${whose} WireGuard key: tunnels are not encrypted, or status.wireGuard.problem of the InterconnectGateway says why`;
        throw new CommandFailed({ code: 'NoKey', message });
      }
      const request = new Date(terminal.now()).toISOString();
      for (const gateway of keyed) await setRotation(cluster.client, gateway.node, request);
      let states: readonly Rotation[] = [];
      const done = await waitFor(
        async () => {
          const now = await readCluster(cluster, flags, terminal);
          states = keyed.map((gateway) => stateOf(gateway, now));
          return states.every(({ isDone }) => isDone) ? true : undefined;
        },
        { timeoutMs: durationMs(flags.wait), signal: terminal.signal },
      );
      if (done.value === undefined) {
        const left = states.flatMap(({ text, isDone }) => (isDone ? [] : [text])).join('; ');
        const message = `after ${flags.wait}: ${left}; the rotation continues`;
        throw new CommandFailed({ code: 'StillRotating', message });
      }
      terminal.out(`${plural(keyed.length, 'key')} replaced after ${milliseconds(done.tookMs)}\n`);
      return 0;
    }),
);
