/** A fresh installation: pods reachable from Kubernetes and routers, Services by kube-proxy, and the memory use of a node. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openLab } from '../lab/lib/lab.ts';
import { onMachine } from '../lab/kubelet/machine.ts';
import { run, tryRun } from '../lab/run.ts';
import { namespace, probePeriodMs, User } from './user.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

interface ContainerStatus {
  readonly restartCount: number;
  readonly name: string;
  readonly lastState?: object;
}

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status: { readonly containerStatuses?: readonly ContainerStatus[] };
  }[];
}

describe('clusters as helm installed them', () => {
  const user = new User(openLab());
  const { lab } = user;
  const { clusters } = lab.layout;

  /** The containers of a cluster that have restarted, each with its last state and the end of its log. */
  const restartsIn = async (cluster: string): Promise<readonly string[]> => {
    const pods = JSON.parse(await lab.kubectl(cluster, ['-n', namespace, 'get', 'pods', '-o', 'json'])) as Pods;
    const restarted = pods.items.flatMap(({ metadata, status }) =>
      (status.containerStatuses ?? [])
        .filter(({ restartCount }) => restartCount > 0)
        .map((container) => ({ pod: metadata.name, container })),
    );
    return Promise.all(
      restarted.map(async ({ pod, container: { name, restartCount, lastState } }) => {
        const log = await lab.kubectl(cluster, ['-n', namespace, 'logs', '--previous', '--tail=20', pod, '-c', name]);
        return `${pod}/${name}: ${restartCount}, last state ${JSON.stringify(lastState)}\n${log}`;
      }),
    );
  };

  it('no container has restarted', async () => {
    const restarts = await Promise.all(clusters.map(({ name }) => restartsIn(name)));
    assert.equal(restarts.flat().join('\n'), '');
  });

  it('Kubernetes reaches pods: exec, logs, probes', async () => {
    const output = await lab.kubectl('east', ['-n', 'demo', 'exec', 'web-2', '--', 'echo', 'here']);
    assert.equal(output, 'here\n');
    await lab.kubectl('east', ['-n', 'demo', 'logs', 'web-2']);
  });

  it('a Service has endpoints in pods of all nodes, from pods and from nodes', async () => {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'demo' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    };
    await lab.kubectl('east', ['apply', '-f', '-'], JSON.stringify(service));
    const get = ['-n', 'demo', 'get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}'];
    const url = `http://${await lab.kubectl('east', get)}/`;
    const ask = ['curl', '-sS', '--max-time', '5', url];
    const node = lab.cluster('east').nodes[1];
    assert.ok(node);
    const sources: readonly [string, () => Promise<string>][] = [
      ['pod', () => run(ask, { netns: lab.ns('east', 'demo/web-1') })],
      ['node', () => run(onMachine(node, ask))],
    ];
    for (const [source, answer] of sources) {
      const names = new Set<string>();
      await eventually(`answers of all pods to a ${source}`, async () => {
        names.add((await answer().catch((error: unknown) => (error as Error).message)).trim());
        return ['web-1', 'web-2', 'web-3'].every((name) => names.has(name)) || notYet([...names].join(', '));
      });
    }
  });

  it('a network policy closes pods to all but their own node, and opens them again', async () => {
    const apply = (ingress: readonly object[]) => {
      const spec = { podSelector: {}, policyTypes: ['Ingress'], ingress };
      const metadata = { name: 'web', namespace: 'demo' };
      const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec };
      return lab.kubectl('east', ['apply', '-f', '-'], JSON.stringify(policy));
    };
    const url = `http://${await lab.addressOf('east', 'demo/web-2')}:8080/`;
    const answers = async (from: 'pod' | number): Promise<boolean> => {
      const ask = ['curl', '-sS', '--max-time', '2', url];
      const node = lab.cluster('east').nodes[from === 'pod' ? 0 : from];
      assert.ok(node);
      const { code } = await (from === 'pod'
        ? tryRun(ask, { netns: lab.ns('east', 'demo/web-1') })
        : tryRun(onMachine(node, ask)));
      return code === 0;
    };
    const why = async (): Promise<string> => {
      const argv = ['policy', 'why', 'demo/web-1', 'demo/web-2', '8080', '--trace=always'];
      const { stdout, stderr } = await user.tryRun('east', ['isthmus', ...argv]);
      return stdout + stderr;
    };
    const traced = (verdict: string): RegExp =>
      new RegExp(`is ${verdict}$[^]*^OVN\n  agrees, by ovn-trace in pod kube-system/isthmus-ovn-central-\\w+$`, 'm');
    await apply([]);
    await eventually('a pod gets no answer', async () => !(await answers('pod')));
    assert.match(await why(), traced('denied'));
    assert.equal(await answers(0), false, 'nor does another node');
    assert.equal(await answers(1), true, 'its own node does');
    await pause(3 * probePeriodMs);
    await lab.kubectl('east', ['-n', 'demo', 'wait', 'pod', '--all', '--for=condition=Ready', '--timeout=0']);
    await apply([{ from: [{ podSelector: {} }] }]);
    await eventually('a pod gets an answer', () => answers('pod'));
    assert.match(await why(), traced('allowed'));
    assert.equal(await answers(0), false, 'another node gets none');
    await lab.kubectl('east', ['-n', 'demo', 'delete', 'networkpolicy', 'web']);
    await eventually('another node gets an answer', () => answers(0));
  });

  it('the router has routes to the pods of all clusters', async () => {
    const routes = await lab.vtysh('tor', 'show ip route bgp');
    for (const { podCidr } of clusters) assert.match(routes, new RegExp(podCidr.replaceAll('.', String.raw`\.`)));
  });

  it('`isthmus ic verify` finds no problem', async () => {
    for (const { name } of clusters) await user.run(name, ['isthmus', 'ic', 'verify']);
  });

  it('`isthmus report` has the log of every component', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'isthmus-report-'));
    const file = join(dir, 'report.tar.gz');
    await user.run('east', ['isthmus', 'report', '--file', file]);
    const files = await run(['tar', '-tzf', file]);
    for (const component of ['controller', 'daemon', 'interconnect', 'ovn-central'])
      assert.match(files, new RegExp(String.raw`/logs/isthmus-${component}-[^/]+/[^/]+\.log$`, 'm'));
    assert.match(files, /\/objects\/subnets\.kubeovn\.io\.yaml$/m);
    rmSync(dir, { recursive: true });
  });
});
