/** Applies the unchanged host network again, and counts the changes that the kernel reports meanwhile. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { nodes, subnets } from '../../../lib/kube/resources.ts';
import { inNetns } from '../../lab/run.ts';
import type { Measurement, NodeBed, NodeRow } from './measurement.ts';

const applications = 20;
const pauseMs = 250;
const settleMs = 3000;

/** A program that prints a line for each change. */
class Monitor {
  readonly #child: ChildProcess;
  #text = '';

  constructor(netns: string, argv: readonly string[]) {
    const [program = '', ...args] = inNetns(netns, argv);
    this.#child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.#text += chunk.toString()));
  }

  async stop(): Promise<readonly string[]> {
    this.#child.kill();
    await once(this.#child, 'close');
    return this.#text.split('\n').filter((line) => line !== '' && !line.startsWith('# new generation'));
  }
}

async function measure({ lab, cluster, node }: NodeBed): Promise<readonly NodeRow[]> {
  const kube = lab.kube(cluster);
  const place = `${cluster}/${node.name}`;
  const watched = ['ip', 'monitor', 'link', 'address', 'route', 'rule', 'netconf'];
  const monitors = [new Monitor(node.netns, watched), new Monitor(node.netns, ['nft', 'monitor'])];
  await pause(settleMs);
  const pid = lab.pid(place, 'daemon');
  await lab.kill(place, 'daemon');
  await lab.waitForRestart(place, 'daemon', pid);
  await pause(settleMs);
  for (let at = 0; at < applications; at += 1) {
    const metadata = { labels: { 'bench.isthmus.network/at': String(at) } };
    await kube.patch(nodes, { name: node.name }, 'merge', { metadata });
    await kube.patch(subnets, { name: 'ovn-default' }, 'merge', { metadata });
    await pause(pauseMs);
  }
  const clean = { metadata: { labels: { 'bench.isthmus.network/at': null } } };
  await kube.patch(nodes, { name: node.name }, 'merge', clean);
  await kube.patch(subnets, { name: 'ovn-default' }, 'merge', clean);
  await pause(settleMs);
  await kube.close();
  const seen = (await Promise.all(monitors.map((monitor) => monitor.stop()))).flat();
  for (const line of seen) console.error(`           ${line}`);
  return [
    {
      what: `Host network applied again ${String(applications)} times, and by a daemon that was killed, with nothing to change: what \`ip monitor\` and \`nft monitor\` say`,
      unit: 'changes',
      ours: seen.length,
      floor: 0,
      floorIs: 'none',
      target: 0,
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'kept', measure }];
