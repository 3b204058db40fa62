/**
 * Writes the daemon's fields of the status of the node's InterconnectGateway: tunnels, probes, tunnels to siblings and silent programs,
 * and now and then the time of the last check. All other fields belong to the agent. A change of a tunnel is sent in the same turn; one
 * request is in flight at a time, and the newest state follows it.
 */
import { isDeepStrictEqual } from 'node:util';
import type {
  GatewayPeer,
  GatewayProbe,
  GatewayProgram,
  GatewaySibling,
  GatewayTunnel,
  GatewayWireGuard,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import { interconnectGateways, objectPath } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { isWorthWriting, planProbes } from '../plan/probes.ts';
import { isCheckDue } from '../plan/sibling-checks.ts';
import { isSameTunnels, planTunnels, type TunnelsInput } from '../plan/tunnels.ts';
import type { InterconnectGateway } from '../model/interconnect.ts';

export interface GatewayStatusOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly writer: Pick<ObjectWriter, 'enqueue'>;
  readonly now: () => Date;
}

/** The state of the local Open vSwitch. */
export interface LocalView extends Pick<TunnelsInput, 'tunnels' | 'isSwitchDown' | 'isDatabaseAway'> {
  /** Sorted by name. */
  readonly silentPrograms: readonly GatewayProgram[];
  /** Absent or undefined without encryption. */
  readonly wireGuard?: GatewayWireGuard | undefined;
}

/** By chassis. */
type Results = ReadonlyMap<string, GatewayProbe>;

/** The fields of the status that the daemon writes. */
interface GatewayFields {
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
  readonly siblingTunnels: readonly GatewayTunnel[];
  readonly silentPrograms: readonly GatewayProgram[];
  readonly wireGuard: GatewayWireGuard | undefined;
  readonly checkedAt: string | undefined;
}

/** As a merge patch has them: null removes a field. */
type Written = Omit<GatewayFields, 'wireGuard'> & { readonly wireGuard: WrittenWireGuard | null };
type WrittenWireGuard = { readonly [K in keyof Required<GatewayWireGuard>]: GatewayWireGuard[K] | null };

/** A request that hangs would delay the next state; the API server may be behind the path that broke. */
const timeoutMs = 5000;
const nothing: GatewayFields = {
  tunnels: [],
  probes: [],
  siblingTunnels: [],
  silentPrograms: [],
  wireGuard: undefined,
  checkedAt: undefined,
};

export class GatewayStatusWriter {
  readonly #options: GatewayStatusOptions;
  #uid = '';
  #peers: readonly GatewayPeer[] = [];
  #siblings: readonly GatewaySibling[] = [];
  #wanted = nothing;
  /** The fields that the object has, by the answer to the last write or as observed since. */
  #observed = nothing;
  /** The resourceVersion of our last write, until the watch shows it; anything it shows before that is older. */
  #awaited: string | undefined;

  constructor(options: GatewayStatusOptions) {
    this.#options = options;
  }

