/** Sources of health checks: an address in each subnet with backends of SwitchLBRules that OVN checks. */
import { healthCheckPortName } from '../../../../lib/api/names.ts';
import { defaultInterface } from '../../../model/interfaces.ts';
import type { View } from '../../../model/view.ts';
import type { Claimant } from '../claims.ts';
import { recordOfIp } from '../records.ts';
import type { HolderKind, IpSubject } from './kind.ts';

/** Before the verdicts on rules are known, an address on record stays. */
function isNeeded(view: View, subnet: string): boolean {
  const { bySubnet, isComplete } = view.healthChecks;
  return isComplete ? bySubnet.has(subnet) : view.ips.has(healthCheckPortName(subnet));
}

function healthCheckClaimant(view: View, name: string): Claimant | undefined {
  const subnet = view.subnets.get(name);
  if (subnet === undefined || subnet.isDeleting || !isNeeded(view, name)) return undefined;
  const want = {
    port: healthCheckPortName(name),
    interface: defaultInterface,
    request: { value: { subnets: [name] } },
  };
  return { uid: subnet.uid, createdMs: subnet.createdMs, name, holder: subnet.uid, wants: [want] };
}

/** Of IP objects that are about neither a pod nor a node. */
const noSubject: IpSubject = { podName: '', namespace: '', nodeName: '', podType: '' };

/** Keys: the Subnet. */
export const healthCheckHolder: HolderKind = {
  prefix: 'health-check',
  // `settle/service` marks those that are needed, once it knows the backends.
  all: () => [],
  concerns: (change) => (change.kind === 'subnets' ? [change.name] : []),
  claimant: healthCheckClaimant,
  *recorded({ subnets, ips }) {
    for (const name of subnets.keys()) {
      const port = healthCheckPortName(name);
      yield { name, port, record: recordOfIp(ips.get(port)) };
    }
  },
  ipSubject: () => noSubject,
  followsSubnet: true,
};
