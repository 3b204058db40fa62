/**
 * Options of the whole northbound database. In: whether routers have ports outside, those of VpcEgressGateways among them. Out: entries of `NB_Global.options`. Rule: other rooms
 * and administrators have entries of their own in that column; those of BFD are also of the interconnect, with the same values.
 */
import type { Desired } from '../../../lib/desired/row.ts';
import { tunnelBfd } from '../../../lib/ovn/tunnel-bfd.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';

/**
 * On a switch with load balancers or stateful ACLs OVN drops packets that conntrack calls invalid. Among these are replies
 * from pods to a joined VLAN subnet: the request came through the router of the client's node, and the reply goes through
 * the localnet port of the other node, where conntrack has not seen the request.
 */
const options = { use_ct_inv_match: 'false' };

function planOptions(view: View): Desired {
  const hasGateways =
    [...view.gatewayPorts.values()].some(({ problem }) => problem === undefined) ||
    [...view.egressGateways.values()].some(({ ports }) => ports.length > 0);
  const entries = { ...options, ...(hasGateways ? tunnelBfd : {}) };
  return { rows: [], contributions: [{ table: 'NB_Global', key: '.', column: 'options', entries }] };
}

/** One key, `all`. */
export const northboundOptionsFeature: Feature = {
  name: 'northbound-options',
  all: () => ['all'],
  reads: ({ kind }) => (kind === 'gatewayPorts' || kind === 'egressGateways' ? ['all'] : []),
  plan: planOptions,
};
