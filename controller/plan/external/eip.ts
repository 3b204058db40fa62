/**
 * OvnEips and IptablesEIPs: addresses of networks outside. In: such an object, its address, the rules that use it. Out: the load balancers of its
 * published ports, and its status. The OvnEip of a router's port is made here unless the user made it; what is made here is removed with the port.
 */
import { label } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import type { Change } from '../../model/change.ts';
import { eipAt, eipRef, iptablesEipId } from '../../model/external-objects.ts';
import type { OvnEip } from '../../model/external-objects.ts';
import { externalRuleKinds } from '../../model/external-rules.ts';
import type { ExternalRuleStore } from '../../model/external-rules.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleAt, ruleKey, rulesAt } from '../../settle/external/external-rules.ts';
import { gatewayPortName, gatewayPortNamed } from '../../settle/external/external-subnets.ts';
import { eipLimits, limitsReading } from '../../settle/external/limits.ts';
import { natGatewayProblem, natGatewaysReading } from '../../settle/external/nat-gateways.ts';
import { flawConditions } from '../conditions.ts';
import { failure, refusalEvents } from '../events.ts';
import type { Feature } from '../feature.ts';
import { finalizersWhile } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, StatusReport } from '../report.ts';
import { portAt, togetherWith } from './gateway-port.ts';
import { eipBalancers } from './balancer.ts';
import { holderProblem, holderText, shownHolder } from './holder.ts';
import { upstreamConditions } from './upstream.ts';
import { eipLimitRows, limitFields, limitLabels, unservedProblem } from './limit-rows.ts';
import { isInForce } from './rule-rows.ts';

/** At most so many rules are named in a message. */
const namedRules = 5;

/** Rules that have the address, in force or waiting for something else. */
function usersOf(view: View, eip: string): readonly { readonly store: ExternalRuleStore; readonly name: string }[] {
  const keys = [...rulesAt(view.indexes, 'externalRulesByEip', eip)].sort();
  return keys.flatMap((key) => {
    const verdict = view.externalRules.get(key);
    const rule = ruleAt(key);
    return rule === undefined || verdict === undefined || verdict.refusal !== undefined ? [] : [rule];
  });
}

function planEip(view: View, id: string): Desired {
  const { rows, contributions } = eipBalancers(view, id);
  const eip = eipAt(view, id);
  const rule = usersOf(view, id)
    .map(({ store, name: of }) => view.externalRules.get(`${store}/${of}`))
    .find((one) => one !== undefined && one.pairs.length > 0);
  return {
    rows: [...rows, ...(eip === undefined ? [] : eipLimitRows(view, eip))],
    contributions,
    ...(eip === undefined ? {} : { createdMs: eip.createdMs }),
    ...(rule === undefined || rows.length === 0 ? {} : { together: togetherWith(rule) }),
  };
}

/** Why the object gets no address whatever else is there. */
function flawOf(view: View, { name, spec }: OvnEip): Problem | undefined {
  if (spec.type === 'lsp') {
    const message =
      'spec.type lsp: no port of a node has an address of a Subnet outside; traffic leaves by the gateway ports of Vpcs: delete it, or use type nat';
    return { code: 'NotSupported', message };
  }
  if (spec.type === 'lrp' && gatewayPortNamed(view, name) === undefined) {
    const message = `spec.type lrp: no Vpc has a port of the name ${name}, which is <vpc>-<subnet>: set spec.enableExternal of the Vpc, or delete the OvnEip`;
    return { code: 'NoGatewayPort', message };
  }
  return undefined;
}

/** Fields without effect, which do not keep the address from working. */
function unservedOf(view: View, eip: OvnEip): Problem | undefined {
  return unservedProblem(eip.unsupported, eipLimits(view, eip));
}

/** Why the VpcNatGateway of an IptablesEIP gives it no packets. */
function gatewayObstacle(view: View, { spec: { natGateway } }: OvnEip): Problem | undefined {
  if (natGateway === undefined) return undefined;
  const gateway = view.vpcNatGateways.get(natGateway);
  if (gateway === undefined)
    return {
      code: 'NatGatewayNotFound',
      message: `spec.natGwDp: VpcNatGateway ${natGateway} does not exist: create it`,
    };
  const problem = natGatewayProblem(view, gateway);
  return problem && { code: 'NatGatewayNotReady', message: `VpcNatGateway ${natGateway}: ${problem.message}` };
}

