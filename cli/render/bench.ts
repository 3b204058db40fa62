/** Renders measurements as text, each with its reference value. Pure. */
import type { Distribution, PathFigures } from '../plan/bench.ts';
import type { MarkerTimes } from '../apply/marker.ts';
import type { Paint } from './paint.ts';
import { renderSection, renderTable, toned } from './table.ts';
import { milliseconds, percent, since } from '../model/units.ts';

export interface BenchReport {
  readonly cluster: string;
  readonly hub:
    | { readonly address: string; readonly handshakesMs: readonly number[]; readonly problem: string | undefined }
    | undefined;
  readonly paths: readonly PathFigures[];
  readonly agent: readonly Distribution[];
  readonly marker: (MarkerTimes & { readonly cidr: string; readonly peer: string }) | undefined;
}

export function renderBench(report: BenchReport, nowMs: number, paint: Paint): string {
  const paths = report.paths.map(({ from, to, rttMs, lossPercent, mtu, wantedMtu, at }) => [
    from,
    to,
    milliseconds(rttMs?.min),
    milliseconds(rttMs?.avg),
    milliseconds(rttMs?.max),
    lossPercent > 0 ? toned(percent(lossPercent), 'bad') : percent(lossPercent),
    mtu !== undefined && wantedMtu !== undefined && mtu < wantedMtu ? toned(String(mtu), 'bad') : mtu,
    wantedMtu,
    since(at, nowMs),
  ]);
  const agent = report.agent.map(({ name, count, mean, p50, p99 }) => [
    name,
    count,
    figure(mean),
    `≤ ${figure(p50)}`,
    `≤ ${figure(p99)}`,
  ]);
  const lines = [
    paint(report.cluster, 'strong'),
    ...renderSection('Connection to the hub from here, until the TLS handshake is complete', hubLines(report), paint),
    ...renderSection(
      'Between gateways, by ICMP outside the tunnel',
      paths.length === 0
        ? ['no gateway has probed another cluster yet']
        : renderTable(['FROM', 'TO', 'RTT MIN', 'AVG', 'MAX', 'LOSS', 'MTU', 'NEEDED', 'AGE'], paths, paint),
      paint,
    ),
    ...renderSection(
      'Metrics of the agents, in the units of their names',
      renderTable(['WHAT', 'COUNT', 'MEAN', 'P50', 'P99'], agent, paint),
      paint,
    ),
    ...markerLines(report, paint),
  ];
  return `${lines.join('\n')}\n`;
}

function hubLines({ hub }: BenchReport): readonly string[] {
  if (hub === undefined) return [];
  if (hub.problem !== undefined) return [`${hub.address}: ${hub.problem}`];
  const sorted = hub.handshakesMs.toSorted((a, b) => a - b);
  return [
    `${hub.address}: median ${milliseconds(sorted[Math.floor(sorted.length / 2)])}, least ${milliseconds(sorted[0])}, of ${sorted.length}`,
  ];
}

function markerLines({ marker }: BenchReport, paint: Paint): readonly string[] {
  if (marker === undefined) return [];
  const durationText = (ms: number | undefined) => (ms === undefined ? toned('not in time', 'bad') : milliseconds(ms));
  const rows = [
    ['subnet in force here (the floor: no interconnect in it)', durationText(marker.inForceMs)],
    [`from then until ${marker.peer} uses its route`, durationText(marker.learnedMs)],
    [`from its deletion until ${marker.peer} has no such route`, durationText(marker.withdrawnMs)],
  ];
  return renderSection(
    `A route to ${marker.cidr}, by looking at the objects every 20 ms`,
    renderTable(['STEP', 'TIME'], rows, paint),
    paint,
  );
}

function figure(value: number): string {
  if (!Number.isFinite(value)) return 'beyond the last bucket';
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
