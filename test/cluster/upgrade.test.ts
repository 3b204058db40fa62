/** `helm upgrade` and `helm rollback` that change only Isthmus's own programs: no packet is lost, and Open vSwitch and OVN's databases do not restart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLab } from '../lab/lib/lab.ts';
import { loseNothing } from './flow.ts';
import { namespace, User } from './user.ts';

const home = 'east';
const workloads = [
  'deployment/isthmus-controller',
  'daemonset/isthmus-daemon',
  'daemonset/isthmus-speaker',
  'deployment/isthmus-interconnect',
  'statefulset/isthmus-hub',
];

test('a release is upgraded and rolled back, and nothing is lost', async (context) => {
  const user = new User(openLab());
  const own = (): Promise<string> => podsOf(user, 'isthmus-controller,isthmus-daemon,isthmus-speaker');
  const switches = (): Promise<string> => podsOf(user, 'isthmus-ovs,isthmus-ovn-central');
  const [ownBefore, switchesBefore] = [await own(), await switches()];
  const settled = async (): Promise<void> => {
    for (const workload of workloads) await user.untilRolledOut(home, workload);
  };
  // A different value at each try, because the same value would change nothing.
  const levels = ['debug', 'warn', 'error'].values();
  await loseNothing(context, user, async () => {
    await user.helm(home, 'upgrade', [`logLevel=${levels.next().value ?? ''}`]);
    await settled();
  });
  const ownUpgraded = await own();
  for (const pod of ownBefore.split(' ')) assert.ok(!ownUpgraded.includes(pod), `${pod} is one of before the upgrade`);
  await loseNothing(context, user, async () => {
    await user.run(home, ['helm', 'rollback', 'isthmus', '-n', namespace]);
    await settled();
  });
  assert.equal(await switches(), switchesBefore);
});

test('a release whose image no node can pull stops no packet, and a rollback ends it', async (context) => {
  const user = new User(openLab());
  await loseNothing(context, user, async () => {
    await user.helm(home, 'upgrade', ['image.repository=registry.invalid/isthmus']);
    await user.untilReported(home, /^ *Pod isthmus-daemon-.*ErrImagePull/m);
    await user.run(home, ['helm', 'rollback', 'isthmus', '-n', namespace]);
    for (const workload of workloads) await user.untilRolledOut(home, workload);
  });
});

/** Names of the pods of some workloads. */
async function podsOf({ lab }: User, names: string): Promise<string> {
  const selector = ['-l', `app.kubernetes.io/name in (${names})`];
  return lab.kubectl(home, ['-n', namespace, 'get', 'pods', ...selector, '-o', 'jsonpath={.items[*].metadata.name}']);
}
