import type { Problem } from '../../../lib/desired/problem.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { NatRule, SubnetSpec } from '../../model/objects.ts';
import { partsOf } from '../../settle/gateway/scope.ts';

/** A rule of `natOutgoingPolicyRules` as the status repeats it. */
export interface StatedRule {
  /** Twelve hexadecimal digits, the same for the same rule. */
  readonly ruleID: string;
  readonly match: { readonly srcIPs?: string; readonly dstIPs?: string };
  readonly action: string;
}

/** FNV-1a of 64 bits, of which 48 are used. */
function ruleId({ srcIPs, dstIPs, action }: NatRule): string {
  let hash = 0xcbf29ce484222325n;
  for (const char of [srcIPs, dstIPs, action].join('|'))
    hash = BigInt.asUintN(64, (hash ^ BigInt(char.codePointAt(0) ?? 0)) * 0x100000001b3n);
  return (hash >> 16n).toString(16).padStart(12, '0');
}

function familyOf(text: string): Family | undefined {
  return (parseIp(text) ?? parseCidr(text))?.family;
}

function obstacleOf({ srcIPs, dstIPs, action }: NatRule): string | undefined {
  if (action !== 'nat' && action !== 'forward') return `action must be nat or forward, not '${action}'`;
  const families = new Set<Family>();
  for (const [field, text] of [
    ['srcIPs', srcIPs],
    ['dstIPs', dstIPs],
  ] as const) {
    for (const part of partsOf(text)) {
      const family = familyOf(part);
      if (family === undefined) return `match.${field}: '${part}' is neither an address nor a CIDR`;
      families.add(family);
    }
  }
  return families.size < 2 ? undefined : 'match has addresses of both families: create a rule for each family';
}

/** The rules that apply, in order. */
export function statedRules({ natOutgoingPolicyRules: rules }: SubnetSpec): readonly StatedRule[] {
  const valid = rules.filter((rule) => obstacleOf(rule) === undefined);
  return valid.map((rule) => {
    const { srcIPs, dstIPs, action } = rule;
    const match = { ...(srcIPs === '' ? {} : { srcIPs }), ...(dstIPs === '' ? {} : { dstIPs }) };
    return { ruleID: ruleId(rule), match, action };
  });
}

/** Problems of single rules; the other rules apply. */
export function natRuleProblems({ natOutgoingPolicyRules: rules }: SubnetSpec): readonly Problem[] {
  return rules.flatMap((rule, index) => {
    const obstacle = obstacleOf(rule);
    const message = `spec.natOutgoingPolicyRules[${index}].${obstacle}; the other rules apply`;
    return obstacle === undefined ? [] : [{ code: 'NatRuleInvalid', message }];
  });
}
