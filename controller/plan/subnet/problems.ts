/** Problems of single parts of a Subnet's spec that are not served although the Subnet is, in the order of the spec's parts. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { View } from '../../model/view.ts';
import { gatewayProblems } from '../gateway/status.ts';
import { unservedNamespaceProblems } from '../namespace/unserved.ts';
import { underlayProblems } from '../underlay/problems.ts';
import { readAcls } from './acl-items.ts';
import { dhcpProblems } from './dhcp.ts';
import { readAllowSubnets } from './private.ts';
import { readRouterAdvert } from './router-advert.ts';
import { vipProblems } from './vips.ts';

/** RFC 791, RFC 8200 section 5, and what a link can have. */
const leastMtu = { v4: 68, v6: 1280 } as const;
const mostMtu = 65_535;

function mtuProblem(mtu: number, hasIpv6: boolean): readonly Problem[] {
  const least = hasIpv6 ? leastMtu.v6 : leastMtu.v4;
  if (mtu === 0 || (Number.isInteger(mtu) && mtu >= least && mtu <= mostMtu)) return [];
  return [
    { code: 'MtuInvalid', message: `spec.mtu: ${mtu} is not between ${least} and ${mostMtu}: correct or remove it` },
  ];
}

/** A message names at most this many ports. */
const namedPorts = 5;

function keyProblem(view: View, name: string): readonly Problem[] {
  const ports = view.unreachablePorts.of(name);
  if (ports.length === 0) return [];
  const rest = ports.length > namedPorts ? ` and ${ports.length - namedPorts} more` : '';
  const message = `VXLAN does not reach ${ports.slice(0, namedPorts).join(', ')}${rest}, whose keys in OVN are above 2047: create them again before networking.encapType=vxlan`;
  return [{ code: 'PortKeyTooLong', message }];
}

export function subnetProblems(view: View, name: string): readonly Problem[] {
  const spec = view.subnets.get(name)?.spec;
  const net = view.verdicts.get(name)?.net;
  if (spec === undefined || net === undefined) return [];
  const hasIpv6 = net.v6 !== undefined;
  const querier = view.addressProblem(`mcast/${name}`);
  return [
    ...unservedNamespaceProblems(view, name).map(({ code, message }) => ({ code, message })),
    ...readAllowSubnets(spec).problems,
    ...readAcls(spec, view.capabilities).problems,
    ...gatewayProblems(view, name),
    ...mtuProblem(spec.mtu, hasIpv6),
    ...vipProblems(view, name),
    ...dhcpProblems(view, name),
    ...underlayProblems(view, name),
    ...keyProblem(view, name),
    ...readRouterAdvert(spec, hasIpv6).problems.map((message) => ({ code: 'IPv6RAInvalid', message })),
    ...(querier === undefined
      ? []
      : [{ code: querier.code, message: `spec.enableMulticastSnoop: ${querier.message}` }]),
  ];
}
