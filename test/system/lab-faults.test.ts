/** Any process may die: traffic continues, the process restarts and resumes, and its start writes nothing that is already there. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import { movingPath } from '../lab/lib/anchors.ts';
import { openLab } from '../lab/lib/lab.ts';
import { type Disturbance, expiredSessions, undisturbed } from './bfd-sessions.ts';
import { addWorkload, longestGapMs, removeWorkload, waitForPods } from './workload.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

describe('process faults', () => {
  const lab = openLab();
  const namespace = 'steady';
  const place = (pod: string): string => `${namespace}/${pod}`;
  /** A database file grows with every transaction of any client. */
  const sizeOf = (cluster: string): number => statSync(join(lab.cluster(cluster).dir, 'nb.db')).size;
  /** The size after a second without writes, when earlier work is finished. */
  const quietSizeOf = async (cluster: string): Promise<number> => {
    for (let size = sizeOf(cluster); ; size = sizeOf(cluster)) {
      await pause(1000);
      if (sizeOf(cluster) === size) return size;
    }
  };
  let near: string;
  let far: string;

  const gapFor = async (action: () => Promise<unknown>): Promise<number> => {
    const acted = Promise.withResolvers<void>();
    const [local, remote] = await Promise.all([
      longestGapMs(lab.ns('east', place('one')), near, () => action().finally(acted.resolve)),
      longestGapMs(lab.ns('east', place('one')), far, () => acted.promise),
    ]);
    return Math.max(local, remote);
  };
  const works = async (pod: string): Promise<void> => {
    await addWorkload(lab, 'east', { namespace, pods: [{ name: pod, node: 'n1' }] });
    await waitForPods(lab, 'east', namespace, 3);
    await lab.ping(lab.ns('east', place(pod)), far);
    await lab.kubectl('east', ['delete', 'pod', '-n', namespace, pod, '--timeout=60s']);
    const find = ['--bare', '--columns=name', 'find', 'Logical_Switch_Port', `name=${pod}.${namespace}`];
    await eventually('no port of it', async () => (await lab.nbctl('east', find)).trim() === '' || notYet('one still'));
  };

  /** Waits for moving paths: a gateway that takes its path back writes to the database, whichever process was killed. */
  const atRest = async (): Promise<void> => {
    for (const cluster of ['east', 'west'])
      await eventually(`the paths of ${cluster} to rest`, async () => {
        const moving = await movingPath(lab, cluster);
        return moving === '' || notYet(moving);
      });
  };
  const disturbance: Disturbance = {
    expired: (sinceMs) => {
      const nodes = lab.layout.clusters.flatMap((cluster) => cluster.nodes);
      const logs = nodes.map(({ cluster, name, dir }) => ({
        name: `${cluster} ${name}`,
        logs: [join(dir, 'ovs-vswitchd.log')],
      }));
      return expiredSessions(logs, sinceMs);
    },
    restore: async () => {
      await lab.heal();
      await lab.kubectl('east', ['delete', 'pod', '-n', namespace, 'late', '--ignore-not-found', '--timeout=60s']);
      await atRest();
    },
  };

  before(async () => {
    await addWorkload(lab, 'east', {
      namespace,
      pods: [
        { name: 'one', node: 'n1' },
        { name: 'two', node: 'n3' },
      ],
    });
    await addWorkload(lab, 'west', { namespace, pods: [{ name: 'three', node: 'n3' }] });
    await waitForPods(lab, 'east', namespace, 2);
    await waitForPods(lab, 'west', namespace, 1);
    near = await lab.addressOf('east', place('two'));
    far = await lab.addressOf('west', place('three'));
    await lab.ping(lab.ns('east', place('one')), near);
    await lab.ping(lab.ns('east', place('one')), far);
    await atRest();
  });
  after(async () => {
    await lab.heal();
    await Promise.all(['east', 'west'].map((cluster) => removeWorkload(lab, cluster, namespace)));
  });

  const ours = [
    ['east', 'controller'],
    ['east', 'interconnect'],
    ['hub', 'hub'],
    ['east/n1', 'daemon'],
    ['east/n1', 'speaker'],
    ['east/n1', 'gobgpd'],
  ] as const;
  for (const [where, component] of ours) {
    it(`a killed ${where}/${component} restarts without packet loss or database writes`, async (context) => {
      await undisturbed(context, disturbance, async () => {
        const before = await quietSizeOf('east');
        const gap = await gapFor(async () => {
          const pid = lab.pid(where, component);
          await lab.kill(where, component);
          await lab.waitForRestart(where, component, pid);
        });
        assert.ok(gap < 500, `a gap of ${gap.toFixed(0)} ms`);
        await eventually('the router to have both paths', async () => {
          const route = await lab.vtysh('tor', `show ip route ${lab.cluster('east').podCidr}`);
          return [...route.matchAll(/172\.30\.1\.1[12]/g)].length >= 2 || notYet(route);
        });
        assert.equal(await quietSizeOf('east'), before, 'the northbound database was written to');
        await works('late');
      });
    });
  }

  const theirs = [
    ['east', 'northd'],
    ['east', 'nb'],
    ['east', 'sb'],
    ['hub', 'icnb'],
    ['hub', 'icsb'],
  ] as const;
  for (const [where, component] of theirs) {
    it(`a killed ${where}/${component} loses no packets, and new pods get connectivity after its restart`, async (context) => {
      await undisturbed(context, disturbance, async () => {
        const gap = await gapFor(() => lab.kill(where, component));
        assert.ok(gap < 500, `a gap of ${gap.toFixed(0)} ms`);
        await lab.heal();
        await works('late');
      });
    });
  }

  // No gap is measured for these: vswitchd forwards the packets here, and its userspace datapath polls the kernel's
  // interfaces only while it holds the lock of a living ovsdb-server. The kernel datapath needs neither.
  for (const component of ['ovs-vswitchd', 'ovsdb-server', 'ovn-controller']) {
    it(`a killed east/n1/${component} serves existing and new pods after its restart`, async () => {
      await lab.kill('east/n1', component);
      await lab.heal();
      await lab.ping(lab.ns('east', place('one')), near);
      await lab.ping(lab.ns('east', place('one')), far);
      await works('late');
    });
  }

  it('a peer retains the routes while gobgpd restarts', async () => {
    const lost: string[] = [];
    const over = new AbortController();
    const watching = (async () => {
      while (!over.signal.aborted) {
        const route = await lab.vtysh('tor', `show ip route ${lab.cluster('east').podCidr}`);
        if (!route.includes('172.30.1.12')) lost.push(route);
      }
    })();
    const pid = lab.pid('east/n2', 'gobgpd');
    await lab.kill('east/n2', 'gobgpd');
    await lab.waitForRestart('east/n2', 'gobgpd', pid);
    await eventually('the session', async () => {
      const summary = await lab.vtysh('tor', 'show bgp summary json');
      const peers = (JSON.parse(summary) as { ipv4Unicast: { peers: Record<string, { state: string }> } }).ipv4Unicast
        .peers;
      return peers['172.30.1.12']?.state === 'Established' || notYet(JSON.stringify(peers['172.30.1.12']));
    });
    over.abort();
    await watching;
    assert.deepEqual(lost, []);
  });
});
