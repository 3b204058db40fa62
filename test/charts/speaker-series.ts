/** Every series that a speaker exports, read from its registry. Callers: the tests of dashboards, rules and their guide. */
import { Registry } from 'prom-client';
import { SpeakerMetrics } from '../../speaker/status/metrics.ts';

const parts = ['_bucket', '_sum', '_count'];

/** Names of metrics; histograms have their parts besides. */
export async function speakerMetrics(): Promise<{
  readonly names: ReadonlySet<string>;
  readonly series: ReadonlySet<string>;
}> {
  const registry = new Registry();
  void new SpeakerMetrics(registry, () => 0);
  const metrics = await registry.getMetricsAsJSON();
  const histograms = metrics.filter(({ type }) => String(type) === 'histogram').map(({ name }) => name);
  const names = metrics.map(({ name }) => name);
  return {
    names: new Set(names),
    series: new Set([...names, ...histograms.flatMap((name) => parts.map((part) => `${name}${part}`))]),
  };
}

/** The series of a speaker that an expression asks for. */
export function speakerSeriesIn(expression: string): readonly string[] {
  return expression.match(/\b(?:isthmus|kube_ovn)_speaker_\w+/g) ?? [];
}
