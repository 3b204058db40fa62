/** Queriers of switches that snoop multicast. */
import { querierPortName } from '../../../../lib/api/names.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';
import { recordOfIp } from '../records.ts';
import type { HolderKind, IpSubject } from './kind.ts';

/** The querier of a switch that snoops multicast has an address of its own, for IGMP where there is IPv4. */
function querierClaimant(view: View, name: string): Claimant | undefined {
  const subnet = view.subnets.get(name);
  if (subnet?.spec.enableMulticastSnoop !== true || subnet.isDeleting) return undefined;
  const want = {
    port: querierPortName(name),
    interface: defaultInterface,
    request: { value: { subnets: [name], families: [subnet.spec.cidrBlock.includes('.') ? 4 : 6] as const } },
  };
  return { uid: subnet.uid, createdMs: subnet.createdMs, name, holder: subnet.uid, wants: [want] };
}

/** Of IP objects that are about neither a pod nor a node. */
const noSubject: IpSubject = { podName: '', namespace: '', nodeName: '', podType: '' };

export const querierHolder: HolderKind = {
  prefix: 'mcast',
  all: (view) => view.subnets.keys(),
  concerns: (change) => (change.kind === 'subnets' ? [change.name] : []),
  claimant: querierClaimant,
  *recorded({ subnets, ips }) {
    for (const [name, { spec }] of subnets) {
      const port = querierPortName(name);
      if (spec.enableMulticastSnoop) yield { name, port, record: recordOfIp(ips.get(port)) };
    }
  },
  ipSubject: () => noSubject,
};
