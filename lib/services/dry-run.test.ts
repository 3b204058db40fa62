import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDryRun, renderDryRun } from './dry-run.ts';

const figures = { services: 1, frontends: 2, endpoints: 3, kubeProxy: 'nftables table ip kube-proxy' };
const own = { code: 'ServiceRulesRefused', message: 'nft: no' };
const ofService = { code: 'ExternalIPsDenied', message: 'no', service: 'default/web' };

test('a report is read as it was written', () => {
  const report = { ...figures, problems: [own, ofService] };
  assert.deepEqual(parseDryRun(renderDryRun(report)), { ...report, more: 0 });
});

test('long lists and messages are cut, and say so', () => {
  const problems = Array.from({ length: 60 }, (_, at) => ({ ...own, message: `${at} ${'x'.repeat(100_000)}` }));
  const text = renderDryRun({ ...figures, problems });
  assert.ok(text.length < 60_000);
  const read = parseDryRun(text);
  assert.equal(read?.problems.length, 50);
  assert.equal(read.more, 10);
});

test('text that is no report is none', () => {
  for (const text of ['', '{', '[]', 'null', '{"services":1}']) assert.equal(parseDryRun(text), undefined, text);
});
