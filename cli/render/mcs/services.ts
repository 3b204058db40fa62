/** Renders exported and imported Services. Pure. */
import type { Shared, ShownExport, ShownImport } from '../../plan/mcs/services.ts';
import type { DnsVerdict } from '../../plan/mcs/dns.ts';
import type { ImportWhy } from '../../plan/mcs/why.ts';
import { renderCauses, renderUnreadable } from '../causes.ts';
import type { Paint } from '../paint.ts';
import { inLine } from '../printable.ts';
import { renderSection, renderTable, toned, type Cell } from '../table.ts';

const exportHeads = ['SERVICE', 'STATE', 'MESSAGE'];
const importHeads = [
  'SERVICE',
  'TYPE',
  'ADDRESS',
  'PORTS',
  'READY',
  'CLUSTER',
  'ENDPOINTS',
  'PATHS',
  'NAME',
  'MESSAGE',
];

export function renderShared({ cluster, exports, imports, names, unreadable }: Shared, paint: Paint): string {
  const lines = [
    `${paint(cluster, 'strong')}: ${exports.length} exported, ${imports.length} imported`,
    `  names: ${dnsText(names, paint)}`,
    ...renderCauses('Names', names.causes, 'doubtful', paint),
    ...renderUnreadable(unreadable, paint),
    ...renderSection('Exports', renderTable(exportHeads, exports.map(exportRow), paint), paint),
    ...renderSection('Imports', renderTable(importHeads, imports.flatMap(importRows), paint), paint),
  ];
  return `${lines.join('\n')}\n`;
}

export function renderImportWhy(why: ImportWhy, paint: Paint): string {
  const { service, cluster, client, isServed, obstacles, warnings } = why;
  const verdict = isServed ? paint('is reached', 'good') : paint('is not reached', 'bad');
  const lines = [
    `${paint(inLine(service), 'strong')} of the cluster set ${verdict} from ${client === undefined ? 'pods' : inLine(client)} of ${inLine(cluster)}`,
    ...renderCauses('Obstacles', obstacles, 'bad', paint),
    ...renderCauses('Warnings', warnings, 'doubtful', paint),
    ...renderSection(
      'Import',
      renderTable(importHeads, why.import === undefined ? [] : importRows(why.import), paint),
      paint,
    ),
    ...renderSection(
      'Export of this cluster',
      renderTable(exportHeads, why.export === undefined ? [] : [exportRow(why.export)], paint),
      paint,
    ),
  ];
  return `${lines.join('\n')}\n`;
}

function dnsText({ state, causes }: DnsVerdict, paint: Paint): string {
  if (state === 'ok') return paint('resolve, by the Corefile of kube-system/coredns', 'good');
  if (state === 'unknown') return paint('not known: there is no ConfigMap kube-system/coredns to read', 'doubtful');
  return paint(`do not resolve: ${causes.map(({ code }) => code).join(', ')}`, 'bad');
}

function exportRow({ service, state, message }: ShownExport): readonly Cell[] {
  const tone = state === 'exported' ? 'good' : state === 'pending' ? 'doubtful' : 'bad';
  return [service, toned(state, tone), message];
}

/** One line a source; the columns of the import are in the first. */
function importRows(one: ShownImport): readonly (readonly Cell[])[] {
  const { service, type, ips, ports, isReady, sources, dnsName, message } = one;
  const head: readonly Cell[] = [
    service,
    type,
    ips.join(','),
    ports.join(','),
    isReady ? toned('yes', 'good') : toned('no', 'bad'),
  ];
  const blank: readonly Cell[] = ['', '', '', '', ''];
  const list = sources.length === 0 ? [undefined] : sources;
  return list.map((source, at) => [
    ...(at === 0 ? head : blank),
    source === undefined ? toned('none', 'bad') : source.cluster,
    source === undefined
      ? ''
      : toned(`${source.ready}/${source.endpoints} ready`, source.ready > 0 ? 'good' : 'doubtful'),
    source?.pathsUp ?? '',
    at === 0 ? dnsName : '',
    at === 0 ? message : '',
  ]);
}
