/** The daemon restores the state of its node within seconds after any change by others, and writes nothing where nothing changed. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { startDatabase } from './cni-bed.ts';
import { annotation } from '../../lib/api/names.ts';
import { nodes } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
let wanted = '';
let podPort = '';
let podNetns = '';

function reachesPod(): boolean {
  try {
    exec('ping', '-c1', '-W1', '10.16.0.21');
    return true;
  } catch {
    return false;
  }
}

/** The part of the node's state that the daemon owns, as printed by the system's tools. */
function state(): string {
  const show = (...args: readonly string[]): string => {
    try {
      return exec(args[0] ?? '', ...args.slice(1));
    } catch (error) {
      return String(error);
    }
  };
  return [
    show('nft', 'list', 'table', 'inet', 'isthmus'),
    show('ip', '-o', 'addr', 'show', 'dev', 'ovn0', 'scope', 'global').replaceAll(/^\d+: /gm, ''),
    show('ip', '-o', 'link', 'show', 'dev', 'ovn0')
      .replace(/^\d+: /, '')
      .replace(/ state \w+ /, ' '),
    show('ip', 'route', 'show', 'table', 'all', 'proto', '155'),
    show('ip', 'rule', 'show').replaceAll(/ *$/gm, ''),
    ...['net/ipv4/ip_forward'].map((path) => readFileSync(`/proc/sys/${path}`, 'utf8')),
    node
      .vsctl('--columns=name,type,mac,mtu_request,external_ids', '--format=csv', 'find', 'interface', 'name=ovn0')
      .replace(/ovn-installed-ts=""\d+""/, ''),
    node.vsctl('get', 'bridge', 'br-int', 'datapath_type', 'fail_mode', 'other_config:disable-in-band'),
    node.vsctl('get', 'open', '.', 'external_ids'),
  ].join('\n');
}

