import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../lib/dns/message.ts';
import { TestTimers } from '../../lib/rounds/testing.ts';
import { DomainResolver } from './domain-resolver.ts';

const first = { address: '192.0.2.53', port: 53 };
const second = { address: '2001:db8::53', port: 53 };
const found = (ttlSeconds: number): Answer => ({
  kind: 'addresses',
  addresses: [
    { address: '192.0.2.1', ttlSeconds: ttlSeconds + 7 },
    { address: '192.0.2.2', ttlSeconds },
  ],
});

class Bed {
  readonly timers = new TestTimers();
  readonly asked: string[] = [];
  readonly answered: string[] = [];
  answer: Answer = found(30);
  nextMs = Number.POSITIVE_INFINITY;
  times = 0;
  isHeld = false;
  /** Address of a server that never answers. */
  silent = '';
  error: Error | undefined;
  /** How often the time was read, which each run does. */
  looks = 0;
  readonly failures: string[] = [];
  readonly #held: ((answer: Answer) => void)[] = [];
  readonly resolver = new DomainResolver({
    ask: (server, name, family) => {
      this.asked.push(`${server.address} ${family} ${name}`);
      if (this.error !== undefined) throw this.error;
      if (!this.isHeld && server.address !== this.silent) return Promise.resolve(this.answer);
      return new Promise<Answer>((resolve) => this.#held.push(resolve));
    },
    onAnswer: ({ server, name, family, answer }) => {
      this.answered.push(`${server} ${family} ${name}`);
      if (answer.kind === 'failed') this.failures.push(answer.reason);
    },
    nextMs: () => this.nextMs,
    onTime: () => {
      this.times += 1;
      this.nextMs = Number.POSITIVE_INFINITY;
    },
    clockMs: () => {
      this.looks += 1;
      return this.timers.nowMs();
    },
    timers: this.timers,
  });

  /** Answers what is held. */
  release(): void {
    for (const resolve of this.#held.splice(0)) resolve(this.answer);
  }

  /** In steps, so that answers arrive in between. Returns how many questions were asked. */
  async pass(seconds: number): Promise<number> {
    const before = this.asked.length;
    for (let step = 0; step < seconds * 10; step += 1) {
      this.timers.pass(100);
      await new Promise(setImmediate);
    }
    return this.asked.length - before;
  }
}

test('each server is asked for both families, and again when the shortest TTL ends', async () => {
  const bed = new Bed();
  bed.resolver.update([first, second], ['a.test']);
  assert.equal(await bed.pass(1), 4);
  assert.deepEqual(bed.answered.toSorted(), [
    '192.0.2.53:53 4 a.test',
    '192.0.2.53:53 6 a.test',
    '[2001:db8::53]:53 4 a.test',
    '[2001:db8::53]:53 6 a.test',
  ]);
  assert.equal(await bed.pass(28), 0);
  assert.equal(await bed.pass(2), 4);
});

test('the time until the next question is bounded', async () => {
  for (const [answer, soonest, latest] of [
    [found(0), 0.5, 1.5],
    [found(86_400), 298, 302],
    [{ kind: 'none', exists: false, ttlSeconds: 3600 }, 28, 32],
    [{ kind: 'none', exists: true, ttlSeconds: undefined }, 4, 6],
    [{ kind: 'failed', reason: 'no answer' }, 4, 6],
  ] as const) {
    const bed = new Bed();
    bed.answer = answer;
    bed.resolver.update([first], ['a.test']);
    await bed.pass(0.3);
    assert.equal(await bed.pass(soonest - 0.3), 0, JSON.stringify(answer));
    assert.notEqual(await bed.pass(latest - soonest), 0, JSON.stringify(answer));
  }
});

test('no more than 200 questions a second are asked, after a burst of as many, and 25 of one server and 100 in sum at once', async () => {
  const bed = new Bed();
  bed.answer = found(1);
  const names = Array.from({ length: 1000 }, (_, index) => `n${index}.test`);
  bed.resolver.update([first], names);
  const asked = await bed.pass(5);
  assert.ok(asked <= 1200 && asked > 900, String(asked));
  assert.ok(new Set(bed.asked).size > 900, 'each question has its turn');
  const held = new Bed();
  held.isHeld = true;
  held.resolver.update([first], names);
  assert.equal(await held.pass(3), 25);
  const other = (index: number) => ({ address: `192.0.2.${index}`, port: 53 });
  held.resolver.update([first, other(1), other(2), other(3), other(4)], names);
  assert.equal(await held.pass(3), 75);
});

test('a silent server holds a part of the slots, and others are asked meanwhile', async () => {
  const bed = new Bed();
  bed.answer = found(2);
  bed.silent = first.address;
  const names = Array.from({ length: 100 }, (_, index) => `n${index}.test`);
  bed.resolver.update([first, second], names);
  await bed.pass(6);
  const askedOf = (server: typeof first): number => bed.asked.filter((text) => text.startsWith(server.address)).length;
  assert.equal(askedOf(first), 25);
  assert.ok(askedOf(second) >= 400, String(askedOf(second)));
});

test('nothing runs while only an answer can make room, and an answer does', async () => {
  const bed = new Bed();
  bed.isHeld = true;
  const names = Array.from({ length: 1000 }, (_, index) => `n${index}.test`);
  bed.resolver.update([first], names);
  await bed.pass(1);
  const before = bed.looks;
  await bed.pass(60);
  assert.equal(bed.looks, before);
  bed.release();
  assert.equal(await bed.pass(0.2), 25);
});

test('a question that cannot be sent is a failed answer, and is asked again', async () => {
  const bed = new Bed();
  bed.error = new RangeError('Port should be > 0 and < 65536');
  bed.resolver.update([first], ['a.test']);
  assert.equal(await bed.pass(1), 2);
  assert.deepEqual(bed.failures, ['Port should be > 0 and < 65536', 'Port should be > 0 and < 65536']);
  bed.error = undefined;
  assert.equal(await bed.pass(5), 2);
  assert.equal(bed.failures.length, 2);
});

test('what is no longer asked has no answer, and nothing is asked in the end', async () => {
  const bed = new Bed();
  bed.isHeld = true;
  bed.resolver.update([first], ['a.test']);
  await bed.pass(0.2);
  bed.isHeld = false;
  bed.resolver.update([first], ['b.test']);
  await bed.pass(1);
  assert.deepEqual(bed.answered.toSorted(), ['192.0.2.53:53 4 b.test', '192.0.2.53:53 6 b.test']);
  bed.resolver.close();
  assert.equal(await bed.pass(60), 0);
});

test('it calls when the time changes something, also without names', async () => {
  const bed = new Bed();
  bed.resolver.update([first], []);
  bed.nextMs = 2000;
  bed.resolver.update([first], []);
  await bed.pass(1.8);
  assert.equal(bed.times, 0);
  await bed.pass(0.4);
  assert.equal(bed.times, 1);
});

test('names that only pods asked for delay no name of a policy, however many they are', async () => {
  const bed = new Bed();
  bed.answer = found(1);
  const invented = Array.from({ length: 1000 }, (_, index) => `x${index}.test`);
  bed.resolver.update([first], [...invented, 'a.test'], (name) => name !== 'a.test');
  await bed.pass(10);
  bed.asked.length = 0;
  const all = await bed.pass(10);
  const named = bed.asked.filter((one) => one.endsWith(' a.test')).length;
  assert.ok(named >= 12, `${named} questions`);
  assert.ok(all - named <= 1100, `${all} questions`);
});

test('names that only pods asked for, and that no server answers, leave room for those of policies', async () => {
  const bed = new Bed();
  const invented = Array.from({ length: 100 }, (_, index) => `x${index}.test`);
  bed.isHeld = true;
  bed.resolver.update([first], invented, () => true);
  assert.equal(await bed.pass(1), 12);
  bed.resolver.update([first], [...invented, 'a.test'], (name) => name !== 'a.test');
  assert.equal(await bed.pass(1), 2);
  assert.ok(bed.asked.slice(-2).every((one) => one.endsWith(' a.test')));
  bed.resolver.update([first], ['x50.test'], () => false);
  assert.equal(await bed.pass(1), 2, 'a policy names it now');
});
