/** CNI with the tool and plugins of the specification, on a real node: every command in every version, and chains with traffic. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { supportedVersions } from '../../daemon/cni/protocol.ts';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { CniBed, inPod, startDatabase, traces, type Result, type ToolAnswer } from './cni-bed.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let bed: CniBed;
let cluster: TestCluster;
/** A pod that stays attached, and must not be affected by requests for other pods. */
let living: TestPod;
let livingResult: Result;

before(async () => {
  cluster = await startCluster(node);
  bed = new CniBed(node);
  await node.startDaemon(cluster.kubeconfig);
  living = await cluster.makePod('living');
  await cluster.allocate(living, '10.16.0.10');
  livingResult = (await ok(node.cni('ADD', living.env))) as Result;
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

async function ok(answer: ReturnType<TestNode['cni']>): Promise<object> {
  const { status, json } = await answer;
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}`);
  return json;
}

async function codeOf(answer: ReturnType<TestNode['cni']>): Promise<unknown> {
  const { status, json } = await answer;
  assert.equal(status, 1, JSON.stringify(json));
  assert.equal(typeof json['msg'], 'string');
  return json['code'];
}

function done(answer: ToolAnswer): Result {
  assert.equal(answer.status, 0, `${answer.stderr}\n${node.log('daemon')}`);
  return answer.result;
}

let address = 20;
async function newPod(name: string): Promise<{ pod: TestPod; ip: string }> {
  const [pod, ip] = [await cluster.makePod(name), `10.16.0.${address++}`];
  await cluster.allocate(pod, ip);
  return { pod, ip };
}

/** Asserts that only the living pod has traces, and that its network works. */
async function onlyTheLiving(): Promise<void> {
  const name = livingResult.interfaces?.[0]?.name ?? '';
  await eventually('no traces of others', () => traces(node).links.length === 1 && traces(node).rows.length === 2);
  assert.deepEqual(traces(node), { links: [name], rows: [`interface ${name}`, `port ${name}`] });
  await ok(node.cni('CHECK', living.env, { prevResult: livingResult }));
  inPod(living, 'ping', '-c1', '-W20', '172.30.9.11');
}

for (const cniVersion of supportedVersions)
  test(`cnitool runs status, add, check, del and gc in version ${cniVersion}`, async () => {
    const network = bed.network(`v${cniVersion.replaceAll('.', '')}`, { cniVersion, plugins: [{ type: 'isthmus' }] });
    const { pod, ip } = await newPod(network);
    done(bed.tool('status', network, pod));
    const result = done(bed.tool('add', network, pod));
    assert.equal(result.cniVersion, cniVersion);
    assert.deepEqual(
      result.ips?.map((one) => [one.address, one.version]),
      [[`${ip}/16`, cniVersion < '1.0.0' ? '4' : undefined]],
    );
    const mtus = result.interfaces?.map(({ mtu }) => mtu);
    assert.deepEqual(mtus, cniVersion === '1.1.0' ? [1442, 1442] : [undefined, undefined]);
    inPod(pod, 'ping', '-c1', '-W20', '10.16.0.10');

    const checked = bed.tool('check', network, pod);
    // libcni itself refuses CHECK in versions without this command.
    if (cniVersion === '0.3.1') assert.match(checked.stderr, /does not support/);
    else done(checked);
    assert.match(bed.tool('add', network, pod).stderr, /has interface eth0 already/);
    for (const _ of [1, 2]) done(bed.tool('del', network, pod));
    if (cniVersion !== '0.3.1') assert.notEqual(bed.tool('check', network, pod).status, 0, 'nothing is there to check');

    done(bed.tool('add', network, pod));
    done(bed.tool('gc', network, pod));
    await onlyTheLiving();

    // Like after a crash of the machine: libcni has no cached results, and the sandbox has no network namespace.
    done(bed.tool('add', network, pod));
    bed.forget();
    node.deleteNamespace(pod.netns);
    done(bed.tool('gc', network, pod));
    if (cniVersion !== '1.1.0') done(bed.tool('del', network, pod));
    await onlyTheLiving();
  });

describe('a chain', () => {
  const tuning = { type: 'tuning', sysctl: { 'net.core.somaxconn': '500' } };
  const plugins = [
    { type: 'isthmus' },
    { type: 'portmap', capabilities: { portMappings: true } },
    { type: 'bandwidth', capabilities: { bandwidth: true } },
    tuning,
  ];
  const capabilities = {
    portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }],
    bandwidth: { ingressRate: 8_000_000, ingressBurst: 800_000 },
  };

  async function fromOutside(): Promise<string> {
    const argv = ['netns', 'exec', node.outside, 'socat', '-', 'TCP4:172.30.9.11:8080,connect-timeout=2'];
    const child = spawn('ip', argv, { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await new Promise((resolve) => child.once('close', resolve));
    return text;
  }

  for (const cniVersion of ['0.4.0', '1.0.0', '1.1.0'])
    test(`applies and reverts isthmus, portmap, bandwidth and tuning in version ${cniVersion}`, async () => {
      const network = bed.network(`chain${cniVersion.replaceAll('.', '')}`, { cniVersion, plugins });
      const { pod } = await newPod(network);
      const result = done(bed.tool('add', network, pod, capabilities));
      const server = spawn(
        'ip',
        ['netns', 'exec', pod.netns, 'socat', 'TCP4-LISTEN:80,fork,reuseaddr', 'SYSTEM:echo through'],
        {
          stdio: 'ignore',
        },
      );
      await eventually('an answer through the port of the host', async () => (await fromOutside()) === 'through\n');
      const host = result.interfaces?.[0]?.name ?? '';
      // Open vSwitch reconfigures all its ports when a port is added or deleted.
      const { pod: passing } = await newPod(`${network}-passing`);
      await ok(node.cni('ADD', passing.env));
      await ok(node.cni('DEL', passing.env));
      assert.match(exec('tc', 'qdisc', 'show', 'dev', host), /tbf .* rate 8Mbit/);
      assert.equal(inPod(pod, 'sysctl', '-n', 'net.core.somaxconn').trim(), '500');
      done(bed.tool('check', network, pod, capabilities));
      done(bed.tool('del', network, pod, capabilities));
      server.kill();
      assert.equal(await fromOutside(), '');
      await onlyTheLiving();
    });

  test('passes CHECK and DEL with a MAC address of tuning', async () => {
    const mac = '02:00:00:00:07:07';
    const network = bed.network('mac', {
      cniVersion: '1.1.0',
      plugins: [{ type: 'isthmus' }, { type: 'tuning', mac }],
    });
    const { pod } = await newPod('mac');
    const result = done(bed.tool('add', network, pod));
    assert.equal(result.interfaces?.[1]?.mac, mac);
    assert.match(inPod(pod, 'ip', '-o', 'link', 'show', 'eth0'), new RegExp(mac));
    done(bed.tool('check', network, pod));
    done(bed.tool('del', network, pod));
    await onlyTheLiving();
  });

  test('limits egress rates', { skip: hasIfb() ? false : 'this kernel has no ifb devices (module ifb)' }, async () => {
    const network = bed.network('egress', { cniVersion: '1.1.0', plugins });
    const { pod } = await newPod('egress');
    const bandwidth = { egressRate: 8_000_000, egressBurst: 800_000 };
    const result = done(bed.tool('add', network, pod, { bandwidth }));
    assert.equal(result.interfaces?.length, 3, 'ours, and the ifb of bandwidth');
    done(bed.tool('check', network, pod, { bandwidth }));
    done(bed.tool('del', network, pod, { bandwidth }));
    await onlyTheLiving();
  });
});

function hasIfb(): boolean {
  try {
    exec('unshare', '-n', 'ip', 'link', 'add', 'ifb9', 'type', 'ifb');
    return true;
  } catch {
    return false;
  }
}

describe('CHECK', () => {
  let pod: TestPod;
  let prevResult: Result;
  before(async () => {
    pod = (await newPod('checked')).pod;
    prevResult = (await ok(node.cni('ADD', pod.env))) as Result;
  });
  after(() => ok(node.cni('DEL', pod.env)));

  const check = (changes: Record<string, string> = {}, config: object = {}): ReturnType<TestNode['cni']> =>
    node.cni('CHECK', { ...pod.env, ...changes }, { prevResult, ...config });

  const faults: readonly [what: string, doIt: string, undoIt: string, fault: RegExp][] = [
    ['the MAC address', 'link set eth0 address 02:00:00:00:00:99', 'link set eth0 address MAC', /has MAC address/],
    ['the MTU', 'link set eth0 mtu 1300', 'link set eth0 mtu 1442', /has MTU 1300/],
    [
      'the default route',
      'route del default',
      'route add default via 10.16.0.1',
      /route to 0\.0\.0\.0\/0 by 10\.16\.0\.1 is gone/,
    ],
    ['an address', 'addr del IP/16 dev eth0', 'addr add IP/16 dev eth0', /has lost address/],
    ['the link', 'link set eth0 down', 'link set eth0 up', /is down/],
  ];
  for (const [what, doIt, undoIt, fault] of faults)
    test(`reports a change of ${what}`, async () => {
      const mac = prevResult.interfaces?.[1]?.mac ?? '';
      const ip = prevResult.ips?.[0]?.address.replace('/16', '') ?? '';
      const ipIn = (command: string): string =>
        inPod(pod, 'ip', ...command.replace('MAC', mac).replace('IP', ip).split(' '));
      await ok(check());
      ipIn(doIt);
      const { json } = await check();
      assert.equal(json['code'], 104);
      assert.match(String(json['msg']), fault);
      ipIn(undoIt);
      if (what !== 'the default route') exec('ip', '-n', pod.netns, 'route', 'replace', 'default', 'via', '10.16.0.1');
      await ok(check());
    });

  test('reports a port that ovn-controller has not installed', async () => {
    const name = prevResult.interfaces?.[0]?.name ?? '';
    node.signal('ovn-controller', 'SIGSTOP');
    node.vsctl('remove', 'interface', name, 'external_ids', 'ovn-installed');
    const { json } = await eventually('the fault', async () => {
      const answer = await check();
      return answer.status === 1 && answer;
    });
    assert.match(String(json['msg']), /ovn-controller has not installed port/);
    node.vsctl('set', 'interface', name, 'external_ids:ovn-installed=true');
    node.signal('ovn-controller', 'SIGCONT');
    await eventually('right again', async () => (await check()).status === 0);
  });

  test('refuses an invalid prevResult and another namespace', async () => {
    assert.equal(await codeOf(check({}, { prevResult: undefined })), 7);
    assert.equal(await codeOf(check({}, { prevResult: { interfaces: 'x' } })), 7);
    assert.equal(await codeOf(check({}, { prevResult: {} })), 104);
    assert.equal(await codeOf(check({}, { cniVersion: '0.3.1' })), 1);
    assert.equal(await codeOf(check({ CNI_NETNS: '/var/run/netns/nobody' })), 3);
    assert.equal(await codeOf(check({ CNI_NETNS: '/proc/self/ns/net' })), 8);
    assert.equal(await codeOf(check({ CNI_NETNS: living.env['CNI_NETNS'] ?? '' })), 104);
    assert.equal(await codeOf(check({ CNI_CONTAINERID: 'unknown' })), 3);
  });
});

describe('DEL', () => {
  test('succeeds repeatedly for missing and unknown sandboxes and with an invalid configuration', async () => {
    const { pod } = await newPod('deleted');
    await ok(node.cni('ADD', pod.env));
    node.deleteNamespace(pod.netns);
    const garbage = { prevResult: { interfaces: 7 }, ipam: { type: 'x' }, runtimeConfig: { mac: 1 } };
    for (const changes of [{}, { CNI_NETNS: '' }, { CNI_CONTAINERID: 'never-seen' }])
      for (const _ of [1, 2]) await ok(node.cni('DEL', { ...pod.env, ...changes }, garbage));
    await onlyTheLiving();
  });

  test("does its work and then fails for the node's own namespace, unless the caller allows it", async () => {
    const { pod } = await newPod('own');
    await ok(node.cni('ADD', pod.env));
    const env = { ...pod.env, CNI_NETNS: `/proc/${process.pid}/ns/net` };
    assert.equal(await codeOf(node.cni('DEL', env)), 8);
    await onlyTheLiving();
    await ok(node.cni('DEL', { ...env, CNI_NETNS_OVERRIDE: '1' }));
  });
});

describe('GC', () => {
  const v11 = { cniVersion: '1.1.0' };
  const collect = (config: object): ReturnType<TestNode['cni']> =>
    node.cni('GC', { CNI_IFNAME: '' }, { ...v11, ...config });
  const keep = (...pods: readonly TestPod[]): object => ({
    'cni.dev/valid-attachments': pods.map(({ env }) => ({ containerID: env['CNI_CONTAINERID'], ifname: 'eth0' })),
  });

  test('deletes attachments that are not listed and stray interfaces, but none of other networks', async () => {
    const [stale, other] = [(await newPod('stale')).pod, (await newPod('other')).pod];
    await ok(node.cni('ADD', stale.env));
    await ok(node.cni('ADD', other.env, { name: 'another' }));
    exec('ip', 'link', 'add', '00112233aabb_h', 'type', 'veth', 'peer', 'name', 'stray0');
    exec('ip', 'link', 'add', '00112233aabb_x', 'type', 'veth', 'peer', 'name', 'foreign0');
    await ok(collect(keep(living)));
    const links = exec('ip', '-o', 'link');
    assert.match(links, /foreign0/);
    assert.doesNotMatch(links, /stray0/);
    assert.ok(!inPod(stale, 'ip', '-o', 'link').includes('eth0'));
    inPod(other, 'ping', '-c1', '-W20', '10.16.0.10');
    exec('ip', 'link', 'del', '00112233aabb_x');
    await ok(collect({ name: 'another', 'cni.dev/valid-attachments': [] }));
    await onlyTheLiving();
    await ok(collect(keep(living)));
  });

  test('does not affect an ADD in progress', async () => {
    const pod = await cluster.makePod('underway');
    const adding = node.cni('ADD', pod.env);
    await cluster.annotate(pod, '10.16.0.19');
    await eventually('the port', () => traces(node).rows.length === 4);
    await ok(collect(keep(living)));
    await cluster.allocate(pod, '10.16.0.19');
    await ok(adding);
    await ok(node.cni('DEL', pod.env));
    await onlyTheLiving();
  });

  test('deletes only dead attachments without a list', async () => {
    const [dead, alive] = [(await newPod('dead')).pod, (await newPod('alive')).pod];
    await ok(node.cni('ADD', dead.env));
    await ok(node.cni('ADD', alive.env));
    node.deleteNamespace(dead.netns);
    await ok(collect({}));
    assert.equal(traces(node).rows.length, 4);
    inPod(alive, 'ping', '-c1', '-W20', '10.16.0.10');
    await ok(node.cni('DEL', alive.env));
    await onlyTheLiving();
  });

  test('reports all attachments that it could not delete, and deletes them the next time', async () => {
    const pods = [(await newPod('first')).pod, (await newPod('second')).pod];
    for (const pod of pods) await ok(node.cni('ADD', pod.env));
    node.signal('db', 'SIGSTOP');
    const { status, json } = await collect(keep(living));
    node.signal('db', 'SIGCONT');
    assert.deepEqual([status, json['code']], [1, 11]);
    assert.match(String(json['msg']), /^2 of 2 stale attachments/);
    for (const { env } of pods) assert.ok(String(json['details']).includes(env['CNI_CONTAINERID'] ?? '?'));
    await ok(collect(keep(living)));
    await onlyTheLiving();
  });

  test('refuses an invalid list', async () => {
    assert.equal(await codeOf(collect({ 'cni.dev/valid-attachments': 'all' })), 7);
    assert.equal(await codeOf(collect({ cniVersion: '1.0.0', ...keep() })), 1);
    await onlyTheLiving();
  });
});

describe('STATUS', () => {
  const status = async (): Promise<unknown> => {
    const answer = await node.cni('STATUS', {}, { cniVersion: '1.1.0' });
    return answer.status === 0 ? 0 : answer.json['code'];
  };
  const becomes = (code: number): Promise<unknown> =>
    eventually(`STATUS ${code}`, async () => (await status()) === code);

  test('reports whether the preconditions of ADD are met', async () => {
    await becomes(0);
    node.signal('vswitchd', 'SIGSTOP');
    await becomes(51);
    const { json } = await node.cni('STATUS', {}, { cniVersion: '1.1.0' });
    assert.match(String(json['msg']), /not ready: SwitchDown/);
    assert.match(String(json['details']), /^ovs-vswitchd does not answer/);
    node.signal('vswitchd', 'SIGCONT');
    await becomes(0);
    await node.kill('ovn-controller');
    await becomes(50);
    node.startController();
    await becomes(0);
    await node.kill('db');
    await becomes(50);
    assert.match(String((await node.cni('STATUS', {}, { cniVersion: '1.1.0' })).json['msg']), /DatabaseDown/);
    startDatabase(node);
    await becomes(0);
    await cluster.annotateNode({ 'ovn.kubernetes.io/allocated': null });
    await becomes(50);
    await cluster.annotateNode({ 'ovn.kubernetes.io/allocated': 'true' });
    await becomes(0);
    await onlyTheLiving();
  });

  test('is 50 at once without a daemon, while other commands wait for the daemon', async () => {
    const { pod } = await newPod('patient');
    await node.kill('daemon');
    assert.equal(await status(), 50);
    const adding = node.cni('ADD', pod.env);
    await node.startDaemon(cluster.kubeconfig);
    await ok(adding);
    await ok(node.cni('DEL', pod.env));
    await onlyTheLiving();
  });
});

test('a static pod is attached although its runtime uses another uid than the API server', async () => {
  const uid = '0b7d6e54c1b84f6d8a52b0f7a1f5c0de';
  const pod = await cluster.makePod('static-n1', { 'kubernetes.io/config.mirror': uid });
  await cluster.allocate(pod, '10.16.0.18');
  const env = { ...pod.env, CNI_ARGS: pod.env['CNI_ARGS']?.replace(pod.uid, uid) ?? '' };
  const prevResult = await ok(node.cni('ADD', env));
  inPod(pod, 'ping', '-c1', '-W2', '10.16.0.10');
  await ok(node.cni('CHECK', env, { prevResult }));
  await ok(node.cni('DEL', env));
  await onlyTheLiving();
});

test('concurrent ADDs give each pod its own address, and concurrent DELs leave nothing', async () => {
  const pods = await Promise.all(Array.from({ length: 12 }, (_, at) => newPod(`many-${at}`)));
  const results = (await Promise.all(pods.map(({ pod }) => ok(node.cni('ADD', pod.env))))) as readonly Result[];
  assert.deepEqual(
    results.map(({ ips }) => ips?.[0]?.address),
    pods.map(({ ip }) => `${ip}/16`),
  );
  await Promise.all(pods.map(({ pod }) => ok(node.cni('DEL', pod.env))));
  await onlyTheLiving();
});

describe('ADD refuses', () => {
  before(() => void exec('mkfifo', join(node.dir, 'pipe')));
  const bad: readonly [what: string, code: number, environment: Record<string, string>, config?: object][] = [
    ['no container', 4, { CNI_CONTAINERID: '' }],
    ['an invalid container id', 3, { CNI_CONTAINERID: '../x' }],
    ['no path', 4, { CNI_PATH: '' }],
    ['an interface name of 16 characters', 4, { CNI_IFNAME: 'a234567890123456' }],
    ['an interface name with a space', 4, { CNI_IFNAME: 'a b' }],
    ['no pod', 4, { CNI_ARGS: 'IgnoreUnknown=1' }],
    ['an unknown argument', 4, { CNI_ARGS: 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=living;X=1' }],
    ['the namespace of the node', 8, { CNI_NETNS: `/proc/${process.pid}/ns/net`, CNI_CONTAINERID: 'wrong' }],
    ['a file that is not a namespace', 4, { CNI_NETNS: '/etc/hostname', CNI_CONTAINERID: 'wrong' }],
    ['a socket', 4, { CNI_NETNS: join(node.dir, 'daemon.sock'), CNI_CONTAINERID: 'wrong' }],
    ['a pipe', 4, { CNI_NETNS: join(node.dir, 'pipe'), CNI_CONTAINERID: 'wrong' }],
    ['a path that is too long', 4, { CNI_NETNS: `/${'x'.repeat(5000)}`, CNI_CONTAINERID: 'wrong' }],
    ['an unknown version', 1, {}, { cniVersion: '9.9.9' }],
    ['ipam', 2, {}, { ipam: { type: 'host-local' } }],
    ['an invalid network name', 7, {}, { name: '../x' }],
    ['fields of wrong types', 6, {}, { name: 3 }],
  ];
  for (const [what, code, environment, config] of bad)
    test(what, async () =>
      assert.equal(await codeOf(node.cni('ADD', { ...living.env, ...environment }, config)), code),
    );

  test('with an error in the version of the request', async () => {
    for (const cniVersion of [...supportedVersions, '9.9.9'])
      assert.equal((await node.cni('ADD', { CNI_NETNS: '' }, { cniVersion })).json['cniVersion'], cniVersion);
    await onlyTheLiving();
  });
});

test('the CNI configuration is written when the node is ready, and restored after deletion', async () => {
  const [source, folder] = [join(node.dir, '01-isthmus.conflist'), join(node.dir, 'fresh')];
  exec(
    'cp',
    join(bed.conf, `${bed.network('chart', { cniVersion: '1.0.0', plugins: [{ type: 'isthmus' }] })}.conflist`),
    source,
  );
  await node.kill('daemon');
  await node.kill('ovn-controller');
  await node.startDaemon(cluster.kubeconfig, '--cni-conflist', source, '--cni-conf-dir', folder);
  const file = join(folder, '01-isthmus.conflist');
  const isNotReady = async (): Promise<boolean> => (await node.cni('STATUS', {}, { cniVersion: '1.1.0' })).status === 1;
  await eventually('a node that is not ready', isNotReady);
  node.startController();
  await eventually('the file', () => existsSync(file));
  rmSync(file);
  await eventually('the file again', () => existsSync(file));
  await node.kill('daemon');
  assert.ok(existsSync(file), 'it stays');
  await node.startDaemon(cluster.kubeconfig);
});
