/**
 * Decides which security groups have rows. Two group names may result in the same OVN names. Rule: of two such groups the one that
 * has rows keeps them; of new groups the older one gets them.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import { memberSet, securityPortGroup } from '../../model/ovn-names.ts';
import type { ServedGroup } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';

const conflictCode = 'NameConflict';
const inOrder = byRight(unlessRefused(new Set([conflictCode])));

type Known = Pick<View, 'securityGroups' | 'indexes'>;

/** Why a group has no rows of its own: another one made the same names in OVN before. */
export function nameConflictOf(view: Known, name: string): Problem | undefined {
  const group = view.securityGroups.get(name);
  if (group === undefined) return undefined;
  for (const twin of view.indexes.groupsByPortGroup.of(securityPortGroup(name))) {
    const other = view.securityGroups.get(twin);
    if (other === undefined || twin === name || inOrder(group, other) < 0) continue;
    const message = `the name ${name} makes the same OVN port group name as security group ${twin}: choose another name`;
    return { code: conflictCode, message };
  }
  return undefined;
}

export class ServedGroups {
  readonly groups = new Map<string, ServedGroup>();
  readonly #view: Known;

  constructor(view: Known) {
    this.#view = view;
  }

  /** Call after a group was created, deleted or changed: judges it and the groups with the same port group name again. */
  changed(name: string): void {
    const twins = this.#view.indexes.groupsByPortGroup.of(securityPortGroup(name));
    for (const one of new Set([name, ...twins])) this.#judge(one);
  }

  #judge(name: string): void {
    const isServed = this.#view.securityGroups.has(name) && nameConflictOf(this.#view, name) === undefined;
    if (!isServed) this.groups.delete(name);
    else if (!this.groups.has(name))
      this.groups.set(name, {
        portGroup: securityPortGroup(name),
        memberSets: { v4: memberSet(name, 4), v6: memberSet(name, 6) },
        memberId: `associated_sg_${name}`,
      });
  }
}
