/**
 * Limits of bandwidth: what a QoSPolicy says, and which IptablesEIPs and VpcNatGateways have its limits. In: these objects. Out: limits, or why there are
 * none. Rules: a policy that is not shared has one user, and a port outside has the limits of one VpcNatGateway: the one in force stays, of new ones the
 * older is first. An edit that is refused leaves the former limits in force, which the status shows. Pure.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { byRight } from '../../../lib/desired/rights.ts';
import { cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { Change } from '../../model/change.ts';
import type { OvnEip, QosPolicy, QosRule, VpcNatGateway } from '../../model/external-objects.ts';
import { defaultBurstOf, kbitOf } from '../../model/rate.ts';
import type { View } from '../../model/view.ts';

/** Packets of one direction, and how many may pass. */
export interface Limit {
  readonly name: string;
  /** `ingress`: from outside to pods. */
  readonly direction: 'ingress' | 'egress';
  /** The lowest number applies. */
  readonly priority: number;
  /** kbit/s. */
  readonly rate: number;
  /** kbit. */
  readonly burst: number;
  /** Only packets from or to these addresses. */
  readonly only?: { readonly side: 'src' | 'dst'; readonly cidr: Cidr };
}

export interface ReadPolicy {
  /** Those in force. */
  readonly limits: readonly Limit[];
  /** The rules that they are made of. */
  readonly rules: readonly QosRule[];
  /** What is wrong with the spec. */
  readonly problem?: Problem;
}

/** What an object has of the policy that it names. */
export type LimitVerdict = { readonly limits: readonly Limit[] } | { readonly problem: Problem };

/** The kinds that name policies, by the binding type for them. */
const users = {
  EIP: { store: 'iptablesEips', kind: 'IptablesEIP' },
  NATGW: { store: 'vpcNatGateways', kind: 'VpcNatGateway' },
} as const;

export type LimitedStore = (typeof users)[keyof typeof users]['store'];

export interface PolicyUser {
  readonly store: LimitedStore;
  readonly name: string;
  /** `IptablesEIP web` */
  readonly title: string;
}

export const highestRulePriority = 16_383;
const kbitPerMegabyte = 8000;

function isBindingType(text: string): text is keyof typeof users {
  return Object.hasOwn(users, text);
}

function wrong(code: string, message: string): Problem {
  return { code, message };
}

function readMatch(rule: QosRule, bindingType: string): Limit['only'] | Problem | undefined {
  const field = `rule ${rule.name} of spec.bandwidthLimitRules: matchValue`;
  if (rule.matchType === '' && rule.matchValue === '') return undefined;
  const [, side, text = ''] = /^(src|dst) (\S{1,60})$/.exec(rule.matchValue) ?? [];
  const cidr = parseCidr(text);
  if (rule.matchType !== 'ip' || cidr === undefined)
    return wrong(
      'MatchInvalid',
      `${field} '${rule.matchValue}': with matchType ip, write src or dst and a network, such as src 192.0.2.0/24`,
    );
  if (bindingType === 'EIP' && cidr.family === 6)
    return wrong(
      'FamilyMismatch',
      `${field} '${rule.matchValue}': IptablesEIPs have IPv4 addresses: name an IPv4 network`,
    );
  return { side: side === 'src' ? 'src' : 'dst', cidr };
}

function readLimit(rule: QosRule, bindingType: string): Limit | Problem {
  const where = `rule ${rule.name} of spec.bandwidthLimitRules:`;
  const { name, direction, priority } = rule;
  const rate = kbitOf(rule.rateMax);
  const burst = kbitOf(rule.burstMax, kbitPerMegabyte);
  const isZero = rule.burstMax !== '' && burst === 0;
  if (name === '' || (direction !== 'ingress' && direction !== 'egress'))
    return wrong('DirectionInvalid', `${where} it needs a name, and direction ingress or egress`);
  if (rate === undefined || rate === 0)
    return wrong('RateInvalid', `${where} rateMax '${rule.rateMax}' is no number of Mbit/s above 0, such as 10 or 0.5`);
  if (burst === undefined || isZero)
    return wrong('BurstInvalid', `${where} burstMax '${rule.burstMax}' is no number of MB above 0, such as 10 or 0.5`);
  if (!Number.isInteger(priority) || priority < 0 || priority > highestRulePriority)
    return wrong('PriorityInvalid', `${where} priority ${priority} is none of 0 to ${highestRulePriority}`);
  if (!/^(net\d{1,2})?$/.test(rule.interface))
    return wrong(
      'InterfaceInvalid',
      `${where} interface ${rule.interface}: only traffic outside is limited: name net1, or remove it`,
    );
  const only = readMatch(rule, bindingType);
  if (only !== undefined && 'code' in only) return only;
  return { name, direction, priority, rate, burst: burst || defaultBurstOf(rate), ...(only && { only }) };
}

