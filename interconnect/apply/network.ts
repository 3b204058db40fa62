/**
 * Writes this cluster's networks and the other clusters to the databases, owner by owner. In: settled values, and which
 * of them changed. Out: the plans of these owners, to the targets of both databases, whose reconcilers write what
 * differs. Called by the round, after `RemoteClusters.settle`. Rule: nothing is pruned while the hub expects members
 * that are unknown here, because the owners of their rows have not been planned yet.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Desired } from '../../lib/desired/row.ts';
import { remoteOwner } from '../model/owners.ts';
import { handleOf } from '../model/port-names.ts';
import { planRemote } from '../plan/remote.ts';
import { planOwn, planZone, zoneOwner } from '../plan/transit.ts';
import type { NetworkInput, RemoteChanges, RemoteClusters } from '../settle/remote-clusters.ts';

const leftoverMs = 200;

export interface NetworkTargets {
  readonly northbound: OvsdbTarget;
  readonly southbound: OvsdbTarget;
}

export class Network {
  readonly #targets: NetworkTargets;
  readonly #remotes: RemoteClusters;
  /** Owners in the northbound database other than those of remote clusters. */
  #owners: ReadonlySet<string> = new Set();
  /** Owners of forwarding entries, by the cluster whose ports they are for. */
  readonly #fdbOwners = new Map<string, ReadonlySet<string>>();
  #isSealed = false;

  constructor(targets: NetworkTargets, remotes: RemoteClusters) {
    this.#targets = targets;
    this.#remotes = remotes;
  }

  /** `changes`: the result of `RemoteClusters.settle` for the same input. Call `seal` after all rows of the round were set. */
  apply(input: NetworkInput, changes: RemoteChanges, encryptedMtu?: number): void {
    const pathMtu = this.#remotes.view.encrypted.size === 0 ? undefined : encryptedMtu;
    this.#setOwn(planOwn({ ...input, pathMtu }));
    this.#drop(changes);
    for (const name of changes.changed) this.#setRemote(name);
  }

  get isSealed(): boolean {
    return this.#isSealed;
  }

  /** Every owner of rows has planned: removes rows that are left over. */
  seal(): void {
    this.#isSealed = true;
    this.#targets.northbound.seal();
    this.#targets.southbound.seal();
  }

  /**
   * Removes everything. With a signal it resolves when none of our rows is left, or when the signal aborts. Entries in
   * rows of others carry no owner: those of `cluster`, which an earlier process may have made, are claimed first.
   */
  async withdraw(cluster?: string, signal?: AbortSignal): Promise<void> {
    const { northbound, southbound } = this.#targets;
    if (cluster !== undefined) {
      northbound.set(zoneOwner, planZone(cluster));
      this.#owners = new Set([...this.#owners, zoneOwner]);
      await northbound.untilApplied();
      if (signal?.aborted === true) return;
    }
    this.#drop(this.#remotes.clear());
    this.#setOwn(new Map());
    this.seal();
    await Promise.all([northbound.untilApplied(), southbound.untilApplied()]);
    if (signal === undefined) return;
    // The targets try again what a database refused; leaving is over when nothing is left.
    const isOver = (): boolean => signal.aborted || northbound.owners().length + southbound.owners().length === 0;
    while (!isOver()) await sleep(leftoverMs, undefined, { signal }).catch(() => undefined);
  }

  #setOwn(plans: ReadonlyMap<string, Desired>): void {
    const { northbound } = this.#targets;
    for (const [owner, plan] of plans)
      if (JSON.stringify(northbound.desired(owner)) !== JSON.stringify(plan)) northbound.set(owner, plan);
    for (const owner of this.#owners) if (!plans.has(owner)) northbound.drop(owner);
    this.#owners = new Set(plans.keys());
  }

  #setRemote(name: string): void {
    const state = this.#remotes.view.get(name);
    if (state === undefined) return;
    const { northbound, southbound } = this.#targets;
    const { member, context } = state;
    const plan = planRemote({
      member,
      ownHandle: context.local.handle,
      ownGateways: context.gateways,
      networks: context.networks,
      gateways: state.gateways.gateways,
      departing: state.departing,
      routes: state.uses,
    });
    const owner = remoteOwner(handleOf(member));
    northbound.set(owner, plan.northbound);
    southbound.set(owner, plan.southbound);
    for (const known of this.#fdbOwners.get(name) ?? []) if (!plan.fdb.has(known)) southbound.drop(known);
    for (const [fdbOwner, desired] of plan.fdb) southbound.set(fdbOwner, desired);
    this.#fdbOwners.set(name, new Set(plan.fdb.keys()));
  }

  #drop({ gone, released }: Pick<RemoteChanges, 'gone' | 'released'>): void {
    for (const name of gone) {
      for (const owner of this.#fdbOwners.get(name) ?? []) this.#targets.southbound.drop(owner);
      this.#fdbOwners.delete(name);
    }
    for (const handle of released) {
      this.#targets.northbound.drop(remoteOwner(handle));
      this.#targets.southbound.drop(remoteOwner(handle));
    }
  }
}
