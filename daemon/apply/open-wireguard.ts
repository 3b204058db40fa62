/**
 * Opens encrypted tunnels to other clusters (ADR 54): their plan, the kernel with WireGuard, and their bridge. Out: the report for the
 * InterconnectGateway, figures, and whether the node is guarded. It checks every second, because nothing reports a wireguard-go that was
 * started again in time.
 */
import type { GatewayWireGuard } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { familyOf } from '../../lib/net/ip.ts';
import { RTM } from '../../lib/netlink/message.ts';
import type { KernelEvent } from '../host/kernel-events.ts';
import { HostLoop } from '../host/loop.ts';
import { isRefusal, Refusal } from '../host/refusal.ts';
import { KernelTunnels } from '../host/tunnels.ts';
import { beginRotation, endRotation, noteAnnounced, openKeys, randomMac, type Keys } from '../host/wireguard-key.ts';
import {
  hasSession,
  linkAddress,
  tunnelLinks,
  type KeySlice,
  type SeenPeer,
  type TunnelsPlan,
} from '../model/wireguard.ts';
import { hasFixedSources, systemId, tunnelEnds } from '../ovs/local.ts';
import { keepTunnelNeighbour, keepTunnelRoute, removeTunnelRoute } from '../ovs/tunnel-route.ts';
import { isStillUsed, planDevice, planPeers, planTunnelBridge, planTunnels } from '../plan/wireguard.ts';
import { Endpoints } from '../settle/endpoints.ts';
import { Acceptances, isTold, nextStep } from '../settle/key-rotation.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Local } from './open-local.ts';

