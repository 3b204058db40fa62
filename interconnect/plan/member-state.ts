/** The state that this cluster sends to the hub. Pure. */
import type { GatewayWireGuard } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { Ends, EndState } from '../model/networks.ts';
import { isUsable, type LocalView, type LocalVpc, type TransitRequest } from '../model/local.ts';
import type {
  AcceptedKey,
  Attachment,
  EncryptionWish,
  Gateway,
  HeldPort,
  MemberState,
  PathEnd,
  Prefix,
} from '../model/messages.ts';

export interface MemberParts {
  readonly local: LocalView;
  readonly endsOf: (network: string) => Ends;
  readonly heldOf: (network: string) => readonly HeldPort[];
  /** After export policies. */
  readonly prefixesOf: (request: TransitRequest, vpc: LocalVpc) => readonly Prefix[];
  /** Chassis that other clusters may have tunnels to: `publishedGateways`. */
  readonly gateways: readonly string[];
  readonly unreachable: readonly string[];
  readonly encryption: EncryptionWish;
  /** What the daemon of a gateway reports of WireGuard. */
  readonly wireGuardOf: (chassis: string) => GatewayWireGuard | undefined;
  /** Chassis → address within tunnels, as the hub allocated it. */
  readonly tunnelAddresses: Readonly<Record<string, string>>;
  readonly acceptedKeys: readonly AcceptedKey[];
}

/** The state of this cluster for the hub, without its revision. */
export function memberState(parts: MemberParts): Omit<MemberState, 'revision'> {
  const { local, gateways, unreachable } = parts;
  const known = new Set(gateways);
  const attachments = local.transitRequests.flatMap((request): Attachment[] => {
    const vpc = local.vpcs.get(request.vpc);
    if (vpc === undefined || request.problem !== undefined) return [];
    return [
      {
        transitSwitch: request.name,
        vpc: request.vpc,
        routerId: vpc.routerId,
        prefixes: parts.prefixesOf(request, vpc),
        ends: [...parts.endsOf(request.name).values()].map((end) => endOf(end, known)),
        held: parts.heldOf(request.name),
        cidrs: request.cidrs,
        paths: request.paths,
        clusters: request.clusters,
      },
    ];
  });
  return {
    gateways: ownGateways(parts),
    encryption: parts.encryption,
    acceptedKeys: parts.acceptedKeys,
    attachments,
    unreachable: [...unreachable].sort(),
    tellsExports: true,
    tellsPaths: true,
    tellsPods: true,
  };
}

type GatewayParts = Pick<MemberParts, 'local' | 'gateways' | 'wireGuardOf' | 'tunnelAddresses'>;

/** With the keys that their daemons made. */
export function ownGateways({ local, gateways, wireGuardOf, tunnelAddresses }: GatewayParts): readonly Gateway[] {
  return gateways.flatMap((name): readonly Gateway[] => {
    const gateway = local.chassis.get(name)?.gateway;
    if (gateway === undefined) return [];
    const report = wireGuardOf(name);
    if (report?.publicKey === undefined) return [gateway];
    const address = tunnelAddresses[name] ?? report.address ?? '';
    const { publicKey, endpoints = [], nextKey } = report;
    const wireGuard = { publicKey, endpoints, address, ...(nextKey && { nextKey: nextKey.publicKey }) };
    return [{ ...gateway, wireGuard }];
  });
}

/** Selected gateways, and others that still anchor a path. */
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
