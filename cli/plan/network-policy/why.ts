/** Explains whether NetworkPolicies allow a connection, and which rule decides. In: one reading. Out: values for rendering. Pure. */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseIp, type Family } from '../../../lib/net/ip.ts';
import { judge, type JudgedPolicy } from '../../../lib/policies/judge.ts';
import type { PolicyPort } from '../../../lib/policies/policy.ts';
import { policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { PolicyHost, PolicyReading } from '../../model/policy-reading.ts';

export type Verdict = 'allowed' | 'denied' | 'allowed at some ports';

export interface RuleAnswer {
  readonly policy: string;
  /** Empty for a policy without rules. */
  readonly rule: string;
  readonly isPeer: boolean;
  readonly isPort: boolean;
  readonly ports: string;
}

/** What the policies of one end say. */
export interface EndAnswer {
  readonly direction: PolicyDirection;
  readonly verdict: Verdict;
  /** The rule that allows it: `NetworkPolicy shop/web, spec.ingress[0]`; or why no rule is needed, or that none allows it. */
  readonly because: string;
  readonly rules: readonly RuleAnswer[];
}

export interface FamilyAnswer {
  readonly source: string;
  readonly destination: string;
  readonly verdict: Verdict;
  readonly ends: readonly EndAnswer[];
}

export interface PolicyWhy {
  readonly from: string;
  readonly to: string;
  /** `8080/TCP`; empty: any port. */
  readonly port: string;
  readonly isAllowed: boolean;
  readonly families: readonly FamilyAnswer[];
  readonly problems: readonly Problem[];
}

export function explainPolicies(reading: PolicyReading): PolicyWhy {
  const { from, to, port } = reading;
  const families = ([4, 6] as const).flatMap((family) => answerOf(reading, family) ?? []);
  return {
    from: from.text,
    to: to.text,
    port: port === undefined ? '' : `${port.number}/${port.protocol.toUpperCase()}`,
    isAllowed: families.length > 0 && families.every(({ verdict }) => verdict !== 'denied'),
    families,
    problems: problemsOf(reading, families),
  };
}

function ofFamily(addresses: readonly string[], family: Family): string | undefined {
  return addresses.find((address) => parseIp(address)?.family === family);
}

/** Whether the address is one of the node that the host is on. */
function isOfNode({ node }: PolicyHost, address: string): boolean {
  return node !== undefined && [...node.joinAddresses, ...node.addresses].includes(address);
}

function answerOf(reading: PolicyReading, family: Family): FamilyAnswer | undefined {
  const { from, to } = reading;
  const [source, destination] = [ofFamily(from.sources, family), ofFamily(to.destinations, family)];
  if (source === undefined || destination === undefined) return undefined;
  const ends = policyDirections.toReversed().map((direction) => endOf(reading, direction, source, destination));
  const verdicts = ends.map(({ verdict }) => verdict);
  const verdict = verdicts.find((one) => one === 'denied') ?? verdicts.find((one) => one !== 'allowed') ?? 'allowed';
  return { source, destination, verdict, ends };
}

function endOf(
  { from, to, port, policies }: PolicyReading,
  direction: PolicyDirection,
  source: string,
  destination: string,
): EndAnswer {
  const self = direction === 'ingress' ? to : from;
  const open = (because: string): EndAnswer => ({ direction, verdict: 'allowed', because, rules: [] });
  if (self.pod === undefined) return open(`${self.text} is no pod that policies select`);
  if (source === destination) return open('a pod always reaches itself');
  if (direction === 'ingress' && from.pod === undefined && self.pod.vpc === defaultVpc && isOfNode(to, source))
    return open(`node ${to.node?.name ?? ''} always reaches its own pods`);
  const judged = judge(policies, direction, {
    from: { pod: from.pod, address: source },
    to: { pod: to.pod, address: destination },
    port,
  });
  if (judged.length === 0) return open('no NetworkPolicy selects it');
  const rules = judged.flatMap(rulesOf);
  const allowing = rules.find(({ isPeer, isPort }) => isPeer && isPort);
  const partial = rules.find(({ isPeer }) => isPeer);
  if (allowing !== undefined)
    return { direction, verdict: 'allowed', because: `NetworkPolicy ${allowing.policy}, ${allowing.rule}`, rules };
  if (port === undefined && partial !== undefined)
    return { direction, verdict: 'allowed at some ports', because: 'the rules name ports', rules };
  const because = `no rule of ${judged.map(({ name }) => name).join(', ')} allows it`;
  return { direction, verdict: 'denied', because, rules };
}

function rulesOf({ name, rules }: JudgedPolicy): readonly RuleAnswer[] {
  if (rules.length === 0) return [{ policy: name, rule: '', isPeer: false, isPort: false, ports: '' }];
  return rules.map(({ field, isPeer, isPort, ports }) => ({
    policy: name,
    rule: field,
    isPeer,
    isPort,
    ports: ports === undefined ? 'all' : ports.map(portText).join(', '),
  }));
}

function portText({ protocol, port, endPort }: PolicyPort): string {
  const name = protocol.toUpperCase();
  if (port === undefined) return `all ${name}`;
  return endPort === undefined ? `${port}/${name}` : `${port}-${endPort}/${name}`;
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
