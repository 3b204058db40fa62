/** Moves the node's interface into a provider network's bridge and back, while the node reaches the API server through it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { gateway, heldBy, nothing, TestLan } from '../../daemon/testing-lan.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation, providerNetworkKey } from '../../lib/api/names.ts';
import { nodes, providerNetworks, subnets } from '../../lib/kube/resources.ts';
import { eventually, eventuallyPasses, notYet, type NotYet } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
let lan: TestLan;
let before_: ReturnType<typeof heldBy>;

before(async () => {
  cluster = await startCluster(node);
  lan = new TestLan(node);
  lan.addNic('eth1', 'p1');
  lan.configure();
  before_ = heldBy('eth1');
  lan.leadToApi(cluster);
  node.vsctl('set', 'open', '.', 'external_ids:ovn-bridge-mappings=physnet1:br-ex');
  await node.startDaemon(lan.kubeconfig);
});

/** Cleans up after a failed test. */
afterEach(async () => {
  for (const { metadata } of await cluster.admin.list(providerNetworks)) {
    await deleteNetwork(metadata.name);
    await eventually('the end of it', async () => Object.keys(await marks(metadata.name)).length === 0);
  }
  exec('nft', 'add table arp fault; delete table arp fault; add table ip fault; delete table ip fault');
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

async function makeNetwork(name: string, spec: object = {}, annotations: Readonly<Record<string, string>> = {}) {
  await cluster.admin.create(providerNetworks, {
    apiVersion: 'kubeovn.io/v1',
    kind: 'ProviderNetwork',
    metadata: { name, annotations },
    spec: { defaultInterface: 'eth1', ...spec },
  });
}

/** Waits for the reason why a network is not ready. */
async function untilRefused(network: string, code: string): Promise<string> {
  const what = `${network} to be refused with ${code}`;
  const refused = async (): Promise<string | NotYet> => {
    const { err_mesg: message = '', ready } = await marks(network);
    return message.startsWith(`${code}: `) && ready === 'false' ? message : notYet(`ready ${ready}: ${message}`);
  };
  return eventually(what, refused).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${node.log('daemon')}`, { cause: error });
  });
}

/** Drops outgoing packets of one interface. */
function drop(family: 'arp' | 'ip', device: string, match = ''): void {
  const table = `${family} fault`;
  exec('nft', `add table ${table}; add chain ${table} out { type filter hook output priority 0; }`);
  exec('nft', `add rule ${table} out oifname "${device}" ${match} drop`);
}

function heal(family: 'arp' | 'ip'): void {
  exec('nft', `delete table ${family} fault`);
}

async function restart(): Promise<void> {
  await node.kill('daemon');
  await node.startDaemon(lan.kubeconfig);
}

/** The phase of the move, as recorded in the bridge's row. */
function phase(): string | undefined {
  const ids = node.vsctl('--if-exists', '--columns=external_ids', 'list', 'bridge', 'br-phys');
  return /\\"phase\\":\\"(\w+)\\"/.exec(ids)?.[1];
}

async function deleteNetwork(name: string): Promise<void> {
  await cluster.admin.delete(providerNetworks, { name });
}

/** The node's labels and annotations of a network, by the last part of their keys. */
async function marks(network: string): Promise<Readonly<Record<string, string>>> {
  const { labels = {}, annotations = {} } = (await cluster.admin.get(nodes, { name: 'n1' })).metadata;
  const prefix = providerNetworkKey(network, 'ready').slice(0, -'ready'.length);
  const own = Object.entries({ ...labels, ...annotations }).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value]));
}

async function setDryRun(value: string | null): Promise<void> {
  const body = { metadata: { annotations: { [annotation.dryRun]: value } } };
  await cluster.admin.patch(providerNetworks, { name: 'phys' }, 'merge', body);
}

async function untilReady(network: string): Promise<void> {
  await eventually(`${network} to be ready`, async () => {
    const now = await marks(network);
    if (now['err_mesg'] !== undefined) throw new Error(`${now['err_mesg']}\n${node.log('daemon')}`);
    return now['ready'] === 'true';
  });
}

/** Waits until a network that was refused is ready. */
async function untilWell(network: string): Promise<void> {
  await eventually(`${network} to be ready`, async () => {
    const { ready, err_mesg: message } = await marks(network);
    return (ready === 'true' && message === undefined) || notYet(`ready ${ready}: ${message}`);
  });
}

/** Waits until the node is as before the network was created. */
async function untilBack(network: string): Promise<void> {
  await eventually(`${network} to be gone`, async () => Object.keys(await marks(network)).length === 0);
  await eventually('the bridge to be gone', () => !node.vsctl('list-br').split('\n').includes(`br-${network}`));
  await eventually('the device to be gone', () => !exec('ip', '-o', 'link').includes(` br-${network}:`));
  await untilHeld('eth1');
  await eventuallyPasses(() => assert.equal(exec('nft', 'list', 'ruleset', 'netdev'), ''));
}

/** Waits until a device has the addresses and routes that the interface had before. */
function untilHeld(device: string, wanted = before_): Promise<void> {
  return eventuallyPasses(() => assert.deepEqual(heldBy(device), wanted));
}

function untilMapped(wanted: string): Promise<void> {
  return eventuallyPasses(() => assert.equal(mappings(), wanted));
}

/** Waits until the Node says nothing else of a network. */
function untilMarked(network: string, wanted: Readonly<Record<string, string>>): Promise<void> {
  return eventuallyPasses(async () => assert.deepEqual(await marks(network), wanted));
}

/** The number of lost pings from the gateway to the node, sent every 10 ms. */
async function lostWhile(action: () => Promise<void>): Promise<number> {
  const ping = spawn('ip', ['netns', 'exec', lan.netns, 'ping', '-n', '-q', '-i', '0.01', '10.20.0.11']);
  let text = '';
  ping.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = once(ping, 'close');
  try {
    await action();
  } finally {
    ping.kill('SIGINT');
    await ended;
  }
  const [, sent, received] = /(\d+) packets transmitted, (\d+) received/.exec(text) ?? [];
  return Number(sent) - Number(received);
}

function mappings(): string {
  return node.vsctl('get', 'open', '.', 'external_ids:ovn-bridge-mappings').replaceAll('"', '');
}

function pingGateway(): void {
  exec('ping', '-c1', '-W20', gateway);
  exec('ping', '-c1', '-W20', 'fd00:20::1');
}

test('an interface moves into the bridge and back with all its addresses and routes', async () => {
  const lost = lostWhile(() => makeNetwork('phys').then(() => untilReady('phys')));
  assert.ok((await lost) < 500, `${await lost} packets of a hundred a second were lost`);
  await untilMarked('phys', { ready: 'true', interface: 'eth1', mtu: '1500' });
  await untilHeld('eth1', nothing);
  await untilHeld('br-phys');
  const macOf = (device: string): string =>
    /link\/ether (\S+)/.exec(exec('ip', '-o', 'link', 'show', device))?.[1] ?? '';
  assert.equal(macOf('br-phys'), macOf('eth1'));
  assert.deepEqual(node.vsctl('list-ports', 'br-phys').split('\n'), ['eth1']);
  await untilMapped('physnet1:br-ex,phys:br-phys');
  pingGateway();
  assert.doesNotMatch(exec('ip', 'netns', 'exec', lan.netns, 'ping', '-c2', '-i0.2', '10.20.0.11'), /DUP/);

  await deleteNetwork('phys');
  await untilBack('phys');
  await untilMapped('physnet1:br-ex');
  pingGateway();
});

test('deleted addresses, routes, ports and bridges are restored, and an address added to the interface moves to the bridge', async () => {
  await makeNetwork('phys');
  await untilReady('phys');
  const isWhole = (): boolean => JSON.stringify(heldBy('br-phys')) === JSON.stringify(before_);
  exec('ip', 'addr', 'del', '10.20.0.12/24', 'dev', 'br-phys');
  await eventually('the address and the routes that went with it', isWhole);
  exec('ip', 'route', 'del', 'default', 'dev', 'br-phys', 'metric', '100');
  await eventually('the default route', isWhole);
  exec('nft', 'delete', 'table', 'netdev', 'isthmus');
  await eventually('the guard', () => exec('nft', 'list', 'ruleset', 'netdev').includes('device "eth1"'));
  node.vsctl('del-port', 'br-phys', 'eth1');
  await eventually('the port', () => node.vsctl('list-ports', 'br-phys') === 'eth1');
  node.vsctl('del-br', 'br-phys');
  await eventually('the bridge', isWhole);
  // It may be reported as missing for a moment, while ovs-vswitchd creates it.
  await eventually('phys to be ready again', async () => (await marks('phys'))['ready'] === 'true');
  pingGateway();

  exec('ip', 'addr', 'add', '10.20.0.77/24', 'dev', 'eth1');
  await eventually('the new address', () => heldBy('br-phys').addresses.some((line) => line.includes('10.20.0.77')));
  await untilHeld('eth1', nothing);
  await deleteNetwork('phys');
  await eventually('the address to come back', () =>
    heldBy('eth1').addresses.some((one) => one.includes('10.20.0.77')),
  );
  exec('ip', 'addr', 'del', '10.20.0.77/24', 'dev', 'eth1');
  await untilBack('phys');
});

test('a dry run reports its plan and changes nothing', async () => {
  await makeNetwork('phys', {}, { [annotation.dryRun]: 'true' });
  const { plan = '' } = await eventually('the plan', async () => {
    const now = await marks('phys');
    return now['plan'] === undefined ? undefined : now;
  });
  assert.match(
    plan,
    /^would create bridge br-phys, add eth1 to it and move address .*10\.20\.0\.11\/24, .*route 0\.0\.0\.0\/0 via 10\.20\.0\.1/,
  );
  assert.match(plan, /moved back if gateway 10\.20\.0\.1 or gateway fd00:20::1 or the API server did not answer/);
  assert.deepEqual(heldBy('eth1'), before_);
  await setDryRun(null);
  await untilReady('phys');
  await eventually('no plan', async () => (await marks('phys'))['plan'] === undefined);
  await deleteNetwork('phys');
  await untilBack('phys');
});

test('a move that loses the gateway is rolled back, and retried only after the spec changes', async () => {
  drop('arp', 'br-phys');
  await makeNetwork('phys');
  const message = await untilRefused('phys', 'RolledBack');
  assert.match(
    message,
    /because the default gateway 10\.20\.0\.1( and the API server)? did not answer within 10 s; look at port security/,
  );
  await untilHeld('eth1');
  await eventually('no port', () => node.vsctl('list-ports', 'br-phys') === '');
  await untilMapped('physnet1:br-ex');
  pingGateway();
  heal('arp');
  await restart();
  await eventually('the daemon to have looked', () => node.hasDaemonLogged('"RolledBack"'));
  assert.equal(phase(), 'rolledBack');
  assert.deepEqual(heldBy('eth1'), before_);
  await cluster.admin.patch(providerNetworks, { name: 'phys' }, 'merge', { spec: { excludeNodes: ['other'] } });
  await eventually('the refusal to go', async () => (await marks('phys'))['err_mesg'] === undefined);
  await untilReady('phys');
  await deleteNetwork('phys');
  await untilBack('phys');
});

test('a move that loses the API server is rolled back, and a daemon killed during the check resumes it', async () => {
  drop('ip', 'br-phys', 'ip daddr 192.0.2.10');
  await makeNetwork('phys');
  await eventually('the move', () => heldBy('br-phys').addresses.length === before_.addresses.length);
  await node.kill('daemon');
  assert.equal(phase(), 'joining');
  await node.startDaemon(lan.kubeconfig);
  const message = await untilRefused('phys', 'RolledBack');
  assert.match(message, /because the API server did not answer within 10 s/);
  await untilHeld('eth1');

  // A dry run is enough for another attempt.
  await setDryRun('true');
  await eventually('the plan', async () => (await marks('phys'))['plan']);
  await setDryRun(null);
  await eventually('the move', () => heldBy('br-phys').addresses.length === before_.addresses.length);
  await node.kill('daemon');
  heal('ip');
  await node.startDaemon(lan.kubeconfig);
  await untilReady('phys');
  await untilHeld('br-phys');
  await deleteNetwork('phys');
  await untilBack('phys');
});

test('a gateway that is lost before and after the rollback is reported, even if the daemon is killed during the check', async () => {
  drop('arp', 'br-phys');
  await makeNetwork('phys');
  await eventually('the move', () => heldBy('br-phys').addresses.length === before_.addresses.length);
  exec('nft', 'add rule arp fault out oifname "eth1" drop');
  await eventually('the way back', () => phase() === 'returning' && heldBy('eth1').addresses.length > 0);
  await node.kill('daemon');
  // The daemon first checks the gateway for 10 s.
  const started = node.startDaemon(lan.kubeconfig).catch(() => node.untilServing());
  await eventually('the end of the look', () => phase() === 'rolledBack');
  heal('arp');
  await started;
  assert.match(
    await untilRefused('phys', 'RolledBack'),
    /Back on eth1, the default gateway 10\.20\.0\.1 .*did not answer either/,
  );
  await untilHeld('eth1');
  await deleteNetwork('phys');
  await untilBack('phys');
});

test('a daemon killed at any moment of a move completes it after its restart', async () => {
  node.signal('vswitchd', 'SIGSTOP');
  await makeNetwork('phys');
  await eventually('the record', () => node.vsctl('--no-wait', 'list-br').includes('br-phys'));
  await node.kill('daemon');
  assert.equal(phase(), 'joining');
  assert.deepEqual(heldBy('eth1'), before_);
  node.signal('vswitchd', 'SIGCONT');
  await node.startDaemon(lan.kubeconfig);
  await untilReady('phys');
  for (const delayMs of [0, 15, 40, 70]) {
    const deleted = deleteNetwork('phys');
    await eventually('the way back', () => phase() !== 'joined');
    await pause(delayMs / 4);
    await node.kill('daemon');
    await deleted;
    await node.startDaemon(lan.kubeconfig);
    await untilBack('phys');
    await makeNetwork('phys');
    await eventually('the port', () => exec('ip', '-o', 'link').includes(' br-phys:'));
    await pause(delayMs);
    await node.kill('daemon');
    await node.startDaemon(lan.kubeconfig);
    await untilReady('phys');
    await untilHeld('br-phys');
  }
});

test('the addresses return with the bridge after ovs-vswitchd dies, also if the daemon starts first', async () => {
  await makeNetwork('phys');
  await untilReady('phys');
  await node.kill('vswitchd');
  await node.kill('daemon');
  // Like after a reboot.
  exec('ip', 'link', 'del', 'br-phys');
  node.startVswitchd();
  await node.startDaemon(lan.kubeconfig);
  await untilReady('phys');
  await node.kill('vswitchd');
  node.startVswitchd();
  await eventually('the addresses', () => JSON.stringify(heldBy('br-phys')) === JSON.stringify(before_));
  pingGateway();
  await node.kill('daemon');
  await deleteNetwork('phys');
  await node.startDaemon(lan.kubeconfig);
  await untilBack('phys');
});

test('unfit interfaces are refused with a reason, and do not affect other networks', async () => {
  await makeNetwork('late', { defaultInterface: 'eth2' });
  assert.match(await untilRefused('late', 'InterfaceNotFound'), /node n1 has no interface eth2/);
  await makeNetwork('lo', { defaultInterface: 'lo' });
  assert.match(await untilRefused('lo', 'InterfaceUnfit'), /is the loopback interface/);
  await makeNetwork('ours', { defaultInterface: 'ovn0' });
  assert.match(await untilRefused('ours', 'InterfaceInUse'), /a port of Open vSwitch bridge br-int/);
  await makeNetwork('swap', { exchangeLinkName: true });
  assert.match(await untilRefused('swap', 'NotSupported'), /spec\.exchangeLinkName/);
  await makeNetwork('phys');
  await untilReady('phys');
  await makeNetwork('rival');
  assert.match(await untilRefused('rival', 'InterfaceInUse'), /that of ProviderNetwork phys/);

  lan.addNic('eth2', 'p2');
  exec('ip', 'addr', 'add', '10.22.0.5/24', 'dev', 'eth2');
  await untilWell('late');
  await untilMapped('physnet1:br-ex,late:br-late,phys:br-phys');
  exec('ip', 'link', 'del', 'eth2');
  await untilRefused('late', 'InterfaceNotFound');
  assert.match(exec('ip', '-o', 'addr', 'show', 'br-late'), /10\.22\.0\.5\/24/);
  lan.addNic('eth2', 'p2');
  await eventually('late to be ready again', async () => (await marks('late'))['ready'] === 'true');

  // Excluded from the node, it releases the interface to the waiting network.
  await cluster.admin.patch(providerNetworks, { name: 'phys' }, 'merge', { spec: { excludeNodes: ['n1'] } });
  await eventually('the rival to have it', async () => (await marks('rival'))['ready'] === 'true');
  await untilMarked('phys', {});
  await untilHeld('br-rival');
  for (const name of ['late', 'lo', 'ours', 'swap', 'phys', 'rival']) await deleteNetwork(name);
  await untilBack('rival');
  await eventually('eth2 to have its address', () => exec('ip', '-o', 'addr', 'show', 'eth2').includes('10.22.0.5/24'));
  await untilMapped('physnet1:br-ex');
});

test('an interface that is down or has no carrier is reported, and its network is ready again when it is up', async () => {
  // Not the interface through which the daemon reports.
  await makeNetwork('side', { defaultInterface: 'eth2' });
  await untilReady('side');
  exec('ip', 'link', 'set', 'eth2', 'down');
  assert.match(await untilRefused('side', 'InterfaceDown'), /interface eth2 of node n1 is down: ip link set eth2 up/);
  exec('ip', '-n', lan.netns, 'link', 'set', 'p2', 'down');
  exec('ip', 'link', 'set', 'eth2', 'up');
  await eventually('the other end', async () => (await marks('side'))['err_mesg']?.includes('has no link: look at'));
  assert.match(exec('ip', '-o', 'addr', 'show', 'br-side'), /10\.22\.0\.5\/24/);
  exec('ip', '-n', lan.netns, 'link', 'set', 'p2', 'up');
  await untilWell('side');
});

test('a change of the interface is reported by a dry run, then replaces the first interface with the second', async () => {
  await makeNetwork('phys');
  await untilReady('phys');
  await setDryRun('true');
  const customInterfaces = [{ interface: 'eth2', nodes: ['n1'] }];
  await cluster.admin.patch(providerNetworks, { name: 'phys' }, 'merge', { spec: { customInterfaces } });
  const planned = 'would move everything from br-phys back to eth1, and put eth2 into it';
  await eventually('the plan', async () => (await marks('phys'))['plan'] === planned);
  assert.deepEqual(heldBy('br-phys'), before_);
  await setDryRun(null);
  await eventually('the other to have joined', async () => {
    const now = await marks('phys');
    return now['ready'] === 'true' && now['interface'] === 'eth2';
  });
  await untilHeld('eth1');
  await eventuallyPasses(() => assert.match(exec('ip', '-o', 'addr', 'show', 'br-phys'), /10\.22\.0\.5\/24/));
  pingGateway();
  await deleteNetwork('phys');
  await untilBack('phys');
});

test('without an interface, the bridge has the gateway addresses of its Subnets, also while the daemon restarts', async () => {
  await cluster.admin.create(subnets, {
    apiVersion: 'kubeovn.io/v1',
    kind: 'Subnet',
    metadata: {
      name: 'outside',
      annotations: {
        [annotation.accepted]: '203.0.113.0/24,2001:db8:113::/64 203.0.113.1,2001:db8:113::1 edge/0/nodes',
      },
    },
    spec: { cidrBlock: '203.0.113.0/24,2001:db8:113::/64', vlan: 'edge' },
  });
  await cluster.admin.create(providerNetworks, {
    apiVersion: 'kubeovn.io/v1',
    kind: 'ProviderNetwork',
    metadata: { name: 'edge' },
    spec: { routedByNodes: true },
  });
  await untilReady('edge');
  const { interface: nic, mtu = '' } = await marks('edge');
  assert.equal(nic, 'br-edge');
  await untilMapped('physnet1:br-ex,edge:br-edge');
  const shown = (): string => exec('ip', '-o', 'addr', 'show', 'dev', 'br-edge');
  const hasAll = (): boolean => shown().includes('203.0.113.1/24') && shown().includes('2001:db8:113::1/64');
  await eventually('its addresses', hasAll);
  assert.match(exec('ip', '-o', 'link', 'show', 'br-edge'), new RegExp(`mtu ${mtu} .*state UNKNOWN|mtu ${mtu} .*UP`));
  const rules = exec('nft', 'list', 'chain', 'inet', 'isthmus', 'outside');
  assert.match(rules, /iifname "br-edge" ip saddr != 203\.0\.113\.0\/24 drop/);
  assert.match(rules, /iifname "br-edge" ip6 saddr != \{ 2001:db8:113::\/64, fe80::\/10 \} drop/);
  exec('ip', 'addr', 'del', '203.0.113.1/24', 'dev', 'br-edge');
  await eventually('the address again', hasAll);
  const rowOf = (table: string, key: string): string => node.vsctl('--columns=_uuid', 'list', table, key);
  const before = [rowOf('bridge', 'br-edge'), rowOf('interface', 'br-edge')];
  await node.kill('daemon');
  assert.equal(mappings(), 'physnet1:br-ex,edge:br-edge');
  await node.startDaemon(lan.kubeconfig);
  await eventuallyPasses(async () => assert.equal((await marks('edge'))['ready'], 'true'));
  assert.deepEqual([rowOf('bridge', 'br-edge'), rowOf('interface', 'br-edge')], before);
  assert.equal(mappings(), 'physnet1:br-ex,edge:br-edge');
  assert.ok(hasAll(), shown());
  node.vsctl('del-br', 'br-edge');
  await eventually('the bridge with its addresses', hasAll);
  await cluster.admin.delete(subnets, { name: 'outside' });
  await eventually('the end of its addresses', () => !shown().includes('203.0.113.1/24'));
  await deleteNetwork('edge');
  await untilBack('edge');
  await untilMapped('physnet1:br-ex');
});
