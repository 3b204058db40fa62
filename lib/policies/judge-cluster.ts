/**
 * What the policies of the whole cluster say about one connection, rule by rule, for explanations. In: policies, the nodes that rules may name, the two ends,
 * and a port. Out: for one end, the policies that select it in the order in which their rules decide. Pure. The rows of the controller follow the same rules.
 */
import type { LabelSelector } from '../api/kinds/shared.ts';
import { matchesSelector } from '../api/label-selector.ts';
import { compareInTier, type PlacedRules } from './cluster-order.ts';
import { endsOf, judgeRule, type JudgedRule, type PolicyConnection, type PolicyPod } from './judge.ts';
import type { PortNumbers } from './numbers.ts';
import type { ClusterAction, ClusterRule, ClusterTier } from './policy.ts';
import { ruleInForce, type RuleInForce } from './rule-in-force.ts';
import { deniesPass, tooManyRules } from './rule-place.ts';
import { policyLabels, selectedBy, type PolicyDirection } from './selection.ts';

export interface LabelledNode {
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
}

/** All that policies of the whole cluster go by. */
export interface ClusterWide {
  /** By `Kind/name`. */
  readonly policies: ReadonlyMap<string, PlacedRules>;
  readonly nodes: readonly LabelledNode[];
  readonly numbers: PortNumbers;
  /** Whether OVN has no ACL tiers, so that a Pass of the tier Admin denies where other rules of the tier follow. */
  readonly isPassClosed: boolean;
}

export interface JudgedClusterRule extends JudgedRule {
  /** As its author named it; empty without a name. */
  readonly name: string;
  readonly action: ClusterAction;
  /** Nodes that the rule names beside its peers, by their labels. */
  readonly nodes: readonly LabelSelector[];
  /** Whether it denies what it should pass on. */
  readonly isPassClosed: boolean;
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

/** The addresses of the nodes that a rule names. */
export function nodeAddressesOf(nodes: readonly LabelledNode[], { nodes: selectors }: ClusterRule): readonly string[] {
  return nodes
    .filter(({ labels }) => selectors.some((one) => matchesSelector(one, labels)))
    .flatMap(({ addresses }) => addresses);
}

/** The policies of a tier with rules for a direction, in their order. */
export function orderOfTier(
  policies: ReadonlyMap<string, PlacedRules>,
  tier: ClusterTier,
  direction: PolicyDirection,
): readonly (readonly [name: string, policy: PlacedRules])[] {
  return [...policies]
    .filter(([, policy]) => policy.tier === tier && (policy[direction] ?? []).length > 0)
    .sort(compareInTier);
}

/** The peers of a rule in force, beside the nodes that it names. */
function peersWithoutNodes(written: ClusterRule, { action, peers, shortage }: RuleInForce) {
  if (shortage?.code !== 'TooManyNetworks') return { peers: written.peers, nodes: written.nodes };
  return { peers: action === 'Accept' ? { ...peers, blocks: [] } : peers, nodes: [] };
}

/** The addresses of domain names are not among the objects. */
function flawOfNames({ peers: { domains = [] } }: ClusterRule): string | undefined {
  if (domains.length === 0) return undefined;
  return 'only the controller knows the addresses of domainNames, and the answer is as if they had none';
}

/** The policies of a tier with rules for this direction that select the end of the direction, in their order. */
export function judgeTier(
  { policies, nodes, numbers, isPassClosed }: ClusterWide,
  tier: ClusterTier,
  direction: PolicyDirection,
  connection: PolicyConnection,
): readonly JudgedClusterPolicy[] {
  const { pod } = endsOf(direction, connection).self;
  if (pod === undefined) return [];
  const ordered = orderOfTier(policies, tier, direction);
  const total = ordered.reduce((sum, [, policy]) => sum + (policy[direction]?.length ?? 0), 0);
  const judgedOf = (written: ClusterRule, index: number, before: number): JudgedClusterRule => {
    const rule = ruleInForce(written, nodeAddressesOf(nodes, written), numbers);
    const judged = judgeRule({ namespace: '', rule, index, direction, self: pod, connection, numbers });
    return {
      ...judged,
      name: rule.name,
      action: rule.action,
      ...peersWithoutNodes(written, rule),
      isPassClosed: isPassClosed && deniesPass(rule.action, tier, before === total - 1),
      flaw: rule.flaw ?? flawOfNames(rule) ?? tooManyRules({ tier, before }) ?? rule.shortage?.message,
    };
  };
  const judged: JudgedClusterPolicy[] = [];
  let before = 0;
  for (const [name, policy] of ordered) {
    const rules = policy[direction] ?? [];
    const first = before;
    if (isSelected(policy, pod))
      judged.push({ name, tier, rules: rules.map((rule, index) => judgedOf(rule, index, first + index)) });
    before += rules.length;
  }
  return judged;
}
