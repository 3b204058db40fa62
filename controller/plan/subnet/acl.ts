/** ACLs that a Subnet's spec lists, and beside them those that let it talk within itself. */
import { switchRouterPort } from '../../../lib/api/names.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import { throughEmptyTiers } from '../acl-tier/empty-tiers.ts';
import type { Feature } from '../feature.ts';
import type { View } from '../../model/view.ts';
import { readAcls } from './acl-items.ts';
import type { CheckedAcl } from './acl-items.ts';
import { aclRow, between, cidrsOf } from './acl-row.ts';
import { isSameSpec } from './spec-change.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';

/** Kube-OVN's: below the priorities people give their own. */
const eastWestPriority = 1900;

function planAcls(view: View, name: string): Desired {
  const net = servedNet(view, name);
  const vpc = view.verdicts.get(name)?.vpc;
  const spec = view.subnets.get(name)?.spec;
  if (net === undefined || vpc === undefined || spec === undefined || spec.acls.length === 0) return { rows: [] };
  const rules: CheckedAcl[] = [];
  for (const cidr of spec.allowEWTraffic ? cidrsOf(net) : []) {
    const match = between(cidr.family, formatCidr(cidr), formatCidr(cidr));
    for (const direction of ['to-lport', 'from-lport'] as const)
      rules.push({ direction, priority: eastWestPriority, match, action: 'allow' });
  }
  const own = [...rules];
  const isOwn = ({ direction, priority, match }: CheckedAcl): boolean =>
    own.some((rule) => rule.direction === direction && rule.priority === priority && rule.match === match);
  rules.push(...readAcls(spec, view.capabilities).acls.filter((acl) => !isOwn(acl)));
  const rows = rules.map((rule) => aclRow(view, 'acls', name, { ...rule, ids: { subnet: name } }));
  const contributions = throughEmptyTiers(view, switchRouterPort(name, vpc));
  return contributions.length === 0 ? { rows } : { rows, contributions };
}

/** Keys: `<subnet>`. */
export const aclFeature: Feature = {
  name: 'acl',
  all: (view) => view.subnets.keys(),
  reads(change) {
    // A subnet that is deleted keeps its rows until its last address is released, which marks its verdict.
    if (change.kind === 'verdicts') return [change.name];
    return change.kind === 'subnets' && !isSameSpec(change) ? [change.name] : [];
  },
  plan: planAcls,
  statusOf: (subnet) => `subnet/${subnet}`,
};
