/** Addresses outside of a VPC, with packets: two nodes, one of them the gateway, and a router with a server behind it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ovnEnvironment } from 'ovsdb-client/testing';
import { annotation, externalConfig } from '../../lib/api/names.ts';
import { outsideConditions, podConditionOf } from '../../lib/api/pod-addresses.ts';
import {
  configMaps,
  networkPolicies,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  pods,
  subnets,
  vpcs,
} from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import type { EipWhy } from '../../cli/plan/eip/why.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import { addOutside, gatewayLabel, label, outside, removeOutside, restartWritesNothing } from './external-bed.ts';
import { runProgram } from './cli-bed.ts';
import { words } from './ovn-bed.ts';
import { ServiceBed } from './service-bed.ts';

let bed: ServiceBed;

before(async () => {
  bed = await ServiceBed.open();
  await addOutside(bed);
  await label(bed, 'n1', gatewayLabel);
  await bed.controller.create(vpcs, 'blue', { enableExternal: true });
  await bed.controller.createSubnet('blue-net', { vpc: 'blue', cidrBlock: '10.90.0.0/16,fd00:90::/112' });
  await eventually('the network', () => bed.controller.row('Logical_Switch', 'blue-net') !== undefined);
  const annotations = { 'ovn.kubernetes.io/logical_switch': 'blue-net' };
  await bed.addPod('b1', 'n1', annotations);
  await bed.addPod('b2', 'n2', annotations);
  await bed.addPod('b3', 'n2', annotations);
});

after(async () => {
  const opened = bed as ServiceBed | undefined;
  if (opened !== undefined) removeOutside(opened);
  await opened?.close();
});

function nbctl(argv: readonly string[]): void {
  words(`ovn-nbctl --timeout=60 --db=${bed.controller.server.remote}`, ...argv);
}

interface Status {
  readonly ready?: boolean;
  readonly nat?: string;
  readonly v4Ip?: string;
  readonly v6Ip?: string;
  readonly macAddress?: string;
  readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

const statusOf = (resource: Resource, name: string): Promise<Status> => bed.controller.status(resource, name);

async function create(resource: Resource, name: string, spec: object): Promise<Status> {
  await bed.controller.create(resource, name, spec);
  return eventually(`${resource.kind} ${name}`, async () => {
    const status = await statusOf(resource, name);
    if (status.ready !== true) throw new Error(JSON.stringify(status));
    return status;
  });
}

/** Deletes an object and waits until it is gone. */
async function remove(resource: Resource, name: string): Promise<void> {
  await bed.controller.kube.delete(resource, { name });
  await eventually(`${resource.kind} ${name} is gone`, async () => {
    const all = await bed.controller.kube.list(resource);
    return all.every(({ metadata }) => metadata.name !== name);
  });
}

async function becomes(
  from: string,
  address: string,
  port: number,
  expected: string,
  protocol: 'TCP' | 'UDP' = 'TCP',
): Promise<void> {
  await eventually(`${protocol} from ${from} to ${address} port ${port} gives ${expected}`, async () => {
    const answer = await bed.connect(from, address, protocol, port);
    if (answer !== expected) throw new Error(answer);
    return true;
  });
}

/** Addresses of an OvnEip, IPv4 first. */
async function eip(name: string, spec: object = {}): Promise<readonly [v4: string, v6: string]> {
  const { v4Ip = '', v6Ip = '' } = await create(ovnEips, name, spec);
  return [v4Ip, v6Ip];
}

/** Waits until an OvnEip says what it is used for. */
function untilNat(name: string, nat: string): Promise<void> {
  return eventuallyPasses(async () => assert.equal((await statusOf(ovnEips, name)).nat, nat));
}

function rowsLeft(): readonly string[] {
  const { controller } = bed;
  const balancers = controller.rows('Load_Balancer').filter(({ name }) => String(name).startsWith('eip@'));
  const policies = controller.rows('Logical_Router_Policy').filter(({ match }) => String(match).includes('_beyond_'));
  return [...controller.rows('NAT'), ...balancers, ...policies].map((row) => JSON.stringify(row));
}

