/** Figures of paths and agents, from probes and metrics. Pure. */
import type { Snapshot } from '../model/snapshot.ts';

export interface PathFigures {
  readonly from: string;
  readonly to: string;
  readonly rttMs: { readonly min: number; readonly avg: number; readonly max: number } | undefined;
  readonly lossPercent: number;
  readonly mtu: number | undefined;
  readonly wantedMtu: number | undefined;
  readonly at: string;
}

/** The probe results of each gateway to each gateway of another cluster. */
export function pathFigures({ gateways, label }: Snapshot): readonly PathFigures[] {
  return gateways.flatMap(({ node, status }) =>
    (status.probes ?? []).map(({ chassis, rttMs, lossPercent, mtu, at }) => {
      const cluster = status.peers?.find((peer) => peer.chassis === chassis)?.cluster;
      return {
        from: `${label}/${node}`,
        to: cluster === undefined ? chassis : `${cluster}/${chassis}`,
        rttMs,
        lossPercent,
        mtu,
        wantedMtu: status.wantedMTU,
        at,
      };
    }),
  );
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Distribution {
  readonly name: string;
  readonly count: number;
  readonly mean: number;
  /** Upper bounds of the buckets that contain the median and the 99th percentile; Infinity beyond the last bucket. */
  readonly p50: number;
  readonly p99: number;
}

const prefix = 'isthmus_interconnect_';

/** Histograms of an agent, with all label sets of a name combined; histograms without a sample are omitted. */
export function distributions(samples: readonly Sample[]): readonly Distribution[] {
  const names = samples.flatMap(({ name }) =>
    name.startsWith(prefix) && name.endsWith('_bucket') ? [name.slice(0, -'_bucket'.length)] : [],
  );
  return [...new Set(names)].sort().flatMap((name) => {
    const sum = total(samples, `${name}_sum`);
    const count = total(samples, `${name}_count`);
    if (count === 0) return [];
    const buckets = bucketsOf(samples, `${name}_bucket`);
    return [
      {
        name: name.slice(prefix.length),
        count,
        mean: sum / count,
        p50: quantile(buckets, count * 0.5),
        p99: quantile(buckets, count * 0.99),
      },
    ];
  });
}

function total(samples: readonly Sample[], name: string): number {
  return samples.reduce((sum, sample) => (sample.name === name ? sum + sample.value : sum), 0);
}

/** Cumulative counts by upper bound, in ascending order. */
function bucketsOf(samples: readonly Sample[], name: string): readonly (readonly [bound: number, count: number])[] {
  const counts = new Map<number, number>();
  for (const { name: of, labels, value } of samples) {
    if (of !== name) continue;
    const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  return [...counts].sort(([a], [b]) => a - b);
}

function quantile(buckets: readonly (readonly [number, number])[], rank: number): number {
  return buckets.find(([, count]) => count >= rank)?.[0] ?? Infinity;
}