before(async () => {
  cluster = await startCluster(node);
  await cluster.makeSubnet('away', '10.19.0.0/24', false);
  await cluster.makeSubnet('ruled', '10.20.0.0/24', true);
  await cluster.setSubnet('ruled', {
    natOutgoingPolicyRules: [{ match: { dstIPs: '198.51.100.0/24' }, action: 'forward' }],
  });
  await cluster.setSubnet('away', {
    externalEgressGateway: '172.30.9.1',
    policyRoutingPriority: 1001,
    policyRoutingTableID: 1001,
  });
  await node.startDaemon(cluster.kubeconfig);
  wanted = await eventually('the node to be as wanted', async () => {
    const now = state();
    const isWhole = ['table 1001', 'lookup 1001', 'ovn-installed'].every((part) => now.includes(part));
    await sleep(300);
    return isWhole && node.hasDaemonLogged('NetworkReady') && state() === now && now;
  });
  const pod = await cluster.makePod('kept');
  await cluster.allocate(pod, '10.16.0.21');
  const { status, json } = await node.cni('ADD', pod.env);
  assert.equal(status, 0, JSON.stringify(json));
  podPort = `${pod.env['CNI_CONTAINERID']?.slice(0, 12)}_h`;
  podNetns = pod.netns;
  await eventually('an answer', reachesPod);
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

const deeds: Readonly<Record<string, readonly string[]>> = {
  'the nftables table': ['nft', 'delete', 'table', 'inet', 'isthmus'],
  'every nftables table': ['nft', 'flush', 'ruleset'],
  'a chain of the table': ['nft', 'flush', 'chain', 'inet', 'isthmus', 'postrouting'],
  'an element of a set': ['nft', 'delete', 'element', 'inet', 'isthmus', 'nat4', '{ 10.16.0.0/16 }'],
  'the nftables table with a foreign rule': ['nft', 'add', 'rule', 'inet', 'isthmus', 'postrouting', 'drop'],
  'a route to a subnet': ['ip', 'route', 'del', '10.16.0.0/16'],
  'the default route of an egress gateway': ['ip', 'route', 'flush', 'table', '1001'],
  'the rule of an egress gateway': ['ip', 'rule', 'del', 'priority', '1001'],
  'the address of ovn0': ['ip', 'addr', 'flush', 'dev', 'ovn0'],
  'ovn0 with a foreign address': ['ip', 'addr', 'add', '198.51.100.7/32', 'dev', 'ovn0'],
  'the link state of ovn0': ['ip', 'link', 'set', 'ovn0', 'down'],
  'the MTU of ovn0': ['ip', 'link', 'set', 'ovn0', 'mtu', '1300'],
  'ovn0 itself': ['ip', 'link', 'del', 'ovn0'],
  'the MAC address of ovn0': ['ip', 'link', 'set', 'ovn0', 'address', '02:00:00:00:00:99'],
  'IPv4 forwarding': ['sysctl', '-w', 'net.ipv4.ip_forward=0'],
};
for (const [what, command] of Object.entries(deeds)) {
  test(`the daemon restores ${what}`, async () => {
    exec(command[0] ?? '', ...command.slice(1));
    await untilAsWanted();
  });
}

const rows: Readonly<Record<string, readonly string[]>> = {
  'the port of ovn0': ['del-port', 'br-int', 'ovn0'],
  'the configuration of ovn-controller': ['remove', 'open', '.', 'external_ids', 'ovn-encap-ip', 'ovn-remote'],
  'the chassis name': ['remove', 'open', '.', 'external_ids', 'system-id'],
  'the node configuration': ['clear', 'open', '.', 'external_ids'],
  'the iface-id of ovn0': ['remove', 'interface', 'ovn0', 'external_ids', 'iface-id'],
};
for (const [what, command] of Object.entries(rows)) {
  test(`the daemon restores ${what}`, async () => {
    node.vsctl(...command);
    await untilAsWanted();
  });
}

test('a chassis name that the database lost while the daemon was down is restored, and another name stays', async () => {
  await node.kill('daemon');
  node.vsctl('clear', 'open', '.', 'external_ids');
  await node.startDaemon(cluster.kubeconfig);
  await untilAsWanted();
  node.vsctl('set', 'open', '.', 'external_ids:system-id=chassis-2');
  await eventually('the Node to name it', async () => {
    const { metadata } = await cluster.admin.get(nodes, { name: 'n1' });
    return metadata.annotations?.[annotation.chassis] === 'chassis-2';
  });
  node.vsctl('set', 'open', '.', 'external_ids:system-id=chassis-1');
  await untilAsWanted();
});

test('the port of a pod is restored with its traffic', async () => {
  const ofport = (): string => node.vsctl('--if-exists', 'get', 'interface', podPort, 'ofport');
  const was = ofport();
  node.vsctl('del-port', 'br-int', podPort);
  await eventually('another port', () => /^\d+$/.test(ofport()) && ofport() !== was);
  await eventually('traffic', reachesPod);
});

test('the interface of a pod is restored with its traffic and an event', async () => {
  for (const side of ['node', 'pod', 'node, while ovs-vswitchd hangs', 'node, while no daemon runs']) {
    if (side.endsWith('runs')) await node.kill('daemon');
    if (side.endsWith('hangs')) node.signal('vswitchd', 'SIGSTOP');
    if (side === 'pod') exec('ip', '-n', podNetns, 'link', 'del', 'eth0');
    else exec('ip', 'link', 'del', podPort);
    if (side.endsWith('runs')) await node.startDaemon(cluster.kubeconfig);
    if (side.endsWith('hangs')) {
      // Long enough for a daemon that did not wait for ovs-vswitchd to fail.
      await sleep(500);
      node.signal('vswitchd', 'SIGCONT');
    }
    await eventually(`traffic, deleted on the ${side}`, reachesPod).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${node.log('daemon')}\n${node.log('ovn-controller')}`);
    });
  }
  assert.match(exec('ip', '-n', podNetns, 'route'), /default via 10\.16\.0\.1 dev eth0/);
  await eventually('the event', async () => (await cluster.eventsOn('Pod', 'kept'))['InterfaceRestored']);
});

/** Whether the database has the record of a port that is out of the bridge while its interface is recreated. */
const isAside = (): boolean => node.vsctl('--bare', '--columns=external_ids', 'list', 'Queue').includes(podPort);
const podLink = (): string => exec('ip', '-n', podNetns, '-o', 'link');
const isInBridge = (): boolean => node.vsctl('list-ports', 'br-int').split('\n').includes(podPort);
const isTakenUp = (): boolean =>
  node.vsctl('get', 'open', '.', 'cur_cfg') === node.vsctl('get', 'open', '.', 'next_cfg');

/** Each deletes the interface and kills the daemon at one step of recreating it; all other programs run. */
const crashes: Readonly<Record<string, () => Promise<void>>> = {
  'after the port has left the bridge': async () => {
    node.signal('vswitchd', 'SIGSTOP');
    exec('ip', 'link', 'del', podPort);
    await eventually('the record', isAside);
    assert.ok(!isInBridge());
    await node.kill('daemon');
    node.signal('vswitchd', 'SIGCONT');
  },
  'between the new link and its port': async () => {
    node.signal('vswitchd', 'SIGSTOP');
    exec('ip', 'link', 'del', podPort);
    await eventually('the record', isAside);
    node.signal('daemon', 'SIGSTOP');
    node.signal('vswitchd', 'SIGCONT');
    await eventually('ovs-vswitchd', isTakenUp);
    node.signal('db', 'SIGSTOP');
    node.signal('daemon', 'SIGCONT');
    await eventually('the link', () => podLink().includes('eth0'));
    await node.kill('daemon');
    // The daemon's pending requests are lost with the database process.
    await node.kill('db');
    startDatabase(node);
    await eventually('the database', () => {
      try {
        return isAside();
      } catch {
        return false;
      }
    });
    assert.ok(!isInBridge());
  },
  'before ovn-controller has installed the flows': async () => {
    node.signal('ovn-controller', 'SIGSTOP');
    exec('ip', 'link', 'del', podPort);
    await eventually('the port', () => isAside() && isInBridge());
    await node.kill('daemon');
    node.signal('ovn-controller', 'SIGCONT');
  },
  ...Object.fromEntries(
    [0, 5, 20, 60].map((ms) => [
      `${ms} ms after the deletion`,
      async () => {
        exec('ip', 'link', 'del', podPort);
        await sleep(ms);
        await node.kill('daemon');
      },
    ]),
  ),
};
for (const [when, crash] of Object.entries(crashes)) {
  test(`the next daemon restores the interface of a pod, if a daemon is killed ${when}`, async () => {
    await crash();
    await node.startDaemon(cluster.kubeconfig);
    await eventually('the interface to be complete, without a record', () => podLink().includes('eth0') && !isAside());
    assert.match(exec('ip', '-n', podNetns, 'route'), /default via 10\.16\.0\.1 dev eth0/);
    await eventually('traffic', reachesPod);
  });
}

test('a pod deleted while its interface is restored leaves nothing behind', async () => {
  const pod = await cluster.makePod('leaving');
  await cluster.allocate(pod, '10.16.0.22');
  assert.equal((await node.cni('ADD', pod.env)).status, 0);
  const port = `${pod.env['CNI_CONTAINERID']?.slice(0, 12)}_h`;
  node.signal('vswitchd', 'SIGSTOP');
  exec('ip', 'link', 'del', port);
  const records = (): string => node.vsctl('--bare', '--columns=external_ids', 'list', 'Queue');
  await eventually('the record', () => records().includes(port));
  await node.kill('daemon');
  node.signal('vswitchd', 'SIGCONT');
  const removing = node.cni('DEL', pod.env);
  await node.startDaemon(cluster.kubeconfig);
  assert.deepEqual(await removing, { status: 0, json: {} });
  await eventually('no link', () => !exec('ip', '-o', 'link').includes(port));
  await eventually('no record', () => records() === '');
});

test('the integration bridge is restored with ovn0 and the ports of pods', async () => {
  node.vsctl('del-br', 'br-int');
  await untilAsWanted();
  await eventually('traffic', reachesPod);
});

test('restarts, events and foreign changes cause no writes', async (t) => {
  // The kernel reports an address when duplicate address detection ends.
  await eventually('addresses to be settled', () => exec('ip', '-6', '-o', 'addr', 'show', 'tentative') === '');
  const monitors = [
    startMonitor(t, 'ip', 'monitor', 'link', 'address', 'route', 'rule'),
    startMonitor(t, 'nft', 'monitor'),
  ];
  await eventually('the monitor to see a change', () => {
    // It may not listen yet.
    exec('ip', 'route', 'replace', '198.51.100.0/24', 'via', '172.30.9.1');
    return monitors[0]?.lines().some((line) => line.includes('198.51.100'));
  });
  await node.kill('daemon');
  await node.startDaemon(cluster.kubeconfig);
  await cluster.setSubnet('away', { excludeIps: ['10.19.0.9'] });
  exec('ip', 'rule', 'add', 'priority', '77', 'to', '198.51.100.8', 'lookup', '77');
  exec('ip', 'rule', 'del', 'priority', '77');
  exec('nft', 'add', 'table', 'inet', 'other');
  exec('nft', 'delete', 'table', 'inet', 'other');
  await eventually('the daemon to have applied', () => node.hasDaemonLogged('NetworkReady'));
  for (const monitor of monitors) await monitor.stop();
  const seen = monitors
    .flatMap((monitor) => monitor.lines())
    .filter((line) => !/198\.51\.100|^77:|other|new generation|gen id|^$/.test(line));
  assert.deepEqual(seen, []);
  assert.equal(state(), wanted);
});

async function untilAsWanted(): Promise<void> {
  let now = '';
  await eventually('the node to be as before', () => (now = state()) === wanted).catch((error: unknown) => {
    const [was, is] = [new Set(wanted.split('\n')), new Set(now.split('\n'))];
    assert.deepEqual(
      { lost: [...was.difference(is)], strange: [...is.difference(was)] },
      { lost: [], strange: [] },
      String(error),
    );
  });
}

interface Monitor {
  lines(): readonly string[];
  stop(): Promise<void>;
}

function startMonitor(t: TestContext, program: string, ...args: readonly string[]): Monitor {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const stop = async (): Promise<void> => {
    child.kill();
    await closed;
  };
  t.after(stop);
  return { lines: () => text.split('\n'), stop };
}
