/** Keeps the host network in the kernel as wanted, against other programs. */
import type { HostNetwork } from '../model/host-network.ts';
import type { KernelEvents } from './kernel-events.ts';
import { HostLoop } from './loop.ts';
import { KernelHost } from './network.ts';
import { tableName } from './nft.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { watchHost } from './watch-host.ts';
import { watchRuleset } from './watch-ruleset.ts';

export interface KeepNetworkOptions {
  readonly netlink: Rtnetlink;
  readonly kernelEvents: Pick<KernelEvents, 'subscribe'>;
  /** Names of our links. */
  readonly names: () => readonly string[];
  /** Called after a change of addresses of any link. */
  readonly onAddress: () => void;
}

export function keepNetwork({ netlink, kernelEvents, names, onAddress }: KeepNetworkOptions): HostLoop<HostNetwork> {
  const kernel = new KernelHost(netlink);
  return new HostLoop({
    host: kernel,
    watch: (onHostChange) => {
      const onChange = (): void => {
        kernel.doubt();
        onHostChange();
      };
      const stops = [
        watchHost(kernelEvents, {
          names,
          used: () => kernel.used,
          concerns: (route) => kernel.concerns(route),
          ownPort: netlink.port,
          onChange,
          onAddress,
        }),
        watchRuleset({ family: 'inet', name: tableName, isOwn: (port) => kernel.ports.has(port) }, onChange),
      ];
      return () => stops.forEach((stop) => stop());
    },
  });
}
