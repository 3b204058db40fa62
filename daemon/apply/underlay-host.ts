/** Access to the kernel, the local Open_vSwitch database and the API server, as the move of an interface needs it. All networks of the node share it. */
import { lookup } from 'node:dns/promises';
import type { OvsdbClient } from 'ovsdb-client';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Desired } from '../../lib/desired/row.ts';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { IngressGuard } from '../host/ingress-guard.ts';
import { resolveNeighbour } from '../host/neighbours.ts';
import type { Nics } from '../host/nics.ts';
import { Refusal } from '../host/refusal.ts';
import { portState, readBridges, untilPort } from '../ovs/bridges.ts';
import { networkOwner, planBridgeRows, planRoutedBridge } from '../plan/underlay/rows.ts';
import type { LocalBridges, NicMove } from '../model/provider-network.ts';
import type { NicsByName } from '../model/nic.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';

export interface UnderlayHostOptions {
  readonly client: OvsdbClient;
  readonly target: OvsdbTarget;
  readonly nics: Nics;
  readonly datapathType: 'system' | 'netdev';
  /** Host of the API server in its URL. */
  readonly apiHost: () => Promise<string>;
  /** Whether the API server answers over a new connection. */
  readonly askApi: (signal: AbortSignal) => Promise<boolean>;
}

export class UnderlayHost {
  readonly #options: UnderlayHostOptions;
  readonly #guarded = new Set<string>();
  /** Owners whose rows the database has refused. */
  readonly #refused = new Set<string>();
  readonly #closing = new AbortController();
  readonly #guard = new IngressGuard();
  #lastGuard: Promise<unknown> = Promise.resolve();

  constructor(options: UnderlayHostOptions) {
    this.#options = options;
  }

  bridges(): LocalBridges {
    return readBridges(this.#options.client);
  }

  /** @throws NetlinkError */
  read(): Promise<NicsByName> {
    return this.#options.nics.read();
  }

  /** @throws NetlinkError */
  apply(steps: Parameters<Nics['apply']>[0]): Promise<void> {
    return this.#options.nics.apply(steps);
  }

  /** Sets the interface up, with the given MTU if any. On the userspace datapath, a bridge (which has an MTU here) must complete checksums. */
  async prepare(name: string, mtu: number | undefined): Promise<void> {
    const isUserspace = mtu !== undefined && this.#options.datapathType === 'netdev';
    await this.#options.nics.prepare(name, { ...(mtu === undefined ? {} : { mtu }), isUserspace });
  }

  hasPort(bridge: string, port: string): boolean {
    return this.bridges().bridges.get(bridge)?.ports.includes(port) === true;
  }

  /** `works`, or why the port does not work; undefined if that is not known yet. */
  portState(name: string): string | undefined {
    return portState(this.#options.client, name);
  }

  /** `works`, or why the port does not work. @throws the signal's reason if the daemon ends */
  async untilPort(name: string, signal: AbortSignal): Promise<string> {
    try {
      return await untilPort(this.#options.client, name, signal);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      return 'it did not attach the interface in time';
    }
  }

  /** @throws Refusal */
  async untilDevice(name: string, signal: AbortSignal): Promise<void> {
    const state = await this.untilPort(name, signal);
    const isThere = (await this.read()).has(name);
    if (state === 'works' && isThere) return;
    const why = state === 'works' ? 'the kernel has no such interface' : state;
    throw new Refusal(
      'BridgeMissing',
      `ovs-vswitchd has not made ${name}: ${why}; check that it runs on this node, and its log`,
    );
  }

  /** Resolves when the database has the rows. @throws Refusal */
  async setRows(move: NicMove, hasNic: boolean): Promise<void> {
    await this.#setRows(move.network, planBridgeRows(move, this.#options.datapathType, hasNic));
  }

  /** The rows of a bridge that the node routes to; resolves when the database has them. @throws Refusal */
  async setRouted(network: string, mtu: number): Promise<void> {
    await this.#setRows(network, planRoutedBridge(network, this.#options.datapathType, mtu));
  }

  async #setRows(network: string, desired: Desired): Promise<void> {
    const { target } = this.#options;
    const owner = networkOwner(network);
    const isSame = JSON.stringify(target.desired(owner)) === JSON.stringify(desired);
    if (!isSame || this.#refused.has(owner)) await this.#written(owner, () => target.set(owner, desired));
  }

  /** Resolves when the database no longer has the rows. @throws Refusal */
  async dropRows(network: string): Promise<void> {
    const owner = networkOwner(network);
    await this.#written(owner, () => this.#options.target.drop(owner));
  }

  /** Ends all waits for the database. */
  close(): void {
    this.#closing.abort(new Refusal('Stopped', 'the daemon stops'));
  }

  /** To be called when no network needs it any more. */
  closeSockets(): void {
    this.#options.nics.close();
  }

  async #written(owner: string, write: () => void): Promise<void> {
    const results = { problem: undefined as Problem | undefined, isWritten: false };
    const stop = this.#options.target.onResult((who, problem) => {
      if (who === owner) Object.assign(results, { problem, isWritten: true });
    });
    const onResult = (check: () => void): (() => void) => this.#options.target.onResult(check);
    try {
      write();
      await waitUntil([onResult], () => (results.isWritten ? true : undefined), this.#closing.signal);
    } finally {
      stop();
    }
    if (results.problem === undefined) this.#refused.delete(owner);
    else {
      this.#refused.add(owner);
      throw new Refusal(results.problem.code, results.problem.message);
    }
  }

  /** Whether the address answers on the interface; false if the signal aborts first, or the interface is gone. */
  async answers(device: string, address: string, signal: AbortSignal): Promise<boolean> {
    const index = (await this.read()).get(device)?.index;
    return index !== undefined && (await resolveNeighbour(index, address, signal)) !== undefined;
  }

  askApi(signal: AbortSignal): Promise<boolean> {
    return this.#options.askApi(signal);
  }

  /** Whether requests to the API server leave over that interface. */
  async isWayToApi(index: number): Promise<boolean> {
    const found = await lookup(await this.#options.apiHost(), { all: true });
    const ways = await Promise.all(found.map(({ address }) => this.#options.nics.wayTo(address)));
    return ways.includes(index);
  }

  /** Turns the ingress guard of the interface on or off. @throws ProgramError */
  async guard(nic: string, isOn: boolean): Promise<void> {
    if (this.#options.datapathType === 'system') return;
    if (isOn) this.#guarded.add(nic);
    else this.#guarded.delete(nic);
    const next = this.#lastGuard.then(() => this.#setGuard());
    // A failure rejects for its own caller; the next call starts anyway.
    this.#lastGuard = next.catch(() => undefined);
    await next;
  }

  async #setGuard(): Promise<void> {
    const nics = await this.read();
    await this.#guard.set([...this.#guarded].toSorted().flatMap((name) => nics.get(name) ?? []));
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}
