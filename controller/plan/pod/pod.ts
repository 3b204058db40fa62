/**
 * The rows of a pod: for each interface a port, pinned to its addresses and its node, its memberships and its rate limits.
 * In: a pod and the ports that it holds. Out: rows and contributions with one owner, so that a port never exists without its
 * memberships. Called when the pod, or another object that its port depends on, changed.
 */
import { ref } from '../../../lib/desired/row.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { wantsNetwork } from '../../model/interfaces.ts';
import type { Pod } from '../../model/objects.ts';
import { gatewayPortGroup } from '../../model/ovn-names.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { isThroughNodes } from '../../settle/gateway/scope.ts';
import type { Feature } from '../feature.ts';
import { policyMemberships } from '../network-policy/membership.ts';
import { groupMemberships } from '../security-group/membership.ts';
import type { AddressTexts } from '../security-group/membership.ts';
import { dhcpRows } from './dhcp.ts';
import { portFacts, portRow } from './port-row.ts';
import { portRateRows } from './rates.ts';
import { podsRead } from './reads.ts';
import { reportPod } from './report.ts';
import { familyOf } from '../../../lib/net/ip.ts';

function planPod(view: View, key: string): Desired {
  const pod = view.pods.get(key);
  if (pod === undefined || !wantsNetwork(pod)) return { rows: [] };
  const held = view.ports(`pod/${key}`).filter(({ sharers }) => sharers[0] === `pod/${key}`);
  const [rows, contributions]: [DesiredRow[], Contribution[]] = [[], []];
  for (const one of held) {
    const facts = portFacts(view, pod, one);
    rows.push(portRow(view, pod, one, facts), ...dhcpRows(view, pod, one), ...portRateRows(pod, one));
    contributions.push(
      ...gatewayMembership(view, pod, one),
      ...groupMemberships(view, facts.groups, { port: one.port, addresses: addressTexts(one, facts.extra) }),
      // The author of a pod must not add addresses to the peers of a policy.
      ...policyMemberships(view, pod, one, addressTexts(one, facts.vips)),
    );
  }
  return { rows, contributions };
}

function gatewayMembership(view: View, pod: Pod, { port, allocation }: HeldPort): readonly Contribution[] {
  const subnet = view.subnets.get(allocation.subnet);
  const isMember = subnet !== undefined && isThroughNodes(view, subnet);
  if (!isMember || pod.node === undefined || !view.nodes.has(pod.node)) return [];
  const group = gatewayPortGroup(allocation.subnet, pod.node);
  return [{ table: 'Port_Group', key: group, column: 'ports', values: [ref('Logical_Switch_Port', port)] }];
}

/** The port's own addresses, and others that it may use. */
function addressTexts({ allocation: { v4, v6 } }: HeldPort, extra: readonly string[]): AddressTexts {
  return {
    v4: [...(v4 === undefined ? [] : [v4]), ...extra.filter((text) => familyOf(text) === 4)],
    v6: [...(v6 === undefined ? [] : [v6]), ...extra.filter((text) => familyOf(text) === 6)],
  };
}

export const podFeature: Feature = {
  name: 'pod',
  all: (view) => view.pods.keys(),
  reads: podsRead,
  plan: planPod,
  report: reportPod,
};
