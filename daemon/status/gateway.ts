/**
 * What Kubernetes is told of this node as a gateway between clusters: `status.tunnels`, `status.probes`, what is said of
 * siblings and of programs in its InterconnectGateway, and nothing else of it, because the rest is the agent's; and now and
 * then that this daemon still looks. In: tunnels, probes and the object as observed. A tunnel's change leaves in the same turn; one request is in flight at a time, and the newest follows it.
 */
import type {
  GatewayPeer,
  GatewayProbe,
  GatewayProgram,
  GatewaySibling,
  GatewayTunnel,
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

/** What the local Open vSwitch says. */
export interface LocalView extends Pick<TunnelsInput, 'tunnels' | 'isSwitchDown' | 'isDatabaseAway'> {
  /** In order of name. */
  readonly silentPrograms: readonly GatewayProgram[];
}

/** By chassis. */
type Results = ReadonlyMap<string, GatewayProbe>;

interface Told {
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
  readonly siblingTunnels: readonly GatewayTunnel[];
  readonly silentPrograms: readonly GatewayProgram[];
  readonly checkedAt: string | undefined;
}

/** A request that hangs would hold up the next state; the API server may have gone with the path that broke. */
const timeoutMs = 5000;
const nothing: Told = { tunnels: [], probes: [], siblingTunnels: [], silentPrograms: [], checkedAt: undefined };

export class GatewayStatusWriter {
  readonly #options: GatewayStatusOptions;
  #uid = '';
  #peers: readonly GatewayPeer[] = [];
  #siblings: readonly GatewaySibling[] = [];
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
  tell(gateway: InterconnectGateway | undefined, local: LocalView, probes: Results): void {
    if (gateway === undefined) return this.#clear();
    this.#observe(gateway);
    const { peers, siblings } = gateway;
    this.#peers = peers;
    this.#siblings = siblings;
    // A state that was not written yet, because another write is in flight, has begun nevertheless.
    const before = this.#wanted === nothing ? this.#told : this.#wanted;
    const nowIso = this.#options.now().toISOString();
    const { tunnels, isSwitchDown, isDatabaseAway } = local;
    const common = { tunnels, isSwitchDown, isDatabaseAway, nowIso };
    this.#wanted = {
      tunnels: planTunnels({ ...common, peers, before: before.tunnels }),
      probes: planProbes(peers, probes, this.#told.probes),
      siblingTunnels: planTunnels({ ...common, peers: siblings, before: before.siblingTunnels }),
      silentPrograms: local.silentPrograms,
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
    this.#told = nothing;
    this.#awaited = undefined;
  }

  #observe(gateway: InterconnectGateway): void {
    const { uid, resourceVersion, tunnels, probes, siblingTunnels, silentPrograms, checkedAt } = gateway;
    const seen: Told = { tunnels, probes, siblingTunnels, silentPrograms, checkedAt };
    if (uid !== this.#uid) this.#clear();
    this.#uid = uid;
    const hasArrived = resourceVersion === this.#awaited || isSame(seen, this.#told);
    if (this.#awaited !== undefined && !hasArrived) return;
    this.#awaited = undefined;
    this.#told = seen;
  }

  /** The fields to write; undefined where nobody needs to be told. */
  #difference(): Partial<Told> | undefined {
    const { tunnels, probes, siblingTunnels, silentPrograms, checkedAt } = this.#wanted;
    const nowMs = this.#options.now().getTime();
    const newestMs = Math.max(0, ...this.#told.probes.map(({ at }) => Date.parse(at)));
    const checkedMs = Date.parse(this.#told.checkedAt ?? '');
    const age = { ageMs: nowMs - newestMs, peers: this.#peers.length };
    // Of a gateway without others there is nothing to look at.
    const hasTunnels = this.#peers.length + this.#siblings.length > 0;
    const difference: Partial<Told> = {
      ...(isSameTunnels(this.#told.tunnels, tunnels) ? {} : { tunnels }),
      ...(isWorthWriting(this.#told.probes, probes, age) ? { probes } : {}),
      ...(isSameTunnels(this.#told.siblingTunnels, siblingTunnels) ? {} : { siblingTunnels }),
      ...(isSamePrograms(this.#told.silentPrograms, silentPrograms) ? {} : { silentPrograms }),
      ...(hasTunnels && isCheckDue(this.#siblings, checkedMs, nowMs) ? { checkedAt } : {}),
    };
    return Object.keys(difference).length === 0 ? undefined : difference;
  }

  /** Says what is wanted by then, which may be nothing any more. */
  async #write({ name, uid }: InterconnectGateway): Promise<void> {
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
  const times = ({ probes, silentPrograms, checkedAt = '' }: Told): string =>
    [checkedAt, ...silentPrograms, ...probes.map(({ chassis, at }) => `${chassis} ${at}`)].join();
  return (
    isSameTunnels(a.tunnels, b.tunnels) && isSameTunnels(a.siblingTunnels, b.siblingTunnels) && times(a) === times(b)
  );
}

function isSamePrograms(a: readonly GatewayProgram[], b: readonly GatewayProgram[]): boolean {
  return a.join() === b.join();
}
