/** Cost of a restart of each workload for pods: none while the switch runs; the restart time of isthmus-ovs if its pod is replaced. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openLab } from '../lab/lib/lab.ts';
import { flowDuring, loseNothing } from './flow.ts';
import { namespace, User } from './user.ts';

const home = 'east';
/** Time for kubelet to replace a pod and for Open vSwitch to start. */
const switchPatienceMs = 10_000;

describe('pods of Isthmus deleted under a thousand packets a second', () => {
  const user = new User(openLab());

  for (const [workload, kind] of [
    ['isthmus-controller', 'deployment'],
    ['isthmus-central', 'daemonset'],
    ['isthmus-daemon', 'daemonset'],
    ['isthmus-speaker', 'daemonset'],
    ['isthmus-interconnect', 'deployment'],
    ['isthmus-hub', 'statefulset'],
  ] as const)
    it(`${workload}: nothing is lost, within the cluster and between clusters`, async (context) => {
      const which = ['-n', namespace, '-l', `app.kubernetes.io/name=${workload}`];
      await loseNothing(context, user, async () => {
        await user.lab.kubectl(home, ['delete', 'pod', ...which, '--wait']);
        await user.untilRolledOut(home, `${kind}/${workload}`);
      });
    });
  it('isthmus-ovs of one node: the new switch continues with the flows of its predecessor', async (context) => {
    const which = ['-l', 'app.kubernetes.io/name=isthmus-ovs', '--field-selector', 'spec.nodeName=n1'];
    const system = (...argv: readonly string[]): Promise<string> => user.lab.kubectl(home, ['-n', namespace, ...argv]);
    const results = await flowDuring(context, user, async () => {
      await system('delete', 'pod', ...which, '--wait');
      await system('wait', 'pod', ...which, '--for=condition=Ready', '--timeout=60s');
    });
    for (const { gapsMs } of results)
      assert.ok((gapsMs[0] ?? 0) < switchPatienceMs, `nothing came for ${gapsMs[0]} ms`);
    const pod = (await system('get', 'pod', ...which, '-o', 'name')).trim();
    assert.doesNotMatch(await system('logs', pod, '-c', 'ovs-vswitchd'), /run-switch: .*flows/);
    await user.untilWell();
  });
});
