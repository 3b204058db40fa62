/** A VpcNatGateway without a pod, with packets: two nodes, one of them chosen by a selector, and a router with a server behind it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  iptablesDnats,
  iptablesEips,
  iptablesFips,
  iptablesSnats,
  ovnDnatRules,
  ovnEips,
  pods,
  qosPolicies,
  routerLbRules,
  vpcNatGateways,
  vpcs,
} from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { measure } from './bandwidth.ts';
import { addOutside, label, outside, removeOutside, restartWritesNothing } from './external-bed.ts';
import { ServiceBed } from './service-bed.ts';

let bed: ServiceBed;

/** What the manifests of Kube-OVN's users have: a default route to the gateway, which is an address of the VPC. */
const lanIp = '10.91.0.254';

before(async () => {
  bed = await ServiceBed.open();
  await addOutside(bed);
  await label(bed, 'n1', { edge: 'yes' });
  await bed.controller.create(vpcs, 'red', { staticRoutes: [{ cidr: '0.0.0.0/0', nextHopIP: lanIp }] });
  await bed.controller.createSubnet('red-net', { vpc: 'red', cidrBlock: '10.91.0.0/24' });
  await eventually('the network', () => bed.controller.row('Logical_Switch', 'red-net') !== undefined);
  const annotations = { 'ovn.kubernetes.io/logical_switch': 'red-net' };
  await bed.addPod('r1', 'n1', annotations);
  await bed.addPod('r2', 'n2', annotations);
  await bed.addPod('r3', 'n2', annotations);
});

after(async () => {
  const opened = bed as ServiceBed | undefined;
  if (opened !== undefined) removeOutside(opened);
  await opened?.close();
});

