/** SwitchLBRules by connections: a real API server, the controller, OVN with health checks, and Open vSwitch on two nodes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { SwitchLbRuleStatus } from '../../lib/api/kinds/switch-lb-rule.ts';
import { ips, securityGroups, services, switchLbRules, vips } from '../../lib/kube/resources.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import type { ServiceWhy } from '../../cli/plan/service/why.ts';
import { runProgram } from './cli-bed.ts';
import { createWorkloads } from './installed-workloads.ts';
import { ServiceBed } from './service-bed.ts';

const vips46 = ['1.1.1.1', 'fd99::1'] as const;
const ready = { conditions: { ready: true } };
const both = { b: { nodeName: 'n1', ...ready }, c: { nodeName: 'n2', ...ready } };
const ports = [
  { name: 'tcp', port: 80, targetPort: 8080 },
  { name: 'udp', port: 80, targetPort: 8080, protocol: 'UDP' },
];

describe('pods reach SwitchLBRules', () => {
  let bed: ServiceBed;
  before(async () => {
    bed = await ServiceBed.open();
    for (const [name, node] of [
      ['a', 'n1'],
      ['b', 'n1'],
      ['c', 'n2'],
    ] as const)
      await bed.addPod(name, node);
  });
  after(() => bed.close());

  const statusOf = (name: string): Promise<SwitchLbRuleStatus> => bed.controller.status(switchLbRules, name);

  /** Waits for a condition of a rule. */
  const until = (name: string, type: string, status: string, reason: string): Promise<Condition> =>
    eventually(`${type}=${status} ${reason} of ${name}`, async () => {
      const found = (await statusOf(name)).conditions?.find((one) => one.type === type);
      if (found?.status !== status || found.reason !== reason) throw new Error(JSON.stringify(found));
      return found;
    });

  const untilService = (name: string) =>
    eventually(`Service ${name}`, () =>
      bed.controller.kube.get(services, { namespace: 'default', name }).catch(() => undefined),
    );

  /** The state of a check comes before the flows on the nodes: waits until all connections in a row end at one pod. */
  const untilOnly = (name: string, vip = '1.1.1.1', protocol: 'TCP' | 'UDP' = 'TCP'): Promise<true> =>
    eventually(`only ${name} answers at ${protocol} ${vip}`, async () => {
      for (let round = 0; round < 12; round += 1) {
        const answer = await bed.connect('a', vip, protocol);
        if (!answer.startsWith(`${name} `)) throw new Error(answer);
      }
      return true;
    });

  const rule = async (name: string, vip: string, more: object = {}): Promise<void> => {
    const spec = { vip, namespace: 'default', selector: [`app:${name}`], ports, ...more };
    await bed.controller.create(switchLbRules, name, spec);
  };

  /** What `isthmus why` answers: its exit code, the codes of problems, and by virtual address the pods, or the object that has it. */
  const why = async (...argv: readonly string[]) => {
    const { kubeconfig } = bed.controller.api;
    const environment = { HOME: '/nonexistent', KUBECONFIG: kubeconfig };
    const { code, out, err } = await runProgram(['why', ...argv, '-o', 'json'], environment);
    if (out === '') throw new Error(err);
    const { problems, addresses, endpoints } = JSON.parse(out) as ServiceWhy;
    const pods = new Map(endpoints.map(({ endpoint, pod = '' }) => [endpoint, pod]));
    const served = addresses.map(({ address, protocol, through, holder, endpoints: to }) =>
      [
        address,
        protocol,
        ...(through === undefined ? [holder ?? 'none'] : to.map((endpoint) => pods.get(endpoint))),
      ].join(' '),
    );
    return { code, problems: problems.map((one) => one.code), served };
  };

  it('on both nodes, over TCP and UDP of both families, through the endpoints of a headless Service', async () => {
    await rule('web', vips46.join(','));
    const { metadata, spec } = await untilService('slr-web');
    assert.equal(metadata.annotations?.['ovn.kubernetes.io/switch_lb_vip'], '1.1.1.1,fd99::1');
    const { clusterIP, selector } = spec as { clusterIP: string; selector: object };
    assert.deepEqual([clusterIP, selector], ['None', { app: 'web' }]);
    await until('web', 'BackendsOnline', 'False', 'NoBackends');
    for (const vip of vips46) await bed.until('a', vip, /^refused$/);
    await bed.endpoints('slr-web', both);
    for (const vip of vips46)
      for (const protocol of ['TCP', 'UDP'] as const)
        for (const name of ['b', 'c']) await bed.until('a', vip, new RegExp(`^${name} `), protocol);
    assert.match(await bed.until('b', '1.1.1.1', /^b /), /169\.254\.169\.5/);
    assert.match(await bed.until('b', 'fd99::1', /^b /), /fd69::5/);
  });

  const served = (...pods: readonly string[]): readonly string[] =>
    ['TCP', 'UDP'].flatMap((protocol) => vips46.map((vip) => [vip, protocol, ...pods].join(' ')));

  it('of which each backend has the result of its check, from an address that is not a pod’s', async () => {
    await until('web', 'BackendsOnline', 'True', 'AllOnline');
    const { backends = [], ports: text, service, vpc, total, online } = await statusOf('web');
    assert.deepEqual([text, service, vpc, total, online], ['80/TCP,80/UDP', 'default/slr-web', 'ovn-cluster', 8, 8]);
    const addresses = ['b', 'c'].flatMap((name) =>
      bed.addressesOf(name).map((address) => `default/${name} ${address}`),
    );
    assert.deepEqual(
      backends.map(({ pod, address, protocol, state }) => `${pod} ${address} ${protocol} ${state}`).sort(),
      addresses.flatMap((text) => [`${text} TCP Online`, `${text} UDP Online`]).sort(),
    );
    const source = await bed.controller.kube.get(ips, { name: 'health-check.ovn-default' });
    const { v4IpAddress, v6IpAddress } = source['spec'] as { v4IpAddress: string; v6IpAddress: string };
    const mappings = (family: 4 | 6) =>
      bed.controller.row('Load_Balancer', `default/slr-web/tcp/ipv${family}`)?.['ip_port_mappings'];
    const [b = [], c = []] = ['b', 'c'].map((name) => bed.addressesOf(name));
    assert.deepEqual(mappings(4), { [`${b[0]}`]: `b.default:${v4IpAddress}`, [`${c[0]}`]: `c.default:${v4IpAddress}` });
    const six = { [`[${b[1]}]`]: `b.default:[${v6IpAddress}]`, [`[${c[1]}]`]: `c.default:[${v6IpAddress}]` };
    assert.deepEqual(mappings(6), six);
    for (const name of ['a', 'b', 'c'])
      for (const address of bed.addressesOf(name)) assert.ok(![v4IpAddress, v6IpAddress].includes(address));
  });

  it('without a backend that does not answer, until it does', async (context) => {
    const seconds = (sinceMs: number): string => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;
    await bed.stopServing('c');
    const stoppedMs = performance.now();
    const { message = '' } = await until('web', 'BackendsOnline', 'False', 'BackendsOffline');
    context.diagnostic(`offline after ${seconds(stoppedMs)}`);
    assert.match(message, /pod default\/c/);
    await eventually('both protocols of both families are offline', async () => (await statusOf('web')).online === 4);
    await bed.controller.event('BackendsOffline', 'web', /default\/c/);
    for (const vip of vips46) for (const protocol of ['TCP', 'UDP'] as const) await untilOnly('b', vip, protocol);
    const only = { code: 0, problems: [], served: served('default/b') };
    assert.deepEqual(await why('switch-lb-rule', 'web', 'default/a'), only);
    assert.deepEqual(await why('service', 'default/slr-web', 'default/a'), only);
    await assert.rejects(why('switch-lb-rule', 'none'), /NoSuchSwitchLbRule: there is no switch-lb-rule none;/);
    assert.deepEqual(await why('switch-lb-rule', 'web', 'node/n1'), { code: 1, problems: ['OnlyPods'], served: [] });
    await bed.stopServing('b');
    for (const vip of vips46) await bed.until('a', vip, /^refused$/);
    const none = { code: 1, problems: ['BackendsOffline', 'BackendsOffline'], served: served() };
    await eventually('the status', async () => (await statusOf('web')).online === 0);
    assert.deepEqual(await why('switch-lb-rule', 'web'), none);
    bed.serve('b');
    bed.serve('c');
    const startedMs = performance.now();
    await until('web', 'BackendsOnline', 'True', 'AllOnline');
    context.diagnostic(`online after ${seconds(startedMs)}`);
    for (const vip of vips46) for (const name of ['b', 'c']) await bed.until('a', vip, new RegExp(`^${name} `));
    assert.deepEqual((await why('switch-lb-rule', 'web', 'default/a')).served, served('default/b default/c'));
  });

  it('whose checks pass a security group that lets nobody in', async () => {
    await bed.controller.create(securityGroups, 'shut', { ingressRules: [], egressRules: [] });
    const annotations = { 'ovn.kubernetes.io/security_groups': 'shut', 'ovn.kubernetes.io/port_security': 'true' };
    await bed.addPod('d', 'n2', annotations);
    const endpoints = bed.addressesOf('d');
    await rule('shut', '1.1.1.4,fd99::4', { selector: undefined, endpoints });
    await until('shut', 'BackendsOnline', 'True', 'AllOnline');
    assert.equal((await statusOf('shut')).total, 4);
    const answers = await Promise.all(endpoints.map((address) => bed.connect('a', address, 'TCP', 8080)));
    assert.deepEqual(answers, ['silence', 'silence']);
    await bed.controller.kube.delete(switchLbRules, { name: 'shut' });
  });

  it('over SCTP without checks, which their status says', async () => {
    const call = { name: 'call', port: 90, targetPort: 9090, protocol: 'SCTP' };
    const endpoints = [bed.addressesOf('b')[0], '192.0.2.9'];
    await rule('call', '1.1.1.3', { selector: undefined, endpoints, ports: [ports[0], call] });
    await eventually('the result of the check', async () => {
      const { backends = [] } = await statusOf('call');
      assert.deepEqual(
        backends.map(({ address, protocol, state, reason }) => [address, protocol, state, reason]),
        [
          [endpoints[0], 'TCP', 'Online', undefined],
          [endpoints[1], 'TCP', 'Unchecked', 'NotAPod'],
          [endpoints[0], 'SCTP', 'Unchecked', 'SctpNotChecked'],
          [endpoints[1], 'SCTP', 'Unchecked', 'SctpNotChecked'],
        ],
      );
      return true;
    });
    const { message = '' } = await until('call', 'BackendsOnline', 'Unknown', 'Unchecked');
    assert.match(
      message,
      /3 of 4 backends.*: OVN cannot check over SCTP \(2\), no pod of the Vpc has the address \(1\)$/,
    );
    await until('call', 'Ready', 'True', 'RuleReady');
    const row = bed.controller.row('Load_Balancer', 'default/slr-call/sctp/ipv4');
    assert.deepEqual(row?.['vips'], { '1.1.1.3:90': endpoints.map((one) => `${one}:9090`).join() });
    await bed.controller.kube.delete(switchLbRules, { name: 'call' });
  });

  it('by addresses of their own subnet that a Vip reserves', async () => {
    const vip = '10.16.0.200';
    await rule('inside', vip, { selector: undefined, endpoints: [bed.addressesOf('b')[0]] });
    const { message = '' } = await until('inside', 'Ready', 'False', 'AddressNotReserved');
    assert.match(message, /create a Vip with this address, spec\.subnet ovn-default/);
    await bed.controller.create(vips, 'inside', { subnet: 'ovn-default', v4ip: vip, type: 'switch_lb_vip' });
    await until('inside', 'Ready', 'True', 'RuleReady');
    await bed.until('a', vip, /^b /);
    await until('inside', 'BackendsOnline', 'True', 'AllOnline');
  });

  it('of which the older one has an address that two want, and the other says so', async () => {
    await rule('late', '1.1.1.1');
    const { message = '' } = await until('late', 'Ready', 'False', 'AddressInUse');
    assert.match(message, /virtual address of SwitchLBRule web in Vpc ovn-cluster/);
    await untilService('slr-late');
    await bed.endpoints('slr-late', { c: both.c });
    const holder = ['1.1.1.1 TCP SwitchLBRule web', '1.1.1.1 UDP SwitchLBRule web'];
    const refused = { code: 1, problems: ['AddressInUse'], served: holder };
    assert.deepEqual(await why('switch-lb-rule', 'late', 'default/a'), refused);
    await createWorkloads(bed.controller.kube);
    await bed.service('later', { externalIPs: ['1.1.1.1'] });
    await bed.untilServed('later', /virtual address of SwitchLBRule web/);
    const { served: ofLater } = await why('service', 'default/later', 'default/a');
    assert.deepEqual(
      ofLater.filter((text) => text.startsWith('1.1.1.1 ')),
      holder,
    );
    await bed.controller.kube.delete(services, { namespace: 'default', name: 'later' });
    assert.deepEqual((await statusOf('late')).unserved, ['1.1.1.1:80/TCP', '1.1.1.1:80/UDP']);
    for (let round = 0; round < 6; round += 1) assert.match(await bed.connect('a', '1.1.1.1'), /^[bc] /);
    await bed.controller.kube.delete(switchLbRules, { name: 'web' });
    await until('late', 'Ready', 'True', 'RuleReady');
    assert.equal((await statusOf('late')).unserved, undefined);
    await untilOnly('c');
    const taken = { code: 0, problems: [], served: ['1.1.1.1 TCP default/c', '1.1.1.1 UDP default/c'] };
    await eventuallyPasses(async () => assert.deepEqual(await why('service', 'default/slr-late', 'default/a'), taken));
    await eventually('the Service of a rule that is gone', async () => {
      const all = await bed.controller.kube.list(services);
      return all.every(({ metadata }) => metadata.name !== 'slr-web');
    });
  });

  it('whose Service is created again, and has what the rule says', async () => {
    const { metadata } = await untilService('slr-late');
    await bed.controller.kube.delete(services, { namespace: 'default', name: 'slr-late' });
    await eventually('another Service', async () => (await untilService('slr-late')).metadata.uid !== metadata.uid);
    const name = { namespace: 'default', name: 'slr-late' };
    const selector = { app: 'other', more: 'x' };
    await bed.controller.kube.patch(services, name, 'merge', { spec: { selector } });
    await eventually('the selector of the rule', async () => {
      const { spec } = await untilService('slr-late');
      assert.deepEqual((spec as { selector: object }).selector, { app: 'late' });
      return true;
    });
  });

  it('and a controller that starts again writes nothing', async () => {
    await until('late', 'BackendsOnline', 'True', 'AllOnline');
    await bed.controller.quiet();
    const before = await bed.controller.versions();
    const { changes } = bed.controller;
    await bed.controller.kill();
    await bed.startController();
    await bed.controller.quiet();
    assert.deepEqual(await bed.controller.versions(), before);
    assert.equal(bed.controller.changes, changes);
  });

  it('whose sources of health checks are released with the last of them', async () => {
    for (const name of ['late', 'inside']) await bed.controller.kube.delete(switchLbRules, { name });
    await eventually('the IP object is gone', async () => {
      const all = await bed.controller.kube.list(ips);
      return all.every(({ metadata }) => metadata.name !== 'health-check.ovn-default');
    });
    await eventually('no check is left', () => bed.controller.rows('Load_Balancer_Health_Check').length === 0);
    await bed.until('a', '1.1.1.1', /^silence$/);
  });
});
