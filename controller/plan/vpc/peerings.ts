/**
 * Links between the routers of two VPCs. In: the peerings in both specs. Out: a router port on each side once both sides
 * agree, and a problem until then. Rule: the verdict is the same from both sides.
 */
import type { Desired } from '../../../lib/desired/row.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import type { Vpc } from '../../model/objects.ts';
import { routerMacSpace } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { entryOf, peeringAt } from '../../settle/vpc/judge-peerings.ts';
import { endText, peerPort } from '../../settle/vpc/link.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { routersReading } from './router.ts';

function planPeering(view: View, id: string): Desired {
  const slash = id.indexOf('/');
  const [local, remote] = [id.slice(0, slash), id.slice(slash + 1)];
  const vpc = view.vpcs.get(local);
  const entry = entryOf(vpc, remote);
  if (vpc === undefined || entry === undefined || !hasRouter(view, local)) return nothing;
  const { link } = peeringAt(view, vpc, entry, vpc.spec.vpcPeerings.indexOf(entry));
  if (link === undefined) return nothing;
  const name = peerPort(local, remote);
  return {
    rows: [
      {
        table: 'Logical_Router_Port',
        key: name,
        columns: { networks: link.map(endText), peer: peerPort(remote, local), external_ids: vendorIds },
        initial: { mac: deriveMac(routerMacSpace, name) },
        parent: { table: 'Logical_Router', key: local, column: 'ports' },
      },
    ],
  };
}

/** Keys: `<vpc>/<remote>`. */
export const peeringFeature: Feature = {
  name: 'peering',
  all: (view) => [...view.vpcs.values()].flatMap(idsOf),
  *reads(change, view) {
    for (const name of routersReading(change, view)) yield* idsOf(view.vpcs.get(name));
    if (change.kind === 'vpcs') yield* idsOf(change.before);
  },
  plan: planPeering,
  statusOf: (id) => `vpc/${id.slice(0, id.indexOf('/'))}`,
};

function idsOf(vpc: Vpc | undefined): readonly string[] {
  return vpc?.spec.vpcPeerings.map(({ remoteVpc }) => `${vpc.name}/${remoteVpc}`) ?? [];
}
