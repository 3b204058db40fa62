import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseClusterRules } from './parse-cluster.ts';

function egressOf(action: string, ...to: readonly object[]) {
  const metadata = { name: 'one', uid: 'one', resourceVersion: '1' };
  const spec = { tier: 'Admin', priority: 1, egress: [{ action, to }] };
  return parseClusterRules({ metadata, spec }).egress?.[0] ?? assert.fail('no rule');
}

const names = { domainNames: ['example.test'] };
const block = (cidr: string) => ({ cidr, except: [] });

test('names match nothing in a rule that accepts', () => {
  const rule = egressOf('Accept', names, { networks: ['10.0.0.0/8'] });
  assert.deepEqual(rule.peers, { pods: [], blocks: [block('10.0.0.0/8')] });
  assert.match(rule.flaw ?? '', /^to\[0\]\.domainNames is not supported/);
});

for (const action of ['Deny', 'Pass'])
  test(`names in a rule with ${action} deny everything`, () => {
    const rule = egressOf(action, { networks: ['10.0.0.0/8'] }, names);
    assert.equal(rule.action, 'Deny');
    assert.deepEqual(rule.peers, { pods: [], blocks: [block('0.0.0.0/0'), block('::/0')] });
    assert.match(rule.flaw ?? '', /^to\[1\]\.domainNames with (?:Deny|Pass) is not known; the rule denies everything$/);
  });
