/**
 * What is known of the other clusters before `settle/` judges it: the hub's view of them, and the tunnels to their gateways.
 * In: the hub's updates and the InterconnectGateways of this cluster. Out: these values, and which clusters changed since the
 * last call of `takeDirty`.
 */
import type { HubUpdate } from '../model/messages.ts';
import type { GatewayObject } from '../model/objects.ts';
import { HubView } from './hub-view.ts';
import { RemotePods } from './remote-pods.ts';
import { RemoteExports } from './remote-exports.ts';
import { Tunnels } from './tunnels.ts';

export interface HubChange {
  /** Clusters that the update mentions. */
  readonly members: ReadonlySet<string>;
  /** The set of clusters that report this one as unreachable has changed. */
  readonly isReachChanged: boolean;
}

export class Clusters {
  readonly hub = new HubView();
  readonly tunnels = new Tunnels();
  readonly exports = new RemoteExports();
  readonly pods = new RemotePods();
  #dirty: Set<string> | 'all' = 'all';

  /** `nowMs`: Unix milliseconds. */
  hubUpdated(update: HubUpdate, nowMs: number): HubChange {
    const before = this.hub.unreachedBy;
    const { members } = this.hub.apply(update, nowMs);
    for (const name of members) this.tunnels.learn(name, this.hub.members.get(name));
    this.changed(members);
    return { members, isReachChanged: !isSameSet(before, this.hub.unreachedBy) };
  }

  /** Returns the clusters whose paths may have changed their state. */
  setGateway(node: string, before: GatewayObject | undefined, after: GatewayObject | undefined): ReadonlySet<string> {
    const clusters = this.tunnels.set(node, before, after);
    this.changed(clusters);
    return clusters;
  }

  changed(names: Iterable<string>): void {
    if (this.#dirty !== 'all') for (const name of names) this.#dirty.add(name);
  }

  /** Clusters that changed since the last call. */
  takeDirty(): ReadonlySet<string> | 'all' {
    const dirty = this.#dirty;
    this.#dirty = new Set();
    return dirty;
  }

  /** For a cluster that is not a member any more. */
  reset(): void {
    this.hub.reset();
    this.exports.reset();
    this.#dirty = 'all';
  }
}

function isSameSet(before: ReadonlySet<string> | undefined, after: ReadonlySet<string> | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return before.symmetricDifference(after).size === 0;
}
