/** Builds the part of the daemon that joins the node to provider networks. Who calls: main.ts. */
import type { OvsdbClient } from 'ovsdb-client';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { loadEndpoint } from '../../lib/kube/config.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { KernelEvents } from '../host/kernel-events.ts';
import { Nics } from '../host/nics.ts';
import type { Rtnetlink } from '../host/rtnetlink.ts';
import { watchNics } from '../host/watch-nics.ts';
import { watchRuleset } from '../host/watch-ruleset.ts';
import type { Settings } from '../settings.ts';
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
