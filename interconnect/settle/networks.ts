/** This cluster's networks and what the hub is told of them. Pure. */
import { cidrsOverlap, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Attachment, HeldPort, MemberState, PathEnd, Prefix, TransitSwitch } from '../model/messages.ts';
import { isUsable, type LocalView, type LocalVpc, type Wish } from '../model/local.ts';
import type { AnchorPhase, OwnNetwork, OwnPath } from '../model/networks.ts';

/** Where this cluster's end of a path stands. */
export interface EndState {
  readonly index: number;
  readonly order: readonly string[];
  readonly holder: string;
  readonly phase: AnchorPhase;
}

/** The ends of one network by index of the path. */
export type Ends = ReadonlyMap<number, EndState>;

export interface BuiltNetworks {
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  /** By name of the network. */
  readonly problems: ReadonlyMap<string, Problem>;
}

/** What of a cluster's wishes the hub has granted. */
export function buildNetworks(
  local: LocalView,
  switches: readonly TransitSwitch[],
  endsOf: (network: string) => Ends,
): BuiltNetworks {
  const networks = new Map<string, OwnNetwork>();
  const problems = new Map<string, Problem>();
  for (const wish of local.wishes) {
    const granted = switches.find(({ name }) => name === wish.name);
    const vpc = local.vpcs.get(wish.vpc);
    if (granted === undefined || vpc === undefined) continue;
    const problem = wish.problem ?? transitOverlap(vpc, granted, wish);
    if (problem !== undefined) problems.set(wish.name, problem);
    const ends = endsOf(wish.name);
    const paths = granted.paths.flatMap(({ index, port, retiring, ...path }): OwnPath[] => {
      if (port === null) return [];
      const { order = [], holder = '', phase = 'settled' } = ends.get(index) ?? {};
      const usable = problem === undefined ? order : [];
      return [{ ...path, index, port, order: usable, holder, phase, isRetiring: retiring }];
    });
    if (paths.length === 0) continue;
    const cidrs = granted.cidrs.flatMap((text) => parseCidr(text) ?? []);
    networks.set(wish.name, { name: wish.name, vpc, cidrs, definedBy: granted.definedBy, paths });
  }
  return { networks, problems };
}

/** A port that is there was there before what peers came to ask for: the controller lets none of them overlap it. */
function transitOverlap(
  { ranges, links }: LocalVpc,
  { name, cidrs }: TransitSwitch,
  { isJoined }: Wish,
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

export interface MemberParts {
  readonly local: LocalView;
  readonly endsOf: (network: string) => Ends;
  readonly heldOf: (network: string) => readonly HeldPort[];
  /** After export policies. */
  readonly prefixesOf: (wish: Wish, vpc: LocalVpc) => readonly Prefix[];
  /** Chassis that others may have tunnels to: `publishedGateways`. */
  readonly gateways: readonly string[];
  readonly unreachable: readonly string[];
}

/** What the hub is told of this cluster. */
export function memberState(parts: MemberParts): Omit<MemberState, 'revision'> {
  const { local, gateways, unreachable } = parts;
  const known = new Set(gateways);
  const attachments = local.wishes.flatMap((wish): Attachment[] => {
    const vpc = local.vpcs.get(wish.vpc);
    if (vpc === undefined || wish.problem !== undefined) return [];
    return [
      {
        transitSwitch: wish.name,
        vpc: wish.vpc,
        routerId: vpc.routerId,
        prefixes: parts.prefixesOf(wish, vpc),
        ends: [...parts.endsOf(wish.name).values()].map((end) => endOf(end, known)),
        held: parts.heldOf(wish.name),
        cidrs: wish.cidrs,
        paths: wish.paths,
        clusters: wish.clusters,
      },
    ];
  });
  return {
    gateways: gateways.flatMap((name) => local.chassis.get(name)?.gateway ?? []),
    attachments,
    unreachable: [...unreachable].sort(),
  };
}

/** Those selected, and those that still anchor something. */
export function publishedGateways(local: LocalView, anchors: ReadonlySet<string>): readonly string[] {
  const all = new Set([...local.gatewayNodes.map(({ chassis }) => chassis), ...anchors]);
  return [...all].filter((chassis) => isUsable(local, chassis));
}

function endOf({ index, order, holder, phase }: EndState, known: ReadonlySet<string>): PathEnd {
  return {
    index,
    gateways: order.filter((chassis) => known.has(chassis)),
    holder: known.has(holder) ? holder : '',
    draining: phase !== 'settled',
  };
}
