/** The report of a Subnet: defaults in the spec, the finalizer, counts, conditions and events. */
import { annotation, controllerFinalizer } from '../../../lib/api/names.ts';
import type { Subnet } from '../../model/objects.ts';
import { planSubnetConditions } from '../conditions.ts';
import { foreignFinalizers } from '../finalizers.ts';
import { gatewayEvents } from '../gateway/status.ts';
import { unservedNamespaceProblems } from '../namespace/unserved.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, StatusReport, WantedCondition, WantedEvent } from '../report.ts';
import type { View } from '../../model/view.ts';
import { specCorrections } from './corrections.ts';
import { dhcpKey } from './dhcp.ts';
import { acceptedNoteOf } from '../../settle/subnet/former-gateways.ts';
import type { Verdict } from '../../model/settled.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import { planSubnetStatus } from './subnet-status.ts';

/** Conditions whose change is an event, and the event's reason. Ready repeats a failure of Validated, so the first failure ends the list. */
const failureReasons = [
  ['Validated', 'ValidateLogicalSwitchFailed'],
  ['Ready', 'SubnetNotReady'],
] as const;

/** The spec as it was accepted, with defaults for what its author left out. */
function specOf({ spec: given }: Subnet, { spec: wanted }: Verdict): Readonly<Record<string, unknown>> {
  if (wanted === undefined) return {};
  const { default: isDefault, ...others } = wanted;
  return (given.isDefault ?? false) === isDefault ? others : { ...others, default: isDefault };
}

/** Users who create pods look at their Namespace rather than at Subnets. */
function namespaceEvents(view: View, name: string, now: string, before: string): readonly WantedEvent[] {
  const news = unservedNamespaceProblems(view, name).filter(
    ({ message }) => now.includes(message) && !before.includes(message),
  );
  return news.map(({ namespace, code, message }) => ({
    type: 'Warning',
    reason: code,
    message: `subnet ${name}: ${message}`,
    about: { kind: 'namespaces', name: namespace },
  }));
}

function conditionEvents(view: View, subnet: Subnet, conditions: readonly WantedCondition[]): readonly WantedEvent[] {
  const { name } = subnet;
  const events: WantedEvent[] = [];
  for (const [type, failure] of failureReasons) {
    const is = conditions.find((one) => one.type === type);
    const was = subnet.conditions.find((one) => one.type === type);
    if (is === undefined || (was?.status === is.status && was.message === is.message)) continue;
    const { status, reason, message = '' } = is;
    if (status === 'False' && reason !== 'Deleting') {
      const event = { type: 'Warning', reason: failure, message: `${reason}: ${message}` } as const;
      return [...events, ...namespaceEvents(view, name, message, was?.message ?? ''), event];
    }
    if (status === 'True' && reason === 'NoAddressToGive') events.push({ type: 'Warning', reason, message });
    if (type === 'Validated' && status === 'True' && was?.status === 'False')
      events.push({
        type: 'Normal',
        reason: 'ValidateLogicalSwitchSuccess',
        message: `subnet ${name} is in force`,
      });
  }
  return events;
}

/** Undefined until the switch is in the database: a Subnet is ready once its rows are there. */
function statusOf(view: View, subnet: Subnet, outcome: Outcome): StatusReport | undefined {
  const { name } = subnet;
  const { rows } = outcome;
  const refused = refusalOf(outcome);
  if (servedNet(view, name) !== undefined && refused === undefined && !rows.hasSwitch(name)) return undefined;
  const conditions = planSubnetConditions(view, name, refused);
  return {
    fields: {
      ...planSubnetStatus(view, name),
      dhcpV4OptionsUUID: rows.dhcpOptions(dhcpKey(name, 4)) ?? null,
      dhcpV6OptionsUUID: rows.dhcpOptions(dhcpKey(name, 6)) ?? null,
    },
    conditions,
    events: [...conditionEvents(view, subnet, conditions), ...gatewayEvents(view, name)],
    rateLimit: 'counts',
  };
}

/** The accepted network and spec. When a Subnet is being deleted, its finalizer is removed once its last row is gone. */
function objectOf(view: View, subnet: Subnet, verdict: Verdict, { rows }: Outcome): Omit<ObjectReport, 'object'> {
  const { name } = subnet;
  const others = foreignFinalizers(subnet.finalizers);
  if (subnet.isDeleting)
    return servedNet(view, name) === undefined && !rows.hasSwitch(name) ? { finalizers: others } : {};
  return {
    annotations: { [annotation.accepted]: acceptedNoteOf(view, name) ?? null },
    ...(verdict.net === undefined ? {} : { finalizers: [...others, controllerFinalizer] }),
    spec: specOf(subnet, verdict),
    corrections: specCorrections(view, name).map((message) => ({ type: 'Warning', reason: 'SpecCorrected', message })),
  };
}

export function reportSubnet(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'subnets', name } as const;
  const subnet = view.subnets.get(name);
  const verdict = view.verdicts.get(name);
  if (subnet === undefined) return [{ object }];
  if (verdict === undefined) return [];
  const status = statusOf(view, subnet, outcome);
  return [{ object, ...objectOf(view, subnet, verdict, outcome), ...(status === undefined ? {} : { status }) }];
}
