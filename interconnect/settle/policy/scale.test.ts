import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePolicies, type PolicySet } from '../../../lib/route-policy/compile.ts';
import { growthOf } from '../../../lib/testing-growth.ts';
import { exportPrefixes } from './export.ts';
import { importVerdict } from './import.ts';
import { limitPrefixes } from './limit.ts';
import { policy } from './testing.ts';

/** Rules of 40 ranges; none matches the prefixes asked for, so that every rule has to be ruled out. */
const manyRules = (direction: 'Import' | 'Export', count: number) =>
  policy('many', {
    direction,
    ...(direction === 'Import' ? { maxPrefixes: 5000 } : {}),
    rules: Array.from({ length: count }, (_, rule) => ({
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

const vpc = 'v';
const importAll = (set: PolicySet): void => {
  for (const prefix of prefixes) assert.ok(importVerdict(set, { ...prefix, cluster: 'west', vpc }).allowed);
};
const exportAll = (set: PolicySet, offered = prefixes) =>
  exportPrefixes(set, { vpc, transitSwitch: 'ts', prefixes: offered }).prefixes;

describe('10,000 prefixes against 256 rules of 40 ranges cost less than three times what they do against 16', () => {
  const [few, many] = [16, 256];

  it('importing and limiting', async (context) => {
    const work = (rules: number) => {
      const set = compilePolicies([manyRules('Import', rules)]);
      return (): void => {
        importAll(set);
        assert.equal(limitPrefixes(set, 'west', prefixes).length, 5000);
      };
    };
    const growth = await growthOf({ small: work(few), large: work(many) });
    context.diagnostic(`${growth.toFixed(2)} times`);
    assert.ok(growth < 3, `${growth} times`);
  });

  it('exporting', async (context) => {
    const work = (rules: number) => {
      const set = compilePolicies([manyRules('Export', rules)]);
      return (): void => assert.equal(exportAll(set).length, prefixes.length);
    };
    const growth = await growthOf({ small: work(few), large: work(many) });
    context.diagnostic(`${growth.toFixed(2)} times`);
    assert.ok(growth < 3, `${growth} times`);
  });
});

// Each is asked about each prefix; 256 times as much would be their square.
describe('rules without ranges, each about one cluster: 16 times as many cost less than 80 times as much', () => {
  const [few, many] = [16, 256];
  const open = (direction: 'Import' | 'Export', count: number) =>
    compilePolicies([
      policy('open', {
        direction,
        rules: Array.from({ length: count }, (_, rule) => ({ match: { clusters: [`c${rule}`] }, action: 'Deny' })),
      }),
    ]);

  it('importing', async (context) => {
    const work = (rules: number) => {
      const set = open('Import', rules);
      return (): void => importAll(set);
    };
    const growth = await growthOf({ small: work(few), large: work(many) });
    context.diagnostic(`${growth.toFixed(2)} times`);
    assert.ok(growth < 80, `${growth} times`);
  });

  it('exporting, whose answer names each of them for each prefix', async (context) => {
    const offered = prefixes.slice(0, 1000);
    const work = (rules: number) => {
      const set = open('Export', rules);
      return (): void => assert.equal(exportAll(set, offered)[0]?.except.length, rules);
    };
    const growth = await growthOf({ small: work(few), large: work(many) });
    context.diagnostic(`${growth.toFixed(2)} times`);
    assert.ok(growth < 80, `${growth} times`);
  });
});
