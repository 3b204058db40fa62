/** The networks that this cluster takes part in. Pure. */
import type { Ends, OwnNetwork, OwnPath } from '../model/networks.ts';
import { cidrsOverlap, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { TransitSwitch } from '../model/messages.ts';
import { type LocalView, type LocalVpc, type TransitRequest } from '../model/local.ts';

export interface BuiltNetworks {
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  /** By name of the network. */
  readonly problems: ReadonlyMap<string, Problem>;
}

/** The requested networks that the hub granted. */
export function buildNetworks(
  local: LocalView,
  switches: readonly TransitSwitch[],
  endsOf: (network: string) => Ends,
): BuiltNetworks {
  const networks = new Map<string, OwnNetwork>();
  const problems = new Map<string, Problem>();
  for (const request of local.transitRequests) {
    const granted = switches.find(({ name }) => name === request.name);
    const vpc = local.vpcs.get(request.vpc);
    if (granted === undefined || vpc === undefined) continue;
    const problem = request.problem ?? transitOverlap(vpc, granted, request);
    if (problem !== undefined) problems.set(request.name, problem);
    const ends = endsOf(request.name);
    const paths = granted.paths.flatMap(({ index, port, retiring, ...path }): OwnPath[] => {
      if (port === null) return [];
      const { order = [], holder = '', phase = 'settled' } = ends.get(index) ?? {};
      const usable = problem === undefined ? order : [];
      return [{ ...path, index, port, order: usable, holder, phase, isRetiring: retiring }];
    });
    if (paths.length === 0) continue;
    const cidrs = granted.cidrs.flatMap((text) => parseCidr(text) ?? []);
    networks.set(request.name, { name: request.name, vpc, cidrs, definedBy: granted.definedBy, paths });
  }
  return { networks, problems };
}

/** A port that exists was there before peerings came to overlap it: the controller refuses such peerings. */
function transitOverlap(
  { ranges, links }: LocalVpc,
  { name, cidrs }: TransitSwitch,
  { isJoined }: TransitRequest,
): Problem | undefined {
  const held = isJoined ? ranges : [...ranges, ...links];
  for (const text of cidrs) {
    const cidr = parseCidr(text);
    const range = cidr === undefined ? undefined : held.find((one) => cidrsOverlap(one.cidr, cidr));
    if (range === undefined) continue;
    const message = `transit switch ${name} (${text}) overlaps ${formatCidr(range.cidr)} (${range.name}); it needs other addresses: --transit-cidr of the hub, or spec.cidr of the TransitSwitch that defines it`;
    return { code: 'TransitOverlap', message };
  }
  return undefined;
}
