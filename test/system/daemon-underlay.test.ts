/** The node's interface in a provider network's bridge and back, with the way to the API server over that very interface. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { gateway, heldBy, nothing, TestLan } from '../../daemon/testing-lan.ts';
import { eventually, exec, TestNode } from '../../daemon/testing.ts';
import { annotation, providerNetworkKey } from '../../lib/api/names.ts';
import { nodes, providerNetworks } from '../../lib/kube/resources.ts';

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

after(async () => {
  await node.stop();
  await cluster?.stop();
});

async function makeNetwork(name: string, spec: object = {}, annotations: Readonly<Record<string, string>> = {}) {
  await cluster.admin.create(providerNetworks, {
    apiVersion: 'kubeovn.io/v1',
    kind: 'ProviderNetwork',
    metadata: { name, annotations },
    spec: { defaultInterface: 'eth1', ...spec },
  });
}

async function deleteNetwork(name: string): Promise<void> {
  await cluster.admin.delete(providerNetworks, { name });
}

/** The node's marks of a network, by their last part. */
async function marks(network: string): Promise<Readonly<Record<string, string>>> {
  const { labels = {}, annotations = {} } = (await cluster.admin.get(nodes, { name: 'n1' })).metadata;
  const prefix = providerNetworkKey(network, 'ready').slice(0, -'ready'.length);
  const own = Object.entries({ ...labels, ...annotations }).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value]));
}

async function untilReady(network: string): Promise<void> {
  await eventually(
    `${network} to be ready`,
    async () => {
      const now = await marks(network);
      if (now['err_mesg'] !== undefined) throw new Error(`${now['err_mesg']}\n${node.log('daemon')}`);
      return now['ready'] === 'true';
    },
    30_000,
  );
}

/** Where everything is as before the network came. */
async function untilBack(network: string): Promise<void> {
  await eventually(`${network} to be gone`, async () => Object.keys(await marks(network)).length === 0, 30_000);
  assert.ok(!node.vsctl('list-br').split('\n').includes(`br-${network}`), node.vsctl('list-br'));
  await eventually('the device to be gone', () => !exec('ip', '-o', 'link').includes(` br-${network}:`));
  assert.deepEqual(heldBy('eth1'), before_);
}

function mappings(): string {
  return node.vsctl('get', 'open', '.', 'external_ids:ovn-bridge-mappings').replaceAll('"', '');
}

function pingGateway(): void {
  exec('ping', '-c1', '-W2', gateway);
  exec('ping', '-c1', '-W2', 'fd00:20::1');
}

test('the interface joins with all its addresses and routes, and comes back with them', async () => {
  await makeNetwork('phys');
  await untilReady('phys');
  assert.deepEqual(await marks('phys'), { ready: 'true', interface: 'eth1', mtu: '1500' });
  assert.deepEqual(heldBy('eth1'), nothing);
  assert.deepEqual(heldBy('br-phys'), before_);
  const macOf = (device: string): string =>
    /link\/ether (\S+)/.exec(exec('ip', '-o', 'link', 'show', device))?.[1] ?? '';
  assert.equal(macOf('br-phys'), macOf('eth1'));
  assert.deepEqual(node.vsctl('list-ports', 'br-phys').split('\n'), ['eth1']);
  assert.equal(mappings(), 'physnet1:br-ex,phys:br-phys');
  pingGateway();
  assert.doesNotMatch(exec('ip', 'netns', 'exec', lan.netns, 'ping', '-c2', '-i0.2', '10.20.0.11'), /DUP/);

  await deleteNetwork('phys');
  await untilBack('phys');
  assert.equal(mappings(), 'physnet1:br-ex');
  pingGateway();
});

test('what somebody deletes comes back: an address, a route, the port, the bridge; what comes to the interface moves', async () => {
  await makeNetwork('phys');
  await untilReady('phys');
  const isWhole = (): boolean => JSON.stringify(heldBy('br-phys')) === JSON.stringify(before_);
  exec('ip', 'addr', 'del', '10.20.0.12/24', 'dev', 'br-phys');
  await eventually('the address and the routes that went with it', isWhole);
  exec('ip', 'route', 'del', 'default', 'dev', 'br-phys', 'metric', '100');
  await eventually('the default route', isWhole);
  node.vsctl('del-port', 'br-phys', 'eth1');
  await eventually('the port', () => node.vsctl('list-ports', 'br-phys') === 'eth1');
  node.vsctl('del-br', 'br-phys');
  await eventually('the bridge', isWhole);
  await untilReady('phys');
  pingGateway();

  exec('ip', 'addr', 'add', '10.20.0.77/24', 'dev', 'eth1');
  await eventually('the new address', () => heldBy('br-phys').addresses.some((line) => line.includes('10.20.0.77')));
  assert.deepEqual(heldBy('eth1'), nothing);
  await deleteNetwork('phys');
  await eventually('the address to come back', () =>
    heldBy('eth1').addresses.some((one) => one.includes('10.20.0.77')),
  );
  exec('ip', 'addr', 'del', '10.20.0.77/24', 'dev', 'eth1');
  await untilBack('phys');
});

test('a dry run says what it would do and does nothing', async () => {
  await makeNetwork('phys', {}, { [annotation.dryRun]: 'true' });
  const { plan = '' } = await eventually('the plan', async () => {
    const now = await marks('phys');
    return now['plan'] === undefined ? undefined : now;
  });
  assert.match(
    plan,
    /^would make bridge br-phys, put eth1 into it and move address 10\.20\.0\.11\/24, .*route 0\.0\.0\.0\/0 via 10\.20\.0\.1/,
  );
  assert.match(plan, /moved back if gateway 10\.20\.0\.1 or gateway fd00:20::1 or the API server did not answer/);
  assert.deepEqual(heldBy('eth1'), before_);
  await cluster.admin.patch(providerNetworks, { name: 'phys' }, 'merge', {
    metadata: { annotations: { [annotation.dryRun]: null } },
  });
  await untilReady('phys');
  assert.equal((await marks('phys'))['plan'], undefined);
  await deleteNetwork('phys');
  await untilBack('phys');
});
