/** Opens the provider networks of this node. */
import { loadEndpoint } from '../../lib/kube/config.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { Nics } from '../host/nics.ts';
import { watchNics } from '../host/watch-nics.ts';
import { tableName } from '../host/nft.ts';
import { watchRuleset } from '../host/watch-ruleset.ts';
import type { Local } from './open-local.ts';
import { UnderlayHost } from './underlay-host.ts';
import { Underlay, type UnderlayOptions } from './underlay.ts';

export interface OpenUnderlayOptions {
  readonly local: Local;
  readonly settings: {
    readonly node: string;
    readonly kubeconfig: string | undefined;
    readonly datapathType: 'system' | 'netdev';
  };
  /** Whether the API server answers over a new connection before the signal aborts. */
  readonly askApi: (signal: AbortSignal) => Promise<boolean>;
  readonly log: Logger;
}

/** Resolves when the interfaces that an earlier run moved are in place again: the API server may be reached over them. */
export async function openUnderlay({ local, settings, askApi, log }: OpenUnderlayOptions): Promise<Underlay> {
  const { netlink, kernelEvents, ovs: client, target } = local;
  const host = new UnderlayHost({
    client,
    target,
    nics: new Nics(netlink),
    datapathType: settings.datapathType,
    apiHost: async () => {
      const { server } = await loadEndpoint(settings.kubeconfig, process.env);
      return server.hostname.replaceAll(/^\[|\]$/g, '');
    },
    askApi,
  });
  const watch: UnderlayOptions['watch'] = (names, onChange) => {
    const stops = [
      watchNics(kernelEvents, names, onChange),
      watchRuleset({ family: 'netdev', name: tableName }, onChange),
    ];
    return () => stops.forEach((stop) => stop());
  };
  const underlay = new Underlay({ node: settings.node, client, target, host, watch, log });
  await underlay.resume();
  return underlay;
}
