/**
 * The state of the other clusters and of the tunnels to them. In: the hub's updates and the gateway objects of this
 * cluster. Out: the values, and which clusters changed since they were last settled.
 */
import type { HubUpdate } from '../model/messages.ts';
import type { GatewayObject } from '../model/objects.ts';
import { HubView } from './hub-view.ts';
import { Tunnels } from './tunnels.ts';

export interface HubChange {
  /** Clusters that the update mentions. */
  readonly members: ReadonlySet<string>;
  /** Other clusters than before report now that they do not reach this one. */
  readonly isReachChanged: boolean;
}

export class Clusters {
  readonly hub = new HubView();
  readonly tunnels = new Tunnels();
  #dirty: Set<string> | 'all' = 'all';

  /** `nowMs`: Unix milliseconds. */
  hear(update: HubUpdate, nowMs: number): HubChange {
    const before = this.hub.unreachedBy;
    const { members } = this.hub.apply(update, nowMs);
    for (const name of members) this.tunnels.learn(name, this.hub.members.get(name));
    this.changed(members);
    return { members, isReachChanged: !isSameSet(before, this.hub.unreachedBy) };
  }

  /** Returns the clusters to which paths may have another state now. */
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

  /** This cluster is no member any more: the view of the hub does not count. */
  reset(): void {
    this.hub.reset();
    this.#dirty = 'all';
  }
}

function isSameSet(before: ReadonlySet<string> | undefined, after: ReadonlySet<string> | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return before.symmetricDifference(after).size === 0;
}
