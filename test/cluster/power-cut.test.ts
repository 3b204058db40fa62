/** A node recovers its pods and their addresses after a power cut. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cutPower, switchOn } from '../lab/kubelet/machine.ts';
import { openLab } from '../lab/lib/lab.ts';
import { User } from './user.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

/** From the start of the machine: containerd, kubelet, Open vSwitch, the daemon and the pods start one after the other. */
const patienceMs = 90_000;

test('a node recovers its pods and their addresses after a power cut', async (context) => {
  const user = new User(openLab());
  const { lab } = user;
  const cluster = lab.cluster('east');
  const node = cluster.nodes[1];
  assert.ok(node);
  const before = await lab.addressOf('east', 'demo/web-2');
  await cutPower(lab.layout, node);
  assert.equal(await lab.answers(lab.ns('east', 'demo/web-1'), before), false);
  await sleep(3000);
  const sinceMs = performance.now();
  await switchOn(lab.layout, node);
  await eventually(
    `an answer of web-2 on ${node.name}`,
    async () => (await lab.answers(lab.ns('east', 'demo/web-1'), before)) || notYet('no echo reply'),
    patienceMs,
  );
  context.diagnostic(`answered ${((performance.now() - sinceMs) / 1000).toFixed(1)} s after the start of the machine`);
  await user.namePods(cluster, 'demo');
  assert.equal(await lab.addressOf('east', 'demo/web-2'), before);
});
