// Objects from Kube-OVN's speaker flags, which the chart provides as values: one instance, and an identical peer for
// each address.
import { type ObjectsOfValues, objectsOfValues, type PeerSpec } from '../../lib/bgp/values.ts';
import { choice, type FlagValues, integer, list, text, toggle, UsageError } from '../../lib/run/flags.ts';
import { familyOf } from '../../lib/net/ip.ts';

/** Kube-OVN's flag names. */
export const sessionFlags = {
  'neighbor-address': list('IPv4 addresses of routers that every speaker peers with, beside BgpPeers', []),
  'neighbor-ipv6-address': list('the same for IPv6', []),
  'cluster-as': integer('our AS, with neighbor-address', 0),
  'neighbor-as': integer('the AS of those routers', 0),
  'auth-password-key': text('key of their password in the Secret isthmus-bgp-passwords', undefined),
  holdtime: integer('hold time of those sessions, in seconds', 90),
  'graceful-restart': choice('whether peers keep the routes during a restart of gobgpd', ['true', 'false'], 'true'),
  'graceful-restart-time': integer('for how long, in seconds', 90),
  passivemode: toggle('those routers open the connections'),
  'ebgp-multihop': integer('TTL of those sessions', 1),
  'extended-nexthop': toggle('IPv4 prefixes go to IPv6 neighbours with an IPv6 next hop (RFC 8950)'),
  'enable-bfd': toggle('BFD with those routers'),
  'bfd-min-tx': integer('milliseconds between BFD packets', 1000),
  'bfd-min-rx': integer('milliseconds between BFD packets of the router', 1000),
  'bfd-detection-multiplier': integer('BFD packets that may be missing', 3),
  'allowed-source-addresses': list('our address of those sessions, IPv4; one', []),
  'allowed-source-ipv6-addresses': list('the same for IPv6', []),
};

/** Undefined if no neighbour is given. @throws UsageError for values that are not valid for an instance or peer */
export function flagObjects(flags: FlagValues<typeof sessionFlags>): ObjectsOfValues | undefined {
  const { neighborAddress, neighborIpv6Address, clusterAs, neighborAs } = flags;
  const addresses = [...neighborAddress, ...neighborIpv6Address];
  if (addresses.length === 0) return undefined;
  if (clusterAs === 0 || neighborAs === 0) throw new UsageError('neighbor-address needs cluster-as and neighbor-as', 2);
  const objects = objectsOfValues(
    {
      localASN: clusterAs,
      gracefulRestart: {
        enabled: flags.gracefulRestart === 'true',
        restartTimeSeconds: flags.gracefulRestartTime,
      },
    },
    addresses.map((address) => peerSpec(flags, address)),
  );
  for (const { spec } of [objects.instance, ...objects.peers])
    if ('problem' in spec) throw new UsageError(`the flags make no session: ${spec.problem.message}`, 2);
  return objects;
}

function peerSpec(flags: FlagValues<typeof sessionFlags>, address: string): PeerSpec {
  const isV6 = familyOf(address) === 6;
  const [sourceAddress] = isV6 ? flags.allowedSourceIpv6Addresses : flags.allowedSourceAddresses;
  const hasExtendedNextHop = isV6 && flags.extendedNexthop;
  return {
    address,
    asn: flags.neighborAs,
    holdTimeSeconds: flags.holdtime,
    keepaliveSeconds: Math.max(1, Math.floor(flags.holdtime / 3)),
    passive: flags.passivemode,
    ebgpMultihopTTL: flags.ebgpMultihop,
    ...(hasExtendedNextHop && { extendedNextHop: true, families: ['ipv4', 'ipv6'] }),
    ...(sourceAddress !== undefined && { sourceAddress }),
    ...(flags.authPasswordKey !== undefined && {
      passwordSecretRef: { name: 'isthmus-bgp-passwords', key: flags.authPasswordKey },
    }),
    ...(flags.enableBfd && {
      bfd: {
        transmitIntervalMilliseconds: flags.bfdMinTx,
        receiveIntervalMilliseconds: flags.bfdMinRx,
        detectMultiplier: flags.bfdDetectionMultiplier,
      },
    }),
  };
}
