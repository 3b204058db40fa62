import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RawObject } from '../../lib/kube/types.ts';
import { parsePortHolder } from './fact-objects.ts';
import { parseDaemonSet, parseDeployment, parsePod, parseStatefulSet } from './installation-objects.ts';

const raw = (fields: object, metadata: object = {}): RawObject => ({
  metadata: { name: 'one', uid: 'u', resourceVersion: '1', generation: 2, ...metadata },
  ...fields,
});

describe('workloads', () => {
  it('of each kind by its own counts', () => {
    const daemon = parseDaemonSet(
      raw({
        spec: { updateStrategy: { type: 'OnDelete' }, template: { spec: { nodeSelector: { a: 'b' } } } },
        status: { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 1, numberAvailable: 2 },
      }),
    );
    assert.deepEqual(
      [daemon.desired, daemon.updated, daemon.ready, daemon.isObserved, daemon.nodeSelector],
      [3, undefined, 2, true, { a: 'b' }],
    );
    const conditions = [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'forbidden by quota' },
    ];
    const deployment = parseDeployment(raw({ spec: { replicas: 2 }, status: { observedGeneration: 1, conditions } }));
    assert.deepEqual(
      [deployment.desired, deployment.updated, deployment.isObserved, deployment.obstacle],
      [2, 0, false, 'its pods cannot be created: forbidden by quota'],
    );
    const status = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1 };
    const set = parseStatefulSet(raw({ spec: { replicas: 1 }, status }));
    assert.deepEqual([set.desired, set.updated, set.ready], [1, 1, 1]);
  });
});

describe('pods', () => {
  const why = (status: object) => {
    const pod = parsePod(raw({ spec: { nodeName: 'n1' }, status }));
    return [pod.why, pod.isPassing];
  };
  const container = (fields: object) => ({ containerStatuses: [{ name: 'daemon', ready: false, ...fields }] });

  it('report why they are not ready', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/2 nodes are available' }];
    assert.deepEqual(why({ conditions }), ['cannot be scheduled: 0/2 nodes are available', false]);
    assert.deepEqual(why(container({ state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } })), [
      'container daemon: ErrImagePull: not found',
      false,
    ]);
    const back = (port: number) =>
      `Back-off pulling image "r/isthmus:1": ErrImagePull: dial tcp: lookup r: read udp 10.0.0.1:${port}->10.0.0.53:53: timeout`;
    const pulls = [
      { reason: 'ErrImagePull', message: 'dial tcp: lookup r: read udp 10.0.0.1:4000->10.0.0.53:53: timeout' },
      ...[4001, 4002].map((port) => ({ reason: 'ImagePullBackOff', message: back(port) })),
    ];
    for (const waiting of pulls)
      assert.deepEqual(why(container({ state: { waiting } })), [
        'container daemon: ErrImagePull: dial tcp: lookup r: read udp 10.0.0.1->10.0.0.53:53: timeout',
        false,
      ]);
    assert.deepEqual(why({ phase: 'Failed', reason: 'Evicted', message: 'disk' }), ['failed: Evicted: disk', false]);
  });

  it('have the images of their nodes under the names in their spec', () => {
    const spec = {
      nodeName: 'n1',
      containers: [
        { name: 'a', image: 'isthmus:1' },
        { name: 'b', image: 'isthmus:1' },
      ],
    };
    const containerStatuses = [
      { name: 'b', image: 'another/name:1', imageID: 'sha256:1' },
      { name: 'a', imageID: '', state: { waiting: {} } },
    ];
    assert.deepEqual(parsePod(raw({ spec, status: { containerStatuses } })).images, [
      { name: 'isthmus:1', id: 'sha256:1' },
    ]);
  });

  it('that crash report their last message', () => {
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off 10s' };
    const crash = (terminated: object) => why(container({ state: { waiting }, lastState: { terminated } }));
    assert.deepEqual(crash({ exitCode: 1, reason: 'Error', message: 'first\ncannot open db.sock\n' }), [
      'container daemon: CrashLoopBackOff: exit code 1: cannot open db.sock',
      false,
    ]);
    assert.deepEqual(crash({ exitCode: 137, reason: 'OOMKilled' }), [
      'container daemon: CrashLoopBackOff: exit code 137 (OOMKilled); kubectl logs one -c daemon --previous has more',
      false,
    ]);
  });

  it('that are starting are distinguished, and a fault precedes them', () => {
    assert.deepEqual(why(container({ state: { waiting: { reason: 'ContainerCreating' } } })), [
      'container daemon: ContainerCreating',
      true,
    ]);
    assert.deepEqual(why(container({ state: { running: {} } })), ['container daemon runs and is not ready yet', true]);
    assert.deepEqual(why({ phase: 'Pending' }), ['is Pending', true]);
    const initContainerStatuses = [{ name: 'install', ready: true, state: { terminated: { exitCode: 0 } } }];
    const ended = container({ state: { terminated: { exitCode: 2, reason: 'Error', message: 'no' } } });
    assert.deepEqual(why({ initContainerStatuses, ...ended }), ['container daemon ended: exit code 2: no', false]);
  });
});

describe('ports that pods hold', () => {
  const ports = (spec: object, status: object = { phase: 'Running' }) =>
    parsePortHolder(raw({ spec: { nodeName: 'n1', ...spec }, status })).flatMap((holder) => holder.ports);
  const containers = [{ ports: [{ containerPort: 80 }, { containerPort: 53, hostPort: 5353, protocol: 'UDP' }] }];

  it('are those of the node', () => {
    assert.deepEqual(ports({ containers }), [{ protocol: 'UDP', port: 5353 }]);
    assert.deepEqual(ports({ containers, hostNetwork: true }), [
      { protocol: 'TCP', port: 80 },
      { protocol: 'UDP', port: 5353 },
    ]);
    assert.deepEqual(ports({ containers, nodeName: '' }), []);
    assert.deepEqual(ports({ containers }, { phase: 'Succeeded' }), []);
  });
});
