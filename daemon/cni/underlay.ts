/**
 * What ADD needs of the provider network of an underlay subnet: that it is ready on this node, that its packets leave the
 * integration bridge, and that nobody in the physical network has the pod's address.
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
  /** A sentence where the node is without the network, undefined where that is not known yet. */
  readonly stateOf: (network: string) => NetworkReport | string | undefined;
  /** After each change of what that says. */
  readonly subscribe: Subscribe;
  readonly ovs: OvsdbClient;
  /** MAC address of who answers for an address in a VLAN; undefined where nobody does before the signal aborts. */
  readonly whoAnswers: (place: UnderlayPlace, address: string, signal: AbortSignal) => Promise<string | undefined>;
}

/** The network is joined within seconds, or something is wrong with it. */
const readyTimeoutMs = 20_000;
/** Neighbours answer within a few; what is asleep may need longer, and is not waited for. */
const conflictTimeoutMs = 300;

export class UnderlayPods {
  readonly #options: UnderlayPodsOptions;

  constructor(options: UnderlayPodsOptions) {
    this.#options = options;
  }

  /** MTU of the node's interface in the network, in bytes; undefined for other subnets. @throws CniError 11 while the network is not ready here */
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

  /** Resolves when ovn-controller has connected the two bridges. @throws CniError 11 where the signal's time is over before, else its reason */
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
   * Before the pod is there, because OVN announces it at once, and lets pods ask in their own name only.
   * @throws CniError 11 where another host answers
   */
  async refuseConflict(subnet: Subnet | undefined, { addresses, mac: own }: PodInterface): Promise<void> {
    const underlay = subnet?.underlay;
    if (subnet === undefined || underlay === undefined) return;
    const signal = AbortSignal.timeout(conflictTimeoutMs);
    const asked = addresses.map((cidr) => cidr.slice(0, cidr.indexOf('/')));
    const macs = await Promise.all(asked.map((address) => this.#options.whoAnswers(underlay, address, signal)));
    // A virtual machine that moves has its addresses at both nodes for a while.
    const at = macs.findIndex((mac) => mac !== undefined && mac !== own);
    if (at < 0) return;
    throw new CniError(
      errorCode.tryAgainLater,
      `address ${asked[at]} of the pod is in use in the physical network`,
      `the host with MAC address ${macs[at]} answers for it: give that host another, or put the address into spec.excludeIps of subnet ${subnet.name} and delete the pod`,
    );
  }
}
