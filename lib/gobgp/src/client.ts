import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalAddress, canonicalNeighbor } from './address.ts';
import type { BgpGlobal, BgpPath, GobgpClient, ListedPath, PathTable, PeerEvent } from './api.ts';
import {
  attributesFingerprint,
  decodeAttributes,
  type DecodedAttributes,
  encodeAttributes,
  fingerprintOf,
} from './attributes.ts';
import { GobgpInvalidArgument, GobgpUnsupported, type GobgpError } from './errors.ts';
import { type AddressFamily, familyNumber, unicastFamilies } from './nlri.ts';
import type { RoutingPolicies } from './policies.ts';
import { configOfMessage, type PeerMessage, peerMessage } from './peer-messages.ts';
import type { Peer, PeerConfig } from './peers.ts';
import type { ListedPathMessage } from './route-messages.ts';
import { decodeRoute, encodeRoute, encodeRouteKey, type PathKey, routeFingerprint } from './route-nlri.ts';
import { type RouteListener, type RouteWatch, watchRoutes } from './routes.ts';
import { sessionOfMessage } from './sessions.ts';
import {
  assignmentMessage,
  type AssignmentMessage,
  type DefinedSetMessage,
  policiesMessage,
  policiesOfMessages,
  type PolicyMessage,
} from './policy-messages.ts';
import { type ApiGeneration, openTransport, type Transport, type TransportOptions } from './transport.ts';

/** gobgpd's management loop takes one message at a time; this many paths keep it responsive to other calls. */
const pathsPerMessage = 500;
/** Longest wait for a session to end before its peer is removed. */
const ceaseMs = 1000;

/** @throws GobgpUnreachable | GobgpIncompatible */
export async function openGobgp(options: TransportOptions): Promise<GobgpClient> {
  return new Client(await openTransport(options));
}

/** The fingerprint with which gobgpd lists this path. @throws GobgpInvalidArgument */
export function pathFingerprint({ prefix, evpn, attributes }: BgpPath): string {
  const { family, nlri } = encodeRoute(prefix, evpn);
  return routeFingerprint(family, nlri, fingerprintOf(family, attributes));
}

