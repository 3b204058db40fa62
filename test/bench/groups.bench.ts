/** Cost of security groups in the controller's plans, compared with the same pods with no or few groups. In this process; needs no lab. */
import { planKey } from '../../controller/plan/plan.ts';
import { clusterOf, planAll, pod, type Planned } from '../../controller/testing-groups.ts';
import { cpuMsOf } from '../../lib/testing-growth.ts';
import { median, type Measured } from './row.ts';

const [pods, groups, few] = [10_000, 1000, 10];
const edits = 500;
const times = 9;

/** CPU time of both in turn, so that both see the same machine; medians in milliseconds. */
async function compare(ours: () => void, floor: () => void): Promise<readonly [number, number]> {
  const [all, bare]: [number[], number[]] = [[], []];
  for (let time = 0; time < times; time += 1) {
    all.push(await cpuMsOf(ours));
    bare.push(await cpuMsOf(floor));
  }
  return [median(all), median(bare)];
}

function editsOf({ cluster }: Planned, count: number): () => void {
  let rate = 1;
  return () => {
    rate += 1;
    for (let at = 0; at < edits; at += 1) {
      pod(cluster, at, count, rate);
      for (const key of cluster.settle()) planKey(cluster, key);
    }
  };
}

export async function measureAlone(): Promise<Measured> {
  const [none, ten, thousand] = [clusterOf(0, pods), clusterOf(few, pods), clusterOf(groups, pods)];
  const plans = await compare(
    () => planAll(thousand),
    () => planAll(none),
  );
  const single = await compare(editsOf(thousand, groups), editsOf(ten, few));
  return {
    rows: [
      {
        what: 'Full plan of 10,000 pods in 1,000 security groups, CPU, median of 9',
        unit: 'ms',
        ours: plans[0],
        floor: plans[1],
        floorIs: 'the same pods without security groups',
      },
      {
        what: 'One pod among 10,000 edited: settled and planned, 1,000 security groups, CPU',
        unit: 'µs',
        ours: (single[0] * 1000) / edits,
        floor: (single[1] * 1000) / edits,
        floorIs: 'the same with 10 security groups',
      },
    ],
    notes: [],
  };
}
