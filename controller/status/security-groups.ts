/** What SecurityGroups are told: their port group, whether the rules are in force, and what is wrong with them. */
import { createHash } from 'node:crypto';
import { apiVersionOf, securityGroups } from '../../lib/kube/resources.ts';
import type { WantedCondition } from '../plan/report.ts';
import { planSecurityGroupConditions, planSecurityGroupStatus } from '../plan/security-group/security-group.ts';
import type { SecurityGroup } from '../model/objects.ts';
import type { Desk } from './desk.ts';
import { forget, releaseFormer, writeStatus } from './write-status.ts';

/** Of the rules, for tools that look whether they are the ones in force. */
function digestOf(rules: unknown): string {
  return createHash('md5').update(JSON.stringify(rules)).digest('hex');
}

export function publishSecurityGroup(desk: Desk, name: string): void {
  const { view, refused } = desk;
  const group = view.securityGroups.get(name);
  if (group === undefined) return forget(desk, securityGroups, name);
  if (group.isDeleting) return releaseFormer(desk, securityGroups, group);
  const refusal = refused(`security-group/${name}`);
  const conditions = planSecurityGroupConditions(view, name, refusal);
  const status = {
    ...planSecurityGroupStatus(view, name, refusal),
    ingressMd5: digestOf(group.spec.ingressRules),
    egressMd5: digestOf(group.spec.egressRules),
  };
  const tellOf = (): void => tell(desk, group, conditions);
  writeStatus(desk, { resource: securityGroups, object: group, status, conditions, tell: tellOf });
}

/** An event for what the status has just begun to say. */
function tell({ events }: Desk, { name, uid, conditions }: SecurityGroup, wanted: readonly WantedCondition[]): void {
  const is = wanted.find(({ status }) => status === 'False');
  const was = conditions.find(({ type }) => type === is?.type);
  if (is === undefined || (was?.status === 'False' && was.message === is.message)) return;
  const subject = { apiVersion: apiVersionOf(securityGroups), kind: securityGroups.kind, name, uid };
  events.record(subject, 'Warning', is.reason ?? 'NotReady', is.message ?? '');
}
