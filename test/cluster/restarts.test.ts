/** What a restart of each workload costs the pods: nothing, as long as the switch runs. */
import { describe, it } from 'node:test';
import { openLab } from '../lab/lib/lab.ts';
import { loseNothing } from './flow.ts';
import { namespace, User } from './user.ts';

const home = 'east';

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
});
