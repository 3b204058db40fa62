import { command, durationMs, repeatable, type ExitCode } from '../command/command.ts';
import { diagnose as judge } from '../plan/diagnose/diagnose.ts';
import { renderDiagnosis } from '../render/diagnosis.ts';
import { paintFor } from '../render/paint.ts';
import { clusterFlags, outputFlags, peerFlags, readFar, readNear, withProbe } from '../watch/cluster.ts';
import { readDatabases } from '../watch/databases.ts';

export const databaseFlags = {
  nb: repeatable(
    'remotes of this cluster’s OVN_Northbound, as unix:PATH: checks whether northd and the ovn-controllers keep up',
  ),
  sb: repeatable('remotes of this cluster’s OVN_Southbound'),
};

/** Timeout for the hub and for each reply of a database: a diagnosis takes at most ten seconds. */
const patienceMs = 3000;

export const diagnose = command(
  {
    name: 'diagnose',
    operands: ['[CLUSTER]'],
    summary: 'check the connection to another cluster step by step and name the cause',
    description:
      'Checks the connection to another cluster, or to all, step by step: membership, agent, hub, gateways, tunnels, MTU, paths,\nprefixes, routes. Names the causes and what to do. One side is enough; with --peer-kubeconfig or --peer-context it\nchecks both sides and finds more causes. Connects to the hub up to the TLS handshake. Read-only, except that with --nb it\nraises NB_Global.nb_cfg, as `ovn-nbctl --wait=hv sync` does. Exit code 1 if it finds a fault.',
    examples: [
      'isthmus ic diagnose',
      'isthmus ic diagnose west --peer-context west',
      'isthmus ic diagnose west --nb unix:/run/ovn/ovnnb_db.sock --sb unix:/run/ovn/ovnsb_db.sock',
    ],
  },
  { ...peerFlags, ...databaseFlags, ...clusterFlags, ...outputFlags },
  async ({ flags, operands, terminal }): Promise<ExitCode> => {
    const timeoutMs = Math.min(patienceMs, durationMs(flags.timeout));
    const [read, far, ovn] = await Promise.all([
      readNear(flags, terminal).then((snapshot) => withProbe(snapshot, timeoutMs)),
      readFar(flags, terminal).then((snapshot) => snapshot && withProbe(snapshot, timeoutMs)),
      readDatabases({ nb: flags.nb ?? [], sb: flags.sb ?? [], timeoutMs, signal: terminal.signal }),
    ]);
    const found = judge({ near: { ...read, ovn }, far, peer: operands[0] ?? far?.label });
    const paint = paintFor(terminal.isColoured);
    terminal.out(flags.output === 'json' ? `${JSON.stringify(found, undefined, 2)}\n` : renderDiagnosis(found, paint));
    return found.isWell ? 0 : 1;
  },
);
