/** A host network as text, the way an administrator would list it: the state of a host in tests and for debugging. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostNetwork } from '../plan/host-network.ts';
import type { HostTarget } from './target.ts';

export class PrintableHost implements HostTarget {
  #state = '';

  get state(): string {
    return this.#state;
  }

  set(wanted: HostNetwork): Promise<readonly Problem[]> {
    this.#state = renderHostNetwork(wanted);
    return Promise.resolve([]);
  }
}

export function renderHostNetwork({ links, routes, ruleset, sysctls }: HostNetwork): string {
  return [
    ...Object.entries(sysctls).map(([path, value]) => `sysctl ${path.replaceAll('/', '.')}=${value}`),
    ...links.flatMap((link) => [
      `link ${link.name} address ${link.mac} mtu ${link.mtu} up`,
      ...link.addresses.map((address) => `address ${address} dev ${link.name}`),
    ]),
    ...routes.map((route) => `route ${route.destination} via ${route.gateway} dev ${route.device} src ${route.source}`),
    ...ruleset
      .trimEnd()
      .split('\n')
      .map((line) => `nft ${line}`),
    '',
  ].join('\n');
}
