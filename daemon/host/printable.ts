/** A host network as text, the way an administrator would list it: the state of a host in tests and for debugging. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostNetwork } from '../plan/host-network.ts';
import type { HostTarget } from './target.ts';

export class PrintableHost implements HostTarget<HostNetwork> {
  #state = '';

  get state(): string {
    return this.#state;
  }

  set(wanted: HostNetwork): Promise<readonly Problem[]> {
    this.#state = renderHostNetwork(wanted);
    return Promise.resolve([]);
  }
}

export function renderHostNetwork(wanted: HostNetwork): string {
  return [
    ...Object.entries(wanted.sysctls).map(([path, value]) => `sysctl ${path.replaceAll('/', '.')}=${value}`),
    ...wanted.links.flatMap((link) => [
      `link ${link.name}${render('address', link.mac)}${render('mtu', link.mtu)} up`,
      ...link.addresses.map((address) => `address ${address} dev ${link.name}`),
    ]),
    ...wanted.routes.map(
      (route) => `route ${route.destination} via ${route.gateway} dev ${route.device} src ${route.source}`,
    ),
    ...wanted.tableRoutes.map((route) => `route ${route.destination} via ${route.gateway} table ${route.table}`),
    ...wanted.rules.map((rule) => `rule ${rule.priority} from ${rule.source} iif ${rule.device} lookup ${rule.table}`),
    ...wanted.ruleset
      .trimEnd()
      .split('\n')
      .map((line) => `nft ${line}`),
    '',
  ].join('\n');
}

function render(word: string, value: string | number | undefined): string {
  return value === undefined ? '' : ` ${word} ${value}`;
}