function deletionOf(view: View, eip: OvnEip, port: GatewayPort | undefined): Problem | undefined {
  if (!eip.isDeleting) return undefined;
  if (port !== undefined)
    return {
      code: 'Deleting',
      message: `it is the address of Vpc ${port.vpc}: remove Subnet ${port.subnet} from the Subnets outside of the Vpc`,
    };
  const users = usersOf(view, eip.id).map(({ store, name }) => `${externalRuleKinds[store].kind} ${name}`);
  if (users.length === 0) return undefined;
  const rest = users.length > namedRules ? ` and ${users.length - namedRules} more` : '';
  return { code: 'Deleting', message: `waits for the deletion of ${users.slice(0, namedRules).join(', ')}${rest}` };
}

/** The router port of the rules in force, which are of one VPC. */
function gatewayPortOf(view: View, id: string): string | undefined {
  const rules = usersOf(view, id).map(({ store, name }) => view.externalRules.get(ruleKey(store, name)));
  const rule = rules.find((one) => isInForce(one));
  return rule && gatewayPortName(rule);
}

/** What a speaker reads of a router's port, or by which port it finds the nodes of an address. */
function portFields(
  view: View,
  { id, spec, status }: OvnEip,
  port: GatewayPort | undefined,
): Readonly<Record<string, string | readonly string[] | null>> {
  if (spec.type !== 'lrp') return { gatewayPort: gatewayPortOf(view, id) ?? null };
  const shown = shownHolder(status['holder'], status['holderSince']);
  const { node, since } = port === undefined ? shownHolder('', '') : holderText(view, port, shown);
  const nodes = port === undefined || port.problem !== undefined ? [] : port.nodes.map((each) => each.node);
  return { nodes: nodes.length === 0 ? null : nodes, holder: node || null, holderSince: since || null };
}

function statusOf(view: View, eip: OvnEip, outcome: Outcome, port: GatewayPort | undefined): StatusReport {
  const { id, spec } = eip;
  const kind = spec.natGateway === undefined ? 'OvnEip' : 'IptablesEIP';
  const allocation = view.allocation(eipPort(id));
  const refusal = flawOf(view, eip);
  const missing = allocation === undefined ? view.addressProblem(eipPort(id)) : undefined;
  const unconnected = gatewayObstacle(view, eip);
  const waiting = missing ?? unconnected ?? holderProblem(view, port, eip.conditions);
  const obstacle = deletionOf(view, eip, port) ?? refusalOf(outcome) ?? waiting;
  const flaws = flawConditions(eip.generation, { refusal, unserved: unservedOf(view, eip), obstacle }, `${kind}Ready`);
  const outside = upstreamConditions(eip, spec.type === 'lrp' && port !== undefined ? [port] : []);
  const known = eip.conditions.find(({ type }) => type === 'Ready');
  // One that the condition does not show would be new each time.
  const isNew = (problem: Problem | undefined): problem is Problem =>
    problem !== undefined && refusal === undefined && problem === obstacle && known?.message !== problem.message;
  const nat = [...new Set(usersOf(view, id).map(({ store }) => externalRuleKinds[store].use))].join(',');
  const ready = refusal === undefined && unconnected === undefined && allocation !== undefined;
  const { v4 = '', v6 = '', mac = '' } = allocation ?? {};
  const fields =
    spec.natGateway === undefined
      ? { type: spec.type || 'nat', nat, ready, v4Ip: v4, v6Ip: v6, macAddress: mac, ...portFields(view, eip, port) }
      : { nat, ready, ip: v4, ...portFields(view, eip, port), ...limitFields(spec.qosPolicy, eipLimits(view, eip)) };
  const events = [
    ...refusalEvents(`Validate${kind}Failed`, flaws, eip.conditions),
    ...(isNew(missing) ? [failure('AcquireAddressFailed', missing)] : []),
    ...(isNew(unconnected) ? [failure(`${kind}NotReady`, unconnected)] : []),
  ];
  return { ...outside, fields, conditions: [...flaws, ...outside.conditions], events };
}

