/**
 * Decides which IPPools are in force. In: all IPPools and the networks in force of Subnets. Out: a verdict for each pool. Called
 * when one of them changes. Rules: of two overlapping pools the one in force wins, of new ones the older. A refused pool reserves nothing.
 */
import { byAge, byRight, unlessRefused } from '../../../lib/desired/rights.ts';
import { cidrContains, lastOf, parseCidr } from '../../../lib/net/cidr.ts';
import { formatRange, parseRange } from '../../../lib/net/range.ts';
import type { Range } from '../../../lib/net/range.ts';
import type { PoolRanges } from '../../ipam/family-pool.ts';
import type { IpPool } from '../../model/objects.ts';
import { addressSetsOf, securityGroupPrefix } from '../../model/ovn-names.ts';
import type { Verdict, PoolVerdict } from '../../model/settled.ts';

function rangeOf(text: string): Range | undefined {
  if (!text.includes('/')) return parseRange(text);
  const cidr = parseCidr(text);
  return cidr && { family: cidr.family, first: cidr.network, last: lastOf(cidr) };
}

function refuse(code: string, message: string): PoolVerdict {
  return { ranges: [], problem: { code, message } };
}

function judge(pool: IpPool, verdict: Verdict | undefined, older: readonly (readonly [string, Range])[]): PoolVerdict {
  const { subnet, ips } = pool.spec;
  if (verdict?.net === undefined) {
    return refuse('SubnetNotReady', `spec.subnet: ${subnet} does not exist or is not in force: create or correct it`);
  }
  const parts = [verdict.net.v4, verdict.net.v6];
  const ranges: Range[] = [];
  for (const text of ips) {
    const range = rangeOf(text);
    if (range === undefined)
      return refuse('IPsInvalid', `spec.ips: '${text}' is neither an address, nor lowest..highest, nor a CIDR`);
    const isInside = parts.some(
      (part) =>
        part !== undefined &&
        cidrContains(part.cidr, { family: range.family, value: range.first }) &&
        cidrContains(part.cidr, { family: range.family, value: range.last }),
    );
    if (!isInside) return refuse('IPsOutOfRange', `spec.ips: '${text}' is not within subnet ${subnet}`);
    const overlap = older.find(
      ([, other]) => other.family === range.family && other.first <= range.last && range.first <= other.last,
    );
    if (overlap !== undefined) {
      const [name, other] = overlap;
      return refuse(
        'IPPoolOverlap',
        `spec.ips: '${text}' overlaps ${formatRange(other)} of IPPool ${name}: choose free addresses`,
      );
    }
    ranges.push(range);
  }
  if (ranges.length === 0) return refuse('IPsInvalid', 'spec.ips is empty: list addresses, ranges or CIDRs');
  return { ranges, problem: undefined };
}

/** Two pools whose address sets would have one name, or a name that is a security group's. */
function nameConflict({ name, spec }: IpPool, sets: ReadonlyMap<string, string>): PoolVerdict | undefined {
  if (!spec.enableAddressSet) return undefined;
  const taken = addressSetsOf(name).find((set) => sets.has(set) || set.startsWith(securityGroupPrefix));
  if (taken === undefined) return undefined;
  const holder = sets.has(taken) ? `IPPool ${sets.get(taken)}` : 'security groups';
  return refuse(
    'NameConflict',
    `the address set ${taken} belongs to ${holder}: choose another name, or unset enableAddressSet`,
  );
}

export function judgePools(
  pools: Iterable<IpPool>,
  verdicts: ReadonlyMap<string, Verdict>,
): ReadonlyMap<string, PoolVerdict> {
  const judged = new Map<string, PoolVerdict>();
  const taken = new Map<string, (readonly [string, Range])[]>();
  const sets = new Map<string, string>();
  // A refused pool reserves nothing, whatever the reason.
  for (const pool of [...pools].sort(byRight(unlessRefused()))) {
    const { subnet } = pool.spec;
    const older = taken.get(subnet) ?? [];
    const verdict = nameConflict(pool, sets) ?? judge(pool, verdicts.get(subnet), older);
    const isNamed = pool.spec.enableAddressSet && verdict.problem === undefined;
    for (const set of isNamed ? addressSetsOf(pool.name) : []) sets.set(set, pool.name);
    for (const range of verdict.ranges) older.push([pool.name, range]);
    taken.set(subnet, older);
    judged.set(pool.name, verdict);
  }
  return judged;
}

/** The ranges that the pools of one subnet reserve, by pool. */
export function rangesOf(
  subnet: string,
  pools: Iterable<IpPool>,
  verdicts: ReadonlyMap<string, PoolVerdict>,
): PoolRanges {
  const own = [...pools].filter(({ spec }) => spec.subnet === subnet).sort(byAge);
  return new Map(own.map(({ name }) => [name, verdicts.get(name)?.ranges ?? []]));
}
