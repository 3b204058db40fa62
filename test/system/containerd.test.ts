/** A real runtime: containerd runs pods with the installed configuration and plugin, and loses or leaks none when a process dies meanwhile. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { imageName } from '../lab/cri/image.ts';
import { openLab } from '../lab/lib/lab.ts';
import { checkout } from '../lab/layout.ts';
import { podProcesses } from '../lab/cgroups.ts';
import { run, tryRun } from '../lab/run.ts';
import { ContainerdBed } from './containerd-bed.ts';
import { addWorkload, longestGapMs, removeWorkload, waitForPods } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('containerd', () => {
  const lab = openLab();
  const bed = new ContainerdBed(lab, 'shipped');
  /** The namespace of a pod on another node. */
  const elsewhere = 'ashore';
  const peer = lab.ns(bed.cluster, `${elsewhere}/peer`);
  const hostPort = 30_088;

  /** Asserts that the pod has exactly one sandbox and answers a pod of another node. */
  const works = async (pod: string): Promise<void> => {
    await bed.untilReady(pod);
    const address = await bed.address(pod);
    await lab.ping(peer, address, { count: 2 });
    assert.equal(await lab.fetchName(peer, address), pod);
    const sandboxes = await bed.sandboxes(pod);
    assert.deepEqual(
      sandboxes.map(({ state }) => state),
      ['SANDBOX_READY'],
    );
    const { ports, links, rows, addresses, 'network namespaces of containerd': namespaces } = await bed.traces();
    assert.deepEqual([ports?.length, rows?.length, namespaces?.length], [1, 1, 1], 'one of each');
    assert.deepEqual(links, ports);
    assert.equal(addresses?.filter((name) => name.includes(`/${pod}.`)).length, 1);
  };
  const goes = async (pod: string): Promise<void> => {
    await bed.delete(pod);
    await bed.untilClean();
  };

  const untilAnother = (pod: string, old = ''): Promise<true> =>
    eventually(`another sandbox of ${pod}`, async () => {
      const [now] = await bed.sandboxes(pod);
      return (
        (now !== undefined && now.id !== old && now.state === 'SANDBOX_READY') || notYet(`${now?.id ?? 'none'} yet`)
      );
    });

  before(async () => {
    await lab.kubectl(bed.cluster, ['create', 'namespace', bed.namespace]);
    const other = lab.cluster(bed.cluster).nodes.find(({ name }) => name !== bed.node.name)?.name ?? '';
    await addWorkload(lab, bed.cluster, { namespace: elsewhere, pods: [{ name: 'peer', node: other }] });
    await waitForPods(lab, bed.cluster, elsewhere, 1);
    await bed.begin();
  });
  after(async () => {
    bed.cri.close();
    await lab.heal();
    await Promise.all([bed.namespace, elsewhere].map((namespace) => removeWorkload(lab, bed.cluster, namespace)));
  });

  // Leftovers of a failed test would fail the next ones too.
  afterEach(async () => {
    await bed.delete('--all');
    await bed.untilClean();
  });

  it('is ready and has only the lab’s own image', async () => {
    const { containerVersion, images } = {
      containerVersion: await bed.condition('RuntimeReady'),
      images: await bed.cri.images(),
    };
    assert.equal(containerVersion.status, true);
    assert.deepEqual(images, [imageName]);
    assert.equal((await bed.condition('NetworkReady')).status, true);
  });

  it('runs a pod that others reach, and leaves no traces of it', async () => {
    await bed.create('whole');
    await works('whole');
    const { id } = await bed.container('whole');
    const inside = await bed.cri.exec(id, ['sh', '-c', 'hostname; ip -4 -o addr show eth0; cat /etc/resolv.conf']);
    assert.equal(inside.code, 0, inside.stderr);
    assert.match(inside.stdout, /^whole\n/);
    assert.ok(inside.stdout.includes(await bed.address('whole')), inside.stdout);
    assert.match(inside.stdout, /search shipped\.svc\.cluster\.local svc\.cluster\.local cluster\.local\n/);
    const reached = await bed.cri.exec(id, [
      'ping',
      '-c',
      '1',
      '-W',
      '20',
      await lab.addressOf(bed.cluster, `${elsewhere}/peer`),
    ]);
    assert.equal(reached.code, 0, reached.stdout + reached.stderr);
    await goes('whole');
  });

  it('starts and stops many pods at the same time', async () => {
    const pods = Array.from({ length: 10 }, (_, at) => `many-${String(at)}`);
    await Promise.all(pods.map((pod) => bed.create(pod)));
    await Promise.all(pods.map((pod) => bed.untilReady(pod)));
    const addresses = await Promise.all(pods.map((pod) => bed.address(pod)));
    assert.equal(new Set(addresses).size, pods.length);
    const names = await Promise.all(addresses.map((address) => lab.fetchName(peer, address)));
    assert.deepEqual(names, pods);
    await bed.delete(...pods);
    await bed.untilClean();
  });

  it('runs the command of a container that names the image', async () => {
    await bed.create('worker', {
      image: imageName,
      command: ['sh', '-c'],
      args: ['echo "$GREETING"; exec sleep 1000'],
      env: [{ name: 'GREETING', value: 'good day' }],
    });
    await bed.untilReady('worker');
    const log = join(lab.cluster(bed.cluster).dir, 'pods', `${bed.namespace}.worker.logs/main.log`);
    await eventually(
      'its output',
      () => (existsSync(log) && readFileSync(log, 'utf8').includes('good day')) || notYet('none'),
    );
    await goes('worker');
  });

  it('opens and closes a host port with the chained portmap plugin', async () => {
    const asking = (seconds: number) => [
      'curl',
      '-s',
      '-m',
      String(seconds),
      `http://${bed.node.address}:${String(hostPort)}/`,
    ];
    const ask = asking(30);
    const { netns } = lab.router('tor');
    await bed.create('open', { ports: [{ containerPort: 8080, hostPort }] });
    await works('open');
    assert.equal(await run(ask, { netns }), 'open\n', 'from the router');
    assert.equal(await run(ask, { netns: bed.node.netns }), 'open\n', 'from the node itself');
    const other = lab.cluster(bed.cluster).nodes.find(({ name }) => name !== bed.node.name);
    assert.equal(await run(ask, { netns: other?.netns ?? '' }), 'open\n', 'from another node');
    assert.equal(await run(ask, { netns: peer }), 'open\n', 'from a pod of another node');
    await goes('open');
    assert.notEqual((await tryRun(asking(3), { netns })).code, 0);
  });

  it('cancels and reverts an ADD whose client died, and starts the pod with the next ADD', async () => {
    await bed.whileAdding('cancelled', () => lab.kill('.', 'labd'));
    await eventually('the ADD to be undone', async () => {
      const { rows, links, 'network namespaces of containerd': namespaces } = await bed.traces();
      const left = [rows, links, namespaces].flat();
      return left.length === 0 || notYet(JSON.stringify(left));
    });
    await lab.heal();
    await works('cancelled');
    await goes('cancelled');
  });

  it('starts the pod after a restart if it was killed during ADD', async () => {
    await bed.whileAdding('torn', () => lab.kill(bed.place, 'containerd'));
    await lab.heal();
    await works('torn');
    await goes('torn');
  });

  it('leaves no traces if it was killed during ADD and the pod deleted before its restart', async () => {
    await bed.whileAdding('lost', async () => {
      await lab.kill(bed.place, 'containerd');
      await bed.kubectl('delete', 'pod', 'lost', '--wait=false');
    });
    await lab.heal();
    await bed.kubectl('wait', '--for=delete', 'pod/lost', '--timeout=60s');
    await bed.untilClean();
  });

  it('retries when the daemon is killed during ADD', async () => {
    const pid = lab.pid(bed.place, 'daemon');
    await bed.whileAdding('twice', async () => {
      await lab.kill(bed.place, 'daemon');
      await lab.waitForRestart(bed.place, 'daemon', pid);
    });
    await works('twice');
    await goes('twice');
  });

  it('recreates a sandbox whose process was killed', async () => {
    await bed.create('phoenix');
    await works('phoenix');
    const address = await bed.address('phoenix');
    const [old] = await bed.sandboxes('phoenix');
    process.kill((await bed.cri.podSandboxStatus(old?.id ?? '')).pid, 'SIGKILL');
    await untilAnother('phoenix', old?.id);
    await works('phoenix');
    assert.equal((await bed.sandboxes('phoenix'))[0]?.metadata.attempt, (old?.metadata.attempt ?? 0) + 1);
    assert.equal(await bed.address('phoenix'), address);
    await goes('phoenix');
  });

  it('does not interrupt the traffic of its pods when it is killed, and can stop them after its restart', async () => {
    await bed.create('steady');
    await works('steady');
    const [before] = await bed.sandboxes('steady');
    const gap = await longestGapMs(peer, await bed.address('steady'), async () => {
      await lab.kill(bed.place, 'containerd');
      await lab.heal();
    });
    assert.ok(gap < 500, `a gap of ${gap.toFixed(0)} ms`);
    await works('steady');
    assert.equal((await bed.sandboxes('steady'))[0]?.id, before?.id);
    await goes('steady');
  });

  it('stops a pod that was deleted while the daemon was dead', async () => {
    await bed.create('orphan');
    await works('orphan');
    const [sandbox] = await bed.sandboxes('orphan');
    // labd would restart the daemon after a second.
    const labd = lab.pid('.', 'labd');
    process.kill(labd, 'SIGSTOP');
    try {
      await lab.kill(bed.place, 'daemon');
      await bed.kubectl('delete', 'pod', 'orphan', '--wait=false');
      await assert.rejects(
        bed.cri.stopPodSandbox(sandbox?.id ?? ''),
        /StopPodSandbox: failed to destroy network .* the isthmus daemon of this node does not answer, try again later/,
      );
    } finally {
      process.kill(labd, 'SIGCONT');
    }
    await bed.kubectl('wait', '--for=delete', 'pod/orphan', '--timeout=60s');
    await bed.untilClean();
  });

  it('recreates a pod whose shim was killed, and leaves no process of the former sandbox', async () => {
    await bed.create('bereft');
    await works('bereft');
    const [old] = await bed.sandboxes('bereft');
    const { pid } = await bed.cri.podSandboxStatus(old?.id ?? '');
    const shim = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]);
    assert.match(readFileSync(`/proc/${String(shim)}/cmdline`, 'utf8'), /containerd-shim-runc-v2/);
    process.kill(shim, 'SIGKILL');
    await untilAnother('bereft', old?.id);
    await works('bereft');
    await goes('bereft');
    assert.deepEqual(
      podProcesses(lab.layout.name).filter((left) => left === pid),
      [],
    );
  });

  it('stops the sandbox of a deleted pod after its record was lost', async () => {
    await bed.create('forgotten');
    await works('forgotten');
    await lab.kill('.', 'labd');
    rmSync(join(lab.cluster(bed.cluster).dir, 'pods', `${bed.namespace}.forgotten.sandbox.json`));
    await bed.kubectl('delete', 'pod', 'forgotten', '--force', '--grace-period=0');
    await lab.heal();
    await bed.untilClean();
  });

  it('reports in an event why a pod does not start while the daemon is frozen, and starts it later', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'impatient-'));
    const program = join(dir, 'isthmus-cni');
    const source = join(checkout, 'daemon/shim/shim.c');
    await run(['cc', '-static', '-Os', '-DANSWER_TIMEOUT_SECONDS=2', source, '-o', program]);
    bed.signal('daemon', 'SIGSTOP');
    try {
      await bed.withPlugin(program, async () => {
        await bed.create('patient');
        await eventually('the event', async () => {
          const messages = await bed.events('patient', 'FailedCreatePodSandBox');
          const found = messages.find((message) => message.includes('the isthmus daemon of this node does not answer'));
          return found !== undefined || notYet(JSON.stringify(messages));
        });
      });
    } finally {
      bed.signal('daemon', 'SIGCONT');
      rmSync(dir, { recursive: true });
    }
    await works('patient');
    await goes('patient');
  });

  it('becomes NetworkReady with a configuration, without a restart', async () => {
    const pid = lab.pid(bed.place, 'containerd');
    bed.signal('daemon', 'SIGSTOP');
    try {
      for (const file of bed.networkConfigurations()) rmSync(file);
      await eventually(
        'no network',
        async () => !(await bed.condition('NetworkReady')).status || notYet('NetworkReady'),
      );
      assert.match((await bed.condition('NetworkReady')).message, /cni plugin not initialized/);
    } finally {
      bed.signal('daemon', 'SIGCONT');
    }
    await eventually('the network', async () => {
      const { status, message } = await bed.condition('NetworkReady');
      return status || notYet(message);
    });
    assert.equal(lab.pid(bed.place, 'containerd'), pid);
    await bed.create('late');
    await works('late');
    await goes('late');
  });
});