/** Whether some packet matches both. */
function doMeet({ only: a }: Limit, { only: b }: Limit): boolean {
  return (
    a === undefined ||
    b === undefined ||
    (a.cidr.family === b.cidr.family && (a.side !== b.side || cidrsOverlap(a.cidr, b.cidr)))
  );
}

function read(rules: readonly QosRule[], bindingType: string): readonly Limit[] | Problem {
  const limits: Limit[] = [];
  for (const rule of rules) {
    const limit = readLimit(rule, bindingType);
    if ('code' in limit) return limit;
    const other = limits.find(
      (one) =>
        one.name === limit.name ||
        (one.direction === limit.direction && one.priority === limit.priority && doMeet(one, limit)),
    );
    if (other?.name === limit.name)
      return wrong('NameTaken', `spec.bandwidthLimitRules: two rules have the name ${limit.name}: rename one`);
    if (other !== undefined)
      return wrong(
        'RulesAmbiguous',
        `rules ${other.name} and ${limit.name} of spec.bandwidthLimitRules match the same packets with the same priority: give one a lower number, which applies`,
      );
    limits.push(limit);
  }
  return limits;
}

const known = new WeakMap<QosPolicy, ReadPolicy>();

/** The limits of a policy. */
export function readPolicy(policy: QosPolicy): ReadPolicy {
  const before = known.get(policy);
  if (before !== undefined) return before;
  const result = parse(policy);
  known.set(policy, result);
  return result;
}

function parse({ spec: { bindingType, rules }, shownRules }: QosPolicy): ReadPolicy {
  if (!isBindingType(bindingType))
    return {
      limits: [],
      rules: [],
      problem: wrong('BindingInvalid', `spec.bindingType '${bindingType}': use EIP or NATGW`),
    };
  const wanted = read(rules, bindingType);
  if (!('code' in wanted)) return { limits: wanted, rules };
  const former = read(shownRules, bindingType);
  if ('code' in former || former.length === 0) return { limits: [], rules: [], problem: wanted };
  const message = `${wanted.message}; the former rules stay in force`;
  return { limits: former, rules: shownRules, problem: { ...wanted, message } };
}

/** Objects that name a policy, in the order of their right to it. */
export function usersOfPolicy(view: View, policy: string): readonly PolicyUser[] {
  const of = <T extends OvnEip | VpcNatGateway>(
    store: LimitedStore,
    all: ReadonlyMap<string, T>,
    names: Iterable<string>,
  ) =>
    [...names].flatMap((name) => {
      const object = all.get(name);
      return object === undefined ? [] : [{ store, object }];
    });
  const found = [
    ...of('iptablesEips', view.iptablesEips, view.indexes.eipsByQosPolicy.of(policy)),
    ...of('vpcNatGateways', view.vpcNatGateways, view.indexes.natGatewaysByQosPolicy.of(policy)),
  ];
  const inOrder = byRight<OvnEip | VpcNatGateway>(({ status }) => (status['qosPolicy'] === policy ? 0 : 1));
  return found
    .sort((a, b) => inOrder(a.object, b.object))
    .map(({ store, object: { name } }) => {
      const { kind } = Object.values(users).find((one) => one.store === store) ?? users.EIP;
      return { store, name, title: `${kind} ${name}` };
    });
}

/** The limits that an object has of a policy, whatever other objects of its kind do. */
function limitsFrom(view: View, policy: string, store: LimitedStore, name: string): LimitVerdict {
  const object = view.qosPolicies.get(policy);
  if (object === undefined)
    return { problem: wrong('QosPolicyNotFound', `spec.qosPolicy: QoSPolicy ${policy} does not exist: create it`) };
  const { limits, problem } = readPolicy(object);
  const { bindingType, isShared } = object.spec;
  const is = isBindingType(bindingType) ? users[bindingType] : undefined;
  if (is !== undefined && is.store !== store)
    return {
      problem: wrong(
        'QosPolicyMismatch',
        `spec.qosPolicy: QoSPolicy ${policy} has bindingType ${bindingType}, which is for a ${is.kind}: name another`,
      ),
    };
  if (problem !== undefined && limits.length === 0)
    return { problem: wrong('QosPolicyNotReady', `QoSPolicy ${policy}: ${problem.message}`) };
  const holder = isShared ? undefined : usersOfPolicy(view, policy).find((one) => one.store === store);
  if (holder !== undefined && holder.name !== name)
    return {
      problem: wrong(
        'QosPolicyInUse',
        `spec.qosPolicy: QoSPolicy ${policy} is not shared, and ${holder.title} has it: name another, or one with shared: true`,
      ),
    };
  return { limits };
}

/** The limits of an IptablesEIP; undefined if it names no policy. */
export function eipLimits(view: View, { name, spec: { qosPolicy } }: OvnEip): LimitVerdict | undefined {
  return qosPolicy === '' ? undefined : limitsFrom(view, qosPolicy, 'iptablesEips', name);
}

