/** The alerts of the chart: they ask for series that exist, are installed on demand, and are in the guide, as every metric is. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { Cluster } from '../../controller/settle/cluster.ts';
import { openExternalMetrics } from '../../controller/status/external-metrics.ts';
import { chart, parseManifests, renderChart } from './render.ts';
import { speakerMetrics, speakerSeriesIn } from './speaker-series.ts';

const alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.object({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.strictObject({ summary: z.string(), description: z.string() }),
});
const rules = z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(alert).min(1) })) });

const prometheusRule = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()) }),
  spec: z.unknown(),
});

function read(name: string) {
  const text = readFileSync(join(chart, `rules/${name}.yaml`), 'utf8');
  return { text, alerts: rules.parse(parse(text)).groups.flatMap((group) => group.rules) };
}

function guideOf(name: string): string {
  return readFileSync(join(chart, `../../docs/guides/${name}.md`), 'utf8');
}

const [bgp, edge] = [read('bgp'), read('edge')];
const { alerts } = bgp;
const guide = guideOf('bgp');

test('a speaker exports every series that an alert queries', async () => {
  const { series } = await speakerMetrics();
  for (const { alert: name, expr } of alerts) {
    const asked = speakerSeriesIn(expr);
    assert.ok(asked.length > 0, `${name} asks for nothing of Isthmus`);
    for (const each of asked) assert.ok(series.has(each), `${name} asks for ${each}`);
  }
});

test('the guide documents every alert and every metric of a speaker', async () => {
  const { names } = await speakerMetrics();
  for (const name of [...names, ...alerts.map((each) => each.alert)]) assert.ok(guide.includes(`\`${name}`), name);
});

test('the controller exports every series that an alert about addresses outside queries, and the guide documents both', async () => {
  const registry = new Registry();
  openExternalMetrics(registry, new Cluster());
  const names = (await registry.getMetricsAsJSON()).map(({ name }) => name);
  for (const { alert: name, expr } of edge.alerts) {
    const asked = expr.match(/\bisthmus_controller_\w+/g) ?? [];
    assert.ok(asked.length > 0, `${name} asks for nothing of Isthmus`);
    for (const each of asked) assert.ok(names.includes(each), `${name} asks for ${each}`);
  }
  const external = guideOf('eip');
  for (const name of [...names, ...edge.alerts.map((each) => each.alert)])
    assert.ok(external.includes(`\`${name}`), name);
});

test('rules are installed on demand, identical to the file', () => {
  const rendered = (...values: string[]) =>
    parseManifests(renderChart(values)).filter(({ kind }) => kind === 'PrometheusRule');
  assert.deepEqual(rendered(), []);
  const found = rendered('metrics.rules.enabled=true', 'metrics.rules.labels.release=prometheus').map((manifest) =>
    prometheusRule.parse(manifest),
  );
  assert.deepEqual(
    found.map(({ metadata, spec }) => [metadata.name, metadata.labels['release'], spec]),
    [
      ['isthmus-bgp', 'prometheus', parse(bgp.text)],
      ['isthmus-edge', 'prometheus', parse(edge.text)],
    ],
  );
});
