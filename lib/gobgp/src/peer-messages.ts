import { canonicalAddress, canonicalNeighbor } from './address.ts';
import { GobgpInvalidArgument, GobgpUnsupported } from './errors.ts';
import { type AddressFamily, familyNumber, familyOfNumber } from './nlri.ts';
import { type BfdConfig, defaultConnectRetrySeconds, type PeerConfig } from './peers.ts';
import type { SessionMessage } from './sessions.ts';
import type { ApiGeneration } from './transport.ts';

interface AfiSafiMessage {
  readonly config?: { readonly family?: { readonly afi: number; readonly safi: number } | null } | null;
  readonly prefix_limits?: { readonly max_prefixes: number } | null;
  readonly long_lived_graceful_restart?: {
    readonly config?: { readonly enabled: boolean; readonly restart_time: number } | null;
  } | null;
}

/** A peer as ListPeer and WatchEvent give it. */
export interface PeerMessage extends SessionMessage {
  readonly conf?: {
    readonly neighbor_address: string;
    readonly peer_asn: number;
    readonly local_asn: number;
    readonly auth_password: string;
    readonly description: string;
  } | null;
  readonly ebgp_multihop?: { readonly enabled: boolean; readonly multihop_ttl: number } | null;
  readonly ttl_security?: { readonly enabled: boolean; readonly ttl_min: number } | null;
  readonly afi_safis?: readonly (AfiSafiMessage & NonNullable<SessionMessage['afi_safis']>[number])[];
  readonly route_reflector?: { readonly route_reflector_client: boolean } | null;
}

/** Longest stale time of RFC 9494, which has 24 bits for it. */
const maxLongLivedSeconds = 0xffffff;

/**
 * The message that makes this peer.
 * @param isRestarting says the session existed before gobgpd itself was restarted; routes then wait for the peer's End-of-RIB.
 * @throws GobgpInvalidArgument | GobgpUnsupported
 */
export function peerMessage(config: PeerConfig, generation: ApiGeneration, isRestarting: boolean): object {
  checkPeer(config, generation);
  return {
    conf: {
      neighbor_address: canonicalNeighbor(config.address),
      peer_asn: config.asn,
      local_asn: config.localAsn ?? 0,
      auth_password: config.password ?? '',
      description: describe(config),
    },
    ebgp_multihop: {
      enabled: config.ebgpMultihopTtl > 1,
      multihop_ttl: config.ebgpMultihopTtl > 1 ? config.ebgpMultihopTtl : 0,
    },
    ttl_security: { enabled: config.ttlMin !== undefined, ttl_min: config.ttlMin ?? 0 },
    timers: {
      config: {
        hold_time: config.holdTimeSeconds,
        keepalive_interval: config.keepaliveSeconds,
        connect_retry: config.connectRetrySeconds ?? defaultConnectRetrySeconds,
        // gobgpd resets a session when BFD is down, and would then wait for 30 s.
        idle_hold_time_after_reset: 1,
      },
    },
    transport: {
      local_address: config.sourceAddress === undefined ? '' : canonicalNeighbor(config.sourceAddress),
      remote_port: config.port,
      passive_mode: config.isPassive,
    },
    route_reflector: config.routeReflectorClient && {
      route_reflector_client: true,
      route_reflector_cluster_id: canonicalAddress(config.routeReflectorClient.clusterId),
    },
    graceful_restart: restartMessage(config, isRestarting),
    afi_safis: config.families.map((family) => afiSafiMessage(config, family)),
    ...(generation === 'v4' && { bfd: bfdMessage(config.bfd) }),
  };
}

/** The configuration in a peer as ListPeer gave it. @param ownAsn gobgpd's own AS, which it fills in for peers that have no other */
export function configOfMessage(message: PeerMessage, ownAsn: number): PeerConfig {
  const localAsn = message.conf?.local_asn ?? 0;
  const retry = message.timers?.config?.connect_retry ?? 0;
  const maxPrefixes = message.afi_safis?.[0]?.prefix_limits?.max_prefixes ?? 0;
  const families = (message.afi_safis ?? []).flatMap(({ config }) => {
    const family = config?.family && familyOfNumber(config.family.afi, config.family.safi);
    return family ? [family] : [];
  });
  return {
    address: message.conf?.neighbor_address ?? '',
    asn: message.conf?.peer_asn ?? 0,
    ...(message.conf?.auth_password && { password: message.conf.auth_password }),
    ...(localAsn !== 0 && localAsn !== ownAsn && { localAsn }),
    ...described(message.conf?.description ?? ''),
    port: message.transport?.remote_port || 179,
    isPassive: message.transport?.passive_mode ?? false,
    ebgpMultihopTtl: message.ebgp_multihop?.enabled ? message.ebgp_multihop.multihop_ttl : 1,
    ...(message.ttl_security?.enabled && { ttlMin: message.ttl_security.ttl_min }),
    holdTimeSeconds: message.timers?.config?.hold_time ?? 0,
    keepaliveSeconds: message.timers?.config?.keepalive_interval ?? 0,
    ...(retry !== 0 && retry !== defaultConnectRetrySeconds && { connectRetrySeconds: retry }),
    families,
    ...restartOf(message),
    ...bfdOf(message),
    ...(maxPrefixes > 0 && { maxPrefixes }),
  };
}

/**
 * gobgpd lists the session's actual address where the wanted one is given, and takes no change of a route reflector's client over; but a
 * change of the description makes it take everything anew. So both are in the description, from where they are also read back.
 */
