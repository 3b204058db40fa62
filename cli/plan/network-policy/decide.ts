/**
 * Which ports of a connection one end allows, and which rules decide them. In: the judgements of `lib/policies`. Out: sets of ports. Rule: the tier Admin decides
 * first, rule by rule; what it passes on or does not name is for NetworkPolicies, and for the tier Baseline if none isolates the pod. The rest is allowed. Pure.
 */
import type { LabelSelector } from '../../../lib/api/kinds/shared.ts';
import { judgeTier, type ClusterWide, type JudgedClusterPolicy } from '../../../lib/policies/judge-cluster.ts';
import { judge, type JudgedPolicy, type JudgedRule, type PolicyConnection } from '../../../lib/policies/judge.ts';
import type { ClusterTier, PolicyRules } from '../../../lib/policies/policy.ts';
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import { commonPorts, isEmpty, portsOfRule, portsWithout, unionOf, type PortSet } from './ports.ts';

export type Tier = ClusterTier | 'NetworkPolicy';

/** What a rule does with what it decides. `Pass` leaves it to the next tier. */
export type RuleAction = 'Accept' | 'Deny' | 'Pass';

export interface DecidedRule {
  readonly tier: Tier;
  /** `ClusterNetworkPolicy gate`, `shop/web`. */
  readonly policy: string;
  /** Undefined for a policy without rules, which allows nothing. */
  readonly rule: JudgedRule | undefined;
  /** As the author of the rule named it; empty without a name. */
  readonly name: string;
  readonly action: RuleAction;
  /** Nodes that the rule names beside its peers, by their labels. */
  readonly nodes: readonly LabelSelector[];
  /** What of the rule does not do what is written; empty if all does. */
  readonly flaw: string;
  /** The ports of the question that no rule before it has decided, and that it names. */
  readonly decided: PortSet;
}

export interface Decision {
  readonly allowed: PortSet;
  /** In the order in which they are asked. */
  readonly rules: readonly DecidedRule[];
  /** Ports that a NetworkPolicy isolates and no rule allows. */
  readonly isolated: PortSet;
  /** Ports that no rule and no isolation decides, and that are allowed thus. */
  readonly free: PortSet;
}

export interface AllPolicies {
  /** NetworkPolicies, by `namespace/name`. */
  readonly policies: ReadonlyMap<string, PolicyRules>;
  readonly cluster: ClusterWide;
}

/** All ports, or that of the connection. */
export function askedPorts({ port }: Pick<PolicyConnection, 'port'>): PortSet {
  return port === undefined ? 'all' : portsOfRule([{ protocol: port.protocol, port: port.number }], []);
}

/** The rules that select one end in a direction, in the order in which they are asked. */
export interface Judged {
  readonly admin: readonly Undecided[];
  readonly policies: readonly Undecided[];
  /** Whether a NetworkPolicy selects the end. */
  readonly isIsolated: boolean;
  readonly baseline: readonly Undecided[];
}

export function judgeAll(
  { policies, cluster }: AllPolicies,
  direction: PolicyDirection,
  connection: PolicyConnection,
): Judged {
  const rulesOfTier = (tier: ClusterTier): readonly Undecided[] =>
    judgeTier(cluster, tier, direction, connection).flatMap(clusterRules);
  const isolating = judge(policies, direction, connection, cluster.numbers);
  return {
    admin: rulesOfTier('Admin'),
    policies: isolating.flatMap(policyRules),
    isIsolated: isolating.length > 0,
    baseline: rulesOfTier('Baseline'),
  };
}

export function decide(all: AllPolicies, direction: PolicyDirection, connection: PolicyConnection): Decision {
  return decideAmong(judgeAll(all, direction, connection), askedPorts(connection), namedBy);
}

/** @param portsOf the ports of a rule if it names the other end; none if it does not */
export function decideAmong(
  { admin, policies, isIsolated, baseline }: Judged,
  asked: PortSet,
  portsOf: PortsOf,
): Decision {
  const first = decideTier(admin, asked, portsOf);
  const passed = unionOf([first.open, ...decidedBy(first.rules, 'Pass')]);
  const second = decideWithoutOrder(policies, passed, portsOf);
  const third = decideTier(baseline, isIsolated ? [] : second.open, portsOf);
  const rules = [...first.rules, ...second.rules, ...third.rules];
  return {
    allowed: unionOf([third.open, ...decidedBy(rules, 'Accept'), ...decidedBy(third.rules, 'Pass')]),
    rules,
    isolated: isIsolated ? second.open : [],
    free: third.open,
  };
}

export type Undecided = Omit<DecidedRule, 'decided'>;

interface TierDecision {
  readonly rules: readonly DecidedRule[];
  /** What none of them names. */
  readonly open: PortSet;
}

type PortsOf = (rule: Undecided) => PortSet;

function decideTier(rules: readonly Undecided[], asked: PortSet, portsOf: PortsOf): TierDecision {
  let open = asked;
  const decided = rules.map((one) => {
    const ports = commonPorts(open, portsOf(one));
    open = portsWithout(open, ports);
    return { ...one, decided: ports };
  });
  return { rules: decided, open };
}

/** As NetworkPolicies do, whose rules have no order: one that allows all is named rather than several that do so together. */
function decideWithoutOrder(rules: readonly Undecided[], asked: PortSet, portsOf: PortsOf): TierDecision {
  const whole = rules.find((one) => isEmpty(portsWithout(asked, portsOf(one))));
  if (whole === undefined) return decideTier(rules, asked, portsOf);
  return { rules: rules.map((one) => ({ ...one, decided: one === whole ? asked : [] })), open: [] };
}

/** The ports of a rule that names the other end. */
function namedBy({ rule }: Undecided): PortSet {
  return rule?.isPeer === true ? portsOfRule(rule.ports, rule.namedPorts) : [];
}

export function decidedBy(rules: readonly DecidedRule[], action: RuleAction): readonly PortSet[] {
  return rules.filter((one) => one.action === action).map(({ decided }) => decided);
}

function clusterRules({ name, tier, rules }: JudgedClusterPolicy): readonly Undecided[] {
  return rules.map((rule) => ({
    tier,
    policy: name.replace('/', ' '),
    rule,
    name: rule.name,
    nodes: rule.nodes,
    action: rule.isPassClosed ? 'Deny' : rule.action,
    flaw: rule.isPassClosed
      ? 'Pass denies, because this OVN has no ACL tiers and other rules of the tier follow'
      : (rule.flaw ?? ''),
  }));
}

function policyRules({ name, rules }: JudgedPolicy): readonly Undecided[] {
  const own: readonly (JudgedRule | undefined)[] = rules.length === 0 ? [undefined] : rules;
  return own.map((rule) => ({
    tier: 'NetworkPolicy',
    policy: name,
    rule,
    name: '',
    action: 'Accept',
    nodes: [],
    flaw: rule?.flaw ?? '',
  }));
}
