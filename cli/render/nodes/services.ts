/** Renders as text what nodes would serve in place of kube-proxy. Pure. */
import { plural } from '../../model/units.ts';
import type { NodeServices } from '../../plan/nodes/services.ts';
import { few } from '../bgp/few.ts';
import type { Paint } from '../paint.ts';
import { renderSection, renderTable, toned } from '../table.ts';

const tones = { ready: 'good', obstacles: 'bad', 'no report': 'doubtful' } as const;

export function renderNodeServices(found: NodeServices, paint: Paint): string {
  const rows = found.nodes.map(({ node, services, frontends, endpoints, kubeProxy, state }) => [
    node,
    services,
    frontends,
    endpoints,
    kubeProxy === '' ? 'none' : kubeProxy,
    toned(state, tones[state]),
  ]);
  const lines = [
    verdictOf(found, paint),
    ...renderSection(
      'Obstacles',
      found.obstacles.map(({ code, message, nodes }) => `${paint(code, 'bad')} (${few(nodes, 'nodes')}): ${message}`),
      paint,
    ),
    ...renderSection(
      'Differences from kube-proxy',
      [
        ...found.differences.map(
          ({ code, message, service }) => `${paint(code, 'doubtful')}: Service ${service}: ${message}`,
        ),
        ...(found.more === 0 ? [] : [`and ${found.more} more`]),
      ],
      paint,
    ),
    ...renderSection(
      'Nodes',
      renderTable(['NODE', 'SERVICES', 'ADDRESSES', 'ENDPOINTS', 'KUBE-PROXY', 'STATE'], rows, paint),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function verdictOf({ mode, isWell, nodes }: NodeServices, paint: Paint): string {
  if (mode === undefined) return paint('there is no DaemonSet isthmus-daemon: Isthmus is not installed', 'bad');
  if (mode === 'on') return 'nodes serve Services (services.nodes: on); there is no dry run';
  if (mode === 'off') return 'nodes serve no Services (services.nodes: off); set services.nodes=dry-run for a report';
  const waiting = nodes.filter(({ state }) => state === 'no report').length;
  if (isWell) return paint(`${plural(nodes.length, 'node')} could serve in place of kube-proxy`, 'good');
  if (waiting > 0) return paint(`${waiting} of ${plural(nodes.length, 'node')} have not reported yet`, 'doubtful');
  return paint('not every node could serve in place of kube-proxy', 'bad');
}