  /** The fields as planned last, with the cluster of each peer, for metrics. */
  get current(): GatewayFields & { readonly peers: readonly GatewayPeer[] } {
    return { ...this.#wanted, peers: this.#peers };
  }

  /** To be called after each change; `probes` are the results of this run. Without an object there is nothing to write. */
  publish(gateway: InterconnectGateway | undefined, local: LocalView, probes: Results): void {
    if (gateway === undefined) return this.#clear();
    this.#setObserved(gateway);
    const { peers, siblings } = gateway;
    this.#peers = peers;
    this.#siblings = siblings;
    // A state that waits for a write in flight has begun nevertheless, so its time is kept.
    const before = this.#wanted === nothing ? this.#observed : this.#wanted;
    const nowIso = this.#options.now().toISOString();
    const { tunnels, isSwitchDown, isDatabaseAway } = local;
    const common = { tunnels, isSwitchDown, isDatabaseAway, nowIso };
    this.#wanted = {
      tunnels: planTunnels({ ...common, peers, before: before.tunnels }),
      probes: planProbes(peers, probes, this.#observed.probes),
      siblingTunnels: planTunnels({ ...common, peers: siblings, before: before.siblingTunnels }),
      silentPrograms: local.silentPrograms,
      wireGuard: local.wireGuard,
      checkedAt: nowIso,
    };
    if (this.#difference() === undefined) return;
    void this.#options.writer.enqueue(`InterconnectGateway/${gateway.name}/status`, () => this.#write(gateway));
  }

  #clear(): void {
    this.#uid = '';
    this.#peers = [];
    this.#siblings = [];
    this.#wanted = nothing;
    this.#observed = nothing;
    this.#awaited = undefined;
  }

  #setObserved(gateway: InterconnectGateway): void {
    const { uid, resourceVersion, tunnels, probes, siblingTunnels, silentPrograms, wireGuard, checkedAt } = gateway;
    const seen: GatewayFields = { tunnels, probes, siblingTunnels, silentPrograms, wireGuard, checkedAt };
    if (uid !== this.#uid) this.#clear();
    this.#uid = uid;
    const hasArrived = resourceVersion === this.#awaited || isSame(seen, this.#observed);
    if (this.#awaited !== undefined && !hasArrived) return;
    this.#awaited = undefined;
    this.#observed = seen;
  }

  /** The fields to write; undefined if none is worth a write. */
  #difference(): Partial<Written> | undefined {
    const { tunnels, probes, siblingTunnels, silentPrograms, wireGuard, checkedAt } = this.#wanted;
    const nowMs = this.#options.now().getTime();
    const newestMs = Math.max(0, ...this.#observed.probes.map(({ at }) => Date.parse(at)));
    const checkedMs = Date.parse(this.#observed.checkedAt ?? '');
    const age = { ageMs: nowMs - newestMs, peers: this.#peers.length };
    // A gateway without peers and siblings has nothing to check.
    const hasTunnels = this.#peers.length + this.#siblings.length > 0;
    const difference: Partial<Written> = {
      ...(isSameTunnels(this.#observed.tunnels, tunnels) ? {} : { tunnels }),
      ...(isWorthWriting(this.#observed.probes, probes, age) ? { probes } : {}),
      ...(isSameTunnels(this.#observed.siblingTunnels, siblingTunnels) ? {} : { siblingTunnels }),
      ...(isSamePrograms(this.#observed.silentPrograms, silentPrograms) ? {} : { silentPrograms }),
      ...(isDeepStrictEqual(this.#observed.wireGuard, wireGuard)
        ? {}
        : { wireGuard: wireGuard === undefined ? null : writtenOf(wireGuard) }),
      ...(hasTunnels && isCheckDue(this.#siblings, checkedMs, nowMs) ? { checkedAt } : {}),
    };
    return Object.keys(difference).length === 0 ? undefined : difference;
  }

  /** Writes what is wanted at that moment, which may be nothing. */
  async #write({ name, uid }: InterconnectGateway): Promise<void> {
    const status = uid === this.#uid ? this.#difference() : undefined;
    const sent = this.#wanted.wireGuard;
    if (status === undefined) return;
    const path = objectPath(interconnectGateways, { name }, 'status');
    const options = { contentType: 'application/merge-patch+json', timeoutMs };
    // With the uid, an object that was recreated meanwhile does not get the status of its predecessor.
    const body = { metadata: { uid }, status };
    const { metadata } = (await this.#options.client.request('PATCH', path, body, options)) as RawObject;
    if (uid !== this.#uid) return;
    const { wireGuard: written, ...fields } = status;
    this.#observed = { ...this.#observed, ...fields };
    if (written !== undefined) this.#observed = { ...this.#observed, wireGuard: sent };
    this.#awaited = metadata.resourceVersion;
  }
}

function writtenOf({ guarded, ...report }: GatewayWireGuard): WrittenWireGuard {
  const {
    publicKey = null,
    keyMadeAt = null,
    nextKey = null,
    listenPort = null,
    endpoints = null,
    address = null,
    peers = null,
    problem = null,
  } = report;
  return { publicKey, keyMadeAt, nextKey, listenPort, endpoints, address, guarded, peers, problem };
}

function isSame(a: GatewayFields, b: GatewayFields): boolean {
  const times = ({ probes, silentPrograms, checkedAt = '' }: GatewayFields): string =>
    [checkedAt, ...silentPrograms, ...probes.map(({ chassis, at }) => `${chassis} ${at}`)].join();
  return (
    isSameTunnels(a.tunnels, b.tunnels) &&
    isSameTunnels(a.siblingTunnels, b.siblingTunnels) &&
    isDeepStrictEqual(a.wireGuard, b.wireGuard) &&
    times(a) === times(b)
  );
}

function isSamePrograms(a: readonly GatewayProgram[], b: readonly GatewayProgram[]): boolean {
  return a.join() === b.join();
}