describe('a VPC with a Subnet outside', () => {
  test('has a router port that is answered for, and an OvnEip with its address', async () => {
    const { v4Ip = '', v6Ip = '' } = await eventually('the OvnEip of the router', async () => {
      const status = await statusOf(ovnEips, 'blue-external').catch((): Status => ({}));
      if (status.ready !== true) throw new Error(JSON.stringify(status));
      return status;
    });
    for (const address of [v4Ip, v6Ip])
      await eventually(`ping of ${address}`, () => bed.in(outside.name, `ping -c1 -W1 ${address}`));
  });

  test('lets pods out with the address of an OvnSnatRule, from both nodes', async () => {
    const addresses = await eip('shared');
    // As a Kube-OVN would have left it.
    nbctl(['lr-nat-add', 'blue', 'snat', addresses[0], '10.90.0.0/16']);
    const former = await eventually('the former row', () => bed.controller.rows('NAT')[0]?._uuid);
    await create(ovnSnatRules, 'all', { ovnEip: 'shared', vpcSubnet: 'blue-net' });
    await eventually('a row of each family', () => bed.controller.rows('NAT').length === 2);
    assert.ok(bed.controller.rows('NAT').some(({ _uuid: uuid }) => uuid === former));
    for (const pod of ['b1', 'b2'])
      for (const [index, server] of outside.server.entries()) {
        await becomes(pod, server, 80, `lan ${addresses[index]}`);
        await eventually(`ping from ${pod}`, () => bed.in(pod, `ping -c1 -W1 ${server}`));
      }
    // A datagram to the server would be answered from the address of the router.
    await becomes('b2', outside.router[0], 80, `lan ${addresses[0]}`, 'UDP');
    await untilNat('shared', 'snat');
  });

  test('publishes ports of the same address', async () => {
    const { v4Ip = '', v6Ip = '' } = await statusOf(ovnEips, 'shared');
    for (const protocol of ['tcp', 'udp'] as const) {
      const rule = { ovnEip: 'shared', ipName: 'b2.default', externalPort: '8000', internalPort: '8080', protocol };
      await create(ovnDnatRules, `web-${protocol}`, rule);
    }
    for (const [index, address] of [v4Ip, v6Ip].entries())
      await becomes(outside.name, address, 8000, `b2 ${outside.router[index]}`);
    await becomes(outside.name, v4Ip, 8000, `b2 ${outside.router[0]}`, 'UDP');
    await untilNat('shared', 'dnat,snat');
    // A rule that a Kube-OVN served keeps its load balancer.
    const vip = `${v4Ip}:8001`;
    nbctl(['lb-add', 'former', vip, `${bed.addressesOf('b1')[0]}:8080`, 'tcp']);
    nbctl(['set', 'load_balancer', 'former', 'external_ids:vendor=kube-ovn']);
    nbctl(['lr-lb-add', 'blue', 'former']);
    const balancer = await eventually('it', () => bed.controller.row('Load_Balancer', 'former')?._uuid);
    await becomes(outside.name, v4Ip, 8001, `b1 ${outside.router[0]}`);
    const spec = {
      ovnEip: 'shared',
      ipName: 'b1.default',
      externalPort: '8001',
      internalPort: '8080',
      protocol: 'tcp',
    };
    await bed.controller.kube.create(ovnDnatRules, {
      apiVersion: 'kubeovn.io/v1',
      kind: 'OvnDnatRule',
      metadata: { name: 'former', annotations: { 'ovn.kubernetes.io/vpc_eip': 'shared' } },
      spec,
    });
    await eventually('the rule', async () => (await statusOf(ovnDnatRules, 'former')).ready === true);
    assert.equal(bed.controller.row('Load_Balancer', 'former')?._uuid, balancer);
    await becomes(outside.name, v4Ip, 8001, `b1 ${outside.router[0]}`);
    await becomes(outside.name, v6Ip, 8001, `b1 ${outside.router[1]}`);
    await remove(ovnDnatRules, 'former');
    await eventually('its end', () => bed.controller.row('Load_Balancer', 'former') === undefined);
    const again = { ovnEip: 'shared', ipName: 'b1.default', externalPort: '8000', internalPort: '1', protocol: 'tcp' };
    await bed.controller.create(ovnDnatRules, 'again', again);
    await bed.controller.event('ValidateOvnDnatRuleFailed', 'again', /PortInUse: .*OvnDnatRule web-tcp/);
    await remove(ovnDnatRules, 'again');
  });

  for (const [type, pod] of [
    ['centralized', 'b2'],
    ['distributed', 'b3'],
  ] as const)
    test(`gives a pod a fixed address, ${type}, in both directions`, async () => {
      const addresses = await eip('fixed');
      // As a Kube-OVN leaves it, whatever the type is.
      const [inside = ''] = bed.addressesOf(pod);
      nbctl(['lr-nat-add', 'blue', 'dnat_and_snat', addresses[0], inside, `${pod}.default`, '0a:00:00:00:00:77']);
      const former = await eventually('the former row', () => floating(addresses[0])?._uuid);
      await create(ovnFips, pod, { ovnEip: 'fixed', ipName: `${pod}.default`, type });
      // The address was that of another port before, for which the router waits 40 s until it asks again.
      bed.in(outside.name, 'ip neigh flush dev br0');
      for (const [index, address] of addresses.entries()) {
        await becomes(pod, outside.server[index] ?? '', 80, `lan ${address}`);
        await becomes(outside.name, address, 8080, `${pod} ${outside.router[index]}`);
        await becomes('b1', address, 8080, `${pod} ${(await shared())[index]}`);
      }
      assert.equal(floating(addresses[0])?._uuid, former);
      if (type === 'centralized') await seenByPolicies(pod, addresses);
      await eventuallyPasses(async () => {
        const mac = (await statusOf(ovnEips, type === 'distributed' ? 'fixed' : 'blue-external')).macAddress;
        assert.match(bed.in(outside.name, `ip neigh show ${addresses[0]}`), new RegExp(`lladdr ${mac}`));
      });
      await remove(ovnFips, pod);
      await remove(ovnEips, 'fixed');
      await becomes(pod, outside.server[0], 80, `lan ${(await shared())[0]}`);
    });

  /** The row of a fixed address. */
  function floating(address: string): ReturnType<typeof bed.controller.row> {
    const rows = bed.controller.rows('NAT');
    return rows.find((row) => row['type'] === 'dnat_and_snat' && row['external_ip'] === address);
  }

  /** A client outside has its own address, a pod of the VPC the one with which it leaves; what is sent is judged by the address outside. */
  async function seenByPolicies(pod: string, addresses: readonly string[]): Promise<void> {
    const [address = ''] = addresses;
    const [source = ''] = await shared();
    const from = (ip: string): object => ({ ingress: [{ from: [{ ipBlock: { cidr: `${ip}/32` } }] }] });
    await bed.controller.create(networkPolicies, 'in', { podSelector: {}, ...from(outside.router[0]) }, 'default');
    await becomes('b1', address, 8080, 'silence');
    await becomes(outside.name, address, 8080, `${pod} ${outside.router[0]}`);
    const name = { name: 'in', namespace: 'default' };
    await bed.controller.kube.patch(networkPolicies, name, 'merge', { spec: from(source) });
    await becomes('b1', address, 8080, `${pod} ${source}`);
    await becomes(outside.name, address, 8080, 'silence');
    await bed.controller.kube.delete(networkPolicies, name);
    const to = { egress: [{ to: [{ ipBlock: { cidr: `${address}/32` } }] }], policyTypes: ['Egress'] };
    await bed.controller.create(networkPolicies, 'out', { podSelector: {}, ...to }, 'default');
    await becomes('b1', bed.addressesOf(pod)[0] ?? '', 8080, 'silence');
    await becomes('b1', address, 8080, `${pod} ${source}`);
    await bed.controller.kube.delete(networkPolicies, { name: 'out', namespace: 'default' });
    await becomes('b1', bed.addressesOf(pod)[0] ?? '', 8080, `${pod} ${bed.addressesOf('b1')[0]}`);
  }

  test('explains an address by its rules, the node that holds it and what OVN announces', async () => {
    const words = ['why', 'eip', 'shared', '--sb', bed.southbound, '-o', 'json'];
    const [address = ''] = await shared();
    await eventuallyPasses(async () => {
      const { code, out, err } = await runProgram(words, {
        HOME: '/nonexistent',
        KUBECONFIG: bed.controller.api.kubeconfig,
        PATH: process.env['PATH'],
        ...ovnEnvironment(),
      });
      assert.equal(code, 0, out + err);
      const { isServed, rules, reachedBy } = JSON.parse(out) as EipWhy;
      assert.equal(isServed, true);
      const nodes = rules.map(({ rule, node, isReady }) => `${rule} ${node} ${isReady}`);
      const names = ['OvnSnatRule all', 'OvnDnatRule web-tcp', 'OvnDnatRule web-udp'];
      assert.deepEqual(
        nodes,
        names.map((name) => `${name} n1 true`),
      );
      assert.ok(reachedBy.arp?.some((text) => text.includes(address) && text.endsWith('by port cr-blue-external')));
    });
  });

  async function shared(): Promise<readonly string[]> {
    const { v4Ip = '', v6Ip = '' } = await statusOf(ovnEips, 'shared');
    return [v4Ip, v6Ip];
  }

  test('keeps its port when gateway nodes come and go, and its rules work on the other node', async () => {
    const port = (): string => String(bed.controller.row('Logical_Router_Port', 'blue-external')?._uuid);
    const chassis = (): readonly string[] =>
      bed.controller.rows('Gateway_Chassis').map(({ chassis_name: name }) => String(name));
    const before = port();
    await label(bed, 'n2', gatewayLabel);
    await eventually('two nodes', () => chassis().length === 2);
    await label(bed, 'n1', { 'ovn.kubernetes.io/external-gw': null });
    await eventually('the other node', () => chassis().join() === 'chassis-n2');
    assert.equal(port(), before);
    await becomes('b1', outside.server[0], 80, `lan ${(await shared())[0]}`);
    await becomes(outside.name, (await shared())[0] ?? '', 8000, `b2 ${outside.router[0]}`);
  });

  test('loses an OvnEip in use only with its rules; a restart changes nothing; nothing is left', async () => {
    await bed.controller.kube.delete(ovnEips, { name: 'shared' });
    await eventually('the reason', async () => {
      const { conditions = [] } = await statusOf(ovnEips, 'shared');
      const { message = '' } = conditions.find(({ type }) => type === 'Ready') ?? {};
      if (!/waits for the deletion of OvnDnatRule web-tcp, OvnDnatRule web-udp, OvnSnatRule all/.test(message))
        throw new Error(message);
      return true;
    });
    await restartWritesNothing(bed);
    for (const name of ['web-tcp', 'web-udp']) await bed.controller.kube.delete(ovnDnatRules, { name });
    await remove(ovnSnatRules, 'all');
    await remove(ovnEips, 'shared');
    await eventually('no rows of rules', () => rowsLeft().length === 0);
    await bed.controller.kube.patch(vpcs, { name: 'blue' }, 'merge', { spec: { enableExternal: false } });
    await eventually('no port', () => bed.controller.row('Logical_Router_Port', 'blue-external') === undefined);
    await eventually('no OvnEip', async () => (await bed.controller.kube.list(ovnEips)).length === 0);
    await eventuallyPasses(() => assert.deepEqual(bed.controller.rows('Gateway_Chassis'), []));
    words(`ovn-nbctl --timeout=60 --wait=hv --db=${bed.controller.server.remote} sync`);
    assert.equal(await bed.connect('b1', outside.server[0]), 'silence');
  });
});

