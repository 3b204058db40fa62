/** The active gateway's vswitchd killed under a ping between clusters, against the time its tunnels' BFD takes to notice. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { LabHandle } from '../lab/lib/lab.ts';
import { inNetns, waitFor } from '../lab/run.ts';
import { addWorkload, removeWorkload, waitForPods } from '../system/workload.ts';
import type { Row } from './row.ts';

const runs = 3;
const namespace = 'bench-failover';

async function activeGateway(lab: LabHandle): Promise<string> {
  const find = ['--bare', '--columns=chassis', 'find', 'Port_Binding', 'type=chassisredirect'];
  const chassis = (await lab.sbctl('east', find)).trim();
  return (await lab.sbctl('east', ['get', 'Chassis', chassis, 'hostname'])).trim().replaceAll('"', '');
}

/** The longest time between two answers, in ms, from before `action` until answers have come for three seconds after it. */
async function longestGap(netns: string, address: string, action: () => Promise<unknown>): Promise<number> {
  const [command = '', ...args] = inNetns(netns, ['ping', '-n', '-D', '-i', '0.02', address]);
  const ping = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  ping.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(ping, 'close');
  const answers = (): number[] =>
    [...output.matchAll(/^\[(\d+\.\d+)\] \d+ bytes/gm)].map(([, seconds]) => Number(seconds) * 1000);
  await pause(1000);
  await action();
  await pause(3000);
  await waitFor('answers', () => Date.now() - (answers().at(-1) ?? 0) < 200 || 'no answer yet', 30_000);
  await pause(1000);
  ping.kill('SIGINT');
  await ended;
  const at = answers();
  return Math.max(...at.map((time, index) => time - (at[index - 1] ?? time)));
}

async function detectionMs(lab: LabHandle): Promise<number> {
  const get = (key: string): Promise<string> => lab.nbctl('east', ['get', 'NB_Global', '.', `options:${key}`]);
  const texts = await Promise.all([get('bfd-min-rx'), get('bfd-mult')]);
  return texts.map((text) => Number(text.trim().replaceAll('"', ''))).reduce((product, value) => product * value, 1);
}

export async function measure(lab: LabHandle): Promise<Row[]> {
  for (const cluster of ['east', 'west'])
    await addWorkload(lab, cluster, { namespace, pods: [{ name: 'one', node: 'n3' }] });
  await Promise.all(['east', 'west'].map((cluster) => waitForPods(lab, cluster, namespace, 1)));
  const from = lab.ns('east', `${namespace}/one`);
  const to = await lab.addressOf('west', `${namespace}/one`);
  const gaps: number[] = [];
  for (let at = 0; at < runs; at += 1) {
    await lab.ping(from, to);
    const gateway = await activeGateway(lab);
    gaps.push(await longestGap(from, to, () => lab.kill(`east/${gateway}`, 'ovs-vswitchd')));
    await lab.heal();
    await pause(5000);
  }
  await lab.ping(from, to);
  await Promise.all(['east', 'west'].map((cluster) => removeWorkload(lab, cluster, namespace)));
  return [
    {
      what: `Gateway killed under a ping every 20 ms, longest gap of ${String(runs)} runs`,
      unit: 'ms',
      ours: Math.max(...gaps),
      floor: await detectionMs(lab),
      floorIs: 'BFD detection as configured: interval × multiplier',
    },
  ];
}
