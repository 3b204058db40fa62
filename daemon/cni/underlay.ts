/**
 * Conditions of ADD in an underlay subnet: its provider network is ready on this node, ovn-controller has connected the two bridges, and no
 * host of the physical network has an address of the pod.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { integrationBridge, localnetPortName } from '../../lib/api/names.ts';
import { untilPort } from '../ovs/bridges.ts';
import type { PodInterface } from '../model/pod-interface.ts';
import type { Subnet, UnderlayPlace } from '../model/subnet.ts';
import type { NetworkReport } from '../model/provider-network.ts';
import { waitUntil, type Subscribe } from '../../lib/run/wait-until.ts';
import { CniError, errorCode } from './error.ts';
import { isTimeout } from './failure.ts';

export interface UnderlayPodsOptions {
  /** A sentence if the node is without the network; undefined if the state is not known yet. */
  readonly stateOf: (network: string) => NetworkReport | string | undefined;
  /** Reports each change of `stateOf`. */
  readonly subscribe: Subscribe;
  readonly ovs: OvsdbClient;
  /** MAC address of the host that answers for an address in a VLAN; undefined if none answers before the signal aborts. */
  readonly resolveNeighbour: (
    place: UnderlayPlace,
    address: string,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
}

/** A network is joined within seconds, unless something is wrong with it. */
const readyTimeoutMs = 20_000;
/** Neighbours answer within a few milliseconds; hosts that sleep may need longer, but ADD does not wait for them. */
const conflictTimeoutMs = 300;

export class UnderlayPods {
  readonly #options: UnderlayPodsOptions;

  constructor(options: UnderlayPodsOptions) {
    this.#options = options;
  }

  /** MTU of the node's interface in the network, in bytes; undefined for overlay subnets. @throws CniError 11 if the network is not ready on this node */
  async untilReady(subnet: Subnet | undefined, signal: AbortSignal): Promise<number | undefined> {
    const network = subnet?.underlay?.provider;
    if (subnet === undefined || network === undefined) return undefined;
    const refuse = (why: string): CniError =>
      new CniError(errorCode.tryAgainLater, `underlay subnet ${subnet.name} is not ready on this node`, why);
    const probe = (): number | undefined => {
      const state = this.#options.stateOf(network);
      if (typeof state === 'string') throw refuse(state);
      if (state?.problem !== undefined && !state.isReady)
        throw refuse(`${state.problem.code}: ${state.problem.message}`);
      if (state?.plan !== undefined && !state.isReady) throw refuse(`ProviderNetwork ${network} is a dry run`);
      return state?.isReady === true ? state.nic?.mtu : undefined;
    };
    const deadline = AbortSignal.timeout(readyTimeoutMs);
    try {
      return await waitUntil([this.#options.subscribe], probe, AbortSignal.any([signal, deadline]));
    } catch (error) {
      if (error !== deadline.reason) throw error;
      throw refuse(
        `the interface has not joined the provider network within ${readyTimeoutMs / 1000} s; see the daemon's log`,
      );
    }
  }

  /** Resolves when ovn-controller has connected the two bridges. @throws CniError 11 if the signal times out, otherwise its reason */
  async untilConnected(subnet: Subnet, signal: AbortSignal): Promise<void> {
    const localnet = localnetPortName(subnet.name);
    const patch = `patch-${localnet}-to-${integrationBridge}`;
    try {
      await untilPort(this.#options.ovs, patch, signal);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      throw new CniError(
        errorCode.tryAgainLater,
        `underlay subnet ${subnet.name} is not connected with its provider network on this node`,
        `ovn-controller did not make port ${patch} in time: logical port ${localnet} must be in the switch, and ovn-controller connected to the southbound database`,
      );
    }
  }

  /**
   * To be called before the port exists, because OVN announces the address at once.
   * @throws CniError 11 if another host answers for an address of the pod
   */
  async refuseConflict(subnet: Subnet | undefined, { addresses, mac: own }: PodInterface): Promise<void> {
    const underlay = subnet?.underlay;
    if (subnet === undefined || underlay === undefined) return;
    const signal = AbortSignal.timeout(conflictTimeoutMs);
    const asked = addresses.map((cidr) => cidr.slice(0, cidr.indexOf('/')));
    const macs = await Promise.all(asked.map((address) => this.#options.resolveNeighbour(underlay, address, signal)));
    // During a live migration, a virtual machine has its addresses on both nodes.
    const at = macs.findIndex((mac) => mac !== undefined && mac !== own);
    if (at < 0) return;
    throw new CniError(
      errorCode.tryAgainLater,
      `address ${asked[at]} of the pod is in use in the physical network`,
      `the host with MAC address ${macs[at]} answers for it: give that host another address, or add the address to spec.excludeIps of subnet ${subnet.name} and delete the pod`,
    );
  }
}