describe('a pod of the default VPC that names an address outside', () => {
  const [fixed, sixth, source] = ['203.0.113.80', '2001:db8:113::80', '203.0.113.81'];

  function untilShown(pod: string, key: 'eip' | 'snat', expected: RegExp): Promise<void> {
    return eventuallyPasses(async () => {
      const { status } = await bed.controller.kube.get(pods, { namespace: 'default', name: pod });
      const condition = podConditionOf(status, outsideConditions[key]);
      assert.match(`${condition?.status} ${condition?.reason} ${condition?.message}`, expected);
    });
  }

  function permit(namespaces: string | null): Promise<unknown> {
    const metadata = { annotations: { [annotation.eipNamespaces]: namespaces } };
    return bed.controller.kube.patch(subnets, { name: 'external' }, 'merge', { metadata });
  }

  test('has it once the Subnet permits it, in both directions or for what it sends', async () => {
    await bed.controller.kube.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: externalConfig,
      data: { 'enable-external-gw': 'true' },
    });
    await bed.addPod('w1', 'n1', { [annotation.eip]: fixed });
    await bed.addPod('w2', 'n2', { [annotation.eip]: sixth });
    await bed.addPod('w3', 'n1', { [annotation.snat]: source });
    await bed.addPod('w4', 'n2', { [annotation.snat]: source });
    await bed.controller.event('ExternalAddressFailed', 'w1', /^NotPermitted: .*namespace default/);
    assert.deepEqual(rowsLeft(), []);
    // As a Kube-OVN leaves it.
    nbctl(['lr-nat-add', 'ovn-cluster', 'dnat_and_snat', fixed, bed.addressesOf('w1')[0] ?? '']);
    const former = await eventually('the former row', () => bed.controller.rows('NAT')[0]?._uuid);
    await permit('default');
    for (const [pod, server, address] of [
      ['w1', outside.server[0], fixed],
      ['w2', outside.server[1], sixth],
      ['w3', outside.server[0], source],
      ['w4', outside.server[0], source],
    ] as const)
      await becomes(pod, server, 80, `lan ${address}`);
    await becomes(outside.name, fixed, 8080, `w1 ${outside.router[0]}`);
    await becomes(outside.name, sixth, 8080, `w2 ${outside.router[1]}`);
    // Pods reach it, too, with the address by which they leave.
    await becomes('w4', fixed, 8080, `w1 ${source}`);
    assert.ok(bed.controller.rows('NAT').some(({ _uuid: uuid }) => uuid === former));
    await untilShown('w1', 'eip', /^True Served 203\.0\.113\.80$/);
    await untilShown('w4', 'snat', /^True Served 203\.0\.113\.81$/);
  });

  test('gets none that another object has, and keeps its own over a restart', async () => {
    await bed.controller.create(ovnEips, 'thief', { v4Ip: fixed });
    await bed.controller.event('AcquireAddressFailed', 'thief', /^AddressConflict: .*203\.0\.113\.80/);
    await create(ovnEips, 'mine', { v4Ip: '203.0.113.90' });
    for (const [name, wanted, reason] of [
      ['second', fixed, /^AddressInUse: .*Pod default\/w1/],
      ['third', '203.0.113.90', /^AddressConflict: .*eip\/mine/],
      ['router', '203.0.113.1', /^AddressExcluded/],
      ['stray', '192.0.2.10', /^AddressOutOfRange/],
    ] as const) {
      await bed.controller.createPod(name, { node: 'n1', annotations: { [annotation.eip]: wanted } });
      await bed.controller.event('ExternalAddressFailed', name, reason);
    }
    await restartWritesNothing(bed);
    await becomes('w1', outside.server[0], 80, `lan ${fixed}`);
  });

  test('loses it with its end, its annotation and the permission; nothing is left', async () => {
    const ended = { status: { phase: 'Succeeded' } };
    await bed.controller.kube.patch(pods, { namespace: 'default', name: 'w1' }, 'merge', ended, {
      subresource: 'status',
    });
    await untilShown('w1', 'eip', /^False PodFinished/);
    // Pods that name the address hold it together: the next one has it, and then what waits.
    await untilShown('second', 'eip', /^True Served/);
    await bed.controller.deletePod('second');
    await eventually('the OvnEip', async () => (await statusOf(ovnEips, 'thief')).v4Ip === fixed);
    const unnamed = { metadata: { annotations: { [annotation.eip]: null } } };
    await bed.controller.kube.patch(pods, { namespace: 'default', name: 'w2' }, 'merge', unnamed);
    await untilShown('w2', 'eip', /^False NotRequested/);
    await becomes('w3', outside.server[0], 80, `lan ${source}`);
    await permit(null);
    await untilShown('w3', 'snat', /^False NotPermitted/);
    await eventually('no rows of rules', () => rowsLeft().length === 0);
  });
});
