import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { planHostNetwork } from '../plan/host-network.ts';
import type { HostNetwork } from '../model/host-network.ts';
import { HostLoop } from './loop.ts';
import type { HostProblem } from './target.ts';

const empty = planHostNetwork({
  node: undefined,
  subnets: [],
  mtu: 1400,
  addresses: [],
  otherNodes: [],
  mirrorInterface: '',
  forwarding: { isSpeaker: false, vpcs: new Map(), remotes: [] },
  hasServices: false,
  routedNetworks: new Set(),
}).network;

/** A host that records each wanted value and answers with `problems`. */
function fakeHost(): {
  loop: HostLoop<HostNetwork>;
  asked: HostNetwork[];
  problems: HostProblem[];
  kernelChanged: () => void;
} {
  const asked: HostNetwork[] = [];
  const problems: HostProblem[] = [];
  let kernelChanged = (): void => undefined;
  const loop = new HostLoop<HostNetwork>({
    host: { set: (wanted) => (asked.push(wanted), Promise.resolve([...problems])) },
    watch: (onChange) => {
      kernelChanged = onChange;
      return () => undefined;
    },
  });
  return { loop, asked, problems, kernelChanged: () => kernelChanged() };
}

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  for (let i = 0; i < 3; i++) await new Promise(setImmediate);
}

test('the loop applies the wanted state, applies it again after a change of the kernel, and retries refusals', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(performance, 'now', () => now);
  t.after(() => mock.timers.reset());
  let now = 0;
  const advance = async (ms: number): Promise<void> => {
    now += ms;
    await pass(ms);
  };
  const { loop, asked, problems, kernelChanged } = fakeHost();
  kernelChanged();
  await advance(1000);
  assert.equal(asked.length, 0, 'nothing is wanted yet');

  problems.push({ code: 'LinkMissing', message: 'x' });
  loop.set(empty);
  await advance(0);
  assert.equal(asked.length, 1);
  assert.equal(loop.problems?.[0]?.code, 'LinkMissing');

  problems.length = 0;
  for (let i = 0; i < 100; i++) kernelChanged();
  await advance(60);
  assert.equal(asked.length, 2, 'a burst of kernel messages is one application, without waiting for the retry');
  assert.deepEqual(loop.problems, []);

  await advance(10_000);
  assert.equal(asked.length, 2, 'nothing to do');
  problems.push({ code: 'RulesetRefused', message: 'x' });
  loop.set(empty);
  await advance(0);
  await advance(2500);
  assert.equal(asked.length, 4, 'the refused is tried again');
  problems.splice(0, 1, { code: 'EgressGatewayRefused', message: 'x', subnet: 's' });
  await advance(2500);
  assert.equal(asked.length, 5);
  await advance(10_000);
  assert.equal(asked.length, 5, 'a request of one subnet is not tried again that often');
  await advance(20_000);
  assert.equal(asked.length, 6);
  loop.close();
  await advance(60_000);
  assert.equal(asked.length, 6);
});

test('a value that is set during a run is applied right after it; changes of the kernel are batched', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  t.after(() => mock.timers.reset());
  const asked: number[] = [];
  let finish = (): void => undefined;
  let kernelChanged = (): void => undefined;
  const loop = new HostLoop<number>({
    host: {
      set: (wanted) => {
        asked.push(wanted);
        return new Promise((resolve) => (finish = () => resolve([])));
      },
    },
    watch: (onChange) => {
      kernelChanged = onChange;
      return () => undefined;
    },
  });
  loop.set(1);
  await pass(0);
  kernelChanged();
  loop.set(2);
  finish();
  await pass(0);
  await pass(0);
  assert.deepEqual(asked, [1, 2]);
  kernelChanged();
  finish();
  await pass(0);
  await pass(0);
  assert.deepEqual(asked, [1, 2]);
  now += 50;
  await pass(50);
  assert.deepEqual(asked, [1, 2, 2]);
  loop.close();
});
