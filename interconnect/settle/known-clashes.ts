/** Remembers the clashes of gateways: there are many members, and most rounds change none of them. */
import { findClashes, type GatewayClash } from './clashes.ts';
import type { HubView } from '../state/hub-view.ts';
import type { LocalView } from '../model/local.ts';

export class KnownClashes {
  #list: readonly GatewayClash[] = [];
  #of: readonly [LocalView, number] | undefined;

  get list(): readonly GatewayClash[] {
    return this.#list;
  }

  update(local: LocalView, hub: Pick<HubView, 'members' | 'rejections' | 'updates'>): void {
    const [knownLocal, knownUpdates] = this.#of ?? [];
    if (knownLocal === local && knownUpdates === hub.updates) return;
    this.#of = [local, hub.updates];
    this.#list = findClashes(local, hub.members.values(), hub.rejections);
  }

  clear(): void {
    this.#list = [];
    this.#of = undefined;
  }
}
