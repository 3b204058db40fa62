import { parseIp } from '../../../lib/net/ip.ts';
import type { PolicyProtocol } from '../../../lib/policies/policy.ts';
import { choice, UsageError } from '../../../lib/run/flags.ts';
import { command, repeatable } from '../../command/command.ts';
import type { PolicyReading } from '../../model/policy-reading.ts';
import { explainPolicies } from '../../plan/network-policy/why.ts';
import { renderPolicyWhy } from '../../render/network-policy/why.ts';
import { clusterFlags, outputFlags } from '../../watch/cluster.ts';
import { readPolicies, type HostName } from '../../watch/network-policy.ts';
import { print } from '../bgp/answer.ts';
import { parseClientName } from '../why/service.ts';

/** An address, or what `parseClientName` takes. */
export function parseHostName(text: string): HostName {
  return parseIp(text) === undefined ? parseClientName(text) : { kind: 'address', address: text };
}

const protocols: readonly string[] = ['tcp', 'udp', 'sctp'] satisfies PolicyProtocol[];

/** `8080` or `8080/UDP`. */
export function parsePolicyPort(text: string): NonNullable<PolicyReading['port']> {
  const [, digits = '', protocol = 'tcp'] = /^(\d+)(?:\/([a-z]+))?$/i.exec(text) ?? [];
  const number = Number(digits);
  const name = protocol.toLowerCase();
  if (digits === '' || number < 1 || number > 65_535 || !protocols.includes(name))
    throw new UsageError(`PORT: "${text}" is not a port; write NUMBER or NUMBER/PROTOCOL, such as 53/UDP`, 2);
  return { protocol: name as PolicyProtocol, number };
}

const traceFlags = {
  trace: choice(
    'whether OVN is asked what it does with the first packet: auto, if you may and PORT is given; always, with exit code 1 if it cannot be asked; never',
    ['auto', 'always', 'never'],
    'auto',
  ),
  sb: repeatable(
    'remotes of OVN_Southbound, as unix:PATH, for the ovn-trace of this machine; by default that of the pods of OVN',
  ),
};

export const policyWhy = command(
  {
    name: 'why',
    operands: ['FROM', 'TO', '[PORT]'],
    summary: 'whether network policies allow a connection, and which rule decides',
    description:
      'Shows for each end of a connection which policies select it, which of their rules name the other end and the port, and\nwhich rule decides: first those of the whole cluster in the tier Admin, in their order, then NetworkPolicies, then the tier\nBaseline. FROM and TO are pod/NAMESPACE/NAME, node/NAME or an address; NAMESPACE/NAME is a pod, NAME a node. PORT is NUMBER or\nNUMBER/PROTOCOL, TCP by default; without it the answer is for any port. Rules see the endpoints of Services, so TO is an endpoint.\nComputed from the objects by the rules of the controller, and compared with what ovn-trace says about the first packet; that\nneeds PORT, and the right to run programs in the pods of OVN. Security groups and private Subnets are not part of the answer\nfrom the objects. Changes nothing. Exit code 1 if the connection is denied, if OVN decides otherwise, or if you may not read\nall kinds of policies.',
    examples: [
      'isthmus policy why default/client shop/web 8080',
      'isthmus policy why node/n1 shop/web',
      'isthmus policy why shop/web 192.0.2.7 53/UDP',
      'isthmus policy why default/client shop/web 8080 --trace=always',
      'isthmus policy why default/client shop/web 8080 -o json | jq .families',
    ],
  },
  { ...traceFlags, ...clusterFlags, ...outputFlags },
  async ({ flags, operands, terminal }) => {
    const [from = '', to = '', port] = operands;
    const names = { from: parseHostName(from), to: parseHostName(to) };
    const asked = { ...names, port: port === undefined ? undefined : parsePolicyPort(port) };
    const { trace, sb = [] } = flags;
    const question = { ...asked, isTraced: trace !== 'never', sb };
    const why = explainPolicies(await readPolicies(question, flags, terminal));
    print(why, (paint) => renderPolicyWhy(why, paint), flags, terminal);
    const isCompared = trace !== 'always' || why.ovn.state !== 'not asked';
    const isPassed = why.ovn.state === 'not asked' || why.families.every(({ ovn }) => ovn?.verdict !== 'denied');
    return why.isAllowed && why.isComplete && isCompared && isPassed && why.ovn.state !== 'disagrees' ? 0 : 1;
  },
);
