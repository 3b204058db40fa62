import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePolicies } from '../../../lib/route-policy/compile.ts';
import { exportPrefixes } from './export.ts';
import { importVerdict } from './import.ts';
import { limitPrefixes } from './limit.ts';
import { policy } from './testing.ts';

/** 256 rules of 40 ranges; none matches the prefixes asked for, so that every rule has to be ruled out. */
const manyRules = (direction: 'Import' | 'Export') =>
  policy('many', {
    direction,
    ...(direction === 'Import' ? { maxPrefixes: 5000 } : {}),
    rules: Array.from({ length: 256 }, (_, rule) => ({
      match: {
        prefixes: Array.from({ length: 40 }, (_, range) => ({ cidr: `172.${range}.${rule}.0/24`, le: 32 })),
        clusters: [`c${rule}`],
      },
      action: 'Deny',
    })),
  });
const prefixes = Array.from({ length: 10_000 }, (_, index) => ({
  transitSwitch: 'ts',
  cidr: `10.${index >> 8}.${index & 255}.0/24`,
  origin: 'connected',
  tags: [],
  via: [],
}));

/** Far above what it takes, and far below comparing with every range. */
const budgetMs = 1500;

function timed(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

describe('10,000 prefixes against 256 rules of 40 ranges', () => {
  it('importing and limiting', (context) => {
    const set = compilePolicies([manyRules('Import')]);
    const tookMs = timed(() => {
      for (const prefix of prefixes) assert.ok(importVerdict(set, { ...prefix, cluster: 'west', vpc: 'v' }).allowed);
      assert.equal(limitPrefixes(set, 'west', prefixes).length, 5000);
    });
    context.diagnostic(`${tookMs.toFixed(0)} ms`);
    assert.ok(tookMs < budgetMs, `${tookMs} ms`);
  });

  it('exporting', (context) => {
    const set = compilePolicies([manyRules('Export')]);
    const tookMs = timed(() => {
      assert.equal(exportPrefixes(set, { vpc: 'v', transitSwitch: 'ts', prefixes }).prefixes.length, 10_000);
    });
    context.diagnostic(`${tookMs.toFixed(0)} ms`);
    assert.ok(tookMs < budgetMs, `${tookMs} ms`);
  });

  it('rules without ranges, each about some clusters', (context) => {
    const rules = Array.from({ length: 256 }, (_, rule) => ({ match: { clusters: [`c${rule}`] }, action: 'Deny' }));
    const imports = compilePolicies([policy('open', { rules })]);
    const exports = compilePolicies([policy('open', { direction: 'Export', rules })]);
    const importMs = timed(() => {
      for (const prefix of prefixes)
        assert.ok(importVerdict(imports, { ...prefix, cluster: 'west', vpc: 'v' }).allowed);
    });
    const exportMs = timed(() => {
      const { prefixes: told } = exportPrefixes(exports, { vpc: 'v', transitSwitch: 'ts', prefixes });
      assert.equal(told[0]?.except.length, 256);
    });
    context.diagnostic(`import ${importMs.toFixed(0)} ms, export ${exportMs.toFixed(0)} ms`);
    assert.ok(importMs < budgetMs, `${importMs} ms`);
    // Its answer alone has 2.6 million names.
    assert.ok(exportMs < 2 * budgetMs, `${exportMs} ms`);
  });
});
