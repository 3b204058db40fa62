/** The rows of a policy's rules, whatever its kind: ACLs in the port groups of what it selects (`selection.ts`), and a set for the addresses that a rule names. */
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { PolicyRule } from '../../../lib/policies/policy.ts';
import { aclText } from '../../../lib/policies/acl-text.ts';
import { blockNetworks } from '../../../lib/policies/block.ts';
import { policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { Change } from '../../model/change.ts';
import { isClusterKey } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { aclRow, type Acl } from '../acl-tier/port-group-acl.ts';
import { blockSet } from './names.ts';
import { ruleAcls } from './rule-acls.ts';

const families = [4, 6] as const;

type Ids = Readonly<Record<string, string>>;

export interface RuleSource {
  /** Its key among the policies in force. */
  readonly name: string;
  /** The namespace of the destinations of ingress rules, and of peers that name none; undefined for a policy of the whole cluster. */
  readonly namespace: string | undefined;
  /** The pods that it selects, as `selectionOf` names them. */
  readonly selection: string;
  /** Undefined for a direction in which the policy has no effect. */
  readonly rules: Readonly<Record<PolicyDirection, readonly PolicyRule[] | undefined>>;
  readonly ids: Ids;
  /** The ACL of a match; undefined if the rule needs none. */
  readonly aclOf: (direction: PolicyDirection, rule: number, match: string) => Acl | undefined;
}

function blockRows({ name, rules, ids }: RuleSource, direction: PolicyDirection): readonly DesiredRow[] {
  return (rules[direction] ?? []).flatMap(({ peers }, index) =>
    families.flatMap((family): readonly DesiredRow[] => {
      const addresses = blockNetworks(peers?.blocks, family);
      if (addresses.length === 0) return [];
      const key = blockSet(name, direction, index, family);
      return [{ table: 'Address_Set', key, columns: { addresses, external_ids: ids } }];
    }),
  );
}

function vpcRows(view: View, source: RuleSource, direction: PolicyDirection, vpc: string): readonly DesiredRow[] {
  const { name, selection, namespace, rules, aclOf } = source;
  const rows = new Map<string, DesiredRow>();
  for (const { group, acl, rules: of } of ruleAcls({
    context: { view, name, selection, namespace, direction, vpc },
    rules: rules[direction] ?? [],
    aclOf: (rule, match) => aclOf(direction, rule, match),
  })) {
    const verdict = acl.action === 'allow-related' ? 'allow' : acl.action;
    const text = aclText(name, direction, of, verdict);
    const row = aclRow(group, { ...acl, text }, { name, ids: { np: name, rules: of.join() } });
    // Rules beyond the last priority may be the same.
    if (!rows.has(row.key)) rows.set(row.key, row);
  }
  return [...rows.values()];
}

/** Policies whose rows read a changed value: those of the whole cluster, or the others. */
export function* ruleRowsRead(change: Change, view: View, isOfCluster: boolean): Generator<string> {
  if (change.kind === 'policies' || change.kind === 'policyVpcs') {
    if (isClusterKey(change.name) === isOfCluster) yield change.name;
  } else if (change.kind === 'namedPorts')
    for (const name of view.policies.ofNamedPort(change.name)) if (isClusterKey(name) === isOfCluster) yield name;
}

export function ruleRows(view: View, source: RuleSource): readonly DesiredRow[] {
  const vpcs = view.policies.vpcs(source.name);
  if (vpcs.length === 0) return [];
  return policyDirections.flatMap((direction) => [
    ...blockRows(source, direction),
    ...vpcs.flatMap((vpc) => vpcRows(view, source, direction, vpc)),
  ]);
}
