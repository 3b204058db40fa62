/**
 * Decides which LoadBalancerPools are in force. In: all pools, and the networks that their addresses must not be in. Out: a verdict for each
 * pool. Called when one of them changes. Rules: of two overlapping pools the one in force wins, of new ones the older. A new pool that
 * overlaps another object is refused. A pool in force stays, without the addresses that other objects have taken. No Service gets an address of a refused pool.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import { byAge, byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import { lastOf, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import { cidrsOf, formatRange, type Range } from '../../../lib/net/range.ts';
import { specialUse } from '../../../lib/net/special-use.ts';
import { parsePoolRange } from '../../../lib/services/load-balancer.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { partsOf } from '../../model/net-parts.ts';
import type { LoadBalancerPool } from '../../model/objects.ts';
import type { LoadBalancerPoolVerdict } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';

interface Owned {
  readonly range: Range;
  /** `subnet a`, `node n1`. */
  readonly owner: string;
}

type Evidence = Pick<
  View,
  'loadBalancerPools' | 'subnets' | 'verdicts' | 'serviceCidrs' | 'nodes' | 'transitSwitches' | 'capabilities'
>;

const rightOf = unlessRefused();

/** Whether the present spec of the pool is in force. */
export function isPoolInForce(pool: LoadBalancerPool): boolean {
  return rightOf(pool) === 0;
}

/** A Subnet as the owner of addresses. */
export function subnetOwner(name: string): string {
  return `subnet ${name}`;
}

/** Whether a network has addresses that a pool lists. */
export function overlapsPool(net: SubnetNet, pools: Iterable<LoadBalancerPool>): boolean {
  const networks = partsOf(net).map(({ cidr }) => rangeOfCidr(cidr));
  for (const { spec } of pools)
    for (const text of spec.addresses) {
      const range = parsePoolRange(text);
      if (range !== undefined && networks.some((network) => overlap(network, range) !== undefined)) return true;
    }
  return false;
}

/** Owners of addresses on which the verdicts depend. */
export function opponentsIn(verdicts: Iterable<LoadBalancerPoolVerdict>): ReadonlySet<string> {
  const owners = new Set<string>();
  for (const { withheld, opponent } of verdicts) {
    for (const { owner } of withheld) owners.add(owner);
    if (opponent !== undefined) owners.add(opponent);
  }
  return owners;
}

function rangeOfCidr({ family, network, ...rest }: Cidr): Range {
  return { family, first: network, last: lastOf({ family, network, ...rest }) };
}

/** Addresses that belong to other objects. */
function othersOf({
  subnets,
  verdicts,
  serviceCidrs,
  nodes,
  transitSwitches,
  capabilities,
}: Evidence): readonly Owned[] {
  const address = (text: string, owner: string): readonly Owned[] => {
    const ip = parseIp(text);
    return ip === undefined ? [] : [{ range: { family: ip.family, first: ip.value, last: ip.value }, owner }];
  };
  const network = (cidr: Cidr, owner: string): Owned => ({ range: rangeOfCidr(cidr), owner });
  return [
    // Other VPCs have no route to nodes, so an overlap does no harm there.
    ...[...subnets.values()].sort(byAge).flatMap(({ name }) => {
      const { vpc, net } = verdicts.get(name) ?? {};
      return net === undefined || vpc !== defaultVpc
        ? []
        : partsOf(net).map(({ cidr }) => network(cidr, subnetOwner(name)));
    }),
    ...[...serviceCidrs].flatMap(([name, { cidrs }]) =>
      cidrs.flatMap((text) => {
        const cidr = parseCidr(text);
        return cidr === undefined ? [] : [network(cidr, `ServiceCIDR ${name}`)];
      }),
    ),
    ...[...transitSwitches].flatMap(([name, { cidrs }]) =>
      cidrs.map((cidr) => network(cidr, `the network between clusters (transit switch ${name})`)),
    ),
    ...[...nodes].flatMap(([name, { addresses }]) => addresses.flatMap((text) => address(text, `node ${name}`))),
    ...(capabilities.apiServer ?? []).flatMap((text) => address(text, 'Service kubernetes')),
  ];
}

function overlap(a: Range, b: Range): Range | undefined {
  const first = a.first > b.first ? a.first : b.first;
  const last = a.last < b.last ? a.last : b.last;
  return a.family !== b.family || first > last ? undefined : { family: a.family, first, last };
}

function refuse(code: string, message: string, opponent?: string): LoadBalancerPoolVerdict {
  return { ranges: [], withheld: [], problem: { code, message }, ...(opponent !== undefined && { opponent }) };
}

function judge(pool: LoadBalancerPool, earlier: readonly Owned[], others: readonly Owned[]): LoadBalancerPoolVerdict {
  const ranges: Range[] = [];
  const withheld: Owned[] = [];
  for (const text of pool.spec.addresses) {
    const range = parsePoolRange(text);
    if (range === undefined)
      return refuse(
        'AddressesInvalid',
        `spec.addresses: '${text}' is neither an address, nor lowest..highest, nor lowest-highest, nor a CIDR`,
      );
    const use = cidrsOf(range)
      .map(specialUse)
      .find((one) => one !== undefined);
    if (use !== undefined)
      return refuse('AddressesInvalid', `spec.addresses: '${text}' has addresses for ${use}: choose others`);
    for (const { range: other, owner } of earlier)
      if (overlap(range, other) !== undefined)
        return refuse(
          'PoolOverlap',
          `spec.addresses: '${text}' overlaps ${formatRange(other)} of ${owner}: choose free addresses`,
        );
    for (const { range: other, owner } of others) {
      const common = overlap(range, other);
      if (common === undefined) continue;
      if (!isPoolInForce(pool))
        return refuse(
          'CIDROverlap',
          `spec.addresses: '${text}' has ${formatRange(common)} of ${owner}: choose free addresses`,
          owner,
        );
      withheld.push({ range: common, owner });
    }
    ranges.push(range);
  }
  if (ranges.length === 0)
    return refuse('AddressesInvalid', 'spec.addresses is empty: list addresses, ranges or CIDRs');
  return { ranges, withheld, problem: undefined };
}

export function judgeLoadBalancerPools(evidence: Evidence): ReadonlyMap<string, LoadBalancerPoolVerdict> {
  const others = othersOf(evidence);
  const earlier: Owned[] = [];
  const judged = new Map<string, LoadBalancerPoolVerdict>();
  for (const pool of [...evidence.loadBalancerPools.values()].sort(byRight(rightOf))) {
    const verdict = judge(pool, earlier, others);
    for (const range of verdict.ranges) earlier.push({ range, owner: `LoadBalancerPool ${pool.name}` });
    judged.set(pool.name, verdict);
  }
  return judged;
}