/** The VpcNatGateway whose limits a port has that this one would limit as well. */
function rivalOf(view: View, { name, spec }: VpcNatGateway): VpcNatGateway | undefined {
  const inOrder = byRight<VpcNatGateway>(({ status }) =>
    status['qosPolicy'] === undefined || status['qosPolicy'] === '' ? 1 : 0,
  );
  const all = [...view.indexes.natGatewaysByVpc.of(spec.vpc)].flatMap((one) => view.vpcNatGateways.get(one) ?? []);
  const limiting: VpcNatGateway[] = [];
  for (const one of all.sort(inOrder)) {
    const { qosPolicy, externalSubnets } = one.spec;
    if (qosPolicy === '' || 'problem' in limitsFrom(view, qosPolicy, 'vpcNatGateways', one.name)) continue;
    const rival = limiting.find((other) =>
      other.spec.externalSubnets.some((subnet) => externalSubnets.includes(subnet)),
    );
    if (one.name === name) return rival;
    if (rival === undefined) limiting.push(one);
  }
  return undefined;
}

/** The limits of a VpcNatGateway; undefined if it names no policy. */
export function gatewayLimits(view: View, gateway: VpcNatGateway): LimitVerdict | undefined {
  const { name, spec } = gateway;
  if (spec.qosPolicy === '') return undefined;
  const verdict = limitsFrom(view, spec.qosPolicy, 'vpcNatGateways', name);
  const rival = 'limits' in verdict ? rivalOf(view, gateway) : undefined;
  if (rival === undefined) return verdict;
  return {
    problem: wrong(
      'QosPolicyInUse',
      `spec.qosPolicy: VpcNatGateway ${rival.name} limits a port of Vpc ${spec.vpc} that this one names as well: remove spec.qosPolicy of one of the two`,
    ),
  };
}

/** `rate 10 Mbit/s` of each limit, for messages and tools. */
export function limitText({ name, direction, rate, only }: Limit): string {
  const packets = only === undefined ? '' : ` ${only.side} ${formatCidr(only.cidr)}`;
  return `${name}: ${direction}${packets} ${rate / 1000} Mbit/s`;
}

/** What others read of an object that names a policy. */
function claimText(object: OvnEip | VpcNatGateway | undefined): string {
  if (object === undefined) return '';
  const { uid, createdMs, spec, status } = object;
  const places = 'externalSubnets' in spec ? [spec.vpc, spec.externalSubnets] : [];
  return JSON.stringify([uid, createdMs, spec.qosPolicy, status['qosPolicy'] ?? '', places]);
}

function policyText(policy: QosPolicy | undefined): string {
  return policy === undefined ? '' : JSON.stringify([policy.uid, policy.spec, readPolicy(policy).rules]);
}

/** Policies whose users, or whose right to be used, the change is about. */
export function policiesOf(change: Change): readonly string[] {
  if (change.kind === 'qosPolicies') return [change.name];
  if (change.kind !== 'iptablesEips' && change.kind !== 'vpcNatGateways') return [];
  if (claimText(change.before) === claimText(change.after)) return [];
  const named = [change.before, change.after].map((object) => object?.spec.qosPolicy ?? '');
  return [...new Set(named.filter((name) => name !== ''))];
}

/** Objects of a kind whose limits read the change, besides the changed one. */
export function* limitsReading(change: Change, view: View, store: LimitedStore): Generator<string> {
  const isPolicy = change.kind === 'qosPolicies';
  if (isPolicy && policyText(change.before) === policyText(change.after)) return;
  for (const policy of policiesOf(change)) {
    // Users of a shared policy do not depend on each other.
    if (!isPolicy && view.qosPolicies.get(policy)?.spec.isShared === true) continue;
    const { eipsByQosPolicy, natGatewaysByQosPolicy } = view.indexes;
    const found = [...(store === 'iptablesEips' ? eipsByQosPolicy : natGatewaysByQosPolicy).of(policy)];
    yield* found;
    if (store === 'vpcNatGateways') yield* neighbours(view, found);
  }
  if (store !== 'vpcNatGateways' || change.kind !== 'vpcNatGateways') return;
  if (claimText(change.before) === claimText(change.after)) return;
  for (const gateway of [change.before, change.after])
    if (gateway !== undefined) yield* view.indexes.natGatewaysByVpc.of(gateway.spec.vpc);
}

/** VpcNatGateways that may want the same ports. */
function* neighbours(view: View, gateways: readonly string[]): Generator<string> {
  const vpcs = new Set(gateways.flatMap((name) => view.vpcNatGateways.get(name)?.spec.vpc ?? []));
  for (const vpc of vpcs) yield* view.indexes.natGatewaysByVpc.of(vpc);
}
