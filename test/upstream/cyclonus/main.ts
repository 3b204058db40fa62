/**
 * `make test-cyclonus`: the cases of Cyclonus, an independent judge of NetworkPolicies, in a lab of bare nodes. In: LAB and TOPOLOGY from the
 * environment, FOCUS and SKIP as regular expressions of cases, each written as `NUMBER: DESCRIPTION [TAGS]`. Ends with the exit code of the program
 * `cyclonus`, which is built from this folder; leaves the lab up.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { interruptible } from '../../lab/interrupt.ts';
import { type ClusterLayout, labName, podNetns } from '../../lab/layout.ts';
import { openLab } from '../../lab/lib/lab.ts';
import { upFromEnvironment } from '../../lab/main.ts';
import { letGo } from '../../lab/run.ts';
import { tool } from '../../lab/tools.ts';

const leftOut = [
  [
    'packets of SCTP',
    'the kernel of the lab may have no module for it: ovn-trace says whether OVN delivers the first one',
  ],
  ['SCTP from a pod to itself', 'its packets do not leave the pod'],
  ['queries of DNS', 'the lab has no servers of it: clients have the addresses of Services from the API'],
] as const;

async function judge(): Promise<void> {
  await upFromEnvironment();
  for (const [what, reason] of leftOut) console.log(`left out: ${what}: ${reason}`);
  const { layout } = openLab();
  for (const cluster of layout.clusters) await runCases(cluster, podNetns(layout, cluster.name, 'NAMESPACE', 'POD'));
}

async function runCases({ dir }: ClusterLayout, netns: string): Promise<void> {
  const { FOCUS = '', SKIP = '' } = process.env;
  const argv = [tool('cyclonus'), `-cluster=${dir}`, `-netns=${netns}`, `-focus=${FOCUS}`, `-skip=${SKIP}`];
  // Of a session of its own, which goes before others like the Open vSwitch of the lab: a busy machine must not look like a policy.
  const child = spawn('nice', ['-n', '-15', ...argv], { stdio: 'inherit', detached: true });
  if (child.pid !== undefined) letGo(child.pid, 'second');
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`cyclonus ended with ${String(code ?? child.signalCode)}`);
}

if (import.meta.main)
  interruptible(labName(), judge).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
