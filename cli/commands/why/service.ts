import { UsageError } from '../../../lib/run/flags.ts';
import { command } from '../../command/command.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { type ClientName, readService } from '../../watch/service.ts';
import { answer } from './answer.ts';

/** `NAMESPACE/NAME`; without a namespace it is `default`. */
export function parseServiceName(text: string): { readonly namespace: string; readonly name: string } {
  const parts = text.replace(/^(?:service|svc)\//, '').split('/');
  const [namespace = '', name = ''] = parts.length === 1 ? ['default', ...parts] : parts;
  if (parts.length > 2 || namespace === '' || name === '')
    throw new UsageError(`service: "${text}" is not a name of a Service; write NAMESPACE/NAME`, 2);
  return { namespace, name };
}

/** `pod/NAMESPACE/NAME` or `NAMESPACE/NAME`; `node/NAME` or `NAME`. */
export function parseClientName(text: string): ClientName {
  const parts = text.split('/');
  const [first = '', second = '', third = ''] = parts;
  if (parts.some((part) => part === '') || parts.length > 3)
    throw new UsageError(`FROM: "${text}" is not a client; write pod/NAMESPACE/NAME or node/NAME`, 2);
  if (first === 'node' && parts.length === 2) return { kind: 'node', name: second };
  if (parts.length === 1) return { kind: 'node', name: first };
  if (parts.length === 2)
    return first === 'pod'
      ? { kind: 'pod', namespace: 'default', name: second }
      : { kind: 'pod', namespace: first, name: second };
  if (first === 'pod') return { kind: 'pod', namespace: second, name: third };
  throw new UsageError(`FROM: "${text}" is not a client; write pod/NAMESPACE/NAME or node/NAME`, 2);
}

export const service = command(
  {
    name: 'service',
    operands: ['NAMESPACE/NAME', '[FROM]'],
    summary: 'how a client reaches a Service, or why it does not',
    description:
      'Shows for each address of a Service which endpoints serve a client, by which load balancer in OVN or which table on\nthe node, and what prevents it. FROM is pod/NAMESPACE/NAME or node/NAME; NAMESPACE/NAME is a pod, NAME a node. Without\nit the answer is for clients anywhere in the cluster. The endpoints are those of the cluster IP. Computed from the objects by\nthe rules of the controller and the daemons; neither OVN nor a node is queried. For the Service slr-NAME of a\nSwitchLBRule the answer is that of `isthmus why switch-lb-rule NAME`. Read-only. Exit code 1 if no address leads to an\nendpoint.',
    examples: [
      'isthmus why service default/web',
      'isthmus why service default/web pod/default/client',
      'isthmus why service kube-system/kube-dns node/n1',
      'isthmus why service default/web n1 -o json | jq .problems',
    ],
  },
  { ...clusterFlags, ...outputFlags },
  async ({ flags, operands, terminal }) => {
    const [text = '', from] = operands;
    const name = parseServiceName(text);
    const client = from === undefined ? undefined : parseClientName(from);
    return answer(await readService(name, client, flags, terminal), flags, terminal);
  },
);
