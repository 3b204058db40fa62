/** A cluster leaves and joins again, by one command each. */
import { joinCluster, joinToken, leaveCluster } from '../../lab/join.ts';
import { waitFor } from '../../lab/run.ts';
import type { IcBed } from './bed.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { leftovers } from './rows.ts';

const member = 'north';
const floorConfigMap = 'bench-ic-floor';

const seconds = (ms: number): number => ms / 1000;

/** The least that one command and one object need. */
async function bareCommandsMs(bed: IcBed): Promise<number> {
  await bed.lab.kubectl(member, ['create', 'configmap', floorConfigMap]);
  const started = performance.now();
  await bed.lab.kubectl(member, ['delete', 'configmap', floorConfigMap, '--timeout=60s']);
  return performance.now() - started;
}

/** @throws Error that names rows that stay for longer than the others need to hear of it. */
async function rowsLeft(bed: IcBed): Promise<number> {
  const cluster = bed.lab.cluster(member);
  let left: readonly string[] = [];
  const isClean = async (): Promise<true | string> => {
    left = await leftovers(bed.lab, cluster, bed.members);
    return left.length === 0 || left.join('\n');
  };
  // What is left is a figure; the pause is what northd and ovn-controller need to take back what they made of it.
  await waitFor(`no trace of ${member}`, isClean, 10_000).catch((error: Error) => console.error(error.message));
  return left.length;
}

async function leaveAndJoin(bed: IcBed): Promise<IcRow[]> {
  await bed.settle();
  const cluster = bed.lab.cluster(member);
  const deleteMs = await bareCommandsMs(bed);
  const left = performance.now();
  await leaveCluster(cluster);
  const leaveMs = performance.now() - left;
  const rows = await rowsLeft(bed);
  const token = await joinToken(bed.lab.layout, member);
  const started = performance.now();
  await joinCluster(bed.lab.layout, cluster, token);
  const appliedMs = performance.now() - started;
  const answers = await Promise.all([
    bed.untilAnswers(member, 'east', 60_000),
    bed.untilAnswers('east', member, 60_000),
  ]);
  return [
    {
      what: 'Join, from the command until pods of both clusters have pinged each other',
      unit: 's',
      ours: seconds(Math.max(...answers) - started),
      target: 10,
      floor: seconds(appliedMs),
      floorIs: 'the command itself: the chart rendered and applied',
    },
    {
      what: 'Leave, until the command returns',
      unit: 's',
      ours: seconds(leaveMs),
      target: 10,
      floor: seconds(deleteMs),
      floorIs: '`kubectl delete` of an object that nobody waits for',
    },
    {
      what: 'Leave: rows left in NB, SB, IC-NB, IC-SB and Open_vSwitch',
      unit: 'rows',
      ours: rows,
      target: 0,
      floor: 0,
      floorIs: 'none',
    },
  ];
}

export const measurements: readonly Measurement[] = [{ name: 'leave and join', measure: leaveAndJoin }];