class Client implements GobgpClient {
  readonly #transport: Transport;
  /** gobgpd takes it once in its life, and a client lives no longer. */
  #asn: number | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get generation(): ApiGeneration {
    return this.#transport.generation;
  }

  async getBgp(): Promise<BgpGlobal | undefined> {
    const { global } = (await this.#transport.unary('GetBgp', {})) as {
      global?: { asn: number; router_id: string; listen_port: number } | null;
    };
    if (!global?.asn) return undefined;
    this.#asn = global.asn;
    return { asn: global.asn, routerId: global.router_id, listenPort: global.listen_port };
  }

  async startBgp({ asn, routerId, listenPort }: BgpGlobal): Promise<void> {
    if (!canonicalAddress(routerId).includes('.'))
      throw new GobgpInvalidArgument(`router id '${routerId}' is not an IPv4 address`);
    // A second StartBgp would empty the table of a running gobgpd, or fail on the port; it never changes the settings cleanly.
    if (await this.getBgp())
      throw new GobgpInvalidArgument('this gobgpd is started already; only a new process takes other settings');
    await this.#transport.unary('StartBgp', { global: { asn, router_id: routerId, listen_port: listenPort } });
  }

  async stopBgp({ allowGracefulRestart }: { readonly allowGracefulRestart: boolean }): Promise<void> {
    if (this.generation === 'v3') throw new GobgpUnsupported('stopping BGP');
    await this.#transport.unary('StopBgp', { allow_graceful_restart: allowGracefulRestart });
  }

  async listPeers(options?: { readonly advertised?: boolean }): Promise<Peer[]> {
    const answers = (await this.#transport.collect('ListPeer', {
      enable_advertised: options?.advertised ?? false,
    })) as { peer: PeerMessage }[];
    if (answers.length > 0 && this.#asn === undefined) await this.getBgp();
    return answers.map(({ peer }) => ({
      config: configOfMessage(peer, this.#asn ?? 0),
      session: sessionOfMessage(peer),
    }));
  }

  async addPeer(peer: PeerConfig, options?: { readonly isRestarting?: boolean }): Promise<void> {
    await this.#transport.unary('AddPeer', {
      peer: peerMessage(peer, this.generation, options?.isRestarting ?? false),
    });
  }

  async updatePeer(peer: PeerConfig): Promise<void> {
    await this.#transport.unary('UpdatePeer', { peer: peerMessage(peer, this.generation, false) });
  }

  async deletePeer(address: string): Promise<void> {
    // gobgpd 4.8 dies of an address it cannot parse; canonicalNeighbor throws before that.
    const known = canonicalNeighbor(address);
    if (await this.#hasSession(known)) {
      // DeletePeer alone may close the connection before its NOTIFICATION is out.
      await this.#transport.unary('DisablePeer', { address: known });
      for (let waitedMs = 0; waitedMs < ceaseMs && (await this.#hasSession(known)); waitedMs += 10) await sleep(10);
    }
    await this.#transport.unary('DeletePeer', { address: known });
  }

  async enablePeer(address: string): Promise<void> {
    await this.#transport.unary('EnablePeer', { address: canonicalNeighbor(address) });
  }

  async resetPeer(
    address: string,
    { soft, direction }: { readonly soft: boolean; readonly direction: 'in' | 'out' | 'both' },
  ): Promise<void> {
    // gobgpd would keep the reset of a session that is not there, and end the next one with it.
    if (!soft && !(await this.#hasSession(canonicalNeighbor(address)))) return;
    const directions = { in: 'RESET_IN', out: 'RESET_OUT', both: 'RESET_BOTH' } as const;
    await this.#transport.unary('ResetPeer', {
      address: canonicalNeighbor(address),
      soft,
      direction: directions[direction],
    });
  }

  async addPaths(paths: readonly BgpPath[]): Promise<void> {
    await this.#sendPaths(
      paths.map(({ prefix, evpn, attributes }) => {
        const { family, nlri } = encodeRoute(prefix, evpn);
        return {
          family: familyNumber(family),
          nlri_binary: nlri,
          pattrs_binary: encodeAttributes(family, nlri, attributes),
        };
      }),
    );
  }

  async withdrawPaths(keys: readonly (string | PathKey)[]): Promise<void> {
    await this.#sendPaths(
      keys.map((key) => {
        const { prefix, evpn } = typeof key === 'string' ? { prefix: key } : key;
        const { family, nlri } = encodeRouteKey(prefix, evpn);
        const nextHop = family === 'ipv6-unicast' ? '::' : '0.0.0.0';
        return {
          is_withdraw: true,
          family: familyNumber(family),
          nlri_binary: nlri,
          pattrs_binary: encodeAttributes(family, nlri, { nextHop }),
        };
      }),
    );
  }

  async listPaths(family: AddressFamily, from: PathTable = { table: 'global' }): Promise<ListedPath[]> {
    const tables = { global: 'TABLE_GLOBAL', 'adj-in': 'TABLE_ADJ_IN', 'adj-out': 'TABLE_ADJ_OUT' } as const;
    const answers = (await this.#transport.collect('ListPath', {
      table_type: tables[from.table],
      name: from.table === 'global' ? '' : canonicalNeighbor(from.peer),
      family: familyNumber(family),
      enable_only_binary: true,
    })) as { destination: { paths: ListedPathMessage[] } }[];
    const fingerprints = new Map<string, string>();
    const decoded = new Map<string, DecodedAttributes>();
    return answers.flatMap(({ destination }) =>
      destination.paths.flatMap((path) => {
        const route = decodeRoute(family, path.nlri_binary);
        if (!route) return [];
        // Most paths of a table have the bytes of another.
        const bytes = Buffer.concat(path.pattrs_binary).toString('latin1');
        const fingerprint = fingerprints.get(bytes) ?? attributesFingerprint(path.pattrs_binary);
        fingerprints.set(bytes, fingerprint);
        const attributes = decoded.get(fingerprint) ?? decodeAttributes(path.pattrs_binary);
        decoded.set(fingerprint, attributes);
        return {
          ...route,
          fingerprint: routeFingerprint(family, path.nlri_binary, fingerprint),
          attributes,
          isLocal: isOwnSource(path.neighbor_ip),
          isStale: path.stale,
        };
      }),
    );
  }

  async listPolicies(): Promise<RoutingPolicies> {
    const sets = async (type: string): Promise<DefinedSetMessage[]> => {
      const answers = await this.#transport.collect('ListDefinedSet', { defined_type: type });
      return (answers as { defined_set: DefinedSetMessage }[]).map((answer) => answer.defined_set);
    };
    const [prefixSets, neighborSets, largeCommunitySets, policies, assignments] = await Promise.all([
      sets('DEFINED_PREFIX'),
      sets('DEFINED_NEIGHBOR'),
      sets('DEFINED_LARGE_COMMUNITY'),
      this.#transport.collect('ListPolicy', {}) as Promise<{ policy: PolicyMessage }[]>,
      this.#transport.collect('ListPolicyAssignment', { name: 'global' }) as Promise<
        { assignment: AssignmentMessage }[]
      >,
    ]);
    return policiesOfMessages({
      prefixSets,
      neighborSets,
      largeCommunitySets,
      policies: policies.map((answer) => answer.policy),
      assignments: assignments.map((answer) => answer.assignment),
    });
  }

  async setPolicies(wanted: RoutingPolicies): Promise<void> {
    await this.#transport.unary('SetPolicies', policiesMessage(wanted));
    await this.#transport.unary('SetPolicyAssignment', assignmentMessage('import', wanted.import));
    await this.#transport.unary('SetPolicyAssignment', assignmentMessage('export', wanted.export));
  }

  watchPeers(listener: (event: PeerEvent) => void): {
    readonly ready: Promise<void>;
    readonly ended: Promise<GobgpError>;
    close(): void;
  } {
    const ready = Promise.withResolvers<void>();
    const stream = this.#transport.follow('WatchEvent', { peer: {} }, (message) => {
      const { peer: event } = message as { peer?: { type: string; peer?: PeerMessage | null } };
      if (event?.type === 'EVENT_END_OF_INIT') ready.resolve();
      else if (event?.peer?.conf) listener({ address: event.peer.conf.neighbor_address });
    });
    return {
      ready: Promise.race([ready.promise, stream.ended.then(() => {})]),
      ended: stream.ended,
      close: () => stream.cancel(),
    };
  }

  watchRoutes(
    addresses: readonly string[],
    listener: RouteListener,
    families: readonly AddressFamily[] = unicastFamilies,
  ): RouteWatch {
    return watchRoutes(this.#transport, addresses, families, listener);
  }

  close(): void {
    this.#transport.close();
  }

  async #hasSession(address: string): Promise<boolean> {
    const answers = (await this.#transport.collect('ListPeer', { address })) as { peer: PeerMessage }[];
    return answers.some(({ peer }) => sessionOfMessage(peer).state === 'Established');
  }

  async #sendPaths(paths: readonly object[]): Promise<void> {
    if (paths.length === 0) return;
    await this.#transport.upload('AddPathStream', [...inMessages(paths)]);
  }
}

function* inMessages(paths: readonly object[]): Generator<object> {
  for (let at = 0; at < paths.length; at += pathsPerMessage) {
    yield { table_type: 'TABLE_GLOBAL', paths: paths.slice(at, at + pathsPerMessage) };
  }
}

/** Paths of this API carry no neighbour; which spelling of none depends on the version. */
function isOwnSource(neighbor: string): boolean {
  return (
    neighbor === '' || neighbor === '<nil>' || neighbor === '0.0.0.0' || neighbor === '::' || neighbor === 'invalid IP'
  );
}
