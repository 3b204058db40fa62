/** The dashboards of the chart ask for figures that the programs have. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { chart, parseManifests, renderChart } from './render.ts';
import { speakerMetrics, speakerSeriesIn } from './speaker-series.ts';

const root = join(import.meta.dirname, '../..');
const sources = ['interconnect/status/metrics.ts', 'interconnect/hub/status/metrics.ts']
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n');

const dashboard = z.object({
  title: z.string(),
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })).min(1) })).min(1),
});

test('programs export every metric that a dashboard queries', async () => {
  const { series } = await speakerMetrics();
  for (const file of readdirSync(join(chart, 'dashboards'))) {
    const { panels } = dashboard.parse(JSON.parse(readFileSync(join(chart, 'dashboards', file), 'utf8')));
    for (const { title, targets } of panels) {
      const names = targets.flatMap(({ expr }) => [...expr.matchAll(/isthmus_(?:interconnect|hub)_(\w+)/g)]);
      const speakers = targets.flatMap(({ expr }) => speakerSeriesIn(expr));
      assert.ok(names.length + speakers.length > 0, `${file}: "${title}" shows nothing of ours`);
      for (const each of speakers) assert.ok(series.has(each), `${file}: "${title}" asks for ${each}`);
      for (const [whole, name = ''] of names) {
        const plain = name.replace(/_bucket$/, '');
        assert.ok(
          sources.includes(`'${plain}'`) || sources.includes(`_${plain}'`),
          `${file}: "${title}" asks for ${whole}`,
        );
      }
    }
  }
});

test('dashboards are installed on demand, one ConfigMap each', () => {
  const maps = (values: readonly string[]) =>
    parseManifests(renderChart(values))
      .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('isthmus-dashboard-'))
      .map(({ metadata }) => metadata.name);
  assert.deepEqual(maps([]), []);
  assert.deepEqual(maps(['metrics.dashboards.enabled=true']), [
    'isthmus-dashboard-bgp',
    'isthmus-dashboard-interconnect',
  ]);
});
