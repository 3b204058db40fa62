/** Turns a rule of a SecurityGroup into an ACL, or a problem. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { SecurityGroupRule } from '../../model/objects.ts';
import { memberSet, securityPortGroup } from '../../model/ovn-names.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { groupPriority } from './names.ts';

export interface RuleContext {
  readonly group: string;
  readonly direction: Acl['direction'];
  readonly tier: number | undefined;
  /** Why rules can not pass a packet on to the next tier; undefined if they can. */
  readonly passObstacle: Problem | undefined;
  /** Whether the SecurityGroup exists and is accepted, so that rules may refer to its members. */
  readonly hasGroup: (name: string) => boolean;
}

export interface ReadRule {
  /** Absent if the rule matches nothing. */
  readonly acl?: Acl;
  /** Field, and what is wrong with it: `remoteAddress '10.0.0.0/33' is …`. */
  readonly problem?: Problem;
}

const policies: readonly string[] = ['allow', 'drop', 'pass'];

/** Terms of a match. An invalid part adds a problem and no term. */
class Terms {
  readonly all: string[];
  problem: Problem | undefined;

  constructor(first: readonly string[]) {
    this.all = [...first];
  }

  add(term: string | undefined): void {
    if (term !== undefined) this.all.push(term);
  }

  refuse(message: string, code = 'InvalidRule'): void {
    this.problem ??= { code, message };
  }
}

function networkText(text: string, family: Family): string | undefined {
  const ip = parseIp(text);
  if (ip !== undefined) return ip.family === family ? formatIp(ip) : undefined;
  const cidr = parseCidr(text);
  return cidr?.family === family ? formatCidr(cidr) : undefined;
}

function addNetwork(terms: Terms, field: string, text: string, { key, family }: { key: string; family: Family }): void {
  const network = networkText(text, family);
  if (network === undefined) terms.refuse(`${field} '${text}' is not an IPv${family} address or CIDR`);
  else terms.add(`${key} == ${network}`);
}

function addPorts(terms: Terms, field: string, key: string, [min, max]: readonly [number, number]): void {
  if (min === 0 && max === 0) return;
  const isRange = Number.isInteger(min) && Number.isInteger(max) && min >= 1 && max <= 65535 && min <= max;
  if (isRange) terms.add(`${min} <= ${key} <= ${max}`);
  else terms.refuse(`${field}Min ${min} and ${field}Max ${max} are no range of ports: give both, from 1 to 65535`);
}

function addProtocol(terms: Terms, rule: SecurityGroupRule, family: Family): void {
  const { protocol, portRangeMin, portRangeMax, sourcePortRangeMin, sourcePortRangeMax } = rule;
  const ports = [portRangeMin, portRangeMax, sourcePortRangeMin, sourcePortRangeMax];
  if (protocol === 'tcp' || protocol === 'udp') {
    const before = terms.all.length;
    addPorts(terms, 'portRange', `${protocol}.dst`, [portRangeMin, portRangeMax]);
    addPorts(terms, 'sourcePortRange', `${protocol}.src`, [sourcePortRangeMin, sourcePortRangeMax]);
    // A port implies its protocol.
    if (terms.all.length === before) terms.add(protocol);
    return;
  }
  if (protocol === 'icmp') terms.add(family === 4 ? 'icmp4' : 'icmp6');
  else if (protocol !== '' && protocol !== 'all')
    terms.refuse(`protocol '${protocol}' is not supported: use all, icmp, tcp or udp`);
  if (ports.some((port) => port !== 0)) terms.refuse('port ranges need protocol tcp or udp');
}

/** Action in OVN. An action that would leave a packet without any rule is a drop. */
function actionOf(terms: Terms, { policy }: SecurityGroupRule, obstacle: Problem | undefined): Acl['action'] {
  if (policy === 'allow') return 'allow-related';
  if (!policies.includes(policy)) terms.refuse(`policy '${policy}' is not supported: use allow, drop or pass`);
  if (policy !== 'pass') return 'drop';
  if (obstacle === undefined) return 'pass';
  terms.refuse(`policy 'pass' drops the packet, as ${obstacle.message}`, obstacle.code);
  return 'drop';
}

/**
 * The ACL of a rule. An invalid part makes it stricter, never looser: an allowing rule is left out, another one
 * drops without regard to the invalid part.
 */
export function readRule(rule: SecurityGroupRule, context: RuleContext): ReadRule {
  const { direction, group, tier } = context;
  const isIngress = direction === 'to-lport';
  const family = rule.ipVersion === 'ipv6' ? 6 : 4;
  const [remote, local] = isIngress ? ['src', 'dst'] : ['dst', 'src'];
  const terms = new Terms([`${isIngress ? 'outport' : 'inport'} == @${securityPortGroup(group)}`]);
  const isKnown = rule.ipVersion === 'ipv4' || rule.ipVersion === 'ipv6';
  if (isKnown) terms.add(`ip${family}`);
  else terms.refuse(`ipVersion '${rule.ipVersion}' is not supported: use ipv4 or ipv6`);
  if (!isKnown) terms.add('ip');
  else if (rule.remoteType === 'securityGroup') {
    const name = rule.remoteSecurityGroup;
    if (!context.hasGroup(name)) {
      const message = `remoteSecurityGroup '${name}' does not exist or is refused: the rule matches nothing until the group is created or corrected`;
      return { problem: { code: 'SecurityGroupNotFound', message } };
    }
    terms.add(`ip${family}.${remote} == $${memberSet(name, family)}`);
  } else if (rule.remoteType === 'address')
    addNetwork(terms, 'remoteAddress', rule.remoteAddress, { key: `ip${family}.${remote}`, family });
  else terms.refuse(`remoteType '${rule.remoteType}' is not supported: use address or securityGroup`);
  if (isKnown && rule.localAddress !== '')
    addNetwork(terms, 'localAddress', rule.localAddress, { key: `ip${family}.${local}`, family });
  if (isKnown) addProtocol(terms, rule, family);
  const isPriority = Number.isInteger(rule.priority) && rule.priority >= 1 && rule.priority <= 16384;
  if (!isPriority) terms.refuse(`priority ${rule.priority} is not from 1 to 16384`);
  const wanted = actionOf(terms, rule, context.passObstacle);
  const priority = groupPriority.rule - (isPriority ? rule.priority : 1);
  const problem = terms.problem;
  const action = problem !== undefined && wanted === 'pass' ? 'drop' : wanted;
  if (problem !== undefined && action === 'allow-related') return { problem };
  return {
    acl: { direction, priority, match: terms.all.join(' && '), action, tier },
    ...(problem === undefined ? {} : { problem }),
  };
}
