/** VpcDnses of two VPCs with the same addresses on two nodes: the controller with OVN, and gates that answer themselves. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { services, vpcDnses, vpcs } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { nameOf } from './controller-bed.ts';
import { ServiceBed } from './service-bed.ts';

let bed: ServiceBed;
let dnsIps: readonly string[] = [];

before(async () => {
  bed = await ServiceBed.open();
  const spec = {
    ipFamilyPolicy: 'RequireDualStack',
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53, protocol: 'TCP' },
    ],
  };
  const metadata = { name: 'kube-dns', namespace: 'kube-system' };
  const created = await bed.controller.kube.create(services, { apiVersion: 'v1', kind: 'Service', metadata, spec });
  dnsIps = (created['spec'] as { clusterIPs: readonly string[] }).clusterIPs;
  for (const vpc of ['blue', 'green']) {
    await bed.controller.create(vpcs, vpc, {});
    await bed.controller.createSubnet(`${vpc}-net`, { vpc, cidrBlock: '10.16.0.0/16,fd00:10::/112' });
  }
  await eventually('both networks', () => bed.controller.row('Logical_Switch', 'green-net') !== undefined);
  for (const [pod, node, vpc] of [
    ['b1', 'n1', 'blue'],
    ['b2', 'n2', 'blue'],
    ['g1', 'n1', 'green'],
  ] as const)
    await bed.addPod(pod, node, { 'ovn.kubernetes.io/logical_switch': `${vpc}-net` });
  for (const node of ['n1', 'n2'] as const) bed.addGate('blue', node);
});

after(() => (bed as ServiceBed | undefined)?.close());

async function becomes(
  from: string,
  address: string,
  expected: string,
  protocol: 'TCP' | 'UDP' = 'UDP',
): Promise<void> {
  await bed.until(from, address, new RegExp(`^${expected.replaceAll('.', '\\.')}$`), protocol, 53);
}

function rowsOfGates(): readonly string[] {
  const tables = ['Logical_Switch', 'Logical_Switch_Port', 'Logical_Router_Port', 'Load_Balancer'];
  return tables.flatMap((table) =>
    bed.controller
      .rows(table)
      .map(nameOf)
      .filter((name) => /dns(-gate)?@/.test(name)),
  );
}

async function readyOf(name: string): Promise<string> {
  const status = (await bed.controller.status(vpcDnses, name)) as {
    active?: boolean;
    conditions?: { type: string; reason: string }[];
  };
  return `${status.active} ${status.conditions?.find(({ type }) => type === 'Ready')?.reason}`;
}

test('pods on both nodes reach the gate of their node by the addresses of the Service', async () => {
  await bed.controller.create(vpcDnses, 'blue', { vpc: 'blue', subnet: 'blue-net', replicas: 2 });
  for (const [pod, node] of [
    ['b1', 'n1'],
    ['b2', 'n2'],
  ] as const)
    for (const [index, address] of dnsIps.entries()) {
      const seen = `gate-${node} ${bed.addressesOf(pod)[index]}`;
      await becomes(pod, address, seen);
      await becomes(pod, address, seen, 'TCP');
    }
  await eventually('the status', async () => (await readyOf('blue')) === 'true VpcDnsReady');
});

test('pods of another VPC do not', async () => {
  assert.deepEqual(bed.addressesOf('g1'), bed.addressesOf('b1'));
  const answers = await Promise.all(dnsIps.map((address) => bed.connect('g1', address, 'UDP', 53)));
  assert.deepEqual(answers, ['silence', 'silence']);
});

test('a second VpcDns of the VPC is refused, and a restart changes nothing', async () => {
  await bed.controller.create(vpcDnses, 'again', { vpc: 'blue' });
  await eventually('the refusal', async () => (await readyOf('again')) === 'false VpcInUse');
  const events = await bed.controller.event('ValidateVpcDnsFailed', 'again', /VpcDns blue serves Vpc blue/);
  assert.match(events, /delete one of the two/);
  const versions = async (): Promise<string> =>
    (await bed.controller.kube.list(vpcDnses)).map(({ metadata }) => metadata.resourceVersion).join();
  await bed.controller.quiet();
  const before = await versions();
  await bed.controller.kill();
  const { changes } = bed.controller;
  await bed.startController();
  assert.equal(bed.controller.changes, changes);
  assert.equal(await versions(), before);
  const [address = ''] = dnsIps;
  await becomes('b2', address, `gate-n2 ${bed.addressesOf('b2')[0]}`);
});

test('when the first goes, the second serves the VPC; when both are gone, nothing is left', async () => {
  await bed.controller.kube.delete(vpcDnses, { name: 'blue' });
  await eventually('the second', async () => (await readyOf('again')) === 'true VpcDnsReady');
  const [address = ''] = dnsIps;
  await becomes('b1', address, `gate-n1 ${bed.addressesOf('b1')[0]}`);
  await bed.controller.kube.delete(vpcDnses, { name: 'again' });
  await eventually('no rows', () => rowsOfGates().length === 0);
  await becomes('b1', address, 'silence');
});
