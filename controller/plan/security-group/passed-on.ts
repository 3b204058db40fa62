/**
 * What reaches a pod in tier 1. OVN does not tell tier 1 which rule of tier 0 a packet comes from: both one that allows it, after which no group of tier 1
 * may drop it, and one that passes it on to these groups have the action `pass`. In: security groups, and ACLs of Subnets. Out: ACLs of tier 1 that find
 * the first rule of tier 0 once more. Rules: what tier 0 allows before a rule that passes on goes on to the next tier. In place of a rule that passes on
 * stand the rules of the groups of tier 1, each within the match of that rule, and a drop. What no such rule follows needs no ACL, as tier 1 lets it go on;
 * nor does what tier 0 drops, or allows at once (`allow-stateless`).
 */
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import type { Change } from '../../model/change.ts';
import { securityPortGroup } from '../../model/ovn-names.ts';
import { passesOn } from '../../model/selections.ts';
import type { View } from '../../model/view.ts';
import { aclRow } from '../acl-tier/port-group-acl.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import type { Feature } from '../feature.ts';
import { readAcls } from '../subnet/acl-items.ts';
import { aclRow as subnetAclRow } from '../subnet/acl-row.ts';
import { privateAllowances } from '../subnet/private.ts';
import { isSameSpec } from '../subnet/spec-change.ts';
import { baseMatches } from './base.ts';
import { ownAcls } from './group-acls.ts';
import { groupPriority } from './names.ts';
import { judgingGroups, passingNames, servedAmong } from './passing.ts';
import { lastTier } from './tiers.ts';

const direction = 'to-lport';
/** The priority of the first ACL. `maxPassedOn` keeps that of the last one far above `groupPriority.passed`. */
const highest = 32_000;

interface Judgement {
  /** In OVN, in the tier of the rule. */
  readonly priority: number;
  readonly match: string;
}

type Written = Pick<Acl, 'priority' | 'match'> & { readonly action: 'pass' | 'drop' };

/** An ACL of tier 0, and how one of tier 1 is written where it is. */
interface Former extends Judgement {
  readonly write: (acl: Written) => DesiredRow;
}

interface FormerTier {
  readonly allowing: readonly Former[];
  readonly passing: readonly Former[];
}

function ofGroups(view: View): FormerTier {
  const [allowing, passing]: [Former[], Former[]] = [[], []];
  for (const group of servedAmong(view, view.servedGroups.keys())) {
    if (group.spec.tier !== 0) continue;
    const parent = securityPortGroup(group.name);
    const write = (acl: Written): DesiredRow => aclRow(parent, { ...acl, direction, tier: lastTier });
    for (const { priority, match, action } of ownAcls(view, group, direction)) {
      if (action === 'allow-related') allowing.push({ priority, match, write });
      else if (action === 'pass') passing.push({ priority, match, write });
    }
  }
  return { allowing, passing };
}

/** A Subnet decides about its packets; also its `pass` is no request to the groups of tier 1. */
const goesOn: readonly string[] = ['allow', 'allow-related', 'pass'];

function ofSubnets(view: View): readonly Former[] {
  return [...view.subnets.keys()].sort().flatMap((name): readonly Former[] => {
    const spec = view.subnets.get(name)?.spec;
    const net = servedNet(view, name);
    if (net === undefined || spec === undefined) return [];
    const acls = [...readAcls(spec, view.capabilities).acls, ...privateAllowances(view, name, net)];
    const write = (acl: Written): DesiredRow =>
      subnetAclRow(view, 'passed-on', name, { ...acl, direction, columns: { tier: lastTier }, ids: { subnet: name } });
    return acls
      .filter((acl) => acl.direction === direction && goesOn.includes(acl.action))
      .map(({ priority, match }) => ({ priority, match, write }));
  });
}

/** Rules are about IP. */
const judgedBase = baseMatches(direction).filter((match) => match !== 'arp');

/** What judges a packet that is passed on; a packet that nothing here matches is dropped. */
function judgements(view: View): readonly (Judgement & Pick<Written, 'action'>)[] {
  const own = judgingGroups(view).flatMap((group) => ownAcls(view, group, direction));
  return [
    ...own.map(
      ({ priority, match, action }) =>
        ({ priority, match, action: action === 'allow-related' ? 'pass' : 'drop' }) as const,
    ),
    ...judgedBase.map((match) => ({ priority: groupPriority.base, match, action: 'pass' }) as const),
  ];
}

/** The different priorities, the first to match first. */
function descending(rules: readonly Judgement[]): readonly number[] {
  return [...new Set(rules.map(({ priority }) => priority))].sort((a, b) => b - a);
}

/**
 * Priorities in tier 1: a block for each priority at which rules pass on. In it are what is allowed before these rules and after those of the former block,
 * in one place, as these ACLs do the same; then the judgements by their own priorities; then the drop. Of one priority in tier 0, the rules that pass on come first.
 */
class Places {
  readonly #blocks: readonly number[];
  readonly #steps: readonly number[];

  constructor(passing: readonly Judgement[], judging: readonly Judgement[]) {
    this.#blocks = descending(passing);
    this.#steps = descending(judging);
  }

  /** Undefined if no rule that passes on follows. */
  ofAllowing({ priority }: Judgement): number | undefined {
    const block = this.#blocks.findIndex((one) => one < priority);
    return block === -1 ? undefined : this.#at(block, 0);
  }

  /** Where a judgement about what a rule passes on is; without one, the drop. */
  ofPassed({ priority }: Judgement, judgement?: Judgement): number {
    const step = judgement === undefined ? this.#steps.length : this.#steps.indexOf(judgement.priority);
    return this.#at(this.#blocks.indexOf(priority), 1 + step);
  }

  #at(block: number, step: number): number {
    return highest - block * (this.#steps.length + 2) - step;
  }
}

function planPassedOn(view: View): Desired {
  if (!view.capabilities.aclTier || !isUsed(view)) return { rows: [] };
  const { allowing, passing } = ofGroups(view);
  if (passing.length === 0) return { rows: [] };
  const judging = judgements(view);
  const places = new Places(passing, judging);
  const rows: DesiredRow[] = [];
  for (const rule of [...allowing, ...ofSubnets(view)]) {
    const priority = places.ofAllowing(rule);
    if (priority !== undefined) rows.push(rule.write({ priority, match: rule.match, action: 'pass' }));
  }
  for (const rule of passing) {
    for (const judgement of judging) {
      const match = `(${rule.match}) && (${judgement.match})`;
      rows.push(rule.write({ priority: places.ofPassed(rule, judgement), match, action: judgement.action }));
    }
    rows.push(rule.write({ priority: places.ofPassed(rule), match: rule.match, action: 'drop' }));
  }
  // The same rule twice is one.
  return { rows: [...new Map(rows.map((row) => [row.key, row])).values()] };
}

/** Whether any group passes packets on; without one, no change is looked at further. */
function isUsed(view: View): boolean {
  for (const _ of passingNames(view)) return true;
  return false;
}

function isRead(change: Change, view: View): boolean {
  const { kind } = change;
  if (kind === 'securityGroups' && change.before !== undefined && passesOn(change.before)) return true;
  if (!isUsed(view)) return false;
  return kind === 'securityGroups' || kind === 'verdicts' || (kind === 'subnets' && !isSameSpec(change));
}

/** One key, `all`. */
export const passedOnFeature: Feature = {
  name: 'passed-on',
  all: () => ['all'],
  reads: (change, view) => (isRead(change, view) ? ['all'] : []),
  plan: planPassedOn,
};
