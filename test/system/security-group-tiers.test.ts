/** Tiers of security groups by packets: what a group of tier 0 allows, drops, and passes on to groups of tier 1. On an OVN without tiers, `pass` drops. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pods, securityGroups, subnets } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { keptPort, patienceMs, PolicyBed, silenceMs } from './policy-bed.ts';

const inTcp = (port: number) => ({ protocol: 'tcp', portRangeMin: port, portRangeMax: port });
const inUdp = { protocol: 'udp' };

describe('tiers of security groups', () => {
  let bed: PolicyBed;
  let isTiered = false;
  before(async () => {
    bed = await PolicyBed.open();
    isTiered = bed.services.controller.nb.schema.tables['ACL']?.columns['tier'] !== undefined;
    await bed.addNamespace('shop', {});
    for (const [name, node] of [
      ['web', 'n1'],
      ['near', 'n1'],
      ['far', 'n2'],
    ] as const)
      await bed.addPod(name, { namespace: 'shop', node, labels: {} });
    const { controller } = bed.services;
    const egressRules = [rule(1, 'allow', '0.0.0.0/0')];
    const ingressRules = [
      rule(1, 'allow', addressOf('near')),
      rule(2, 'pass', '0.0.0.0/0'),
      rule(3, 'allow', '0.0.0.0/0'),
    ];
    await controller.create(securityGroups, 'front', { ingressRules, egressRules });
    await controller.create(securityGroups, 'back', { tier: 1, ingressRules: [], egressRules: [] });
    await annotate('front');
  });
  after(() => bed.close());

  const addressOf = (pod: string): string => bed.place(pod).addresses[0] ?? '';
  const rule = (priority: number, policy: string, remoteAddress: string, more: object = {}): object => ({
    ipVersion: 'ipv4',
    priority,
    policy,
    remoteType: 'address',
    remoteAddress,
    ...more,
  });
  const annotate = (groups: string) =>
    bed.services.controller.kube.patch(pods, { namespace: 'shop', name: 'web' }, 'merge', {
      metadata: { annotations: { 'ovn.kubernetes.io/security_groups': groups } },
    });
  const judge = (...ingressRules: object[]) =>
    bed.services.controller.kube.patch(securityGroups, { name: 'back' }, 'merge', { spec: { ingressRules } });

  const isOpen = async (from: string, port: number, expected: boolean): Promise<boolean> => {
    const patience = expected ? patienceMs : silenceMs;
    return (await bed.place(from).agent.ask('TCP', addressOf('web'), port, patience)) !== 'silent';
  };
  const until = (what: string, from: string, port: number, expected: boolean) =>
    eventually(what, async () => (await isOpen(from, port, expected)) === expected);
  /** At the same time: what is passed on needs tiers, and what a rule of tier 0 allows does not. */
  const untilFar = async (what: string, ports: Readonly<Record<number, boolean>>) => {
    for (const [port, expected] of Object.entries(ports)) await until(what, 'far', Number(port), expected && isTiered);
    for (const port of [8080, 8081]) assert.equal(await isOpen('near', port, true), true, `near, ${what}`);
  };

  it('drop what is passed on to no group', async () => {
    await untilFar('no group of tier 1', { 8080: false, 8081: false });
    await annotate('back,front');
    await untilFar('a group without rules', { 8080: false, 8081: false });
  });

  it('judge what is passed on by the rules of tier 1, and nothing else', async () => {
    await judge(rule(1, 'drop', addressOf('near')), rule(2, 'allow', addressOf('far'), inTcp(8080)));
    await untilFar('one port', { 8080: true, 8081: false });
    await judge(rule(1, 'drop', addressOf('far'), inTcp(8080)), rule(2, 'allow', '0.0.0.0/0'));
    await untilFar('all ports but one', { 8080: false, 8081: true });
    await judge(rule(1, 'pass', '0.0.0.0/0', inTcp(8080)), rule(2, 'allow', '0.0.0.0/0'));
    await untilFar('pass in tier 1', { 8080: false, 8081: true });
  });

  it('let pass what an ACL of a Subnet allows before', async () => {
    const { kube } = bed.services.controller;
    const acls = [
      {
        direction: 'to-lport',
        priority: 20_000,
        match: `ip4.src == ${addressOf('far')} && tcp.dst == 8080`,
        action: 'allow',
      },
    ];
    await judge();
    await untilFar('a group without rules', { 8080: false, 8081: false });
    await kube.patch(subnets, { name: 'ovn-default' }, 'merge', { spec: { acls } });
    await until('the Subnet allows it', 'far', 8080, true);
    assert.equal(await isOpen('far', 8081, false), false);
    await kube.patch(subnets, { name: 'ovn-default' }, 'merge', { spec: { acls: [] } });
    await until('the Subnet allows it no longer', 'far', 8080, false);
  });

  it('end a connection at once that tier 1 no longer allows, and let it go on later', async (context) => {
    if (!isTiered) return context.skip('this OVN has no tiers');
    const { agent } = bed.place('far');
    const { agent: near } = bed.place('near');
    const open = [rule(2, 'allow', '0.0.0.0/0')];
    await judge(...open);
    await untilFar('all is open', { 8080: true, 8081: true });
    for (const one of [agent, near]) {
      assert.equal(await one.ask('keep', addressOf('web'), keptPort), 'alive');
      assert.notEqual(await one.ask('socket', addressOf('web'), 8080, patienceMs), 'silent');
    }
    await judge(rule(1, 'drop', '0.0.0.0/0', inTcp(keptPort)), rule(1, 'drop', '0.0.0.0/0', inUdp), ...open);
    await eventually('UDP is closed', async () => (await agent.ask('again', '', 0, silenceMs)) === 'silent');
    for (let time = 0; time < 3; time += 1) {
      assert.equal(await agent.ask('again', '', 0, silenceMs), 'silent');
      assert.equal(await agent.ask('check', '', 0, silenceMs), '0');
      assert.notEqual(await near.ask('again', '', 0, patienceMs), 'silent');
      assert.equal(await near.ask('check'), '1');
    }
    await judge(...open);
    await eventually('UDP is open', async () => (await agent.ask('again', '', 0, patienceMs)) !== 'silent');
    // TCP sends again after a while.
    assert.equal(await agent.ask('check'), '1');
  });
});
