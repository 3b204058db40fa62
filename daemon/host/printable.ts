/** Renders a host network as text, as an administrator would list it; for tests and debugging. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { HostNetwork, HostRule } from '../model/host-network.ts';
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

export function renderHostNetwork({ frame: wanted, parts }: HostNetwork): string {
  const ordered = [...parts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part);
  return [
    ...Object.entries(wanted.sysctls).map(([path, value]) => `sysctl ${path.replaceAll('/', '.')}=${value}`),
    ...wanted.links.flatMap((link) => [
      `link ${link.name}${render('address', link.mac)}${render('mtu', link.mtu)} up`,
      ...link.addresses.map((address) => `address ${address} dev ${link.name}`),
      ...(link.hasForeignSources ? [`loose rp_filter dev ${link.name}`] : []),
    ]),
    ...ordered
      .flatMap(({ routes }) => routes)
      .map(
        (route) =>
          `route ${route.destination} via ${route.gateway} dev ${route.device}${render('src', route.source)}${render('table', route.table)}`,
      ),
    ...wanted.tableRoutes.map((route) => `route ${route.destination} via ${route.gateway} table ${route.table}`),
    ...wanted.rules.map(renderRule),
    ...wanted.ruleset
      .trimEnd()
      .split('\n')
      .map((line) => `nft ${line}`),
    ...ordered.flatMap(({ elements }) => elements).map(({ set, network }) => `nft element ${set} ${network}`),
    '',
  ].join('\n');
}

/** A rule of both families has two lines. */
function renderRule({ priority, family, source, device, isInverted, action, target }: HostRule): string {
  const from = source ?? (family === 4 ? '0.0.0.0/0' : '::/0');
  const end = action === 'nop' ? 'nop' : `${action} ${target}`;
  return `rule ${priority}${isInverted ? ' not' : ''} from ${from}${render('iif', device)} ${end}`;
}

function render(word: string, value: string | number | undefined): string {
  return value === undefined ? '' : ` ${word} ${value}`;
}
