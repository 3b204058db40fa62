/** What SecurityGroups are told: their port group, whether the rules are in force, and what is wrong with them. */
import { createHash } from 'node:crypto';
import { formerFinalizers } from '../../lib/api/names.ts';
import { apiVersionOf, securityGroups } from '../../lib/kube/resources.ts';
import type { WantedCondition } from '../plan/conditions.ts';
import { planSecurityGroupConditions, planSecurityGroupStatus } from '../plan/security-group/security-group.ts';
import type { SecurityGroup } from '../state/objects.ts';
import { mergeConditions } from './conditions.ts';
import type { Desk } from './desk.ts';

/** Of the rules, for tools that look whether they are the ones in force. */
function digestOf(rules: unknown): string {
  return createHash('md5').update(JSON.stringify(rules)).digest('hex');
}

export function publishSecurityGroup(desk: Desk, name: string): void {
  const { view, client, told, refused, nowMs } = desk;
  const group = view.securityGroups.get(name);
  const key = `SecurityGroup/${name}`;
  if (group === undefined) {
    told.forget(key);
    return;
  }
  const { uid, resourceVersion, finalizers } = group;
  if (group.isDeleting) {
    const kept = finalizers.filter((one) => !formerFinalizers.includes(one));
    if (kept.length === finalizers.length) return;
    const patch = { metadata: { uid, resourceVersion, finalizers: kept } };
    told.write(key, resourceVersion, patch, () => client.patch(securityGroups, { name }, 'merge', patch));
    return;
  }
  const refusal = refused(`security-group/${name}`);
  const wanted = {
    ...planSecurityGroupStatus(view, name, refusal),
    ingressMd5: digestOf(group.spec.ingressRules),
    egressMd5: digestOf(group.spec.egressRules),
  };
  const entries = Object.entries(wanted).filter(([field, value]) => group.status[field] !== value);
  const wantedConditions = planSecurityGroupConditions(view, name, refusal);
  const conditions = mergeConditions(group.conditions, wantedConditions, nowMs());
  if (entries.length === 0 && conditions === group.conditions) return;
  const status = { ...Object.fromEntries(entries), ...(conditions === group.conditions ? {} : { conditions }) };
  const write = (): ReturnType<typeof client.patch> =>
    client.patch(securityGroups, { name }, 'merge', { metadata: { uid }, status }, { subresource: 'status' });
  // Without times, which differ at every look.
  told.write(key, resourceVersion, { entries, conditions: wantedConditions }, write, () =>
    tell(desk, group, wantedConditions),
  );
}

/** An event for what the status has just begun to say. */
function tell({ events }: Desk, { name, uid, conditions }: SecurityGroup, wanted: readonly WantedCondition[]): void {
  const is = wanted.find(({ status }) => status === 'False');
  const was = conditions.find(({ type }) => type === is?.type);
  if (is === undefined || (was?.status === 'False' && was.message === is.message)) return;
  const subject = { apiVersion: apiVersionOf(securityGroups), kind: securityGroups.kind, name, uid };
  events.record(subject, 'Warning', is.reason ?? 'NotReady', is.message ?? '');
}
