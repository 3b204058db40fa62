/** The daemon on a gateway between clusters: its role, the state of its tunnels, and probes of the underlay paths. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import type { InterconnectGatewayStatus } from '../../lib/api/kinds/interconnect-gateway.ts';
import { label } from '../../lib/api/names.ts';
import { interconnectGateways, interconnects, nodes } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
/** A chassis of another cluster, which has only an address, and a chassis that only the agent reports. */
const peers = [
  { chassis: 'west-1', cluster: 'west', address: '172.30.9.1' },
  { chassis: 'west-2', cluster: 'west', address: '172.30.9.2' },
];

before(async () => {
  cluster = await startCluster(node);
  node.sbctl('chassis-add', 'west-1', 'geneve', '172.30.9.1');
  node.sbctl('set', 'chassis', 'west-1', 'other_config:is-remote=true');
  await node.startDaemon(cluster.kubeconfig);
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

function role(): string {
  return node.vsctl('--if-exists', 'get', 'open', '.', 'external_ids:ovn-is-interconn');
}

async function read(): Promise<InterconnectGatewayStatus & { readonly version: string }> {
  const { metadata, status } = await cluster.admin.get(interconnectGateways, { name: 'n1' });
  return { ...(status as InterconnectGatewayStatus | undefined), version: metadata.resourceVersion };
}

/** The status without the fields that the daemon writes periodically: its heartbeat, every three seconds, and its probes, every half minute. */
async function lasting(): Promise<object> {
  const { version: _version, checkedAt: _checkedAt, probes: _probes, ...status } = await read();
  return status;
}

async function patchStatus(status: object): Promise<void> {
  await cluster.admin.patch(interconnectGateways, { name: 'n1' }, 'merge', { status }, { subresource: 'status' });
}

async function setLabel(value: string | null): Promise<void> {
  const labels = { [label.icGateway]: value };
  await cluster.admin.patch(nodes, { name: 'n1' }, 'merge', { metadata: { labels } });
}

/** Waits until the status reports this state of the first peer's tunnel. */
function untilTunnel(state: string, diagnostic: RegExp | undefined): Promise<unknown> {
  return eventually(`a tunnel that is ${state}`, async () => {
    const tunnel = (await read()).tunnels?.find(({ chassis }) => chassis === 'west-1');
    return tunnel?.state === state && (diagnostic?.test(tunnel.diagnostic ?? '') ?? true);
  });
}

test('a node has the gateway role while an Interconnect selects it', async () => {
  assert.equal(role(), '');
  await setLabel('true');
  const metadata = { name: 'default' };
  const spec = { clusterName: 'east', hub: '192.0.2.1:6650', tokenSecretRef: { name: 'token' } };
  const interconnect = { apiVersion: 'isthmus.network/v1alpha1', kind: 'Interconnect', metadata, spec };
  await cluster.admin.create(interconnects, interconnect);
  await eventually('the role', () => role() === '"true"');
  await setLabel(null);
  await eventually('no role without the label', () => role() === '');
  await setLabel('true');
  await eventually('the role again', () => role() === '"true"');
  await cluster.admin.delete(interconnects, metadata);
  await eventually('no role without the Interconnect', () => role() === '');
  await setLabel(null);
});

test('an InterconnectGateway keeps the role, and its status reports tunnels and probes of its peers', async () => {
  const object = { apiVersion: 'isthmus.network/v1alpha1', kind: 'InterconnectGateway', metadata: { name: 'n1' } };
  await cluster.admin.create(interconnectGateways, { ...object, spec: {} });
  await eventually('the role', () => role() === '"true"');
  const agents = { peers, wantedMTU: 1500, chassis: 'chassis-1', paths: ['ts/0'] };
  await patchStatus(agents);
  await untilTunnel('unknown', undefined);
  const { tunnels, probes, ...others } = await eventually('both probes', async () => {
    const status = await read();
    // On a busy machine an answer may be late, which counts as lost until the next time.
    return status.probes?.length === 2 && status.probes[0]?.lossPercent === 0 ? status : undefined;
  });
  const [first, second] = [tunnels?.[0], tunnels?.[1]];
  assert.deepEqual([first?.chassis, second?.chassis, second?.state], ['west-1', 'west-2', 'down']);
  assert.match(second?.diagnostic ?? '', /has no tunnel to it/);
  assert.deepEqual([probes?.[0]?.lossPercent, probes?.[0]?.mtu], [0, 1500]);
  assert.ok((probes?.[0]?.rttMs?.avg ?? 0) > 0);
  assert.deepEqual([probes?.[1]?.lossPercent, probes?.[1]?.mtu, probes?.[1]?.rttMs], [100, undefined, undefined]);
  const { version: _, checkedAt = '', ...untouched } = others;
  assert.ok(Math.abs(Date.now() - Date.parse(checkedAt)) < 60_000, 'when the daemon looked last');
  assert.deepEqual(untouched, agents);
});

test('a path that is too small for the wanted MTU is measured to the byte', async () => {
  exec('ip', 'link', 'set', 'up0', 'mtu', '1437');
  await eventually('the size', async () => (await read()).probes?.[0]?.mtu === 1437);
  exec('ip', 'link', 'set', 'up0', 'mtu', '1500');
  await eventually('the wanted size', async () => (await read()).probes?.[0]?.mtu === 1500);
});

test('a tunnel whose BFD is not answered is down, and a daemon restart does not change its status', async () => {
  node.nbctl(
    'ha-chassis-group-add peers',
    'ha-chassis-group-add-chassis peers chassis-1 2',
    'ha-chassis-group-add-chassis peers west-1 1',
    'ls-add liveness',
    'lsp-add liveness liveness',
    'lsp-set-type liveness external',
  );
  const group = exec('ovn-nbctl', `--db=${node.remote('nb')}`, '--bare', '--columns=_uuid', 'list', 'ha_chassis_group');
  node.nbctl(`set logical_switch_port liveness ha_chassis_group=${group.trim()}`);
  await untilTunnel('down', undefined);
  const before = await lasting();
  await node.kill('daemon', 'SIGTERM');
  await node.startDaemon(cluster.kubeconfig);
  await pause(1000);
  assert.deepEqual(await lasting(), before);
});

test('tunnels are down while ovs-vswitchd is dead, and have their own diagnostics after its restart', async () => {
  await node.kill('vswitchd');
  await untilTunnel('down', /^ovs-vswitchd of this node does not answer/);
  node.startVswitchd();
  await untilTunnel('down', /^(?!ovs-vswitchd)/);
});

test('a role that ended while the daemon was down is removed when it starts', async () => {
  await node.kill('daemon', 'SIGTERM');
  await cluster.admin.delete(interconnectGateways, { name: 'n1' });
  assert.equal(role(), '"true"');
  await node.startDaemon(cluster.kubeconfig);
  await eventually('no role', () => role() === '');
});
