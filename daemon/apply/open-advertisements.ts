/** Opens the router advertisements on links whose routers wait for this node, as its BgpNodeState names them. */
import type { Problem } from '../../lib/desired/problem.ts';
import { RouterAdvertisements } from '../host/router-advertisements.ts';
import { watchHost } from '../host/watch-host.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Local } from './open-local.ts';

export interface OpenedAdvertisements {
  readonly problems: readonly Problem[];
  close(): void;
}

/** @param onProblems is called after a change of the problems */
export function openAdvertisements(
  { netlink, kernelEvents }: Pick<Local, 'netlink' | 'kernelEvents'>,
  cluster: Cluster,
  onProblems: () => void,
): OpenedAdvertisements {
  const advertisements = new RouterAdvertisements(netlink, onProblems);
  const unwatch = watchHost(kernelEvents, {
    names: () => [],
    used: () => advertisements.links,
    onChange: () => advertisements.linkChanged(),
    onAddress: () => undefined,
  });
  const setLinks = (): void => advertisements.set(cluster.bgpNodeState?.interfaces ?? []);
  setLinks();
  cluster.objects.bgpStates.subscribe(setLinks);
  return {
    get problems() {
      return advertisements.problems;
    },
    close() {
      advertisements.close();
      unwatch();
    },
  };
}
