import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestGobgpd } from '../../../lib/gobgp/src/testing.ts';
import { type Namespace, withTest } from './namespace.ts';

export interface SpeakingNode {
  readonly name: string;
  readonly namespace: Pick<Namespace, 'pid'>;
  readonly gobgpd: TestGobgpd;
}

/**
 * Starts the speaker of a node.
 *
 * @param lines receives the speaker's output
 * @param prefix arguments before the command
 */
export function startSpeaker(
  { name, namespace, gobgpd }: SpeakingNode,
  kubeconfig: string,
  lines: string[],
  prefix: readonly string[] = [],
): ChildProcess {
  const flags = {
    kubeconfig,
    node: name,
    gobgpd: gobgpd.target,
    'gobgpd-log': gobgpd.log,
    namespace: 'kube-system',
    'password-secrets': 'isthmus-bgp-passwords',
    'unix-sockets': `/proc/${String(namespace.pid)}/net/unix`,
    netstat: `/proc/${String(namespace.pid)}/net/netstat`,
    'metrics-address': '127.0.0.1:0',
  };
  const [program = '', ...argv] = [
    ...withTest,
    ...prefix,
    process.execPath,
    join(import.meta.dirname, '../../../speaker/main.ts'),
    ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]),
  ];
  const child = spawn(program, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text));
  child.once('exit', (code) => {
    if (code !== null) process.stderr.write(`the speaker of ${name} ended with ${code}:\n${lines.join('')}`);
  });
  return child;
}
