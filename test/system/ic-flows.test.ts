/** The tool that measures losses, tested with losses of known length. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startFlows } from '../bench/flows/start.ts';
import { run } from '../lab/run.ts';

describe('flows between two namespaces', () => {
  const prefix = `icf${process.pid.toString(36)}`;
  const [from, to] = [`${prefix}-from`, `${prefix}-to`];
  const ends = { from, to, address: '192.0.2.2' };
  const options = { udp: 50, tcp: 3 };
  const table = 'table ip test';

  const drop = (rule: string) =>
    run(['nft', '-f', '-'], {
      netns: to,
      input: `add ${table}\nadd chain ip test in { type filter hook input priority 0; }\nadd rule ip test in ${rule}`,
    });
  const pass = () => run(['nft', 'delete', 'table', 'ip', 'test'], { netns: to });

  before(async () => {
    await run(['ip', '-batch', '-'], {
      input: `netns add ${from}\nnetns add ${to}\nlink add eth0 netns ${from} type veth peer name eth0 netns ${to}`,
    });
    for (const [netns, address] of [
      [from, '192.0.2.1'],
      [to, ends.address],
    ] as const)
      await run(['ip', '-n', netns, '-batch', '-'], {
        input: `link set lo up\nlink set eth0 up\naddr add ${address}/24 dev eth0`,
      });
  });
  after(async () => {
    await run(['ip', '-batch', '-'], { input: `netns del ${from}\nnetns del ${to}` });
  });

  it('report no losses without losses', async () => {
    const flows = await startFlows(ends, options);
    await pause(3000);
    const { udp, tcp } = await flows.stop();
    assert.ok(udp.sent > 50 * 20, `only ${String(udp.sent)} packets sent`);
    assert.deepEqual([udp.flows, udp.lost, udp.gapMs], [50, 0, { p50: 20, p99: 20, max: 20 }]);
    assert.deepEqual([tcp.flows, tcp.resets], [3, 0]);
  });

  it('report the length of a loss, and connections that survive it', async () => {
    const flows = await startFlows(ends, options);
    await pause(500);
    const started = performance.now();
    await drop('drop');
    await pause(1000);
    await pass();
    const longest = performance.now() - started;
    await pause(1500);
    const { udp, tcp, stallMs } = await flows.stop();
    assert.ok(udp.lost >= 50 * 10, `only ${String(udp.lost)} packets lost`);
    assert.ok(udp.gapMs.p50 >= 990 && udp.gapMs.max <= longest + 2 * 20 + stallMs, JSON.stringify(udp.gapMs));
    assert.ok(tcp.gapMs.max >= 990 && tcp.resets === 0, JSON.stringify(tcp));
  });

  it('report which flows had losses', async () => {
    const flows = await startFlows(ends, options);
    await pause(500);
    await drop('udp sport & 1 == 1 drop');
    await pause(300);
    await pass();
    await pause(200);
    const { udp } = await flows.stop();
    const hit = udp.gaps.filter((gap) => gap > 20).length;
    assert.ok(hit > 0 && hit < 50, `${String(hit)} of 50 flows hit`);
  });

  it('count reset connections', async () => {
    const flows = await startFlows(ends, options);
    await drop('tcp dport 7007 reject with tcp reset');
    await pause(1500);
    await pass();
    const { tcp } = await flows.stop();
    assert.equal(tcp.resets, 3);
  });
});
