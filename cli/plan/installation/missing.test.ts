import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Installation, Missing } from '../../model/installation.ts';
import { goodInstallation } from '../../testing-cluster.ts';
import type { Draft } from '../../testing-snapshots.ts';
import { installedOf } from './installed.ts';
import { missingOf } from './missing.ts';
import { progressSince } from './progress.ts';

function lacks(spoil: (installation: Draft<Installation>) => void): readonly string[] {
  const installation = goodInstallation();
  spoil(installation);
  return missingOf(installation).map(({ object, why }) => `${object}: ${why}`);
}

const rollout = (installation: Draft<Installation>, name: string) =>
  installation.rollouts.find((one) => one.name === name) ?? {};

describe('what an installation lacks', () => {
  it('is nothing if everything is there', () => {
    assert.deepEqual(
      lacks(() => undefined),
      [],
    );
    const { isWell, nodes } = installedOf(goodInstallation());
    assert.deepEqual([isWell, nodes], [true, { all: 2, ready: 2 }]);
  });

  it('reports everything if nothing is installed; queries only what must exist', () => {
    assert.deepEqual(
      lacks((all) => Object.assign(all, { rollouts: [], subnets: [] })),
      ['Isthmus: no workload in namespace kube-system: helm install isthmus charts/isthmus -n kube-system'],
    );
    assert.deepEqual(
      lacks((all) => void (all.rollouts = all.rollouts.filter(({ name }) => name !== 'isthmus-daemon'))),
      ['DaemonSet isthmus-daemon: is not in kube-system'],
    );
  });

  it('pods of workloads, in their newest version', () => {
    const of = (change: object) => lacks((all) => Object.assign(rollout(all, 'isthmus-daemon'), change));
    assert.deepEqual(of({ ready: 1 }), ['DaemonSet isthmus-daemon: 1 of 2 pods are ready']);
    assert.deepEqual(of({ updated: 1 }), ['DaemonSet isthmus-daemon: 1 of 2 pods are of the newest version']);
    assert.deepEqual(of({ updated: undefined }), [], 'OnDelete');
    assert.deepEqual(of({ total: 3 }), ['DaemonSet isthmus-daemon: still running: 1 pod of a former version']);
    assert.deepEqual(of({ isObserved: false }), [
      'DaemonSet isthmus-daemon: Kubernetes has not processed its newest version yet',
    ]);
    assert.deepEqual(of({ obstacle: 'its pods cannot be created: quota' }), [
      'DaemonSet isthmus-daemon: its pods cannot be created: quota',
    ]);
  });

  it('names the pods that keep a workload from being ready', () => {
    const pod = {
      component: 'isthmus-daemon',
      node: 'n2',
      isReady: false,
      isEnding: false,
      isPassing: false,
      images: [],
    };
    const found = lacks((all) => {
      Object.assign(rollout(all, 'isthmus-daemon'), { ready: 1 });
      all.pods.push(
        { ...pod, name: 'd-1', why: 'container daemon: ImagePullBackOff: no such image' },
        { ...pod, name: 'd-2', isEnding: true, why: 'is Running' },
        { ...pod, name: 'd-3', isReady: true, why: '' },
        { ...pod, name: 's-1', component: 'isthmus-speaker', why: 'odd' },
        { ...pod, name: 'd-4', node: '', why: 'cannot be scheduled: 0/2 nodes' },
      );
    });
    assert.deepEqual(found, [
      'DaemonSet isthmus-daemon: 1 of 2 pods are ready',
      'Pod d-1 on n2: container daemon: ImagePullBackOff: no such image',
      'Pod d-2 on n2: is ending',
      'Pod d-4: cannot be scheduled: 0/2 nodes',
    ]);
  });

  it('an image that a node has under the name of another one', () => {
    const pod = { component: 'isthmus-daemon', isReady: true, isEnding: false, isPassing: false, why: '' };
    const found = (ids: readonly string[], architectures: readonly string[] = []) =>
      lacks((all) => {
        for (const [at, id] of ids.entries())
          all.pods.push({ ...pod, name: `d-${at}`, node: `n${at + 1}`, images: [{ name: 'isthmus:1', id }] });
        for (const [at, name] of architectures.entries())
          Object.assign(all.nodes[at]?.labels ?? {}, { 'kubernetes.io/arch': name });
      });
    const [right, wrong] = ['registry/isthmus@sha256:0123456789abcdef', 'sha256:ffffffffffffffff'];
    assert.deepEqual(found([right, right]), []);
    assert.deepEqual(found([wrong, right, right]), [
      'Image isthmus:1: is sha256:ffffffffffff on n1 and sha256:0123456789ab on n2, n3: ' +
        'pull it again on nodes with the wrong one, and delete the pods there',
    ]);
    assert.deepEqual(found([right, wrong], ['amd64', 'arm64']), []);
  });

  it('nodes that the daemon is to run on, by its own word and by kubelet’s', () => {
    const second = (conditions: Draft<Installation>['nodes'][number]['conditions']) =>
      lacks((all) => Object.assign(all.nodes[1] ?? {}, { conditions }));
    const network = (status: 'True' | 'False', reason: string, message = '') => ({
      type: 'NetworkUnavailable',
      status,
      reason,
      message,
    });
    assert.deepEqual(second([]), ['Node n2: its daemon has not reported on its network yet']);
    assert.deepEqual(second([network('True', 'HostNetworkPending', 'the host network is being set up')]), [
      'Node n2: its network is not available: HostNetworkPending: the host network is being set up',
    ]);
    assert.deepEqual(second([network('False', 'RouteCreated', 'by the cloud')]), [
      'Node n2: NetworkUnavailable is not set by its daemon yet: RouteCreated: by the cloud',
    ]);
    const well = network('False', 'NetworkReady');
    const ready = { type: 'Ready', status: 'False' as const, reason: 'KubeletNotReady', message: 'no CNI' };
    assert.deepEqual(second([well, ready]), ['Node n2: not Ready: KubeletNotReady: no CNI']);
    assert.deepEqual(second([well]), ['Node n2: its kubelet has not reported yet']);
    const windows = lacks((all) => Object.assign(all.nodes[1] ?? {}, { conditions: [], labels: {} }));
    assert.deepEqual(windows, []);
    assert.deepEqual(
      lacks((all) => void (all.nodes = [])),
      ['Nodes: none has the labels kubernetes.io/os=linux of daemon.nodeSelector'],
    );
  });

  it('the first subnets', () => {
    assert.deepEqual(
      lacks((all) => void all.subnets.pop()),
      ['Subnet ovn-default: isthmus-controller has not created it yet'],
    );
    const refused = { type: 'Ready', status: 'False' as const, reason: 'CidrOverlap', message: 'overlaps join' };
    assert.deepEqual(
      lacks((all) => Object.assign(all.subnets[1] ?? {}, { conditions: [refused] })),
      ['Subnet ovn-default: not Ready: CidrOverlap: overlaps join'],
    );
    assert.deepEqual(
      lacks((all) => Object.assign(all.subnets[0] ?? {}, { conditions: [] })),
      ['Subnet join: isthmus-controller has not validated it yet'],
    );
  });
});

describe('progress', () => {
  const missing = (object: string, why: string, isPassing = false): Missing => ({ object, why, isPassing });

  it('is reported once, and again when it changes; a transient state is not', () => {
    const first = progressSince(new Map(), [
      missing('Node n1', 'a'),
      missing('Pod p on n1', 'broken'),
      missing('Pod q', 'ContainerCreating', true),
    ]);
    assert.deepEqual(first.lines, ['Node n1: a', 'Pod p on n1: broken']);
    assert.deepEqual(
      progressSince(first.printed, [missing('Node n1', 'a'), missing('Pod p on n1', 'broken')]).lines,
      [],
    );
    const second = progressSince(first.printed, [missing('Node n1', 'b')]);
    assert.deepEqual(second.lines, ['Node n1: b']);
    assert.deepEqual(progressSince(second.printed, []).lines, ['Node n1: ready']);
  });
});
