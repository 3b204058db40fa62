/** What a restart of each workload costs the pods: nothing, as long as the switch runs. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLab } from '../lab/lib/lab.ts';
import { expiredSessions, say, startFlow } from './flow.ts';
import { namespace, User } from './user.ts';

const workloads = [
  ['isthmus-controller', 'deployment'],
  ['isthmus-daemon', 'daemonset'],
  ['isthmus-speaker', 'daemonset'],
  ['isthmus-interconnect', 'deployment'],
  ['isthmus-hub', 'statefulset'],
] as const;

describe('pods of Isthmus deleted under a thousand packets a second', () => {
  const user = new User(openLab());
  const { lab } = user;
  const home = 'east';

  async function restart(context: TestContext, workload: string, kind: string): Promise<void> {
    const from = lab.ns(home, 'demo/web-1');
    const flows = [
      await startFlow(from, { netns: lab.ns(home, 'demo/web-3'), address: await lab.addressOf(home, 'demo/web-3') }),
      await startFlow(from, {
        netns: lab.ns('west', 'demo/web-3'),
        address: await lab.addressOf('west', 'demo/web-3'),
      }),
    ];
    await sleep(2000);
    await lab.kubectl(home, ['-n', namespace, 'delete', 'pod', '-l', `app.kubernetes.io/name=${workload}`, '--wait']);
    await lab.kubectl(home, ['-n', namespace, 'rollout', 'status', `${kind}/${workload}`, '--timeout=120s']);
    await sleep(2000);
    const [inside, outside] = await Promise.all(flows.map((stop) => stop()));
    assert.ok(inside !== undefined && outside !== undefined);
    context.diagnostic(`within the cluster: ${say(inside)}`);
    context.diagnostic(`between clusters: ${say(outside)}`);
    assert.equal(inside.sent - inside.received, 0, `within the cluster: ${say(inside)}`);
    assert.equal(outside.sent - outside.received, 0, `between clusters: ${say(outside)}`);
  }

  for (const [workload, kind] of workloads)
    it(`${workload}: nothing is lost, within the cluster and between clusters`, async (context) => {
      for (let tries = 1; ; tries++) {
        const sinceMs = Date.now();
        try {
          await restart(context, workload, kind);
          return;
        } catch (error) {
          // On a busy machine BFD takes gateways for dead that live, and their paths are away until the sessions are up.
          const expired = expiredSessions(lab.layout, sinceMs);
          if (!(error instanceof assert.AssertionError) || expired.length === 0 || tries === 3) throw error;
          context.diagnostic(`tried again: ${error.message}, and BFD sessions expired: ${expired.join('; ')}`);
          await user.untilWell();
        }
      }
    });
});
