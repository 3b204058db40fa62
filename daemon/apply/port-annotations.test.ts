import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import type { ReflectorChange } from '../../lib/kube/types.ts';
import type { PortOptions } from '../plan/sandbox.ts';
import type { Pod } from '../model/pod.ts';
import { Sandboxes } from '../state/sandboxes.ts';
import { parsePod } from '../watch/pod.ts';
import { aSandbox as sandbox } from '../testing-sandbox.ts';
import { PortAnnotations } from './port-annotations.ts';

function podOf(annotations: Readonly<Record<string, string>>, uid = 'u1'): Pod {
  const prefixed = Object.entries(annotations).map(([key, value]) => [`ovn.kubernetes.io/${key}`, value]);
  const metadata = { name: 'web', namespace: 'default', uid, resourceVersion: '1' };
  return parsePod({ metadata: { ...metadata, annotations: Object.fromEntries(prefixed) as Record<string, string> } });
}

/** One pod with one sandbox; records the ports that are set and the problems that are reported. */
function bed({ hasMirror = true, hasNetem = true } = {}) {
  let current = podOf({});
  let listener: (change: ReflectorChange<Pod>) => void = () => undefined;
  const changes: PortOptions[] = [];
  const problems: string[] = [];
  const sandboxes = new Sandboxes();
  sandboxes.add(sandbox);
  const annotations = new PortAnnotations({
    pods: {
      get: () => current,
      entries: () => new Map([['default/web', current]]).entries(),
      subscribe: (to) => ((listener = to), () => true),
    },
    sandboxes,
    ports: { change: (_, options) => void changes.push(options) },
    hasMirror,
    hasNetem: () => Promise.resolve(hasNetem),
    onProblem: (_, { code }) => void problems.push(code),
  });
  const change = (after: Pod): void => {
    const before = current;
    current = after;
    listener({ key: 'default/web', before, after });
  };
  return { annotations, changes, problems, change };
}

test('a port is set again only when the options of its own pod change', () => {
  const { annotations, changes, change } = bed();
  change(podOf({ other: 'x' }));
  change(podOf({ mirror: 'true', loss: '1' }, 'u2'));
  assert.deepEqual(changes, []);
  change(podOf({ mirror: 'true', loss: '1' }));
  change(podOf({ mirror: 'true', loss: '1', other: 'y' }));
  assert.deepEqual(changes, [{ netem: { loss: '1' }, isMirrored: true }]);
  assert.deepEqual(annotations.optionsOf({ ...sandbox, podUid: 'u0' }), { netem: {}, isMirrored: false });
  change(podOf({}));
  assert.deepEqual(changes.at(-1), { netem: {}, isMirrored: false });
  annotations.close();
});

test('options that cannot be applied are reported once', () => {
  const { annotations, problems, change } = bed({ hasMirror: false });
  change(podOf({ mirror: 'true', loss: 'much' }));
  change(podOf({ mirror: 'true', loss: 'much', other: 'x' }));
  assert.deepEqual(problems, ['InvalidAnnotation', 'MirrorOff']);
  annotations.close();
});

test('a queue that the kernel lacks is reported once Open vSwitch had time to set it up', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { annotations, problems, change } = bed({ hasNetem: false });
  change(podOf({ latency: '10' }));
  mock.timers.tick(2000);
  assert.deepEqual(problems, []);
  mock.timers.tick(2000);
  await Promise.resolve();
  assert.deepEqual(problems, ['QosNotApplied']);
  annotations.close();
});
