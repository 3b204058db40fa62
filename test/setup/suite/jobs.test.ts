import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkJobs, type Job, nextJob, systemJobs, unitJobs } from './jobs.ts';

const file = (path: string, size = 1, isInLab = false) => ({ path, size, isInLab });
const namesOf = (jobs: readonly Job[]): string[] => jobs.map(({ name }) => name);

/** The order in which jobs start where one after the other ends, the one that has run longest first. */
function startOrder(jobs: readonly Job[], atOnce: number, fails: readonly string[] = []): string[][] {
  const waiting = [...jobs];
  const running: Job[] = [];
  const passed = new Set<string>();
  const states: string[][] = [];
  for (;;) {
    for (let next; (next = nextJob(waiting, running, passed, atOnce)) !== undefined;) {
      waiting.splice(waiting.indexOf(next), 1);
      running.push(next);
    }
    states.push(namesOf(running));
    const ended = running.shift();
    if (ended === undefined) return states;
    if (!fails.includes(ended.name)) passed.add(ended.name);
  }
}

describe('jobs of the suite', () => {
  it('run every unit test once', () => {
    const paths = ['lib/gobgp/src/a.test.ts', 'lib/net/b.test.ts', 'cli/c.test.ts', 'speaker/d.test.ts'];
    const files = unitJobs(paths).flatMap((job) => job.files);
    assert.deepEqual(files.toSorted(), paths.toSorted());
  });

  it('run every system test once, those in labs first and long ones before short ones', () => {
    const jobs = systemJobs([
      file('test/system/short.test.ts', 1),
      file('test/system/bgp/lab-like.test.ts', 2),
      file('test/system/lab-own.test.ts', 1),
      file('test/system/ic-shared.test.ts', 3, true),
      file('test/system/shared.test.ts', 4, true),
    ]);
    assert.deepEqual(namesOf(jobs), [
      'lab up',
      'test/system/shared.test.ts',
      'test/system/ic-shared.test.ts',
      'lab down',
      'test/system/lab-own.test.ts',
      'test/system/bgp/lab-like.test.ts',
      'test/system/short.test.ts',
    ]);
  });

  it('use the shared lab one at a time, and labs of their own one at a time', () => {
    const jobs = systemJobs([
      file('test/system/a.test.ts', 2, true),
      file('test/system/b.test.ts', 1, true),
      file('test/system/lab-own.test.ts', 2),
      file('test/system/ic-own.test.ts', 1),
      file('test/system/c.test.ts'),
    ]);
    assert.deepEqual(startOrder(jobs, 4), [
      ['lab up', 'test/system/lab-own.test.ts', 'test/system/c.test.ts'],
      ['test/system/lab-own.test.ts', 'test/system/c.test.ts', 'test/system/a.test.ts'],
      ['test/system/c.test.ts', 'test/system/a.test.ts', 'test/system/ic-own.test.ts'],
      ['test/system/a.test.ts', 'test/system/ic-own.test.ts'],
      ['test/system/ic-own.test.ts', 'test/system/b.test.ts'],
      ['test/system/b.test.ts'],
      ['lab down'],
      [],
    ]);
  });

  it('run at most as many at once as allowed', () => {
    const jobs = systemJobs(['a', 'b', 'c'].map((name) => file(`test/system/${name}.test.ts`, 1, true)));
    for (const running of startOrder([...checkJobs(), ...unitJobs(['lib/a.test.ts']), ...jobs], 2))
      assert.ok(running.length <= 2, running.join());
  });

  it('leave the lab up for a file that failed in it, and go on with the others', () => {
    const jobs = systemJobs([file('test/system/a.test.ts', 1, true), file('test/system/lab-own.test.ts')]);
    assert.deepEqual(startOrder(jobs, 1, ['test/system/a.test.ts']), [
      ['lab up'],
      ['test/system/a.test.ts'],
      ['test/system/lab-own.test.ts'],
      [],
    ]);
  });

  it('in a lab that failed to start do not run', () => {
    const jobs = systemJobs([file('test/system/a.test.ts', 1, true)]);
    assert.deepEqual(startOrder(jobs, 3, ['lab up']), [['lab up'], []]);
  });

  it('include checks without dependencies', () => {
    assert.deepEqual(startOrder(checkJobs(), 1), [['types, lint, format'], []]);
  });
});
