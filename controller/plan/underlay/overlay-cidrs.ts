/** The networks of a VPC's overlay, for policies of underlay subnets that are to be joined with nothing else. */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { routingInForce } from '../../model/net-in-force.ts';
import { portGroupPart } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import { routedSubnetsOf } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, vendorIds } from '../names.ts';
import { isSameSpec } from '../subnet/spec-change.ts';

const families = [4, 6] as const;

export function overlaySet(vpc: string, family: Family): string {
  return `${portGroupPart(vpc)}.u2o_overlay_cidrs.${matchFamily(family)}`;
}

function isAsked(view: View, vpc: string): boolean {
  return view.subnetsInVlans.values().some((name) => {
    const verdict = view.verdicts.get(name);
    if (verdict?.vpc !== vpc || routingInForce(verdict.net) !== 'u2o') return false;
    return view.subnets.get(name)?.spec.overlayOnlyRouting === true;
  });
}

function cidrsOf(view: View, vpc: string, family: Family): readonly string[] {
  const cidrs = routedSubnetsOf(view, vpc).flatMap((name) => {
    const net = servedNet(view, name);
    if (net === undefined || net.underlay !== undefined) return [];
    const part = family === 4 ? net.v4 : net.v6;
    return part === undefined ? [] : [formatCidr(part.cidr)];
  });
  return cidrs.toSorted();
}

function planSets(view: View, vpc: string): Desired {
  if (!isAsked(view, vpc)) return nothing;
  return {
    rows: families.map((family): DesiredRow => ({
      table: 'Address_Set',
      key: overlaySet(vpc, family),
      columns: { external_ids: { ...vendorIds, vpc } },
      collects: ['addresses'],
    })),
    contributions: families.map((family): Contribution => ({
      table: 'Address_Set',
      key: overlaySet(vpc, family),
      column: 'addresses',
      values: cidrsOf(view, vpc, family),
    })),
  };
}

/** Keys: the default VPC; in others packets to the overlay need no policy. */
export const u2oOverlayFeature: Feature = {
  name: 'u2o-overlay',
  all: () => [defaultVpc],
  reads(change) {
    if (change.kind === 'subnets') return isSameSpec(change) ? [] : [defaultVpc];
    return change.kind === 'verdicts' ? [defaultVpc] : [];
  },
  plan: planSets,
};
