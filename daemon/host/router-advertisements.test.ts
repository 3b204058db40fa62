import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Link } from '../../lib/netlink/link.ts';
import { RouterAdvertisements } from './router-advertisements.ts';

const linkOf = (index: number, name: string, isRunning = true): Link => ({
  index,
  name,
  mac: '02:00:00:00:00:01',
  mtu: 1500,
  isUp: true,
  isRunning,
  kind: undefined,
  peer: undefined,
});

test('a wanted link is advertised on for as long as it is wanted, and asked for routers three times after it came', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let links = [linkOf(1, 'lo'), linkOf(2, 'eth1'), linkOf(3, 'eth2', false)];
  const sent: string[] = [];
  let refusal: Error | undefined;
  let calls = 0;
  const advertisements = new RouterAdvertisements({ links: () => Promise.resolve(links) }, () => (calls += 1), {
    advertise: ({ index }) => {
      if (refusal) throw refusal;
      sent.push(`advertise ${index}`);
    },
    solicit: ({ index }) => void sent.push(`solicit ${index}`),
  });
  const next = async (): Promise<string[]> => {
    await new Promise(setImmediate);
    const now = sent.splice(0);
    t.mock.timers.tick(4000);
    return now;
  };
  advertisements.set(['eth1', 'eth2', 'none']);
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await next(), ['advertise 2', 'solicit 2']);
  assert.deepEqual(await next(), ['advertise 2']);
  advertisements.set(['eth1', 'eth2']);
  assert.deepEqual(await next(), ['advertise 2'], 'nothing new, nothing more');
  links = [linkOf(7, 'eth1')];
  await next();
  assert.deepEqual(await next(), ['advertise 7', 'solicit 7'], 'another link of the name');

  refusal = Object.assign(new Error('sendto: EPERM'), { code: 'EPERM', syscall: 'sendto' });
  await next();
  await next();
  assert.deepEqual(
    advertisements.problems.map(({ code }) => code),
    ['AdvertisementNotSent'],
  );
  assert.match(advertisements.problems[0]?.message ?? '', /on eth1: sendto: EPERM/);
  assert.equal(calls, 1);
  refusal = undefined;
  for (let round = 0; round < 4; round += 1) await next();
  await new Promise(setImmediate);
  sent.length = 0;
  advertisements.linkChanged();
  advertisements.linkChanged();
  t.mock.timers.tick(999);
  assert.deepEqual(sent, []);
  t.mock.timers.tick(1);
  assert.deepEqual(await next(), ['advertise 7'], 'a second after the link changed');
  advertisements.set([]);
  await next();
  assert.deepEqual(await next(), []);
  assert.deepEqual(advertisements.problems, []);
});
