import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eipOf, outside, routerPortOf, type TestObjects } from '../../../lib/bgp/testing.ts';
import { readingOf } from '../../testing-bgp.ts';
import { announcementOf } from './announcement.ts';

const eip = eipOf('out', ['203.0.113.9'], { annotation: { scope: 'cluster' } });

function announced(objects: TestObjects): string {
  const found = announcementOf(readingOf(objects), 'out');
  if (found === undefined || 'code' in found) return found?.code ?? 'nothing';
  return found.sessions.join() || (found.reason?.code ?? 'no reason');
}

test('an address is announced by the sessions that have it, or not for a reason', () => {
  assert.match(announced({ eips: [eip, routerPortOf('n1')], subnets: [outside] }), /n1 → tor1/);
  assert.equal(announced({ eips: [{ ...eip, isReady: false }] }), 'NotReady');
  assert.equal(announced({ eips: [] }), 'nothing');
  assert.equal(announced({ eips: [eip], peers: [] }), 'nothing');
  const problem = { code: 'Forbidden', message: '' };
  assert.equal(announcementOf(problem, 'out'), problem);
});