function describe({ sourceAddress, routeReflectorClient: client }: PeerConfig): string {
  if (sourceAddress === undefined && !client) return '';
  const source = sourceAddress === undefined ? [] : [`source=${canonicalNeighbor(sourceAddress)}`];
  const cluster = client ? [`cluster=${canonicalAddress(client.clusterId)}`] : [];
  return [descriptionPrefix, ...source, ...cluster].join(' ');
}

const descriptionPrefix = 'gobgp-js';

function described(description: string): Pick<PeerConfig, 'sourceAddress' | 'routeReflectorClient'> {
  const [prefix, ...words] = description.split(' ');
  if (prefix !== descriptionPrefix) return {};
  const valueOf = (key: string) => words.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1);
  const [sourceAddress, clusterId] = [valueOf('source'), valueOf('cluster')];
  return {
    ...(sourceAddress !== undefined && { sourceAddress }),
    ...(clusterId !== undefined && { routeReflectorClient: { clusterId } }),
  };
}

function restartMessage({ gracefulRestart: restart }: PeerConfig, isRestarting: boolean): object {
  if (!restart) return { enabled: false };
  return {
    enabled: true,
    restart_time: restart.restartTimeSeconds,
    deferral_time: restart.deferralSeconds,
    longlived_enabled: restart.longLivedStaleSeconds !== undefined,
    local_restarting: isRestarting,
  };
}

function restartOf({
  graceful_restart: restart,
  afi_safis: families,
}: PeerMessage): Pick<PeerConfig, 'gracefulRestart'> {
  if (!restart?.enabled) return {};
  const longLived = families?.[0]?.long_lived_graceful_restart?.config;
  return {
    gracefulRestart: {
      restartTimeSeconds: restart.restart_time,
      deferralSeconds: restart.deferral_time,
      ...(restart.longlived_enabled && longLived && { longLivedStaleSeconds: longLived.restart_time }),
    },
  };
}

function afiSafiMessage({ gracefulRestart: restart, maxPrefixes }: PeerConfig, family: AddressFamily): object {
  const longLived = restart?.longLivedStaleSeconds;
  return {
    mp_graceful_restart: { config: { enabled: restart !== undefined } },
    config: { family: familyNumber(family), enabled: true },
    ...(maxPrefixes !== undefined && { prefix_limits: { family: familyNumber(family), max_prefixes: maxPrefixes } }),
    ...(longLived !== undefined && {
      long_lived_graceful_restart: { config: { enabled: true, restart_time: longLived } },
    }),
  };
}

function bfdMessage(bfd: BfdConfig | undefined): object {
  if (!bfd) return { enabled: false };
  return {
    enabled: true,
    desired_minimum_tx_interval: bfd.transmitMs * 1000,
    required_minimum_receive: bfd.receiveMs * 1000,
    detection_multiplier: bfd.multiplier,
  };
}

function bfdOf({ bfd }: PeerMessage): Pick<PeerConfig, 'bfd'> {
  if (!bfd?.enabled) return {};
  return {
    bfd: {
      transmitMs: bfd.desired_minimum_tx_interval / 1000,
      receiveMs: bfd.required_minimum_receive / 1000,
      multiplier: bfd.detection_multiplier,
    },
  };
}

function checkPeer(config: PeerConfig, generation: ApiGeneration): void {
  const { address, bfd, gracefulRestart: restart, maxPrefixes, routeReflectorClient: client } = config;
  const refuse = (what: string): never => {
    throw new GobgpInvalidArgument(`peer ${address} has ${what}`);
  };
  const isWhole = (value: number, min: number, max: number) => Number.isInteger(value) && value >= min && value <= max;
  const isV4 = (text: string) => !canonicalNeighbor(text).includes(':');
  if (config.families.length === 0) refuse('no address family');
  if (config.ttlMin !== undefined && config.ebgpMultihopTtl > 1) refuse('both TTL security and multihop');
  if (config.sourceAddress !== undefined && isV4(config.sourceAddress) !== isV4(address))
    refuse(`source address ${config.sourceAddress}, which is of the other family`);
  if (config.connectRetrySeconds !== undefined && !isWhole(config.connectRetrySeconds, 1, 65535))
    refuse(`${config.connectRetrySeconds} s between connection attempts, not 1 to 65535`);
  if (restart?.longLivedStaleSeconds !== undefined && !isWhole(restart.longLivedStaleSeconds, 1, maxLongLivedSeconds))
    refuse(`a long-lived stale time of ${restart.longLivedStaleSeconds} s, not 1 to ${maxLongLivedSeconds}`);
  if (maxPrefixes !== undefined && !isWhole(maxPrefixes, 1, 0xffffffff))
    refuse(`a limit of ${maxPrefixes} prefixes, not 1 or more`);
  if (client && !isV4(client.clusterId)) refuse(`cluster ID ${client.clusterId}, which is not an IPv4 address`);
  if (!bfd) return;
  if (generation === 'v3') throw new GobgpUnsupported(`BFD with ${address}`);
  for (const interval of [bfd.transmitMs, bfd.receiveMs])
    if (!isWhole(interval, 1, 4_000_000)) refuse(`a BFD interval of ${interval} ms, not 1 to 4000000`);
  if (!isWhole(bfd.multiplier, 1, 255)) refuse(`a BFD multiplier of ${bfd.multiplier}, not 1 to 255`);
}
