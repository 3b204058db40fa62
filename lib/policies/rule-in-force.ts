/** A rule of a policy of the whole cluster as it is in force, with its nodes as networks, and within the limits. Pure. */
import { hasTooManyNetworks, mostNetworks } from './block.ts';
import { tooManyNumbers, type PortNumbers } from './numbers.ts';
import { everything } from './parse-cluster.ts';
import type { BlockPeer, ClusterRule } from './policy.ts';

/** Why a rule contains less than it should, with a code for conditions. */
export interface Shortage {
  readonly code: 'TooManyNetworks' | 'TooManyNumbers';
  readonly message: string;
}

export interface RuleInForce extends ClusterRule {
  readonly shortage: Shortage | undefined;
}

/**
 * Where a limit keeps a part of a rule that does not accept out, the rule denies more than that part, since the traffic of the part must not pass.
 * @param nodeAddresses those of the nodes that the rule names, without an address that another object has
 */
export function ruleInForce(rule: ClusterRule, nodeAddresses: Iterable<string>, numbers: PortNumbers): RuleInForce {
  const { pods, domains = [] } = rule.peers;
  const ofNodes = [...new Set(nodeAddresses)].sort().map(hostBlock);
  const blocks = ofNodes.length === 0 ? rule.peers.blocks : [...rule.peers.blocks, ...ofNodes];
  const isTooManyNetworks = hasTooManyNetworks(blocks);
  const short = tooManyNumbers(numbers, rule, undefined);
  const isAccept = rule.action === 'Accept';
  const shortage = shortageOf(isTooManyNetworks, short, isAccept);
  if (isAccept || shortage === undefined)
    return { ...rule, peers: { pods, blocks, ...(domains.length > 0 && { domains }) }, shortage };
  return {
    ...rule,
    action: 'Deny',
    peers: { pods, blocks: isTooManyNetworks ? everything : blocks },
    ports: short === undefined ? rule.ports : undefined,
    shortage,
  };
}

function hostBlock(address: string): BlockPeer {
  return { cidr: `${address}/${address.includes(':') ? 128 : 32}`, except: [] };
}

function shortageOf(isTooManyNetworks: boolean, numbers: string | undefined, isAccept: boolean): Shortage | undefined {
  if (isTooManyNetworks) {
    const effect = isAccept ? 'accepts none of them' : 'denies everything';
    return { code: 'TooManyNetworks', message: `has more than ${mostNetworks} networks and nodes, and ${effect}` };
  }
  if (numbers === undefined) return undefined;
  return { code: 'TooManyNumbers', message: isAccept ? numbers : `${numbers}, and denies all ports` };
}
