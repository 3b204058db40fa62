/** Builds the parts of the daemon that join the node, and pods, to provider networks. Who calls: serve.ts. */
import type { OvsdbClient } from 'ovsdb-client';
import { providerBridge } from '../../lib/api/names.ts';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { loadEndpoint } from '../../lib/kube/config.ts';
import type { Reflector } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { UnderlayPods } from '../cni/underlay.ts';
import type { KernelEvents } from '../host/kernel-events.ts';
import { whoAnswers } from '../host/neighbours.ts';
import { Nics } from '../host/nics.ts';
import type { Rtnetlink } from '../host/rtnetlink.ts';
import { VlanNeighbours } from '../host/vlan-neighbours.ts';
import { watchNics } from '../host/watch-nics.ts';
import { watchRuleset } from '../host/watch-ruleset.ts';
import { probeMacPrefix } from '../plan/underlay/probe-mac.ts';
import type { Settings } from '../settings.ts';
import type { ProviderNetwork } from '../model/provider-network.ts';
import { askApi } from '../watch/api-server.ts';
import { UnderlayHost } from './underlay-host.ts';
import { Underlay, type UnderlayOptions } from './underlay.ts';

export interface OpenUnderlayOptions {
  readonly client: OvsdbClient;
  readonly target: OvsdbTarget;
  readonly netlink: Rtnetlink;
  readonly kernelEvents: KernelEvents;
  readonly settings: Settings;
  readonly log: Logger;
}

/** Resolves when what an earlier run moved is in place again: without it there may be no way to the API server. */
export async function openUnderlay({
  client,
  target,
  netlink,
  kernelEvents,
  settings,
  log,
}: OpenUnderlayOptions): Promise<Underlay> {
  const host = new UnderlayHost({
    client,
    target,
    nics: new Nics(netlink),
    datapathType: settings.datapathType,
    apiHost: async () => {
      const { server } = await loadEndpoint(settings.kubeconfig, process.env);
      return server.hostname.replaceAll(/^\[|\]$/g, '');
    },
    askApi: (signal) => askApi(settings, signal),
  });
  const watch: UnderlayOptions['watch'] = (names, onChange) => {
    const stops = [watchNics(kernelEvents, names, onChange), watchRuleset('netdev', onChange)];
    return () => stops.forEach((stop) => stop());
  };
  const underlay = new Underlay({ node: settings.node, client, target, host, watch, log });
  await underlay.resume();
  return underlay;
}

export interface OpenUnderlayPodsOptions {
  readonly underlay: Underlay;
  readonly providerNetworks: Pick<Reflector<ProviderNetwork>, 'subscribe'>;
  readonly ovs: OvsdbClient;
  readonly netlink: Rtnetlink;
  /** The Node's uid: senders of probes on VLANs are told apart by it. */
  readonly probeOwner: string;
}

export function openUnderlayPods({
  underlay,
  providerNetworks,
  ovs,
  netlink,
  probeOwner,
}: OpenUnderlayPodsOptions): UnderlayPods {
  const vlanNeighbours = new VlanNeighbours(probeMacPrefix(probeOwner));
  return new UnderlayPods({
    stateOf: (network) => underlay.stateOf(network),
    subscribe: (check) => {
      const stops = [underlay.subscribe(check), providerNetworks.subscribe(check)];
      return () => stops.forEach((stop) => stop());
    },
    ovs,
    whoAnswers: async ({ provider, vlan }, address, timeout) => {
      const { index } = (await netlink.findLink(providerBridge(provider))) ?? {};
      if (index === undefined) return undefined;
      // Without a tag it is the node itself that asks.
      if (vlan === 0) return whoAnswers(index, address, timeout);
      return vlanNeighbours.whoAnswers({ index, vlan, address }, timeout);
    },
  });
}
