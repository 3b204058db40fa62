/** A cluster leaves and joins again, by one command each. */
import { joinCluster, joinToken, leaveCluster } from '../../lab/join.ts';
import type { IcBed } from './bed.ts';
import type { IcRow, Measurement } from './measurement.ts';
import { leftovers } from './rows.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

const member = 'north';
const floorConfigMap = 'bench-ic-floor';

const seconds = (ms: number): number => ms / 1000;

/** The floor: the time of one command on one object. */
async function bareCommandsMs(bed: IcBed): Promise<number> {
  await bed.lab.kubectl(member, ['create', 'configmap', floorConfigMap]);
  const started = performance.now();
  await bed.lab.kubectl(member, ['delete', 'configmap', floorConfigMap, '--timeout=60s']);
  return performance.now() - started;
}

/** Waits until no row of the member remains. @returns the number of rows that remain after the timeout, and logs them */
async function rowsLeft(bed: IcBed): Promise<number> {
  const cluster = bed.lab.cluster(member);
  let left: readonly string[] = [];
  const isClean = async (): Promise<true | NotYet> => {
    left = await leftovers(bed.lab, cluster, bed.members);
    return left.length === 0 || notYet(left.join('\n'));
  };
  // The number of leftover rows is a figure; northd and ovn-controller need the pause to remove their own.
  await eventually(`no trace of ${member}`, isClean, 10_000).catch((error: Error) => console.error(error.message));
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
