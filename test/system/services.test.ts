/** Services for pods as clients, by connections: a real API server, the controller, OVN, and Open vSwitch on two nodes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { annotation } from '../../lib/api/names.ts';
import { services } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { ServiceWhy } from '../../cli/plan/service/why.ts';
import { runProgram } from './cli-bed.ts';
import { Agent } from './service-agent.ts';
import { createWorkloads } from './installed-workloads.ts';
import { ServiceBed } from './service-bed.ts';

/** For the answer to a datagram, on a busy machine. */
const answerMs = 5000;
const revalidationMs = 1000;
const ready = { conditions: { ready: true } };
const leaving = { conditions: { ready: false, serving: true, terminating: true } };
const on = (node: string, more: object = {}) => ({ nodeName: node, ...ready, ...more });

describe('pods reach Services', () => {
  let bed: ServiceBed;
  before(async () => {
    bed = await ServiceBed.open();
    await createWorkloads(bed.controller.kube);
    for (const [name, node] of [
      ['a', 'n1'],
      ['b', 'n1'],
      ['c', 'n2'],
    ] as const)
      await bed.addPod(name, node);
  });
  after(() => bed.close());

  const v4 = (pod: string): string => bed.addressesOf(pod)[0] ?? '';
  const v6 = (pod: string): string => bed.addressesOf(pod)[1] ?? '';

  it('on both nodes, over TCP and UDP, and the endpoint sees the client', async () => {
    const vip = await bed.service('web');
    await bed.endpoints('web', { b: on('n1') });
    for (const from of ['a', 'c'])
      for (const protocol of ['TCP', 'UDP'] as const) {
        const answer = await bed.until(from, vip, /^b /, protocol);
        assert.equal(answer, `b ${v4(from)}`);
      }
    await bed.endpoints('web', { b: on('n1'), c: on('n2') });
    const answers = new Set<string>();
    await eventually('both endpoints answer', async () => {
      answers.add(await bed.connect('a', vip));
      return answers.has(`b ${v4('a')}`) && answers.has(`c ${v4('a')}`);
    });
  });

  it('that they are the endpoint of, as another source', async () => {
    const vip = await bed.service('own');
    await bed.endpoints('own', { a: on('n1') });
    for (const protocol of ['TCP', 'UDP'] as const)
      assert.equal(await bed.until('a', vip, /^a /, protocol), 'a 169.254.169.5');
  });

  it('over IPv6', async () => {
    const external = 'fd00:99::1';
    const [, vip] = await bed.dualService('six', { externalIPs: [external] });
    await bed.endpoints('six', { b: on('n1') });
    for (const address of [vip, external]) {
      for (const from of ['a', 'c']) assert.equal(await bed.until(from, address, /^b /), `b ${v6(from)}`);
      assert.equal(await bed.until('b', address, /^b /), 'b fd69::5');
    }
    const row = () => bed.controller.row('Load_Balancer', 'default/six/tcp/ipv6');
    const setPolicy = (ipFamilyPolicy: string) =>
      bed.controller.kube.patch(services, { namespace: 'default', name: 'six' }, 'merge', { spec: { ipFamilyPolicy } });
    await setPolicy('SingleStack');
    await eventually('the addresses of IPv6 are no longer balanced', () => row() === undefined);
    await setPolicy('RequireDualStack');
    await eventually('they are balanced again', () => row() !== undefined);
    await bed.until('a', external, /^b /);
  });

  it('and are rejected within a second where there is no endpoint', async () => {
    const vip = await bed.service('none');
    for (const protocol of ['TCP', 'UDP'] as const) {
      await bed.until('a', vip, /^refused$/, protocol);
      const begunMs = performance.now();
      assert.equal(await bed.connect('a', vip, protocol), 'refused');
      assert.ok(performance.now() - begunMs < 1000, protocol);
    }
    await bed.endpoints('none', { c: on('n2') });
    await bed.until('a', vip, /^c /);
    await bed.endpoints('none', {});
    await bed.until('a', vip, /^refused$/);
  });

  it('whose endpoints terminate, where none is ready', async () => {
    const vip = await bed.service('leaving');
    await bed.endpoints('leaving', { b: { nodeName: 'n1', ...leaving }, c: on('n2') });
    await bed.until('a', vip, /^c /);
    for (let round = 0; round < 8; round += 1) assert.match(await bed.connect('a', vip), /^c /);
    await bed.endpoints('leaving', { b: { nodeName: 'n1', ...leaving } });
    await bed.until('a', vip, /^b /);
    await bed.endpoints('leaving', { b: { nodeName: 'n1', conditions: { ready: false } } });
    await bed.until('a', vip, /^refused$/);
  });

  /**
   * OVN deletes the connections of an endpoint once, with the change of its flows. Sockets that send meanwhile may get it again from flows that
   * Open vSwitch cached. On nodes that serve Services the daemon deletes them again: lab-services-model.test.ts.
   */
  it('by UDP sockets, which move with their next datagram when their endpoint goes', async () => {
    const vip = await bed.service('moving');
    await bed.endpoints('moving', { b: on('n1') });
    await bed.until('a', vip, /^b /, 'UDP');
    const agent = await Agent.start(bed.space('a'));
    try {
      for (let socket = 0; socket < 10; socket += 1) assert.match(await agent.ask('socket', vip, 80, answerMs), /^b /);
      await bed.endpoints('moving', { c: on('n2') });
      await bed.until('a', vip, /^c /, 'UDP');
      // The change has come to a new client, and Open vSwitch has revalidated its flows.
      await sleep(revalidationMs);
      const answers = (await agent.ask('again', '', 0, answerMs)).split('\n');
      assert.deepEqual(new Set(answers.map((answer) => answer.slice(0, 2))), new Set(['c ']), answers.join());
    } finally {
      await agent.stop();
    }
  });

  it('by the same endpoint with session affinity', async () => {
    const external = 'fd00:99::2';
    const vip = await bed.service('sticky', { sessionAffinity: 'ClientIP', externalIPs: [external] });
    await bed.endpoints('sticky', { a: on('n1'), b: on('n1'), c: on('n2') });
    for (const address of [vip, external])
      for (const from of ['a', 'b', 'c']) {
        const first = await bed.until(from, address, /^[abc] /);
        for (let round = 0; round < 12; round += 1) assert.equal(await bed.connect(from, address), first);
      }
  });

  it('with internalTrafficPolicy Local only on their node, and nothing leaves by the node where there is none', async () => {
    const vip = await bed.service('local', { internalTrafficPolicy: 'Local' });
    await bed.endpoints('local', { b: on('n1') });
    await bed.until('a', vip, /^b /);
    await bed.until('c', vip, /^silence$/);
    const filter = `host ${vip}`;
    const seen = await bed.packets('n2', 'ovn0', filter, async () => {
      const both = (['TCP', 'UDP'] as const).map((protocol) => bed.connect('c', vip, protocol));
      const answers = await Promise.all(both);
      assert.deepEqual(answers, ['silence', 'silence']);
    });
    assert.equal(seen, '');
    await bed.endpoints('local', { b: on('n1'), c: on('n2') });
    assert.equal(await bed.until('c', vip, /^c /), 'c 169.254.169.5');
    for (let round = 0; round < 8; round += 1) assert.match(await bed.connect('a', vip), /^b /);
    await bed.endpoints('local', {});
    for (const from of ['a', 'c']) await bed.until(from, vip, /^refused$/);
  });

  it('in their zone, where all endpoints have hints, over both families', async () => {
    const external = 'fd00:99::3';
    const hint = (zone: string): object => ({ hints: { forZones: [{ name: zone }] } });
    const vip = await bed.service('near', { trafficDistribution: 'PreferClose', externalIPs: [external] });
    await bed.endpoints('near', { b: on('n1', hint('zone-n1')), c: on('n2', hint('zone-n2')) });
    for (const address of [vip, external]) {
      await bed.until('a', address, /^b /);
      await bed.until('c', address, /^c /);
      for (let round = 0; round < 6; round += 1) assert.match(await bed.connect('a', address), /^b /);
    }
    await bed.endpoints('near', { b: on('n1'), c: on('n2', hint('zone-n2')) });
    const answers = new Set<string>();
    await eventually('endpoints in other zones answer too', async () => {
      answers.add((await bed.connect('a', external)).slice(0, 1));
      return answers.has('b') && answers.has('c');
    });
  });

  const why = async (...operands: readonly string[]) => {
    const { kubeconfig } = bed.controller.api;
    const { code, out } = await runProgram(['why', 'service', ...operands, '-o', 'json'], {
      HOME: '/nonexistent',
      KUBECONFIG: kubeconfig,
    });
    return { code, ...(JSON.parse(out) as ServiceWhy) };
  };

  /** For each of its ports: what serves the address, or the object that has it instead; and endpoints. */
  const answers = async (address: string, name: string, ...from: readonly string[]) => {
    const { addresses } = await why(`default/${name}`, ...from);
    return addresses
      .filter((one) => one.address === address)
      .map(({ through, holder, endpoints }) => [through ?? holder, ...endpoints].join(' '));
  };

  it('of which the older one has an address that two want, and the other says so', async () => {
    const address = '198.51.100.7';
    const balanced = (name: string, pod: string) =>
      ['tcp', 'udp'].map(
        (protocol) => `Load_Balancer default/${name}/${protocol}/ipv4 in group isthmus.lb.ovn-cluster ${v4(pod)}:8080`,
      );
    await bed.service('old', { externalIPs: [address] });
    await bed.endpoints('old', { b: on('n1') });
    await bed.until('a', address, /^b /);
    await bed.service('young', { externalIPs: [address] });
    await bed.endpoints('young', { c: on('n2') });
    await bed.untilServed('young', /virtual address of Service default\/old/);
    await bed.controller.event('AddressInUse', 'young', /default\/old/);
    for (let round = 0; round < 8; round += 1) assert.match(await bed.connect('a', address), /^b /);
    const taken = ['Service default/old', 'Service default/old'];
    for (const from of [[], ['default/a'], ['node/n1']])
      assert.deepEqual(await answers(address, 'young', ...from), taken);
    assert.deepEqual(await answers(address, 'old', 'default/a'), balanced('old', 'b'));
    await bed.controller.kube.delete(services, { namespace: 'default', name: 'old' });
    await bed.until('a', address, /^c /);
    await bed.untilServed('young', /^$/);
    assert.deepEqual(await answers(address, 'young', 'default/a'), balanced('young', 'c'));
  });

  it('of which the older one keeps an address that only clients in its ranges may use, and which nodes serve', async () => {
    const address = '198.51.100.8';
    // Of the same second, it is the first by name.
    const name = { namespace: 'default', name: 'closed' };
    await bed.service('closed', {
      type: 'LoadBalancer',
      loadBalancerClass: 'example.com/other',
      loadBalancerSourceRanges: ['203.0.113.0/24'],
    });
    const status = { loadBalancer: { ingress: [{ ip: address }] } };
    await bed.controller.kube.patch(services, name, 'merge', { status }, { subresource: 'status' });
    await bed.endpoints('closed', { b: on('n1') });
    const vip = await bed.service('open', { externalIPs: [address] });
    await bed.endpoints('open', { c: on('n2') });
    await bed.until('a', vip, /^c /);
    await bed.untilServed('open', /virtual address of Service default\/closed/);
    assert.equal(await bed.connect('a', address), 'silence');
    assert.deepEqual(await answers(address, 'open', 'default/a'), ['Service default/closed', 'Service default/closed']);
    await bed.controller.kube.delete(services, name);
    await bed.until('a', address, /^c /);
  });

  it('as isthmus why service says, on each node', async () => {
    const vip = await bed.service('asked', { internalTrafficPolicy: 'Local' });
    await bed.endpoints('asked', { b: on('n1') });
    const asked = async (from: string) => {
      const { code, problems, endpoints } = await why('default/asked', from);
      const serving = endpoints.filter(({ isServing }) => isServing).map(({ pod }) => pod);
      return { code, problems: problems.map((one) => one.code), serving: [...new Set(serving)] };
    };
    assert.deepEqual(await asked('default/a'), { code: 0, problems: [], serving: ['default/b'] });
    await bed.until('a', vip, /^b /);
    assert.deepEqual(await asked('default/c'), {
      code: 1,
      problems: Array.from({ length: 2 }, () => 'NoLocalEndpoint'),
      serving: [],
    });
    assert.equal(await bed.connect('c', vip), 'silence');
    await bed.endpoints('asked', {});
    assert.deepEqual((await asked('default/c')).serving, []);
    await bed.until('c', vip, /^refused$/);
  });

  it('and nodes read from them which endpoints are in other VPCs: what an author writes there goes', async () => {
    const name = { namespace: 'default', name: 'web' };
    const annotations = { [annotation.elsewhere]: '*' };
    await bed.controller.kube.patch(services, name, 'merge', { metadata: { annotations } });
    await eventually('the annotation is removed', async () => {
      const { metadata } = await bed.controller.kube.get(services, name);
      return metadata.annotations?.[annotation.elsewhere] === undefined;
    });
  });

  it('and a controller that starts again writes nothing', async () => {
    await bed.controller.quiet();
    const before = await bed.controller.versions();
    const { changes } = bed.controller;
    await bed.controller.kill();
    await bed.startController();
    await bed.controller.quiet();
    assert.deepEqual(await bed.controller.versions(), before);
    assert.equal(bed.controller.changes, changes);
  });
});
