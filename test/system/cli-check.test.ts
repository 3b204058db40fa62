/**
 * `isthmus check` before an installation and `isthmus status` after it, with a real API server. The test writes the objects of kubelets
 * and controllers.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { run } from '../../cli/program.ts';
import { openKube } from '../../lib/kube/client.ts';
import {
  apiVersionOf,
  customResourceDefinitions,
  daemonSets,
  deployments,
  nodes,
  objectPath,
  pods,
  storageClasses,
  subnets,
} from '../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import { parseYaml } from '../../lib/kube/yaml.ts';
import { namespace, program, type Outcome } from './cli-bed.ts';

const subnetKind = join(import.meta.dirname, '../../charts/isthmus/crds/kubeovn.io_subnets.yaml');
const chart = join(import.meta.dirname, '../../charts/isthmus/values.yaml');

interface Report {
  readonly isWell: boolean;
  readonly problems: readonly { readonly code: string; readonly message: string; readonly fix: string }[];
  readonly warnings: readonly { readonly code: string }[];
}

describe('isthmus check and status', () => {
  let server: TestApiServer;
  let kube: KubeClient;
  before(async () => {
    server = await startApiServer();
    kube = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
  });
  after(async () => {
    await kube.close();
    await server.stop();
  });

  /** @param onNote called with each progress message */
  async function cli(argv: readonly string[], onNote: (text: string) => void = () => undefined): Promise<Outcome> {
    const output = { out: '', err: '' };
    const code = await run(argv, {
      env: { HOME: '/nonexistent', KUBECONFIG: server.kubeconfig },
      out: (text) => (output.out += text),
      note: (text) => {
        output.err += text;
        onNote(text);
      },
      readInput: () => Promise.resolve(''),
      ask: () => Promise.resolve(undefined),
      isColoured: false,
      now: Date.now,
      signal: new AbortController().signal,
    });
    return { code, ...output };
  }

  async function put(resource: Resource, name: string, fields: object, metadata: object = {}): Promise<void> {
    const place = resource.namespaced ? { namespace } : {};
    const { kind } = resource;
    const object = { apiVersion: apiVersionOf(resource), kind, metadata: { name, ...place, ...metadata }, ...fields };
    await kube.create(resource, object);
  }

  async function tell(resource: Resource, name: string, status: object): Promise<void> {
    const place = resource.namespaced ? { namespace } : {};
    await kube.patch(resource, { name, ...place }, 'merge', { status }, { subresource: 'status' });
  }

  /** Deletes a pod without grace period, because no kubelet terminates it. */
  async function removePod(name: string): Promise<void> {
    await kube.request('DELETE', objectPath(pods, { namespace, name }), { gracePeriodSeconds: 0 });
  }

  async function addNode(name: string, address: string, labels: object = {}): Promise<void> {
    await put(nodes, name, {}, { labels: { 'kubernetes.io/os': 'linux', ...labels } });
    await tell(nodes, name, {
      addresses: [{ type: 'InternalIP', address }],
      allocatable: { pods: '110' },
      nodeInfo: { ...nodeInfo },
    });
  }

  const nodeInfo = {
    kubeletVersion: '',
    kernelVersion: '6.12.0-1-amd64',
    containerRuntimeVersion: 'containerd://1.7.24',
    operatingSystem: 'linux',
    architecture: 'amd64',
    machineID: '',
    systemUUID: '',
    bootID: '',
    osImage: '',
    kubeProxyVersion: '',
  };

  function workload(name: string, more: object = {}, podSpec: object = {}): object {
    const labels = { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'isthmus' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none' }], ...podSpec } };
    return { spec: { selector: { matchLabels: labels }, template, ...more } };
  }

  const ours = (name: string) => ({
    labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'isthmus' },
  });
  const codes = ({ problems }: Report) => problems.map(({ code }) => code);
  async function check(...argv: string[]): Promise<Report> {
    const { code, out, err } = await cli(['check', '-o', 'json', ...argv]);
    assert.equal(err, '');
    const report = JSON.parse(out) as Report;
    assert.equal(code, report.isWell ? 0 : 1, out);
    return report;
  }

  it('check exits with 0 for a suitable cluster', async () => {
    nodeInfo.kubeletVersion = ((await kube.request('GET', '/version')) as { gitVersion: string }).gitVersion;
    await addNode('n1', '192.0.2.11', { 'node-role.kubernetes.io/control-plane': '' });
    await addNode('n2', '192.0.2.12');
    await put(daemonSets, 'kube-proxy', workload('kube-proxy'));
    const { code, out, err } = await cli(['check']);
    assert.equal(code, 0, out + err);
    assert.match(out, /^test: nothing prevents the installation/);
    assert.match(out, /Service range +ok +10\.96\.0\.0\/16/);
    assert.match(out, /admission policies +ok/);
    assert.deepEqual((await check('-f', chart)).problems, []);
  });

  it('check takes the same values as helm', async () => {
    const file = join(server.dir, 'values.yaml');
    writeFileSync(file, 'networking: { podCIDR: 10.96.0.0/14 }\n');
    const found = await check('-f', file);
    assert.deepEqual(codes(found), ['ServiceRangeOverlaps']);
    assert.match(found.problems[0]?.message ?? '', /networking\.podCIDR 10\.96\.0\.0\/14 overlaps 10\.96\.0\.0\/16/);
    assert.deepEqual(codes(await check('-f', file, '--set', 'networking.podCIDR=10.20.0.0/16')), []);
    assert.deepEqual(codes(await check('--set', 'hub.enabled=true')), ['NoStorageClass']);
    const isDefault = { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } };
    await put(storageClasses, 'fast', { provisioner: 'example.com/fast' }, isDefault);
    assert.deepEqual(codes(await check('--set', 'hub.enabled=true')), []);
    const wrong = await cli(['check', '--set', 'networking.podCIDR=10.96']);
    assert.deepEqual([wrong.code, wrong.out], [2, '']);
    assert.match(wrong.err, /the chart does not accept these values/);
    assert.equal((await cli(['check', '-f', join(server.dir, 'absent.yaml')])).code, 2);
    assert.equal((await cli(['check', 'odd'])).code, 2);
  });

  it('check reports another network, an old kubelet, a missing node for OVN’s databases, and a port in use', async () => {
    await put(daemonSets, 'calico-node', workload('calico-node'));
    await tell(nodes, 'n2', { nodeInfo: { ...nodeInfo, kubeletVersion: 'v1.28.3' } });
    await kube.patch(nodes, { name: 'n1' }, 'merge', {
      metadata: { labels: { 'node-role.kubernetes.io/control-plane': null } },
    });
    const spec = {
      nodeName: 'n2',
      hostNetwork: true,
      containers: [{ name: 'main', image: 'none', ports: [{ containerPort: 10_665 }] }],
    };
    await put(pods, 'other', { spec });
    const found = await check();
    assert.deepEqual(codes(found).toSorted(), ['CentralNotPlaced', 'KubeletTooOld', 'OtherNetwork', 'PortTaken']);
    const { out } = await cli(['check']);
    assert.match(out, /^test: 4 problems to solve first/);
    assert.match(out, /OtherNetwork: Calico runs here \(DaemonSet kube-system\/calico-node\)/);
    assert.match(out, /KubeletTooOld: .*n2 \(v1\.28\.3\)/);
    assert.match(out, /PortTaken: pod kube-system\/other holds tcp port 10665 of node n2/);
    assert.match(out, /fix: choose one node and label it: kubectl label node NODE node-role/);
    await kube.delete(daemonSets, { namespace, name: 'calico-node' });
    await removePod('other');
    await tell(nodes, 'n2', { nodeInfo });
    await kube.patch(nodes, { name: 'n1' }, 'merge', {
      metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } },
    });
  });

  it('check reports what the user may not read, and does not count it as healthy', async () => {
    const config = JSON.parse(readFileSync(server.kubeconfig, 'utf8')) as { users: { user: object }[] };
    for (const one of config.users) Object.assign(one.user, { as: 'nobody' });
    const file = join(server.dir, 'nobody.json');
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    const { code, out } = await cli(['check', '--kubeconfig', file]);
    assert.equal(code, 1);
    assert.match(out, /^test: nothing in what could be read prevents the installation/);
    assert.match(out, /no permission to read nodes/);
    assert.match(out, /kernels +unknown +Nodes could not be read/);
    const status = await cli(['status', '--wait', '--kubeconfig', file]);
    assert.deepEqual([status.code, status.out], [3, '']);
    assert.match(status.err, /permission denied/);
  });

  it('check --on-nodes runs a pod on each node and deletes it', async () => {
    const namespaced = { namespace, labelSelector: 'app.kubernetes.io/name=isthmus-check' };
    const command = ['--on-nodes', '--wait', '1s', '--image', 'registry.example.com/isthmus:1'];
    const checking = check(...command);
    // The pods do not run, because there is no kubelet.
    for (let seen: readonly RawObject[] = []; seen.length < 2;) seen = await kube.list(pods, namespaced);
    const found = await checking;
    assert.deepEqual(codes(found), ['NodeNotLookedAt', 'NodeNotLookedAt']);
    assert.match(
      found.problems[1]?.message ?? '',
      /^node n2 could not be inspected: its pod did not end in time: is Pending/,
    );
    assert.deepEqual(await kube.list(pods, namespaced), []);
  });

  it('check --on-nodes deletes its pods on Ctrl-C', async () => {
    const namespaced = { namespace, labelSelector: 'app.kubernetes.io/name=isthmus-check' };
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', KUBECONFIG: server.kubeconfig };
    const child = spawn(process.execPath, [program, 'check', '--on-nodes'], { env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    for (let seen: readonly RawObject[] = []; seen.length < 2;) {
      assert.equal(child.exitCode, null);
      seen = await kube.list(pods, namespaced);
    }
    child.kill('SIGINT');
    assert.deepEqual(await ended, [130, null]);
    assert.deepEqual(await kube.list(pods, namespaced), []);
  });

  it('status exits with 1 if Isthmus is not installed', async () => {
    const { code, out } = await cli(['status']);
    assert.equal(code, 1);
    assert.match(out, /Isthmus: no workload in namespace kube-system: helm install/);
  });

  it('status --wait ends after its time limit and reports what is missing and why', async () => {
    const nodeSelector = { 'kubernetes.io/os': 'linux' };
    await put(daemonSets, 'isthmus-daemon', workload('isthmus-daemon', {}, { nodeSelector }), ours('isthmus-daemon'));
    const controller = workload('isthmus-controller', { replicas: 1 });
    await put(deployments, 'isthmus-controller', controller, ours('isthmus-controller'));
    const counts = {
      desiredNumberScheduled: 2,
      updatedNumberScheduled: 2,
      currentNumberScheduled: 2,
      numberMisscheduled: 0,
    };
    await tell(daemonSets, 'isthmus-daemon', { ...counts, numberReady: 1, numberAvailable: 1, observedGeneration: 1 });
    await put(
      pods,
      'isthmus-daemon-1',
      { spec: { nodeName: 'n2', containers: [{ name: 'daemon', image: 'none' }] } },
      ours('isthmus-daemon'),
    );
    await tell(pods, 'isthmus-daemon-1', {
      phase: 'Pending',
      containerStatuses: [
        {
          name: 'daemon',
          image: 'none',
          imageID: '',
          ready: false,
          restartCount: 0,
          state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } },
        },
      ],
    });
    const { code, out, err } = await cli(['status', '--wait=1s']);
    assert.equal(code, 1);
    for (const text of [out, err]) {
      assert.match(text, /DaemonSet isthmus-daemon: 1 of 2 pods are ready/);
      assert.match(text, /Pod isthmus-daemon-1 on n2: container daemon: ImagePullBackOff: no such image/);
      assert.match(text, /Deployment isthmus-controller: Kubernetes has not processed its newest version/);
      assert.match(text, /Node n1: its daemon has not reported on its network yet/);
      assert.match(text, /Subnet ovn-default: isthmus-controller has not created it yet/);
    }
    assert.equal((await cli(['status', '--wait=soon'])).code, 2);
  });

  it('status --wait ends when everything is ready, and reports what became ready', async () => {
    const heard = Promise.withResolvers<void>();
    const waiting = cli(['status', '--wait=2m'], (text) => {
      if (text.startsWith('Subnet join')) heard.resolve();
    });
    await Promise.race([heard.promise, waiting]);
    await removePod('isthmus-daemon-1');
    await tell(daemonSets, 'isthmus-daemon', { numberReady: 2, numberAvailable: 2 });
    await tell(deployments, 'isthmus-controller', {
      observedGeneration: 1,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    });
    const now = new Date().toISOString();
    const condition = (type: string, status: string, reason: string) => ({
      type,
      status,
      reason,
      message: '',
      lastTransitionTime: now,
    });
    const conditions = [
      condition('NetworkUnavailable', 'False', 'NetworkReady'),
      condition('Ready', 'True', 'KubeletReady'),
    ];
    for (const name of ['n1', 'n2']) await tell(nodes, name, { conditions });
    // The CRD is created while the command waits.
    await kube.create(customResourceDefinitions, parseYaml(readFileSync(subnetKind, 'utf8')) as object);
    for (const [name, cidrBlock] of [
      ['ovn-default', '10.16.0.0/16'],
      ['join', '100.64.0.0/16'],
    ] as const) {
      const make = () => put(subnets, name, { spec: { cidrBlock } });
      for (let attempt = 0; ; attempt += 1)
        try {
          await make();
          break;
        } catch (error) {
          // A kind is served a moment after the creation of its CRD.
          if (attempt === 600 || (error as { status?: number }).status !== 404) throw error;
          await kube.list(customResourceDefinitions);
        }
      await tell(subnets, name, { conditions: [condition('Ready', 'True', 'Ready')] });
    }
    const { code, out, err } = await waiting;
    assert.equal(code, 0, out + err);
    assert.match(out, /^test: Isthmus is ready on 2 nodes/);
    assert.match(err, /^DaemonSet isthmus-daemon: ready$/m);
    assert.match(err, /^Node n2: ready$/m);
    const json = await cli(['status', '-o', 'json']);
    assert.deepEqual((JSON.parse(json.out) as { missing: unknown[] }).missing, []);
  });

  it('check refers to the upgrade guide if Isthmus is installed', async () => {
    const { warnings, problems } = await check();
    assert.deepEqual(problems, []);
    assert.ok(warnings.some(({ code }) => code === 'Installed'));
    assert.match((await cli(['check'])).out, /docs\/guides\/upgrade\.md/);
  });
});
