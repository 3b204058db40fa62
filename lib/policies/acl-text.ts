/**
 * What an ACL says about the policy that it comes from, as a comment at the end of its match. OVN copies the match into the southbound
 * database, where each node reads it (`daemon/watch/logical-flows.ts`): `NetworkPolicy shop/web ingress[0,2] allow`. Pure.
 */
import { policyDirections, type PolicyDirection } from './selection.ts';

export const aclVerdicts = ['allow', 'drop', 'pass'] as const;
export type AclVerdict = (typeof aclVerdicts)[number];

/** The rules of one policy that an ACL stands for. */
export interface AclRules {
  readonly kind: string;
  /** Empty for a policy of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
  readonly direction: PolicyDirection;
  /** Places of the rules in their list, at least one. */
  readonly rules: readonly number[];
  readonly verdict: AclVerdict;
}

/** The drop of what no NetworkPolicy allows, which all of them share. */
export interface AclIsolation {
  readonly direction: PolicyDirection;
  readonly rules: undefined;
}

export type AclOrigin = AclRules | AclIsolation;

const isolation = 'isolation';
/** Where more rules share an ACL, the text names the first ones. */
const mostRules = 32;

/** @param policy `namespace/name` of a NetworkPolicy, or `Kind/name` of a policy of the whole cluster */
export function aclText(
  policy: string,
  direction: PolicyDirection,
  rules: readonly number[],
  verdict: AclVerdict,
): string | undefined {
  const isOfCluster = /^[A-Z]/.test(policy);
  const subject = isOfCluster ? policy.replace('/', ' ') : `NetworkPolicy ${policy}`;
  const text = `${subject} ${direction}[${rules.slice(0, mostRules).join(',')}] ${verdict}`;
  return pattern.test(`${commentOf(text)})`) ? text : undefined;
}

export function isolationText(direction: PolicyDirection): string {
  return `${isolation} ${direction}`;
}

/** A match that says where it comes from. */
export function withAclText(match: string, text: string | undefined): string {
  return text === undefined ? match : `${match} ${commentOf(text)}`;
}

function commentOf(text: string): string {
  return `/* ${text} */`;
}

const directions = policyDirections.join('|');
const name = '[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?';
/** The match of a logical flow is that of its ACL in parentheses, after terms of OVN's own. */
const pattern = new RegExp(
  `/\\* (?:${isolation} (${directions})|([A-Z][A-Za-z]+) (?:(${name})/)?(${name}) (${directions})\\[([0-9,]+)\\] (${aclVerdicts.join('|')})) \\*/\\)$`,
);

/** What the match of a logical flow says; undefined if its ACL is not one of a policy. */
export function readAclText(match: string): AclOrigin | undefined {
  const found = pattern.exec(match);
  if (found === null) return undefined;
  const [, isolated, kind = '', namespace = '', own = '', direction, rules = '', verdict] = found;
  if (isolated !== undefined) return { direction: directionOf(isolated), rules: undefined };
  return {
    kind,
    namespace,
    name: own,
    direction: directionOf(direction),
    rules: rules.split(',').map(Number),
    verdict: aclVerdicts.find((one) => one === verdict) ?? 'drop',
  };
}

function directionOf(text: string | undefined): PolicyDirection {
  return text === 'egress' ? 'egress' : 'ingress';
}
