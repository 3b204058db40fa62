import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { inspectNodes } from './node-inspections.ts';

const look = { kernel: '6.1.0', modules: {}, interfaces: [], listening: [], cni: [], unreadable: [] };

/** Pods that end as soon as they are created, with the result that `endings` has for their node. */
class FakeCluster {
  readonly pods = new Map<string, { node: string; raw: RawObject }>();
  readonly made: object[] = [];
  #count = 0;
  readonly endings: Readonly<Record<string, { phase: string; log?: unknown; status?: object }>>;
  refused = '';
  onList: () => void = () => undefined;

  constructor(endings: FakeCluster['endings']) {
    this.endings = endings;
  }

  create = (_: unknown, object: object): Promise<RawObject> => {
    const { spec } = object as { spec: { nodeName: string } };
    if (spec.nodeName === this.refused)
      return Promise.reject(new KubeApiError(403, 'Forbidden', 'violates PodSecurity'));
    this.made.push(object);
    this.#count += 1;
    const name = `isthmus-check-${this.#count}`;
    const { phase, status } = this.endings[spec.nodeName] ?? { phase: 'Pending' };
    const raw = { metadata: { name, uid: name, resourceVersion: '1' }, spec, status: { phase, ...status } };
    this.pods.set(name, { node: spec.nodeName, raw });
    return Promise.resolve(raw);
  };

  list = (_: unknown, options: { signal?: AbortSignal } = {}): Promise<readonly RawObject[]> => {
    if (this.made.length > 0) this.onList();
    options.signal?.throwIfAborted();
    return Promise.resolve([...this.pods.values()].map(({ raw }) => raw));
  };

  request = (method: string, path: string): Promise<unknown> => {
    const name = /pods\/([^/]+)/.exec(path)?.[1] ?? '';
    const pod = this.pods.get(name);
    if (pod === undefined) return Promise.reject(new KubeApiError(404, 'NotFound', 'no such pod'));
    if (method === 'DELETE') this.pods.delete(name);
    return Promise.resolve(method === 'DELETE' ? {} : this.endings[pod.node]?.log);
  };
}

const wish = (client: FakeCluster, nodes: readonly string[], signal = new AbortController().signal) => ({
  client,
  namespace: 'kube-system',
  nodes,
  image: 'isthmus:test',
  pullPolicy: 'Never',
  pullSecrets: [],
  confDir: '/etc/cni/net.d',
  timeoutMs: 50,
  signal,
});

describe('inspections of nodes', () => {
  it('are the output of the pods; no pods are left, nor of an earlier run', async () => {
    const cluster = new FakeCluster({
      n1: { phase: 'Succeeded', log: `${JSON.stringify(look)}\n` },
      n2: { phase: 'Succeeded', log: look },
    });
    await cluster.create(undefined, { spec: { nodeName: 'gone' } });
    const found = await inspectNodes(wish(cluster, ['n1', 'n2']));
    assert.deepEqual(found, [
      { node: 'n1', look, why: '' },
      { node: 'n2', look, why: '' },
    ]);
    assert.equal(cluster.pods.size, 0);
  });

  it('that fail report the reason, each on its own', async () => {
    const waiting = {
      containerStatuses: [{ name: 'inspect', state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } }],
    };
    const cluster = new FakeCluster({
      n1: { phase: 'Pending', status: waiting },
      n2: { phase: 'Failed', log: 'Error: no such command', status: { reason: 'Error', message: '' } },
      n3: { phase: 'Succeeded', log: look },
    });
    cluster.refused = 'n4';
    const found = await inspectNodes(wish(cluster, ['n1', 'n2', 'n3', 'n4']));
    assert.deepEqual(
      found.map(({ node, why }) => `${node} ${why}`),
      [
        'n1 its pod did not end in time: container inspect: ErrImagePull: not found',
        'n2 its pod returned an unexpected answer (failed: Error): Error: no such command',
        'n3 ',
        'n4 its pod could not be created: violates PodSecurity',
      ],
    );
    assert.equal(cluster.pods.size, 0);
  });

  it('that are interrupted leave no pods', async () => {
    const cluster = new FakeCluster({});
    const stopping = new AbortController();
    cluster.onList = () => stopping.abort(new Error('stopped'));
    await assert.rejects(inspectNodes(wish(cluster, ['n1', 'n2'], stopping.signal)), /stopped/);
    assert.equal(cluster.made.length, 2);
    assert.equal(cluster.pods.size, 0);
  });

  it('have no rights beyond reading', async () => {
    const cluster = new FakeCluster({ n1: { phase: 'Succeeded', log: look } });
    await inspectNodes(wish(cluster, ['n1']));
    const [{ spec }] = cluster.made as [{ spec: Record<string, unknown> & { containers: Record<string, object>[] } }];
    assert.deepEqual(
      [spec['hostPID'], spec['hostNetwork'], spec['automountServiceAccountToken']],
      [undefined, true, false],
    );
    const [container] = spec.containers;
    assert.deepEqual(container?.['securityContext'], {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsUser: 0,
      capabilities: { drop: ['ALL'] },
    });
    const mounts = container['volumeMounts'] as readonly { readonly readOnly?: boolean }[] | undefined;
    assert.deepEqual(
      mounts?.map(({ readOnly }) => readOnly),
      [true, true],
    );
  });
});