interface Status {
  readonly ready?: boolean;
  readonly online?: number;
  readonly total?: number;
  readonly v4Ip?: string;
  readonly ip?: string;
  readonly nat?: string;
  readonly v4ip?: string;
  readonly lanIp?: string;
  readonly qosPolicy?: string;
  readonly workload?: { readonly kind?: string; readonly name?: string; readonly nodes?: readonly string[] };
  readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

const statusOf = (resource: Resource, name: string): Promise<Status> => bed.controller.status(resource, name);

function becomesReady(resource: Resource, name: string): Promise<Status> {
  return eventually(`${resource.kind} ${name}`, async () => {
    const status = await statusOf(resource, name);
    if (status.ready !== true) throw new Error(JSON.stringify(status));
    return status;
  });
}

async function create(resource: Resource, name: string, spec: object): Promise<Status> {
  await bed.controller.create(resource, name, spec);
  return becomesReady(resource, name);
}

async function answers(from: string, address: string, port: number, expected: string): Promise<void> {
  await eventually(`TCP from ${from} to ${address} port ${port} gives ${expected}`, async () => {
    const answer = await bed.connect(from, address, 'TCP', port);
    if (answer !== expected) throw new Error(answer);
    return true;
  });
}

const eip = (name: string): Promise<Status> =>
  create(iptablesEips, name, { natGwDp: 'gw', externalSubnet: 'external' });

const addressOf = async (name: string): Promise<string> => (await statusOf(iptablesEips, name)).ip ?? '';

const inside = (pod: string): string => bed.addressesOf(pod)[0] ?? '';

const natRows = (): readonly string[] => bed.controller.rows('NAT').map(({ type }) => String(type));

const balancers = (): readonly string[] =>
  bed.controller.rows('Load_Balancer').flatMap(({ name }) => (String(name).startsWith('eip@') ? [String(name)] : []));

describe('a VpcNatGateway', () => {
  test('is a port of the router on the node that it selects, and keeps its lanIp free', async () => {
    await bed.controller.create(vpcNatGateways, 'gw', {
      vpc: 'red',
      subnet: 'red-net',
      lanIp,
      externalSubnets: ['external'],
      selector: ['edge:yes'],
      bgpSpeaker: { enabled: true, asn: 65000 },
    });
    const status = await becomesReady(vpcNatGateways, 'gw');
    assert.equal(status.lanIp, lanIp);
    assert.deepEqual(status.workload?.nodes, ['n1']);
    await bed.controller.event('ValidateVpcNatGatewayFailed', 'gw', /spec.bgpSpeaker: make a BgpPeer/);
    assert.deepEqual(
      bed.controller.rows('Gateway_Chassis').map(({ chassis_name: name }) => name),
      ['chassis-n1'],
    );
  });

  test('lets pods out with the address of an IptablesSnatRule, along their route to lanIp', async () => {
    await eip('out');
    await create(iptablesSnats, 'out', { eip: 'out', internalCIDR: '10.91.0.0/24' });
    for (const pod of ['r1', 'r2']) await answers(pod, outside.server[0], 80, `lan ${await addressOf('out')}`);
    await eventually('its use', async () => (await statusOf(iptablesEips, 'out')).nat === 'snat');
  });

  test('gives a pod a fixed address, in both directions', async () => {
    await eip('fixed');
    await create(iptablesFips, 'fixed', { eip: 'fixed', internalIp: inside('r2') });
    const address = await addressOf('fixed');
    await answers('r2', outside.server[0], 80, `lan ${address}`);
    await answers(outside.name, address, 8080, `r2 ${outside.router[0]}`);
  });

  test('limits the bandwidth of an address in both directions, and then of everything', async () => {
    const limit = (direction: string, rateMax: number): object => ({
      name: direction,
      direction,
      rateMax: String(rateMax),
      burstMax: '0.3',
      priority: 1,
    });
    const rates = { ingress: 6, egress: 4 };
    const limits = (factor: number): object => ({
      bandwidthLimitRules: Object.entries(rates).map(([direction, rate]) => limit(direction, rate * factor)),
    });
    await bed.controller.create(qosPolicies, 'slow', { bindingType: 'EIP', ...limits(1) });
    await bed.controller.kube.patch(iptablesEips, { name: 'fixed' }, 'merge', { spec: { qosPolicy: 'slow' } });
    await eventually('the policy in force', async () => (await statusOf(iptablesEips, 'fixed')).qosPolicy === 'slow');
    await bed.untilWritten(bed.controller.changes);
    const [pod, lan] = [bed.space('r2'), bed.space(outside.name)];
    const address = await addressOf('fixed');
    const streams = {
      ingress: { from: lan, to: pod, address },
      egress: { from: pod, to: lan, address: outside.router[0] },
    } as const;
    const check = async (direction: keyof typeof streams, protocol: 'TCP' | 'UDP', rate: number): Promise<void> => {
      const ports = { port: 9000, sinkPort: 9000 };
      // A busy machine may send too little; what is above the limit never passes.
      await eventually(`${protocol} ${direction} of ${rate} Mbit/s`, async () => {
        const mbit = await measure({ protocol, ...streams[direction], ...ports, offered: 3 * rate });
        if (Math.abs(mbit - rate) > 0.15 * rate) throw new Error(String(mbit));
        return true;
      });
    };
    for (const direction of ['ingress', 'egress'] as const)
      for (const protocol of ['UDP', 'TCP'] as const) await check(direction, protocol, rates[direction]);
    const natgw = { bindingType: 'NATGW', shared: true, ...limits(0.5) };
    await bed.controller.create(qosPolicies, 'whole', natgw);
    await bed.controller.kube.patch(vpcNatGateways, { name: 'gw' }, 'merge', { spec: { qosPolicy: 'whole' } });
    await eventually(
      'the policy of the gateway',
      async () => (await statusOf(vpcNatGateways, 'gw')).qosPolicy === 'whole',
    );
    await bed.controller.kube.delete(qosPolicies, { name: 'slow' });
    await eventually('the reason why it stays', async () => {
      const { conditions = [] } = await statusOf(qosPolicies, 'slow');
      const { message = '' } = conditions.find(({ type }) => type === 'Ready') ?? {};
      if (message !== 'waits until these do not name it: IptablesEIP fixed') throw new Error(message);
      return true;
    });
    await bed.controller.kube.patch(iptablesEips, { name: 'fixed' }, 'merge', { spec: { qosPolicy: null } });
    await eventually('no policy', async () => (await bed.controller.kube.list(qosPolicies)).length === 1);
    await eventually('its rows', () => bed.controller.rows('QoS').length === 2);
    await bed.untilWritten(bed.controller.changes);
    await check('ingress', 'UDP', rates.ingress / 2);
  });

  test('publishes a port, and shares one between pods', async () => {
    const rule = { eip: 'out', protocol: 'tcp', internalPort: '8080' };
    await create(iptablesDnats, 'web', { ...rule, externalPort: '8000', internalIp: inside('r1') });
    await answers(outside.name, await addressOf('out'), 8000, `r1 ${outside.router[0]}`);
    for (const pod of ['r1', 'r3'])
      await create(iptablesDnats, pod, { ...rule, externalPort: '8001', internalIp: inside(pod), type: 'share' });
    for (const pod of ['r1', 'r3'])
      await answers(outside.name, await addressOf('out'), 8001, `${pod} ${outside.router[0]}`);
    assert.deepEqual(balancers(), ['eip@iptables/out/tcp']);
    await bed.controller.create(iptablesDnats, 'alone', { ...rule, externalPort: '8001', internalIp: inside('r2') });
    await bed.controller.event('ValidateIptablesDnatRuleFailed', 'alone', /PortInUse: .*IptablesDnatRule r1/);
    await bed.controller.kube.delete(iptablesDnats, { name: 'alone' });
    await bed.controller.kube.delete(iptablesDnats, { name: 'r1' });
    await eventually('the other pod alone', async () => {
      const found = new Set<string>();
      for (let count = 0; count < 6; count += 1)
        found.add(await bed.connect(outside.name, await addressOf('out'), 'TCP', 8001));
      return [...found].join() === `r3 ${outside.router[0]}`;
    });
  });

  test('leaves its port to a RouterLBRule, which publishes pods at an OvnEip', async () => {
    await create(ovnEips, 'front', {});
    await bed.controller.create(routerLbRules, 'front', {
      ovnEip: 'front',
      vpc: 'red',
      endpoints: [inside('r1'), inside('r3')],
      ports: [
        { name: 'tcp', port: 80, targetPort: 8080, protocol: 'TCP' },
        { name: 'udp', port: 80, targetPort: 8080, protocol: 'UDP' },
      ],
    });
    const { v4Ip = '' } = await statusOf(ovnEips, 'front');
    for (const protocol of ['TCP', 'UDP'] as const)
      for (const pod of ['r1', 'r3'])
        await bed.until(outside.name, v4Ip, new RegExp(`^${pod} ${outside.router[0]}$`), protocol);
    await eventually('all backends online', async () => {
      const { online, total } = await statusOf(routerLbRules, 'front');
      if (online !== 4 || total !== 4) throw new Error(`${online} of ${total}`);
      return true;
    });
    const late = {
      ovnEip: 'front',
      vpc: 'red',
      v4Ip: inside('r2'),
      protocol: 'tcp',
      externalPort: '80',
      internalPort: '80',
    };
    await bed.controller.create(ovnDnatRules, 'late', late);
    await bed.controller.event('ValidateOvnDnatRuleFailed', 'late', /PortInUse: .*RouterLBRule front/);
    await bed.controller.kube.delete(ovnDnatRules, { name: 'late' });
    const { qosPolicy } = await statusOf(vpcNatGateways, 'gw');
    assert.equal(qosPolicy, 'whole');
  });

  test('makes no pod; a restart changes nothing; in use it cannot go; nothing is left', async () => {
    const names = (await bed.controller.kube.list(pods)).map(({ metadata: { name } }) => name);
    assert.deepEqual(
      names.filter((name) => name.includes('nat-gw')),
      [],
    );
    await bed.controller.kube.delete(vpcNatGateways, { name: 'gw' });
    await eventually('the reason', async () => {
      const { conditions = [] } = await statusOf(vpcNatGateways, 'gw');
      const { message = '' } = conditions.find(({ type }) => type === 'Ready') ?? {};
      if (!/waits for the deletion of IptablesEIP fixed, IptablesEIP out/.test(message)) throw new Error(message);
      return true;
    });
    await restartWritesNothing(bed);
    await answers('r1', outside.server[0], 80, `lan ${await addressOf('out')}`);
    for (const [resource, list] of [
      [routerLbRules, ['front']],
      [ovnEips, ['front']],
      [iptablesDnats, ['web', 'r3']],
      [iptablesFips, ['fixed']],
      [iptablesSnats, ['out']],
      [iptablesEips, ['out', 'fixed']],
    ] as const)
      for (const name of list) await bed.controller.kube.delete(resource, { name });
    await bed.controller.kube.delete(qosPolicies, { name: 'whole' });
    await eventually('no rows of rules', () => natRows().length + balancers().length === 0);
    await eventually('no gateway', async () => (await bed.controller.kube.list(vpcNatGateways)).length === 0);
    await eventually('no port', () => bed.controller.row('Logical_Router_Port', 'red-external') === undefined);
    await eventually('no OvnEip', async () => (await bed.controller.kube.list(ovnEips)).length === 0);
    await eventually('no policy', async () => (await bed.controller.kube.list(qosPolicies)).length === 0);
    assert.deepEqual([...bed.controller.rows('Gateway_Chassis'), ...bed.controller.rows('QoS')], []);
  });
});
