import type { Problem } from '../../../lib/desired/problem.ts';
import { byRight, whereListed } from '../../../lib/desired/rights.ts';
import { cidrsOverlap, formatCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import type { Vpc, VpcPeering } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { servedNet } from '../subnet/served-net.ts';
import { mismatchOf, peerPort, readEnds } from './link.ts';
import type { End } from './link.ts';
import { hasRouter, routedSubnetsOf } from './routers.ts';

export interface Peering {
  readonly remote: string;
  /** This side's addresses, where the peering is in force. */
  readonly link: readonly End[] | undefined;
  readonly problem: Problem | undefined;
  /** Whether the other side must resolve the problem. */
  readonly isWaiting: boolean;
}

export function entryOf(vpc: Vpc | undefined, remote: string): VpcPeering | undefined {
  return vpc?.spec.vpcPeerings.find(({ remoteVpc }) => remoteVpc === remote);
}

/** The subnet or older peering that has the name of the router port from `local` to `remote`. */
function nameHolder(view: View, local: Vpc, remote: string): string | undefined {
  const name = peerPort(local.name, remote);
  for (let at = name.indexOf('-'); at >= 0; at = name.indexOf('-', at + 1)) {
    const [router, rest] = [name.slice(0, at), name.slice(at + 1)];
    if (view.verdicts.get(rest)?.vpc === router && servedNet(view, rest) !== undefined)
      return `subnet ${rest} of Vpc ${router}`;
    const other = router === local.name ? undefined : view.vpcs.get(router);
    const inOrder = byRight(whereListed<Vpc>('vpcPeerings', (vpc) => (vpc === local ? remote : rest)));
    if (other !== undefined && entryOf(other, rest) !== undefined && inOrder(other, local) < 0)
      return `the peering of Vpc ${router} with ${rest}`;
  }
  return undefined;
}

/** A network of one side that a link would overlap. */
export function overlapOf(view: View, side: Vpc, remote: string, cidr: Cidr): string | undefined {
  for (const name of routedSubnetsOf(view, side.name)) {
    const net = servedNet(view, name);
    const part = [net?.v4, net?.v6].find((one) => one !== undefined && cidrsOverlap(one.cidr, cidr));
    if (part !== undefined) return `${formatCidr(part.cidr)} of subnet ${name}`;
  }
  const transit = [...view.transitSwitches.values()].find(
    ({ vpc, cidrs }) => vpc === side.name && cidrs.some((one) => cidrsOverlap(one, cidr)),
  );
  if (transit !== undefined) return `the network between clusters (transit switch ${transit.name})`;
  for (const { remoteVpc, localConnectIP } of side.spec.vpcPeerings) {
    if (remoteVpc === remote) break;
    const ends = readEnds(localConnectIP);
    const other = typeof ends === 'string' ? undefined : ends.find((end) => cidrsOverlap(end.cidr, cidr));
    if (other !== undefined) return `${formatCidr(other.cidr)} between Vpc ${side.name} and ${remoteVpc}`;
  }
  return undefined;
}

type PeeringVerdict =
  | { readonly link: readonly End[] }
  | { readonly code: string; readonly message: string; readonly isWaiting?: true };

function invalid(message: string): PeeringVerdict {
  return { code: 'PeeringInvalid', message };
}

function judgePeering(view: View, local: Vpc, entry: VpcPeering): PeeringVerdict {
  const { remoteVpc, localConnectIP } = entry;
  if (remoteVpc === '') return invalid('.remoteVpc: set the name of the Vpc to peer with');
  if (remoteVpc === local.name) return invalid(`.remoteVpc: ${remoteVpc} is this Vpc: name another`);
  const ends = readEnds(localConnectIP);
  if (typeof ends === 'string') return invalid(`.localConnectIP: ${ends}`);
  const remote = view.vpcs.get(remoteVpc);
  if (remote === undefined || !hasRouter(view, remoteVpc))
    return { code: 'PeerNotFound', message: `: Vpc ${remoteVpc} does not exist: create it`, isWaiting: true };
  const theirs = entryOf(remote, local.name);
  if (theirs === undefined) {
    const message = `: Vpc ${remoteVpc} does not list ${local.name}: add it to its spec.vpcPeerings`;
    return { code: 'PeeringOneSided', message, isWaiting: true };
  }
  const their = readEnds(theirs.localConnectIP);
  if (typeof their === 'string') {
    const message = `: localConnectIP of Vpc ${remoteVpc} for ${local.name}: ${their}`;
    return { code: 'PeeringOneSided', message, isWaiting: true };
  }
  return conflictOf(view, local, remote, [ends, their]) ?? { link: ends };
}

/** The conflict between two sides that list each other. */
function conflictOf(
  view: View,
  local: Vpc,
  remote: Vpc,
  [ends, their]: readonly [readonly End[], readonly End[]],
): PeeringVerdict | undefined {
  const mismatch = mismatchOf(ends, their);
  if (mismatch !== undefined)
    return invalid(
      `.localConnectIP: ${mismatch} (Vpcs ${local.name} and ${remote.name}): give them two addresses of one network`,
    );
  for (const { cidr } of ends) {
    const overlap = overlapOf(view, local, remote.name, cidr) ?? overlapOf(view, remote, local.name, cidr);
    if (overlap !== undefined)
      return {
        code: 'CIDROverlap',
        message: `.localConnectIP: ${formatCidr(cidr)} overlaps ${overlap}: choose a free network`,
      };
  }
  const [here, there] = [nameHolder(view, local, remote.name), nameHolder(view, remote, local.name)];
  if (here === undefined && there === undefined) return undefined;
  const name = here === undefined ? peerPort(remote.name, local.name) : peerPort(local.name, remote.name);
  return {
    code: 'NameConflict',
    message: `: the router port ${name} would be that of ${here ?? there}: rename one of them`,
  };
}

export function peeringAt(view: View, vpc: Vpc, entry: VpcPeering, index: number): Peering {
  const remote = entry.remoteVpc;
  const isSecond = entryOf(vpc, remote) !== entry;
  const verdict = isSecond
    ? invalid(`.remoteVpc: ${remote} is listed twice: keep one`)
    : judgePeering(view, vpc, entry);
  if ('link' in verdict) return { remote, link: verdict.link, problem: undefined, isWaiting: false };
  const { code, message, isWaiting = false } = verdict;
  return { remote, link: undefined, problem: { code, message: `spec.vpcPeerings[${index}]${message}` }, isWaiting };
}

/** All peerings a Vpc lists, in its order; of two with the same peer the second is refused. */
export function peeringsOf(view: View, name: string): readonly Peering[] {
  const vpc = view.vpcs.get(name);
  if (vpc === undefined || !hasRouter(view, name)) return [];
  return vpc.spec.vpcPeerings.map((entry, index) => peeringAt(view, vpc, entry, index));
}
