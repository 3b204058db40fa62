/**
 * What the policies of the whole cluster say about one connection, rule by rule, for explanations. In: policies, the nodes that rules may name, the two ends,
 * and a port. Out: for one end, the policies that select it in the order in which their rules decide. Pure. The rows of the controller follow the same rules.
 */
import type { LabelSelector } from '../api/kinds/shared.ts';
import { matchesSelector } from '../api/label-selector.ts';
import { compareInTier, type PlacedRules } from './cluster-order.ts';
import { endsOf, judgeRule, type JudgedRule, type PolicyConnection, type PolicyEnd, type PolicyPod } from './judge.ts';
import type { ClusterAction, ClusterRule, ClusterTier } from './policy.ts';
import { namespaceOf, policyLabels, selectedBy, type PolicyDirection } from './selection.ts';

export interface LabelledNode {
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
}

/** All that policies of the whole cluster go by. */
export interface ClusterWide {
  /** By `Kind/name`. */
  readonly policies: ReadonlyMap<string, PlacedRules>;
  readonly nodes: readonly LabelledNode[];
  /** Whether OVN has no ACL tiers, so that a Pass of the tier Admin denies where other rules of the tier follow. */
  readonly isPassClosed: boolean;
}

export interface JudgedClusterRule extends JudgedRule {
  /** As its author named it; empty without a name. */
  readonly name: string;
  readonly action: ClusterAction;
  /** Whether it denies what it should pass on. */
  readonly isPassClosed: boolean;
  /** What of the rule is not in force, or makes it stricter than it is written. */
  readonly flaw: string | undefined;
}

export interface JudgedClusterPolicy {
  /** `Kind/name`. */
  readonly name: string;
  readonly tier: ClusterTier;
  readonly rules: readonly JudgedClusterRule[];
}

/** Whether a policy selects a pod. */
export function isSelected(policy: PlacedRules, pod: PolicyPod): boolean {
  const selector = selectedBy(policy);
  return selector !== undefined && matchesSelector(selector, policyLabels(pod, pod.namespaceLabels));
}

/** Whether the address is one of a node that a selector of the rule names. */
function isNodePeer(nodes: readonly LabelledNode[], selectors: readonly LabelSelector[], { address }: PolicyEnd) {
  return nodes.some(
    ({ labels, addresses }) => addresses.includes(address) && selectors.some((one) => matchesSelector(one, labels)),
  );
}

/** The addresses of domain names are not among the objects. */
function flawOfNames({ peers: { domains = [] } }: ClusterRule): string | undefined {
  if (domains.length === 0) return undefined;
  return 'only the controller knows the addresses of domainNames, and the answer is as if they had none';
}

/** The policies of a tier with rules for this direction that select the end of the direction, in their order. */
export function judgeTier(
  { policies, nodes, isPassClosed }: ClusterWide,
  tier: ClusterTier,
  direction: PolicyDirection,
  connection: PolicyConnection,
): readonly JudgedClusterPolicy[] {
  const { self, other } = endsOf(direction, connection);
  const { pod } = self;
  if (pod === undefined) return [];
  const ordered = [...policies]
    .filter(([, policy]) => policy.tier === tier && (policy[direction] ?? []).length > 0)
    .sort(compareInTier);
  const lastRule = ordered.at(-1)?.[1][direction]?.at(-1);
  const judgedOf = (policy: PlacedRules, rule: ClusterRule, index: number): JudgedClusterRule => {
    const namespace = namespaceOf(policy);
    const judged = judgeRule({ namespace, rule, index, direction, self: pod, connection });
    const { name, action, flaw = flawOfNames(rule) } = rule;
    return {
      ...judged,
      isPeer: judged.isPeer || isNodePeer(nodes, rule.nodes, other),
      name,
      action,
      isPassClosed: isPassClosed && action === 'Pass' && tier === 'Admin' && rule !== lastRule,
      flaw,
    };
  };
  return ordered
    .filter(([, policy]) => isSelected(policy, pod))
    .map(([name, policy]) => ({
      name,
      tier,
      rules: (policy[direction] ?? []).map((rule, index) => judgedOf(policy, rule, index)),
    }));
}
