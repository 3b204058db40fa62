/**
 * What Kubernetes is told of this node as a gateway between clusters: `status.tunnels` and `status.probes` of its
 * InterconnectGateway, and nothing else of it, because the rest is the agent's. In: tunnels, probes and the object as
 * observed. A tunnel's change leaves in the same turn; one request is in flight at a time, and the newest follows it.
 */
import type { GatewayPeer, GatewayProbe, GatewayTunnel } from '../../lib/api/kinds/interconnect-gateway.ts';
import { interconnectGateways, objectPath } from '../../lib/kube/resources.ts';
import type { KubeClient, RawObject } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { isWorthWriting, planProbes } from '../plan/probes.ts';
import { isSameTunnels, planTunnels, type TunnelsInput } from '../plan/tunnels.ts';
import type { GatewayFacts } from '../state/gateway.ts';

export interface GatewayStatusOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly writer: Pick<ObjectWriter, 'enqueue'>;
  readonly now: () => Date;
}

/** What the local Open vSwitch says. */
export type LocalView = Pick<TunnelsInput, 'tunnels' | 'isSwitchDown' | 'isDatabaseAway'>;

/** By chassis. */
type Results = ReadonlyMap<string, GatewayProbe>;

interface Told {
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
}

/** A request that hangs would hold up the next state; the API server may have gone with the path that broke. */
const timeoutMs = 5000;
const nothing: Told = { tunnels: [], probes: [] };

export class GatewayStatusWriter {
  readonly #options: GatewayStatusOptions;
  #uid = '';
  #peers: readonly GatewayPeer[] = [];
  #wanted = nothing;
  /** What the object says, by the last answer to a write or as observed since. */
  #told = nothing;
  /** Version that our last write made and the watch has not shown yet: what it shows until then is older. */
  #awaited: string | undefined;

  constructor(options: GatewayStatusOptions) {
    this.#options = options;
  }

  /** As last planned, with the cluster of each peer: for figures. */
  get current(): Told & { readonly peers: readonly GatewayPeer[] } {
    return { ...this.#wanted, peers: this.#peers };
  }

  /** To be called after any change; `probes` are the results of this run. Without an object there is nobody to tell. */
  tell(gateway: GatewayFacts | undefined, local: LocalView, probes: Results): void {
    if (gateway === undefined) return this.#clear();
    this.#observe(gateway);
    const { peers } = gateway;
    this.#peers = peers;
    const { tunnels, isSwitchDown, isDatabaseAway } = local;
    const nowIso = this.#options.now().toISOString();
    // A state that was not written yet, because another write is in flight, has begun nevertheless.
    const before = this.#wanted === nothing ? this.#told.tunnels : this.#wanted.tunnels;
    this.#wanted = {
      tunnels: planTunnels({ peers, tunnels, isSwitchDown, isDatabaseAway, before, nowIso }),
      probes: planProbes(peers, probes, this.#told.probes),
    };
    if (this.#difference() === undefined) return;
    void this.#options.writer.enqueue(`InterconnectGateway/${gateway.name}/status`, () => this.#write(gateway));
  }

  #clear(): void {
    this.#uid = '';
    this.#peers = [];
    this.#wanted = nothing;
    this.#told = nothing;
    this.#awaited = undefined;
  }

  #observe(gateway: GatewayFacts): void {
    const { uid, resourceVersion, tunnels, probes } = gateway;
    if (uid !== this.#uid) this.#clear();
    this.#uid = uid;
    const hasArrived = resourceVersion === this.#awaited || isSame({ tunnels, probes }, this.#told);
    if (this.#awaited !== undefined && !hasArrived) return;
    this.#awaited = undefined;
    this.#told = { tunnels, probes };
  }

  /** The fields to write; undefined where nobody needs to be told. */
  #difference(): Partial<Told> | undefined {
    const { tunnels, probes } = this.#wanted;
    const newestMs = Math.max(0, ...this.#told.probes.map(({ at }) => Date.parse(at)));
    const age = { ageMs: this.#options.now().getTime() - newestMs, peers: this.#peers.length };
    const isOther = !isSameTunnels(this.#told.tunnels, tunnels);
    const isNews = isWorthWriting(this.#told.probes, probes, age);
    if (!isOther && !isNews) return undefined;
    return { ...(isOther ? { tunnels } : {}), ...(isNews ? { probes } : {}) };
  }

  /** Says what is wanted by then, which may be nothing any more. */
  async #write({ name, uid }: GatewayFacts): Promise<void> {
    const status = uid === this.#uid ? this.#difference() : undefined;
    if (status === undefined) return;
    const path = objectPath(interconnectGateways, { name }, 'status');
    const options = { contentType: 'application/merge-patch+json', timeoutMs };
    // The uid keeps an object that was made anew meanwhile from being told what its predecessor was to be.
    const body = { metadata: { uid }, status };
    const { metadata } = (await this.#options.client.request('PATCH', path, body, options)) as RawObject;
    if (uid !== this.#uid) return;
    this.#told = { ...this.#told, ...status };
    this.#awaited = metadata.resourceVersion;
  }
}

function isSame(a: Told, b: Told): boolean {
  const times = ({ probes }: Told): string => probes.map(({ chassis, at }) => `${chassis} ${at}`).join();
  return isSameTunnels(a.tunnels, b.tunnels) && times(a) === times(b);
}
