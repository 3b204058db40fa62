/** The alerts of the chart: they ask for series that speakers have, are installed on demand, and are in the guide, as every metric is. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
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

const text = readFileSync(join(chart, 'rules/bgp.yaml'), 'utf8');
const alerts = rules.parse(parse(text)).groups.flatMap((group) => group.rules);
const guide = readFileSync(join(chart, '../../docs/guides/bgp.md'), 'utf8');

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

test('rules are installed on demand, identical to the file', () => {
  const rendered = (...values: string[]) =>
    parseManifests(renderChart(values)).filter(({ kind }) => kind === 'PrometheusRule');
  assert.deepEqual(rendered(), []);
  const found = rendered('metrics.rules.enabled=true', 'metrics.rules.labels.release=prometheus').map((manifest) =>
    prometheusRule.parse(manifest),
  );
  assert.deepEqual(
    found.map(({ metadata, spec }) => [metadata.name, metadata.labels['release'], spec]),
    [['isthmus-bgp', 'prometheus', parse(text)]],
  );
});