/** The OvnEip of a port that has no such object yet. */
function missingReport(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'ovnEips', name } as const;
  const port = gatewayPortNamed(view, name);
  const allocation = port && view.allocation(eipPort(name));
  if (port === undefined || allocation === undefined) return [{ object }];
  const { v4 = '', v6 = '', mac } = allocation;
  return [
    {
      object,
      presence: 'required',
      labels: { [label.gatewayOf]: port.vpc },
      initialSpec: { externalSubnet: port.subnet, type: 'lrp', v4Ip: v4, v6Ip: v6, macAddress: mac },
    },
  ];
}

function reportEip(view: View, id: string, outcome: Outcome): readonly ObjectReport[] {
  const object = eipRef(id);
  const eip = eipAt(view, id);
  if (eip === undefined) return object.kind === 'ovnEips' ? missingReport(view, id) : [{ object }];
  const port = eip.spec.type === 'lrp' ? gatewayPortNamed(view, id) : undefined;
  // The label is on those that were made here alone: one of the user's stays, and says that its port is gone.
  const isFormer = port === undefined && eip.spec.type === 'lrp' && eip.labels[label.gatewayOf] !== undefined;
  if (isFormer && !eip.isDeleting) return [{ object, presence: 'forbidden' }];
  const finalizers = finalizersWhile(port !== undefined || usersOf(view, id).length > 0, eip);
  const labels =
    object.kind === 'iptablesEips' ? { labels: limitLabels(eip.spec.qosPolicy, eipLimits(view, eip)) } : {};
  return [{ object, finalizers, ...labels, status: statusOf(view, eip, outcome, port) }];
}

/** The `id`s of the addresses whose plan or status reads the change. */
function* eipsOf(change: Change, view: View): Generator<string> {
  const { kind, name } = change;
  if (kind === 'ovnEips') yield name;
  else if (kind === 'iptablesEips') yield iptablesEipId(name);
  // Its load balancers have the protocols of the rules, and the ports that rules share.
  else if (kind === 'ovnDnatRules' || kind === 'iptablesDnats') {
    const rules = [change.before, change.after].flatMap((rule) => rule ?? []);
    const [first, second] = rules.map(({ spec }) => JSON.stringify(spec));
    if (first !== second) for (const { spec } of rules) yield spec.eip;
  } else if (kind === 'externalRules') {
    for (const verdict of [change.before, change.after]) if (verdict !== undefined) yield verdict.eip;
  } else if (kind === 'ports' && name.startsWith('eip/')) yield name.slice('eip/'.length);
  else if (kind === 'gatewayPorts') yield gatewayPortName(portAt(name));
  else if (kind === 'gatewayHolders') yield* name === '' ? view.ovnEips.keys() : [name];
  for (const gateway of natGatewaysReading(change, view))
    for (const eip of view.indexes.eipsByNatGateway.of(gateway)) yield iptablesEipId(eip);
  for (const eip of limitsReading(change, view, 'iptablesEips')) yield iptablesEipId(eip);
}

function featureOf(name: string, idOf: (name: string) => string, all: Feature['all']): Feature {
  const store = name === 'ovn-eip' ? 'ovnEips' : 'iptablesEips';
  const isOwn = (id: string): boolean => eipRef(id).kind === store;
  return {
    name,
    all,
    reads: (change, view) => new Set([...eipsOf(change, view)].filter(isOwn).map((id) => eipRef(id).name)),
    plan: (view, of) => planEip(view, idOf(of)),
    report: (view, of, outcome) => reportEip(view, idOf(of), outcome),
  };
}

/** Keys: the name of the OvnEip. */
export const eipFeature = featureOf(
  'ovn-eip',
  (name) => name,
  (view) => new Set([...view.ovnEips.keys(), ...[...view.gatewayPorts.values()].map(gatewayPortName)]),
);

/** Keys: the name of the IptablesEIP. */
export const iptablesEipFeature = featureOf('iptables-eip', iptablesEipId, (view) => view.iptablesEips.keys());