export interface OpenWireGuardOptions {
  readonly local: Pick<Local, 'netlink' | 'kernelEvents' | 'ovs' | 'target'>;
  readonly cluster: Cluster;
  /** Whether the node is a gateway between clusters. */
  readonly isGateway: () => boolean;
  readonly encapIp: string;
  readonly isUserspaceDatapath: boolean;
  /** File of the private key, with others beside it. */
  readonly keyFile: string;
  /** File of the network namespace. */
  readonly namespace: string;
  readonly socket: string;
  /** Folder of the control socket of ovs-vswitchd; undefined for a remote one. */
  readonly switchFolder: string | undefined;
  readonly port: number;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

export interface WireGuardFigures {
  readonly chassis: string;
  /** Unix milliseconds; 0 before the first. */
  readonly handshakeMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

export interface OpenedWireGuard {
  /** Nothing is sent in the clear to addresses within tunnels; also true without any plan for encryption. */
  readonly isSafe: boolean;
  /** Undefined without encryption. */
  readonly report: GatewayWireGuard | undefined;
  readonly figures: readonly WireGuardFigures[];
  /** Called after each change of `isSafe` and of `report`. */
  subscribe(listener: () => void): void;
  close(): void;
}

const unsupported =
  'ovn-controller of OVN 24.03 and newer gives tunnels the address of the underlay as their source (local_ip); encrypted tunnels have IPv4 addresses, so that of the underlay has to be one, too';
const owner = 'tunnels/bridge';
const checkMs = 1000;
/** While a peer may change its key: nothing reports its first handshake, and until it was seen, packets of the peer are dropped. */
const changeCheckMs = 25;
/** Reads of a WireGuard with many peers take longer, and may not take all of the processor. */
const longestShare = 0.2;
/** WireGuard's own part of a packet, with an outer header of IPv6. */
const overhead = 80;
const usualMtu = 1500;

/** Resolves after the first application to the kernel. */
export async function openWireGuard(options: OpenWireGuardOptions): Promise<OpenedWireGuard> {
  const { local, cluster, isGateway, encapIp, switchFolder: folder, log } = options;
  const { netlink, kernelEvents, ovs, target } = local;
  const listeners = new Set<() => void>();
  const endpoints = new Endpoints();
  const acceptances = new Acceptances();
  let plan: TunnelsPlan | undefined;
  let keys: Keys | undefined;
  let keyProblem: string | undefined;
  /** Of the bridge while there is no key. */
  const spareMac = randomMac();
  let reported = '';
  let isUnsupported = false;

  const uplink = (await netlink.addressedLinks()).find(({ addresses }) => addresses.includes(encapIp));
  const mtu = (uplink?.mtu ?? usualMtu) - overhead;
  const settings = { isUserspace: options.isUserspaceDatapath, encapIp, mtu };
  const kernel = new KernelTunnels({
    netlink,
    namespace: options.namespace,
    isUserspace: options.isUserspaceDatapath,
    socket: options.socket,
    mtu,
    plug: async (isWanted) => {
      if (isWanted) target.set(owner, planTunnelBridge(keys?.mac ?? spareMac));
      else target.drop(owner);
      await target.untilApplied();
    },
    pin: async (cidr, mac) => {
      if (folder === undefined) return;
      const { bridge } = tunnelLinks;
      try {
        const [gateway, source] = [linkAddress.inside, linkAddress.bridge];
        await keepTunnelRoute(folder, { cidr, bridge, gateway, source });
        await keepTunnelNeighbour(folder, { bridge, address: gateway, mac });
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const message = `Open vSwitch has no route of its own to ${cidr}: ${error.message}`;
        throw new Refusal('TunnelRouteRefused', message, { cause: error });
      }
    },
    unpin: async (cidr) => {
      try {
        if (folder !== undefined) await removeTunnelRoute(folder, cidr);
      } catch (error) {
        // It leads to a bridge that is gone, and ends with ovs-vswitchd.
        log.warn({ err: error, cidr }, 'the route to addresses within tunnels stays in Open vSwitch');
      }
    },
    changesOf: (seen) => {
      if (plan === undefined || keys === undefined) return undefined;
      const known = new Map(seen.peers.map((peer) => [peer.publicKey, peer]));
      const peers = planPeers(plan.peers, seen);
      endpoints.keep(peers);
      const { privateKey } = keys.current;
      return planDevice(seen, { privateKey, listenPort: options.port, peers }, (peer) =>
        endpoints.choose(peer, known.get(peer.publicKey), Date.now()),
      );
    },
  });

  const loop = new HostLoop<TunnelsPlan | 'none'>({
    host: kernel,
    watch: (onHostChange) => {
      const onChange = (): void => {
        kernel.doubt();
        onHostChange();
      };
      return kernelEvents.subscribe({
        onEvents: (events) => {
          const isOurs = (event: KernelEvent): boolean =>
            isLinkEvent(event.type) && event.port !== netlink.port && names.has(event.link.name);
          if (events.some(isOurs)) onChange();
        },
        onLoss: onChange,
      });
    },
  });

  /** Each peer with what WireGuard has of its keys. */
  const seenPeers = () => {
    const known = new Map((kernel.device?.peers ?? []).map((peer) => [peer.publicKey, peer]));
    return (plan?.peers ?? []).map(({ chassis, publicKey, nextKey }) => {
      const seen = [publicKey, nextKey ?? ''].flatMap((key) => known.get(key) ?? []);
      return { chassis, nextKey, seen };
    });
  };
  let accepted: ReadonlySet<string> = new Set();
  const own = familyOf(encapIp) === 6 ? `[${encapIp}]:${options.port}` : `${encapIp}:${options.port}`;
  const report = (): GatewayWireGuard | undefined => {
    if (isUnsupported) return { guarded: kernel.isGuarded, problem: unsupported };
    if (plan === undefined) return undefined;
    const problem = keyProblem ?? loop.problems?.[0]?.message;
    const nowMs = Date.now();
    const { address } = kernel;
    return {
      ...(keys === undefined ? {} : { ...reportOf(keys), listenPort: options.port }),
      endpoints: [...new Set([...(cluster.gateway?.endpoints ?? []), own])],
      ...(address === undefined ? {} : { address }),
      guarded: kernel.isGuarded,
      peers: seenPeers().map(({ chassis, nextKey, seen }) => ({
        chassis,
        session: seen.some((peer) => hasSession(peer, nowMs)) ? 'Up' : 'None',
        ...endpointOf(seen),
        ...(nextKey !== undefined && accepted.has(nextKey) ? { nextKey } : {}),
      })),
      ...(problem === undefined ? {} : { problem }),
    };
  };
  let isSafe = false;
  const notify = (): void => {
    isSafe = plan === undefined || kernel.isGuarded;
    const next = seenPeers().flatMap(({ nextKey, seen }) => seen.filter(({ publicKey }) => publicKey === nextKey));
    accepted = acceptances.accept(
      next.map(({ publicKey }) => publicKey),
      Date.now(),
    );
    const text = JSON.stringify([isSafe, report()]);
    if (text === reported) return;
    reported = text;
    for (const listener of listeners) listener();
  };

  let rotationProblem = '';
  let steadyMs: number | undefined;
  /** Goes on with the rotation of the key, if it is time. */
  const rotate = (slices: readonly KeySlice[], found: Keys): Keys => {
    const { policy, request } = cluster.keyRotation;
    const name = systemId(ovs);
    const own = slices.find(({ isOwn }) => isOwn)?.gateways.find(({ chassis }) => chassis === name);
    const nowMs = Date.now();
    steadyMs = isTold(found.next, own) ? (steadyMs ?? nowMs) : undefined;
    const step = nextStep({ keys: found, request, policy, own, peers: plan?.peers ?? [], steadyMs, nowMs });
    if (step === 'none') return found;
    try {
      if (step === 'begin') return beginRotation(options.keyFile, found, request);
      if (step === 'announced') return noteAnnounced(options.keyFile, found, nowMs);
      const changed = endRotation(options.keyFile, found);
      acceptances.changed(nowMs);
      log.info({ publicKey: changed.current.publicKey }, 'the key of encrypted tunnels was replaced');
      return changed;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      // It is tried every second.
      if (error.message !== rotationProblem) log.warn({ err: error }, 'the key of encrypted tunnels is not replaced');
      rotationProblem = error.message;
      return found;
    }
  };

  let changeTimer: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** Reads WireGuard often while a peer may change its key. */
  const awaitChange = (delayMs: number): void => {
    const isAwaited = plan?.peers.some(({ nextKey }) => nextKey !== undefined) === true;
    if (isClosed || changeTimer !== undefined || !isAwaited) return;
    changeTimer = setTimeout(() => {
      const startedMs = performance.now();
      kernel
        .check()
        .then(notify, (error: unknown) => {
          if (!isRefusal(error)) throw error;
          // The next application says what is wrong.
          kernel.doubt();
        })
        .finally(() => {
          changeTimer = undefined;
          awaitChange(Math.max(changeCheckMs, (performance.now() - startedMs) / longestShare));
        });
    }, delayMs).unref();
  };

  const refresh = (): void => {
    const slices = [...cluster.objects.keySlices.entries()].flatMap(([, slice]) => slice ?? []);
    const wanted = isGateway() ? planTunnels(slices, systemId(ovs), settings) : undefined;
    if (wanted !== undefined || plan === undefined || !isStillUsed(plan, tunnelEnds(ovs))) plan = wanted;
    // Without a key nobody makes an encrypted tunnel to this node, and it makes none.
    isUnsupported = plan !== undefined && familyOf(encapIp) === 6 && hasFixedSources(ovs);
    if (isUnsupported && !kernel.isGuarded) plan = undefined;
    if (plan !== undefined && keys === undefined) {
      try {
        keys = openKeys(options.keyFile, cluster.keyRotation.request);
        keyProblem = undefined;
        // A daemon that was killed while it changed the key changes it in WireGuard only now.
        acceptances.changed(Date.now());
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const found = `the private key cannot be read or made: ${error.message}`;
        // It is tried every second.
        if (found !== keyProblem) log.warn({ err: error }, 'no encrypted tunnels');
        keyProblem = found;
      }
    }
    if (plan !== undefined && keys !== undefined) keys = rotate(slices, keys);
    awaitChange(changeCheckMs);
    notify();
    // Without a key the node is guarded all the same: ovn-controller may have tunnels that were encrypted.
    loop.set(plan ?? 'none');
  };

  const first = new Promise<void>((resolve) => loop.onResult(resolve));
  loop.onResult(notify);
  const { keySlices, nodes, interconnects, gateways } = cluster.objects;
  keySlices.subscribe(refresh);
  // The role of the node may have changed.
  for (const mirror of [nodes, interconnects, gateways])
    mirror.subscribe(() => {
      if ((plan !== undefined) !== (isGateway() && keySlices.entries().next().done !== true)) refresh();
    });
  refresh();
  const timer = setInterval(() => plan !== undefined && refresh(), checkMs).unref();
  await first;
  notify();
  return {
    get isSafe() {
      return isSafe;
    },
    get report() {
      return report();
    },
    get figures() {
      return seenPeers().flatMap(({ chassis, seen }) => {
        const peer = seen.toSorted((a, b) => b.handshakeMs - a.handshakeMs)[0];
        if (peer === undefined) return [];
        const { handshakeMs, receivedBytes, sentBytes } = peer;
        return [{ chassis, handshakeMs, receivedBytes, sentBytes }];
      });
    },
    subscribe: (listener) => void listeners.add(listener),
    close() {
      isClosed = true;
      clearInterval(timer);
      clearTimeout(changeTimer);
      loop.close();
    },
  };
}

const names: ReadonlySet<string> = new Set(Object.values(tunnelLinks));

function isLinkEvent(type: number): boolean {
  return type === RTM.NEWLINK || type === RTM.DELLINK;
}

/** That of the key with the last handshake. */
function endpointOf(seen: readonly SeenPeer[]): { readonly endpoint?: string } {
  const [newest] = seen.toSorted((a, b) => b.handshakeMs - a.handshakeMs);
  return newest === undefined || newest.endpoint === '' ? {} : { endpoint: newest.endpoint };
}

function reportOf({ current, next }: Keys): Pick<GatewayWireGuard, 'publicKey' | 'keyMadeAt' | 'nextKey'> {
  const isoOf = (ms: number): string => new Date(ms).toISOString();
  return {
    publicKey: current.publicKey,
    keyMadeAt: isoOf(current.madeMs),
    ...(next === undefined ? {} : { nextKey: { publicKey: next.publicKey, madeAt: isoOf(next.madeMs) } }),
  };
}
