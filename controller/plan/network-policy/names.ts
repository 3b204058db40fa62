/** Priorities of the rows of policies, and names of those that only the controller knows. */
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import { digestName } from '../../../lib/ovn/digest-name.ts';
import type { Family } from '../../../lib/net/ip.ts';

/** Kube-OVN's: without tiers, these are below security groups and above the rules of private Subnets. The highest wins. */
export const policyAcl = { base: 2002, allow: 2001, drop: 2000 } as const;

const short = { ingress: 'in', egress: 'out' } as const;

/** The term of a match for the ports of a group, as a direction sees them. */
export function portTerm(direction: PolicyDirection, group: string): string {
  return `${direction === 'ingress' ? 'outport' : 'inport'} == @${group}`;
}

/** What owners of policies of the whole cluster, of what they select and of their peers belong together by. */
export const clusterPolicies = 'cluster-policies';

/** The addresses outside of selectors that a rule names. Names of policies may differ in characters that match expressions do not know. */
export function blockSet(policy: string, direction: PolicyDirection, rule: number, family: Family): string {
  return `np.${digestName(policy, String(rule))}.${short[direction]}.v${family}`;
}

/** The addresses of a domain name: those for new connections, or also former ones, to which connections stay. Policies share it. */
export function domainSet(name: string, kind: 'new' | 'kept', family: Family): string {
  return `dns.${digestName(name)}${kind === 'kept' ? '.kept' : ''}.v${family}`;
}

/** The set of addresses of a peer's pods in a VPC; with a named port, of those that give it this number. */
export function peerSet(
  peer: string,
  vpc: string,
  family: Family,
  named?: { readonly key: string; readonly number: number },
): string {
  const parts = named === undefined ? [peer, vpc] : [peer, vpc, named.key, String(named.number)];
  return `sel.${digestName(...parts)}.v${family}`;
}
