/** Renders an installation as text: missing objects first. Pure. */
import type { Installed } from '../plan/installation/installed.ts';
import type { Paint } from './paint.ts';
import { renderSection, renderTable, toned } from './table.ts';
import { plural } from '../model/units.ts';

export function renderInstalled({ cluster, isWell, missing, workloads, nodes }: Installed, paint: Paint): string {
  const verdict = isWell
    ? paint(`Isthmus is ready on ${plural(nodes.all, 'node')}`, 'good')
    : paint(`${plural(missing.length, 'object')} not ready`, 'bad');
  const rows = workloads.map(({ kind, name, desired, ready, isDone }) => [
    kind,
    name,
    `${ready}/${desired}`,
    isDone ? toned('ready', 'good') : toned('not ready', 'bad'),
  ]);
  const lines = [
    `${paint(cluster, 'strong')}: ${verdict}`,
    ...renderSection(
      'Missing',
      missing.map(({ object, why }) => `${paint(object, 'bad')}: ${why}`),
      paint,
    ),
    ...renderSection('Workloads', renderTable(['KIND', 'NAME', 'PODS', 'STATE'], rows, paint), paint),
    ...(nodes.all === 0 ? [] : renderSection('Nodes', [`${nodes.ready} of ${nodes.all} ready`], paint)),
  ];
  return `${lines.join('\n')}\n`;
}
