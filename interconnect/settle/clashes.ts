/**
 * Gateways of this cluster whose name or tunnel address belongs to another gateway too: of another member, or of
 * another node here. In: nodes as Kubernetes knows them, because the southbound database accepts only one of two;
 * members and rejections of the hub. Out: each such gateway with what to do. Pure.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import { formatIp } from '../../lib/net/ip.ts';
import type { Gateway, Member, Rejection } from '../model/messages.ts';
import { isUsable, type LocalView } from '../model/local.ts';

export interface GatewayClash {
  readonly node: string;
  readonly chassis: string;
  readonly problem: Problem;
}

const renew =
  'give one of the two Open vSwitches another system-id (external_ids:system-id) and restart its ovn-controller';
const readdress =
  'give one of the two nodes another tunnel address (--encap-ip of the daemon, or the InternalIP of the Node)';

export function findClashes(
  local: LocalView,
  members: Iterable<Member>,
  rejections: readonly Rejection[],
): readonly GatewayClash[] {
  const clashes = new Map<string, GatewayClash>();
  const add = (clash: GatewayClash): void => {
    if (!clashes.has(clash.node)) clashes.set(clash.node, clash);
  };
  for (const clash of namedTwice(local)) add(clash);
  for (const clash of ofMembers(local, members)) add(clash);
  for (const clash of addressedTwice(local)) add(clash);
  for (const clash of ofHub(local, rejections)) add(clash);
  return [...clashes.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** Another node of this cluster has the same chassis name. */
function namedTwice({ nodeChassis, gatewayNodes }: LocalView): readonly GatewayClash[] {
  const nodes = Map.groupBy(nodeChassis, ({ chassis }) => chassis);
  return gatewayNodes.flatMap(({ node, chassis }) => {
    const others = (nodes.get(chassis) ?? []).filter((one) => one.node !== node).map((one) => one.node);
    if (others.length === 0) return [];
    const message = `gateway ${node} and ${others.join(', ')} of this cluster have the same system-id ${chassis}: only one of them can be a chassis; ${renew}`;
    return [{ node, chassis, problem: { code: 'DuplicateChassis', message } }];
  });
}

/** One pass over the members, however many there are. */
function ofMembers(local: LocalView, members: Iterable<Member>): readonly GatewayClash[] {
  const names = new Map(local.gatewayNodes.map((gateway) => [gateway.chassis, gateway]));
  const addresses = unusedAddresses(local);
  const clashes: GatewayClash[] = [];
  for (const { name, gateways } of members)
    for (const gateway of gateways) {
      const own = names.get(gateway.chassis);
      if (own !== undefined) clashes.push(sameName(own, name, gateway));
      for (const { ip } of gateway.encaps) {
        const node = addresses.get(ip);
        if (node !== undefined) clashes.push(sameAddress(node, name, gateway, ip));
      }
    }
  return clashes;
}

function sameName(
  { node, chassis }: { readonly node: string; readonly chassis: string },
  cluster: string,
  { hostname }: Gateway,
): GatewayClash {
  const message = `gateway ${node} of this cluster and ${hostname} of ${cluster} have the same system-id ${chassis}: the gateway that had it first keeps it; ${renew}`;
  return { node, chassis, problem: { code: 'DuplicateChassis', message } };
}

function sameAddress(
  { node, chassis }: { readonly node: string; readonly chassis: string },
  cluster: string,
  { hostname }: Gateway,
  ip: string,
): GatewayClash {
  const message = `gateway ${node} of this cluster and ${hostname} of ${cluster} have the same tunnel address ${ip}: the gateway that had it first keeps it; ${readdress}`;
  return { node, chassis, problem: { code: 'DuplicateEncap', message } };
}

/**
 * Addresses of gateway nodes that have no chassis with a tunnel address. ovn-controller cannot register a chassis with
 * an address that the southbound database has already, and reports that in its log only.
 */
function unusedAddresses(local: LocalView): ReadonlyMap<string, { readonly node: string; readonly chassis: string }> {
  const idle = new Map(local.unknownNodes.map((node) => [node, '']));
  for (const { node, chassis } of local.gatewayNodes) if (!isUsable(local, chassis)) idle.set(node, chassis);
  return new Map(
    local.nodeAddresses.flatMap(({ node, ip }) => {
      const chassis = idle.get(node);
      return chassis === undefined ? [] : [[formatIp(ip), { node, chassis }] as const];
    }),
  );
}

/** Another chassis of this cluster has the address of a gateway node without chassis. */
function addressedTwice(local: LocalView): readonly GatewayClash[] {
  const addresses = unusedAddresses(local);
  return [...local.chassis.values()].flatMap(({ gateway }) =>
    gateway.encaps.flatMap(({ ip }): GatewayClash[] => {
      const own = addresses.get(ip);
      if (own === undefined || own.chassis === gateway.chassis || own.node === gateway.hostname) return [];
      const message = `gateway ${own.node} and ${gateway.hostname} of this cluster have the same tunnel address ${ip}; ${readdress}`;
      return [{ ...own, problem: { code: 'DuplicateEncap', message } }];
    }),
  );
}

/** Gateways that the hub refused, also where the holder is in no network of this cluster. */
function ofHub({ gatewayNodes }: LocalView, rejections: readonly Rejection[]): readonly GatewayClash[] {
  return rejections.flatMap(({ kind, value, code, message }) => {
    const own = gatewayNodes.find(({ chassis }) => chassis === value);
    if (kind !== 'gateway' || own === undefined) return [];
    return [{ node: own.node, chassis: value, problem: { code, message: `gateway ${own.node}: ${message}` } }];
  });
}
