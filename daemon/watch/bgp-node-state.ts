/** Parses the BgpNodeState of this node: learned prefixes and the interfaces of unnumbered neighbours. The other fields do not concern the daemon. */
import { z } from 'zod';
import type { Problem } from '../../lib/desired/problem.ts';
import { readAs } from '../../lib/api/read-as.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { LearnedEntry, BgpNodeState } from '../model/bgp-node-state.ts';

const shape = z.looseObject({
  status: z
    .looseObject({ learned: z.array(z.unknown()).optional(), interfaces: z.array(z.string()).optional() })
    .optional(),
});
const entryShape = z.looseObject({ prefix: z.string(), nextHop: z.string(), preference: z.number() });

export function parseBgpNodeState(raw: RawObject): BgpNodeState {
  const { name, uid } = raw.metadata;
  const { learned = [], interfaces = [] } = readAs(shape, raw).data?.status ?? {};
  const read = learned.map(parseEntry);
  return {
    name,
    uid,
    entries: read.flatMap((one) => ('prefix' in one ? [one] : [])),
    interfaces,
    problems: read.flatMap((one) => ('code' in one ? [one] : [])),
  };
}

/** A link-local next hop is written with its interface: `fe80::1%eth0`. */
function parseEntry(raw: unknown): LearnedEntry | Problem {
  const entry = readAs(entryShape, raw).data;
  const [address = '', device] = entry?.nextHop.split('%', 2) ?? [];
  const [cidr, ip] = [parseCidr(entry?.prefix ?? ''), parseIp(address)];
  if (entry === undefined || cidr === undefined || ip === undefined) {
    const message = `status.learned has ${JSON.stringify(raw)}, which is no prefix with a next hop; it is left out`;
    return { code: 'LearnedRouteInvalid', message };
  }
  return { prefix: formatCidr(cidr), nextHop: formatIp(ip), device: device || undefined, preference: entry.preference };
}
