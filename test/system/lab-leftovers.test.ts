/** Leftovers of a lab's killed containerd are found and removed; those of others stay. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cgroupParent, podProcesses } from '../lab/cgroups.ts';
import { mountsBelow, removeLeftovers } from '../lab/leftovers.ts';
import { run } from '../lab/run.ts';

/** An id in containerd's format. */
const id = 'c0ffee'.repeat(10) + 'abcd';
const results = '/var/lib/cni/results';
const sockets = '/run/containerd/s';

describe('leftovers', () => {
  // No lab has this name: a lab's name has no dashes.
  const lab = `left-${String(process.pid)}`;
  const dir = mkdtempSync(join(tmpdir(), 'left overs-'));
  const cgroup = cgroupParent(lab, { cluster: 'east', name: 'n1' });
  const hierarchies = ['/sys/fs/cgroup', ...readdirSync('/sys/fs/cgroup').map((name) => join('/sys/fs/cgroup', name))];
  /** The hierarchies that list processes: their root folder has this file. */
  const homes = hierarchies
    .filter((folder) => existsSync(join(folder, 'cgroup.procs')))
    .map((home) => `${home}${cgroup}`);
  const home = homes[0] ?? '';
  const ours = {
    result: join(results, `net-${lab}-eth0`),
    socket: join(sockets, nameOf(`${dir}/east/n1/containerd.sock/k8s.io/${id}`)),
  };
  const theirs = { result: join(results, `net-${lab}-other`), mount: join(tmpdir(), `${lab}-other`) };
  let inCgroup: ChildProcess;

  before(async () => {
    for (const folder of [join(dir, 'a'), join(dir, 'east/n1'), results, sockets, theirs.mount])
      mkdirSync(folder, { recursive: true });
    await run(['mount', '-t', 'tmpfs', 'lab', join(dir, 'a')]);
    mkdirSync(join(dir, 'a/b'));
    await run(['mount', '-t', 'tmpfs', 'lab', join(dir, 'a/b')]);
    await run(['mount', '-t', 'tmpfs', 'other', theirs.mount]);
    writeFileSync(
      join(dir, 'east/n1/containerd.log'),
      `level=info msg="RunPodSandbox returns sandbox id \\"${id}\\""\n`,
    );
    for (const file of [ours.socket, ours.result, theirs.result]) writeFileSync(file, '');
    writeFileSync(ours.result, `{"interfaces":[{"sandbox":"${dir}/netns/cni-1"}]}`);
    for (const folder of homes) mkdirSync(join(folder, 'pod'), { recursive: true });
    inCgroup = spawn('sleep', ['1000']);
    await once(inCgroup, 'spawn');
    writeFileSync(join(home, 'pod/cgroup.procs'), String(inCgroup.pid));
  });
  after(async () => {
    inCgroup.kill('SIGKILL');
    await run(['umount', theirs.mount]);
    for (const path of [theirs.mount, theirs.result]) rmSync(path, { recursive: true, force: true });
    await removeLeftovers(lab, dir);
    rmSync(dir, { recursive: true });
  });

  it('include processes in cgroups of the lab', async () => {
    assert.deepEqual(podProcesses(lab), [inCgroup.pid]);
    assert.deepEqual(podProcesses(`${lab}x`), []);
    inCgroup.kill('SIGKILL');
    await once(inCgroup, 'exit');
    assert.deepEqual(podProcesses(lab), []);
  });

  it('include nested mounts, cgroups, sockets and cached results, but not those of others', async () => {
    assert.deepEqual(mountsBelow(dir), [join(dir, 'a/b'), join(dir, 'a')]);
    await removeLeftovers(lab, dir);
    assert.deepEqual(mountsBelow(dir), []);
    assert.deepEqual(
      homes.filter((folder) => existsSync(dirname(folder))),
      [],
    );
    assert.deepEqual([ours.result, ours.socket].filter(existsSync), []);
    assert.ok(existsSync(theirs.result));
    assert.deepEqual(
      mountsBelow(tmpdir()).filter((path) => path === theirs.mount),
      [theirs.mount],
    );
    await removeLeftovers(lab, dir);
  });
});

function nameOf(address: string): string {
  return createHash('sha256').update(address).digest('hex');
}
