/**
 * OvnEips: addresses of networks outside. In: an OvnEip, its address, the rules that use it. Out: the load balancers of its OvnDnatRules, and its
 * status. The OvnEip of a router's port is made here unless the user made it; what is made here is removed with the port.
 */
import { controllerFinalizer, label } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import type { Change } from '../../model/change.ts';
import type { OvnEip } from '../../model/external-objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleAt, rulesAt } from '../../settle/external/external-rules.ts';
import { gatewayPortName, gatewayPortNamed } from '../../settle/external/external-subnets.ts';
import { obstacleConditions } from '../conditions.ts';
import { failure, refusalEvents } from '../events.ts';
import type { Feature } from '../feature.ts';
import { foreignFinalizers } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, StatusReport } from '../report.ts';
import { portAt, togetherWith } from './gateway-port.ts';
import { eipBalancers } from './balancer.ts';
import { holderProblem, holderText, shownHolder } from './holder.ts';

/** At most so many rules are named in a message. */
const namedRules = 5;

const uses = { ovnFips: 'fip', ovnSnatRules: 'snat', ovnDnatRules: 'dnat' } as const;
const kindOf = { ovnFips: 'OvnFip', ovnSnatRules: 'OvnSnatRule', ovnDnatRules: 'OvnDnatRule' } as const;

/** Rules that have the address, in force or waiting for something else. */
function usersOf(view: View, eip: string): readonly { readonly store: keyof typeof uses; readonly name: string }[] {
  const keys = [...rulesAt(view.indexes, 'externalRulesByEip', eip)].sort();
  return keys.flatMap((key) => {
    const verdict = view.externalRules.get(key);
    const rule = ruleAt(key);
    return rule === undefined || verdict === undefined || verdict.refusal !== undefined ? [] : [rule];
  });
}

function planEip(view: View, name: string): Desired {
  const { rows, contributions } = eipBalancers(view, name);
  const eip = view.ovnEips.get(name);
  const rule = usersOf(view, name)
    .map(({ store, name: of }) => view.externalRules.get(`${store}/${of}`))
    .find((one) => one !== undefined && one.pairs.length > 0);
  return {
    rows,
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

function deletionOf(view: View, eip: OvnEip, port: GatewayPort | undefined): Problem | undefined {
  if (!eip.isDeleting) return undefined;
  if (port !== undefined)
    return {
      code: 'Deleting',
      message: `it is the address of Vpc ${port.vpc}: remove Subnet ${port.subnet} from the Subnets outside of the Vpc`,
    };
  const users = usersOf(view, eip.name).map(({ store, name }) => `${kindOf[store]} ${name}`);
  if (users.length === 0) return undefined;
  const rest = users.length > namedRules ? ` and ${users.length - namedRules} more` : '';
  return { code: 'Deleting', message: `waits for the deletion of ${users.slice(0, namedRules).join(', ')}${rest}` };
}

function holderFields(
  view: View,
  { spec, status }: OvnEip,
  port: GatewayPort | undefined,
): Readonly<Record<string, string | null>> {
  if (spec.type !== 'lrp') return {};
  const shown = shownHolder(status['holder'], status['holderSince']);
  const { node, since } = port === undefined ? shownHolder('', '') : holderText(view, port, shown);
  return { holder: node || null, holderSince: since || null };
}

function statusOf(view: View, eip: OvnEip, outcome: Outcome, port: GatewayPort | undefined): StatusReport {
  const allocation = view.allocation(eipPort(eip.name));
  const refusal = flawOf(view, eip);
  const missing = allocation === undefined ? view.addressProblem(eipPort(eip.name)) : undefined;
  const refused = refusalOf(outcome);
  const obstacle = deletionOf(view, eip, port) ?? refused ?? missing ?? holderProblem(view, port, eip.conditions);
  const conditions = obstacleConditions(eip.generation, refusal, obstacle, 'OvnEipReady');
  const known = eip.conditions.find(({ type }) => type === 'Ready');
  const isNew = missing !== undefined && known?.message !== missing.message;
  const nat = [...new Set(usersOf(view, eip.name).map(({ store }) => uses[store]))];
  const fields = {
    type: eip.spec.type || 'nat',
    nat: nat.join(','),
    ready: refusal === undefined && allocation !== undefined,
    v4Ip: allocation?.v4 ?? '',
    v6Ip: allocation?.v6 ?? '',
    macAddress: allocation?.mac ?? '',
    ...holderFields(view, eip, port),
  };
  const events = [
    ...refusalEvents('ValidateOvnEipFailed', conditions, eip.conditions),
    ...(isNew ? [failure('AcquireAddressFailed', missing)] : []),
  ];
  return { fields, conditions, events };
}

function finalizersOf({ finalizers, isDeleting }: OvnEip, isNeeded: boolean): readonly string[] {
  const others = foreignFinalizers(finalizers);
  // The API server refuses new finalizers on an object that is being deleted.
  const isKept = isNeeded && (!isDeleting || finalizers.includes(controllerFinalizer));
  return isKept ? [...others, controllerFinalizer] : others;
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

function reportEip(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'ovnEips', name } as const;
  const eip = view.ovnEips.get(name);
  if (eip === undefined) return missingReport(view, name);
  const port = eip.spec.type === 'lrp' ? gatewayPortNamed(view, name) : undefined;
  // The label is on those that were made here alone: one of the user's stays, and says that its port is gone.
  const isFormer = port === undefined && eip.spec.type === 'lrp' && eip.labels[label.gatewayOf] !== undefined;
  if (isFormer && !eip.isDeleting) return [{ object, presence: 'forbidden' }];
  const finalizers = finalizersOf(eip, port !== undefined || usersOf(view, name).length > 0);
  return [{ object, finalizers, status: statusOf(view, eip, outcome, port) }];
}

function* eipsOf(change: Change, view: View): Generator<string> {
  if (change.kind === 'ovnEips') yield change.name;
  else if (change.kind === 'externalRules') {
    for (const verdict of [change.before, change.after]) if (verdict !== undefined) yield verdict.eip;
  } else if (change.kind === 'ports' && change.name.startsWith('eip/')) yield change.name.slice('eip/'.length);
  else if (change.kind === 'gatewayPorts') yield gatewayPortName(portAt(change.name));
  else if (change.kind === 'gatewayHolders') yield* change.name === '' ? view.ovnEips.keys() : [change.name];
}

/** Keys: the name of the OvnEip. */
export const eipFeature: Feature = {
  name: 'ovn-eip',
  all: (view) => new Set([...view.ovnEips.keys(), ...[...view.gatewayPorts.values()].map(gatewayPortName)]),
  reads: (change, view) => new Set(eipsOf(change, view)),
  plan: planEip,
  report: reportEip,
};
