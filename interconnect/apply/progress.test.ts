import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { OvsdbTarget, ResultListener } from '../../lib/desired/ovsdb-target.ts';
import { Progress } from './progress.ts';

/** A database, as Progress sees it, that accepts `owners` when the test says so. */
class Writes {
  isApplied = true;
  #listener: ResultListener = () => undefined;
  #waiting: (() => void)[] = [];

  readonly target = {
    onResult: (listener: ResultListener) => {
      this.#listener = listener;
      return () => undefined;
    },
    untilApplied: () =>
      this.isApplied ? Promise.resolve() : new Promise<void>((resolve) => this.#waiting.push(resolve)),
  };

  finish(owners: number): void {
    this.isApplied = true;
    for (let at = 0; at < owners; at += 1) this.#listener(`remote/${String(at)}`, undefined);
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Milliseconds until statuses may be published after a write of this many owners. */
async function restAfter(t: TestContext, owners: number): Promise<number> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const writes = new Writes();
  const target = Object.defineProperty(writes.target, 'isApplied', { get: () => writes.isApplied }) as OvsdbTarget;
  const progress = new Progress({
    targets: { northbound: target, southbound: target },
    now: () => 0,
    onChange: () => undefined,
    onReaction: () => undefined,
  });
  writes.isApplied = false;
  progress.follow(undefined, () => true);
  assert.equal(progress.isWriting, true);
  writes.finish(owners);
  // Promises come before timers, which stand still here.
  for (let at = 0; at < 5; at += 1) await Promise.resolve();
  let ms = 0;
  for (; progress.isWriting as boolean; ms += 10) t.mock.timers.tick(10);
  progress.close();
  t.mock.timers.reset();
  return ms;
}

test('statuses wait for a tenth of a second after one change, longer after many, and never longer than a second', async (t) => {
  assert.equal(await restAfter(t, 1), 110);
  assert.equal(await restAfter(t, 30), 400);
  assert.equal(await restAfter(t, 5000), 1000);
});
