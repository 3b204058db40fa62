/**
 * Planned restart of a node's switch: the time without answers for a flow to a pod of another node. The floor is Open vSwitch's own scripts, which
 * leave the database running. The userspace datapath, two nodes of their own.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { podAddress, SwitchBed } from '../../system/switch-bed.ts';
import { sendFlows, startEcho } from '../../system/udp-flows.ts';
import type { Measurement, NodeRow } from './measurement.ts';
import { eventually } from '../../../lib/testing-eventually.ts';

const rounds = 5;
const port = 7000;
const intervalMs = 5;
const beforeMs = 1000;
/** Longer than ovn-controller takes, so that the exchange of the flows is part of it. */
const afterMs = 5000;
/** Default time for which a starting ovn-controller keeps the existing flows. */
const keptMs = 4000;

async function gapMs(bed: SwitchBed, restart: () => Promise<void> | void): Promise<number> {
  const end = sendFlows(bed.space('pa'), { address: podAddress.b, port, flows: 1, intervalMs });
  await sleep(beforeMs);
  await restart();
  await eventually('the pods to reach each other', () => bed.reaches());
  await sleep(afterMs);
  const { gapsMs, received } = await end();
  if (received === 0) throw new Error('no packet was answered');
  return gapsMs[0] ?? 0;
}

async function medianGapMs(bed: SwitchBed, restart: () => Promise<void> | void): Promise<number> {
  const gaps: number[] = [];
  for (let round = 0; round < rounds; round += 1) gaps.push(await gapMs(bed, restart));
  return gaps.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
}

async function restartPod(bed: SwitchBed): Promise<void> {
  await bed.endPod('a');
  bed.startPod('a');
}

async function restartWithoutFlows(bed: SwitchBed): Promise<void> {
  await bed.endPod('a');
  rmSync(join(bed.dir, 'a/saved-flows'), { recursive: true });
  bed.startPod('a');
}

/** `ovs-ctl restart` without its own ways to start and end programs. */
async function restartByOvsSave(bed: SwitchBed): Promise<void> {
  const dir = join(bed.dir, 'a');
  const env = bed.environment(dir);
  const script = '/usr/share/openvswitch/scripts/ovs-save';
  // It also asks by the name of a control socket that this switch has not, and goes on.
  const saved = execFileSync(script, ['save-flows', 'br-int', 'br-phys'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  await bed.kill('a', 'controller', 'SIGTERM');
  await bed.kill('a', 'vswitchd', 'SIGTERM');
  bed.vsctl('a', 'set', 'open', '.', 'other_config:flow-restore-wait=true');
  bed.startSwitch('a');
  await eventually('the bridges', () => bed.control('a', 'dpif/show').includes('pa_h'));
  execFileSync('sh', { input: saved, env, stdio: ['pipe', 'ignore', 'inherit'] });
  bed.vsctl('a', 'remove', 'open', '.', 'other_config', 'flow-restore-wait');
  bed.startContainer('a', 'controller');
}

async function measure(): Promise<readonly NodeRow[]> {
  const bed = new SwitchBed();
  try {
    await bed.start();
    bed.setKept('a', keptMs);
    const echo = await startEcho(bed.space('pb'), port);
    const floor = await medianGapMs(bed, () => restartByOvsSave(bed));
    const common = { unit: 'ms', floor, floorIs: '`ovs-save` and ovs-vswitchd alone, its database runs on' } as const;
    const ours = await medianGapMs(bed, () => restartPod(bed));
    const without = await medianGapMs(bed, () => restartWithoutFlows(bed));
    echo.kill('SIGKILL');
    const what = `no answers while all programs of a node’s switch restart, median of ${rounds}`;
    return [
      { ...common, what: `Flow between nodes: ${what}`, ours, target: { timesFloor: 1.5 } },
      { ...common, what: `Flow between nodes: ${what}; without the saved flows`, ours: without, target: undefined },
    ];
  } finally {
    await bed.stop();
  }
}

export const measurements: readonly Measurement[] = [{ name: 'switch', measure }];
