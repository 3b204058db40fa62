/**
 * A private subnet: only traffic from the subnet itself, the nodes and the CIDRs it names may enter, and its own traffic may
 * not leave to others. In: the spec and the network in force. Out: ACLs of the switch. Rules: they are rows of the switch's own
 * key, so that the switch never exists without them. An invalid CIDR has no effect.
 */
import { defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import type { SubnetSpec } from '../../model/objects.ts';
import { matchFamily } from '../names.ts';
import type { View } from '../../model/view.ts';
import { aclRow, between, cidrsOf } from './acl-row.ts';
import type { Rule } from './acl-row.ts';

/** Kube-OVN's; those of users lie between 0 and 32767 beside them. */
const priority = { drop: 1000, allowSubnet: 1001, node: 3000 } as const;
/** Longest name of an ACL. */
const maxNameLength = 63;

/** CIDRs that may exchange traffic with a private subnet, once each, and the problems of the others. */
export function readAllowSubnets({ allowSubnets }: SubnetSpec): {
  readonly cidrs: readonly Cidr[];
  readonly problems: readonly Problem[];
} {
  const cidrs = new Map<string, Cidr>();
  const problems: Problem[] = [];
  for (const [index, text] of allowSubnets.entries()) {
    const cidr = parseCidr(text.trim());
    if (cidr !== undefined) cidrs.set(formatCidr(cidr), cidr);
    else if (text.trim() !== '')
      problems.push({
        code: 'SetPrivateLogicalSwitchFailed',
        message: `spec.allowSubnets[${index}]: '${text}' is not a CIDR such as 10.16.0.0/16: correct it`,
      });
  }
  return { cidrs: [...cidrs.values()], problems };
}

function allow(priority: number, match: string): Rule {
  return { direction: 'to-lport', priority, match, action: 'allow-related' };
}

/** The permitted traffic, for one of the subnet's own CIDRs. */
function allowances(own: Cidr, nodes: readonly Cidr[], others: readonly Cidr[]): readonly Rule[] {
  const text = formatCidr(own);
  const ofFamily = (cidrs: readonly Cidr[]): readonly string[] =>
    cidrs.filter(({ family }) => family === own.family).map(formatCidr);
  return [
    allow(priority.allowSubnet, between(own.family, text, text)),
    ...ofFamily(nodes).map((cidr) => allow(priority.node, `${matchFamily(own.family)}.src == ${cidr}`)),
    ...ofFamily(others)
      .filter((other) => other !== text)
      .map((other) =>
        allow(priority.allowSubnet, `(${between(own.family, text, other)}) || (${between(own.family, other, text)})`),
      ),
  ];
}

/** What may enter a private subnet; nothing for another, which is open. */
export function privateAllowances(view: View, name: string, net: SubnetNet): readonly Rule[] {
  const spec = view.subnets.get(name)?.spec;
  if (spec?.isPrivate !== true) return [];
  // Nodes reach only the default VPC. In other VPCs, their addresses may belong to other hosts.
  const isNear = view.verdicts.get(name)?.vpc === defaultVpc;
  const nodes = isNear ? cidrsOf(view.verdicts.get(joinSubnet)?.net) : [];
  const { cidrs: others } = readAllowSubnets(spec);
  return cidrsOf(net).flatMap((own) => allowances(own, nodes, others));
}

/** ACLs of a private subnet; none of another. */
export function privateRows(view: View, name: string, net: SubnetNet): readonly DesiredRow[] {
  if (view.subnets.get(name)?.spec.isPrivate !== true) return [];
  const closed: Rule = {
    direction: 'to-lport',
    priority: priority.drop,
    match: 'ip',
    action: 'drop',
    columns: { name: name.slice(0, maxNameLength), log: true, severity: 'warning' },
  };
  return [closed, ...privateAllowances(view, name, net)].map((rule) => aclRow(view, 'private', name, rule));
}
