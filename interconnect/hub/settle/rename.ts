/**
 * Decides whether a member may be renamed. In: the member, its gateways, the lists of names of all members. Out: the problem
 * if more than the name would change: the prefixes that others see, or the cluster that a list refers to. Pure.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { MemberRecord, Network } from '../model/record.ts';

export interface RenameFacts {
  readonly before: string;
  readonly name: string;
  /** Chassis of its gateways, as it reports them. */
  readonly chassis: readonly string[];
  /** Undefined if it is unknown. */
  readonly record: MemberRecord | undefined;
  /** Records of all members. */
  readonly records: Iterable<MemberRecord>;
  readonly networks: Iterable<Network>;
}

/** Undefined: it may. */
export function refuseRename({ before, name, chassis, record, records, networks }: RenameFacts): Problem | undefined {
  const copy = refuseCopy(before, record, chassis);
  if (copy !== undefined) return copy;
  const isLeftBehind = (list: readonly string[]): boolean => list.includes(before) && !list.includes(name);
  for (const { name: network, definedBy, clusters } of networks) {
    if (definedBy === before || !isLeftBehind(clusters)) continue;
    return stillListed(
      `transit switch ${network}, which ${definedBy === '' ? 'the hub' : definedBy} defined,`,
      before,
      name,
    );
  }
  for (const { name: other, attachments } of records) {
    const prefixes = attachments.flatMap((attachment) => attachment.prefixes);
    const prefix = prefixes.find(({ only, except }) => isLeftBehind(only) || isLeftBehind(except));
    if (prefix !== undefined && other !== before)
      return stillListed(`an export policy of ${other}, for ${prefix.cidr},`, before, name);
  }
  return undefined;
}

/** The same key with other gateways: a copy of the cluster must not take its place. Undefined: it is none. */
export function refuseCopy(
  name: string,
  record: MemberRecord | undefined,
  chassis: readonly string[],
): Problem | undefined {
  const known = record?.gateways.map((gateway) => gateway.chassis) ?? [];
  if (known.length === 0 || chassis.length === 0 || chassis.some((one) => known.includes(one))) return undefined;
  const message = `another agent with the identity of ${name} has a session, with gateways ${known.join(', ')}; if this cluster is a copy of ${name}, delete its Interconnect and its Secret isthmus-interconnect-identity, and join with another name and token`;
  return { code: 'DuplicateIdentity', message };
}

function stillListed(where: string, before: string, name: string): Problem {
  const message = `${where} lists ${before} and not ${name}: under the new name, this cluster would not be listed there; add ${name} there, and remove ${before} after the rename`;
  return { code: 'FormerNameListed', message };
}
