/** Explains whether policies allow a connection, and which rule decides. In: one reading. Out: values for rendering. Pure. */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { PolicyPort } from '../../../lib/policies/policy.ts';
import { policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import { addressesOf, type PolicyHost, type PolicyReading } from '../../model/policy-reading.ts';
import { askedPorts, decide, type DecidedRule, type Decision, type RuleAction, type Tier } from './decide.ts';
import { commonPorts, isEmpty, portsWithout, portTexts, type PortSet } from './ports.ts';
import { answerOfOvn, type OvnAnswer } from './trace.ts';

export type Verdict = 'allowed' | 'denied' | 'allowed at some ports';

/** Whether OVN does what the policies say. */
export type OvnState = 'agrees' | 'disagrees' | 'not asked';

export interface RuleAnswer {
  readonly tier: Tier;
  /** `ClusterNetworkPolicy gate`; `shop/web` for a NetworkPolicy. */
  readonly policy: string;
  /** Empty for a policy without rules. */
  readonly rule: string;
  /** As its author named it; empty without a name. */
  readonly name: string;
  readonly action: RuleAction;
  /** What of the rule does not do what is written; empty if all does. */
  readonly flaw: string;
  readonly isPeer: boolean;
  readonly isPort: boolean;
  readonly ports: string;
  /** The ports of the question that this rule decides, and no rule before it. */
  readonly decides: readonly string[];
}

/** What the policies of one end say. */
export interface EndAnswer {
  readonly direction: PolicyDirection;
  readonly verdict: Verdict;
  /** The rule that decides: `NetworkPolicy shop/web, spec.ingress[0]`; or why no rule is needed, or that none allows it. */
  readonly because: string;
  /** In the order in which they are asked. */
  readonly rules: readonly RuleAnswer[];
}

export interface FamilyAnswer {
  readonly source: string;
  readonly destination: string;
  readonly verdict: Verdict;
  /** Those of the question that both ends allow. */
  readonly ports: readonly string[];
  readonly ends: readonly EndAnswer[];
  /** What OVN does with the first packet; undefined if it was not asked. */
  readonly ovn: OvnAnswer | undefined;
}

export interface PolicyWhy {
  readonly from: string;
  readonly to: string;
  /** `8080/TCP`; empty: any port. */
  readonly port: string;
  readonly isAllowed: boolean;
  /** Whether all policies could be read that may decide; otherwise the answer is that of the others. */
  readonly isComplete: boolean;
  readonly families: readonly FamilyAnswer[];
  readonly ovn: {
    readonly state: OvnState;
    /** Where it was asked: `pod kube-system/isthmus-ovn-central-x7k2p`; or why it was not, empty if nobody wanted it. */
    readonly detail: string;
  };
  readonly problems: readonly Problem[];
}

export function explainPolicies(reading: PolicyReading): PolicyWhy {
  const { from, to, port, unread } = reading;
  const families = ([4, 6] as const).flatMap((family) => answerOf(reading, family) ?? []);
  const ovn = ovnOf(reading, families);
  return {
    from: from.text,
    to: to.text,
    port: port === undefined ? '' : `${port.number}/${port.protocol.toUpperCase()}`,
    isAllowed: families.length > 0 && families.every(({ verdict }) => verdict !== 'denied'),
    isComplete: unread.length === 0,
    families,
    ovn,
    problems: [
      ...disagreements(ovn.state),
      ...dropsElsewhere(ovn.state, families),
      ...problemsOf(reading, families),
      ...flawsOf(families),
      ...reportsOf(reading, families),
      ...unread,
    ],
  };
}

function ovnOf({ ovn }: PolicyReading, families: readonly FamilyAnswer[]): PolicyWhy['ovn'] {
  if (ovn === undefined) return { state: 'not asked', detail: '' };
  if ('untraced' in ovn) return { state: 'not asked', detail: ovn.untraced.message };
  const asked = families.flatMap((family) => family.ovn ?? []);
  if (asked.length === 0) return { state: 'not asked', detail: 'OVN does not see what a pod sends to itself' };
  if (asked.some(({ isUnderstood }) => !isUnderstood))
    return { state: 'not asked', detail: `the output of ovn-trace in ${ovn.trace.where} is not understood` };
  const isEqual = asked.every(({ agrees }) => agrees);
  return { state: isEqual ? 'agrees' : 'disagrees', detail: ovn.trace.where };
}

function disagreements(state: OvnState): readonly Problem[] {
  if (state !== 'disagrees') return [];
  const message =
    'the rows of OVN are not what the policies say. An object may have changed just now: ask again in a few seconds. Otherwise the controller or ovn-northd is behind (isthmus status), or the database refuses a row of a policy: see its condition Ready or its annotation isthmus.network/problem, and the log of the controller';
  return [{ code: 'OvnDisagrees', message }];
}

/** A packet that both ends let pass, and that does not arrive. */
function dropsElsewhere(state: OvnState, families: readonly FamilyAnswer[]): readonly Problem[] {
  const isDropped = ({ ovn }: FamilyAnswer): boolean =>
    ovn?.verdict === 'denied' && ovn.ends.every(({ isPassed }) => isPassed);
  if (state === 'not asked' || !families.some(isDropped)) return [];
  const message =
    'OVN drops the packet between the two ends, by no ACL of a policy: there is no route between their VPCs, or a router or switch on the way drops it';
  return [{ code: 'DroppedElsewhere', message }];
}

/** What the controller says about the policies that select an end. */
function reportsOf({ reported }: PolicyReading, families: readonly FamilyAnswer[]): readonly Problem[] {
  const names = families.flatMap(({ ends }) => ends.flatMap((end) => end.rules.map(({ policy }) => policy)));
  return [...new Set(names)].flatMap((name) => {
    const message = reported.get(name.replace(' ', '/'));
    return message === undefined ? [] : [{ code: 'Reported', message: `${name}: the controller says: ${message}` }];
  });
}

/** Whether the address is one of the node that the host is on. */
function isOfNode({ node }: PolicyHost, address: string): boolean {
  return node !== undefined && [...node.joinAddresses, ...node.addresses].includes(address);
}

function answerOf(reading: PolicyReading, family: Family): FamilyAnswer | undefined {
  const addresses = addressesOf(reading, family);
  if (addresses === undefined) return undefined;
  const { source, destination } = addresses;
  const asked = askedPorts(reading);
  const judged = policyDirections.toReversed().map((direction) => endOf(reading, direction, source, destination));
  const allowed = judged.reduce((ports, one) => commonPorts(ports, one.allowed), asked);
  const verdict = verdictOf(asked, allowed);
  const ends = judged.map(({ end }) => end);
  return { source, destination, verdict, ports: portTexts(allowed), ends, ovn: traceOf(reading, family, ends) };
}

function traceOf(reading: PolicyReading, family: Family, ends: readonly EndAnswer[]): OvnAnswer | undefined {
  const { ovn } = reading;
  if (ovn === undefined || 'untraced' in ovn) return undefined;
  const traced = ovn.trace.families.find((one) => one.family === family);
  if (traced === undefined) return undefined;
  const isAllowed = (direction: PolicyDirection): boolean =>
    ends.every((end) => end.direction !== direction || end.verdict !== 'denied');
  return answerOfOvn(ovn.trace, traced.text, { ingress: isAllowed('ingress'), egress: isAllowed('egress') });
}

function verdictOf(asked: PortSet, allowed: PortSet): Verdict {
  if (isEmpty(allowed)) return 'denied';
  return isEmpty(portsWithout(asked, allowed)) ? 'allowed' : 'allowed at some ports';
}

interface JudgedEnd {
  readonly end: EndAnswer;
  readonly allowed: PortSet;
}

function endOf(reading: PolicyReading, direction: PolicyDirection, source: string, destination: string): JudgedEnd {
  const { from, to, port } = reading;
  const self = direction === 'ingress' ? to : from;
  const asked = askedPorts(reading);
  const open = (because: string): JudgedEnd => ({
    end: { direction, verdict: 'allowed', because, rules: [] },
    allowed: asked,
  });
  if (self.pod === undefined) return open(`${self.text} is no pod that policies select`);
  if (source === destination) return open('a pod always reaches itself');
  if (direction === 'ingress' && from.pod === undefined && self.pod.vpc === defaultVpc && isOfNode(to, source))
    return open(`node ${to.node?.name ?? ''} always reaches its own pods`);
  const decision = decide(reading, direction, {
    from: { pod: from.pod, address: source, ...(from.remote && { remote: from.remote }) },
    to: { pod: to.pod, address: destination, ...(to.remote && { remote: to.remote }) },
    port,
  });
  const { allowed, rules } = decision;
  const verdict = verdictOf(asked, allowed);
  return { end: { direction, verdict, because: reasonOf(verdict, decision), rules: rules.map(ruleOf) }, allowed };
}

function reasonOf(verdict: Verdict, { rules, isolated, free }: Decision): string {
  if (verdict === 'allowed at some ports') return 'the rules name ports';
  const isAllowed = verdict === 'allowed';
  // A Pass of the tier Admin leaves the decision to the rules of the other tiers.
  const deciding = rules.filter(
    ({ tier, action, decided }) =>
      !isEmpty(decided) && (action === 'Pass' ? isAllowed && tier === 'Baseline' : (action === 'Accept') === isAllowed),
  );
  const [first, ...others] = deciding;
  const hasRest = !isEmpty(isAllowed ? free : isolated);
  if (first !== undefined) return others.length === 0 && !hasRest ? wordsOf(first) : 'several rules together';
  if (isAllowed) return rules.length === 0 ? 'no policy selects it' : 'no rule denies it';
  const isolating = new Set(rules.filter(({ tier }) => tier === 'NetworkPolicy').map(({ policy }) => policy));
  return `no rule of ${[...isolating].join(', ')} allows it`;
}

/** `NetworkPolicy shop/web, spec.ingress[0]`, `ClusterNetworkPolicy gate, spec.ingress[0] (guests)`. */
function wordsOf({ tier, policy, rule, name }: DecidedRule): string {
  const kind = tier === 'NetworkPolicy' ? 'NetworkPolicy ' : '';
  return `${kind}${policy}, ${rule?.field ?? ''}${name === '' ? '' : ` (${name})`}`;
}

function ruleOf({ tier, policy, rule, name, action, flaw, decided }: DecidedRule): RuleAnswer {
  const known = { tier, policy, name, action, flaw, decides: portTexts(decided) };
  if (rule === undefined) return { ...known, rule: '', isPeer: false, isPort: false, ports: '' };
  const { field, isPeer, isPort, ports } = rule;
  const text = ports === undefined ? 'all' : ports.map(portText).join(', ');
  return { ...known, rule: field, isPeer, isPort, ports: text };
}

function portText({ protocol, port, endPort }: PolicyPort): string {
  const name = protocol.toUpperCase();
  if (port === undefined) return `all ${name}`;
  return endPort === undefined ? `${port}/${name}` : `${port}-${endPort}/${name}`;
}

/** What the author of a rule may not expect, once for all families. */
function flawsOf(families: readonly FamilyAnswer[]): readonly Problem[] {
  const rules = families.flatMap(({ ends }) => ends.flatMap((end) => end.rules));
  const messages = rules.flatMap(({ policy, rule, flaw }) => (flaw === '' ? [] : [`${policy}, ${rule}: ${flaw}`]));
  return [...new Set(messages)].map((message) => ({ code: 'NotSupported', message }));
}

function problemsOf({ from, to }: PolicyReading, families: readonly FamilyAnswer[]): readonly Problem[] {
  const problems: Problem[] = [];
  if (families.length === 0)
    problems.push({ code: 'NoAddress', message: `${from.text} and ${to.text} have no addresses of one family` });
  for (const { text, pod } of [from, to])
    if (pod !== undefined && pod.securityGroups !== '')
      problems.push({
        code: 'SecurityGroups',
        message: `security groups guard ${text}: ${pod.securityGroups}; they are not part of this answer`,
      });
  if (from.pod !== undefined && to.pod !== undefined && from.pod.vpc !== to.pod.vpc)
    problems.push({
      code: 'OtherVpc',
      message: `${from.text} is in Vpc ${from.pod.vpc} and ${to.text} in Vpc ${to.pod.vpc}: selectors match pods of their own Vpc, use an ipBlock`,
    });
  return problems;
}
