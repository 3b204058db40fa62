import assert from 'node:assert/strict';
import { test } from 'node:test';
import { downProblem, nextLiveness, startLiveness, type Liveness } from './program-liveness.ts';
import type { Answer, Program } from '../model/program.ts';

const vswitchd: Program = 'ovs-vswitchd';

function after(program: Program, start: Liveness, ...answers: readonly Answer[]): Liveness['state'] {
  return answers.reduce((before, answer) => nextLiveness(program, before, answer), start).state;
}

function times(count: number, answer: Answer): readonly Answer[] {
  return Array.from({ length: count }, () => answer);
}

const fresh = startLiveness(vswitchd, undefined);
const up: Liveness = { state: 'up', failures: 0 };

test('down after three failures in a row, up after the first answer', () => {
  for (const answer of ['refused', 'silent', 'missing', 'unreachable'] as const) {
    assert.equal(after(vswitchd, up, ...times(2, answer)), 'up', answer);
    assert.equal(after(vswitchd, up, ...times(2, answer), 'answered', ...times(2, answer)), 'up', answer);
    assert.equal(after(vswitchd, up, ...times(3, answer)), 'down', answer);
    assert.equal(after(vswitchd, up, ...times(30, answer), 'answered'), 'up', answer);
  }
  assert.equal(after(vswitchd, up, 'refused', 'silent', 'missing'), 'down', 'kinds of failures add up');
});

test('an ovn-controller that computes may be silent for longer; one that has ended may not', () => {
  assert.equal(after('ovn-controller', up, ...times(9, 'silent')), 'up');
  assert.equal(after('ovn-controller', up, ...times(10, 'silent')), 'down');
  assert.equal(after('ovn-controller', up, ...times(3, 'refused')), 'down');
});

test('a program that was never seen has half a minute to start; without its folder nothing is said', () => {
  assert.equal(after(vswitchd, fresh, ...times(14, 'missing')), 'unknown');
  assert.equal(after(vswitchd, fresh, ...times(15, 'missing')), 'down');
  assert.equal(after(vswitchd, fresh, ...times(3, 'refused')), 'down');
  assert.equal(after(vswitchd, fresh, ...times(1000, 'unreachable')), 'unknown');
  assert.equal(after(vswitchd, fresh, 'answered'), 'up');
});

test('the report of an earlier run stays until the program answers', () => {
  const down = startLiveness(vswitchd, 'SwitchDown');
  assert.equal(down.state, 'down');
  assert.equal(after(vswitchd, down, 'silent', 'missing'), 'down');
  assert.equal(after(vswitchd, down, 'answered'), 'up');
  assert.equal(after(vswitchd, down, 'unreachable'), 'unknown', 'unless its socket cannot be reached any more');
  assert.equal(after(vswitchd, down, 'silent', 'unreachable'), 'down');
  assert.equal(startLiveness('ovn-controller', 'SwitchDown').state, 'unknown');
  assert.equal(startLiveness('ovn-controller', 'OvnControllerDown').state, 'down');
});

test('the problem names the program, its folder and the remedy', () => {
  const { code, message } = downProblem({ program: vswitchd, folder: '/run/openvswitch' });
  assert.equal(code, 'SwitchDown');
  assert.match(message, /^ovs-vswitchd does not answer .* in \/run\/openvswitch: .* start it again$/);
});
