/**
 * Policies of the whole cluster by packets: a real API server, the controller, OVN, and Open vSwitch on two nodes, compared with a model of the API's text.
 * The kinds are installed while the controller runs.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { conditionsOf } from '../../lib/api/conditions.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { fieldsOf } from '../../lib/kube/fields.ts';
import { clusterNetworkPolicies } from '../../lib/kube/resources.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import { pick, randomOf } from '../../lib/testing-random.ts';
import type { ClusterPeer, ClusterPolicy, ClusterRule } from '../model/cluster-policies.ts';
import type { Policy } from '../model/network-policies.ts';
import { DomainNames } from './domain-names.ts';
import { checkAnswer } from './policy-answers.ts';
import { clusterKinds, keptPort, patienceMs, PolicyBed, silenceMs } from './policy-bed.ts';
import { checkSamples } from './policy-dropping.ts';
import { installKind, removeKind } from './policy-kinds.ts';
import { RandomPolicies } from './random-policies.ts';

/** Longer than the controller takes to see that a kind is served or no longer so. */
const kindMs = 60_000;
const http = (containerPort: number) => [{ name: 'http', protocol: 'TCP', containerPort }] as const;

type Spec = ClusterPolicy['spec'];

const shop = { namespaces: { matchLabels: { team: 'shop' } } } as const;
const ops = { namespaces: { matchLabels: { team: 'ops' } } } as const;
const everyPod = { namespaces: {} } as const;
/** A peer that a later version of the API may have. */
const unknown: ClusterPeer = { future: {} };

const podsOf = (app: string): ClusterPeer => ({
  pods: { namespaceSelector: {}, podSelector: { matchLabels: { app } } },
});

function clusterPolicy(
  name: string,
  spec: Pick<Spec, 'ingress' | 'egress'> & Partial<Spec>,
  kind: ClusterPolicy['kind'] = 'ClusterNetworkPolicy',
): ClusterPolicy {
  const own = kind === 'ClusterNetworkPolicy' ? { tier: 'Admin' as const } : {};
  const priority = kind === 'BaselineAdminNetworkPolicy' ? {} : { priority: 10 };
  return { kind, metadata: { name }, spec: { ...own, ...priority, subject: shop, ...spec } };
}

const from = (action: ClusterRule['action'], ...peers: ClusterPeer[]): ClusterRule => ({ action, from: peers });
const to = (action: ClusterRule['action'], ...peers: ClusterPeer[]): ClusterRule => ({ action, to: peers });

const networkPolicy = (name: string, spec: Policy['spec'], namespace = 'shop'): Policy => ({
  metadata: { namespace, name },
  spec,
});
const closed = networkPolicy('closed', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
const open = networkPolicy('open', {
  podSelector: {},
  policyTypes: ['Ingress', 'Egress'],
  ingress: [{}],
  egress: [{}],
});

describe('policies of the whole cluster', () => {
  let bed: PolicyBed;
  before(async () => {
    bed = await PolicyBed.open({ isServing: true });
    await bed.addNamespace('shop', { team: 'shop' });
    await bed.addNamespace('ops', { team: 'ops' });
    await bed.labelNode('n1', { rack: 'a' });
    await bed.labelNode('n2', { rack: 'b' });
    await bed.addPod('web', { namespace: 'shop', node: 'n1', labels: { app: 'web' }, ports: http(8080) });
    await bed.addPod('db', { namespace: 'shop', node: 'n2', labels: { app: 'db' }, ports: http(8081) });
    await bed.addPod('cli', { namespace: 'ops', node: 'n1', labels: { app: 'cli' } });
    await bed.addPod('mon', { namespace: 'ops', node: 'n2', labels: { app: 'mon' }, ports: http(8080) });
  });
  after(() => bed.close());
  afterEach(() => bed.removeAll());

  async function ready({ kind, metadata }: ClusterPolicy): Promise<Condition | undefined> {
    const { status } = await bed.services.controller.kube.get(clusterKinds[kind], metadata);
    return conditionsOf(fieldsOf(status)).find(({ type }) => type === 'Ready');
  }

  async function untilReady(
    policy: ClusterPolicy,
    status: string,
    reason: string,
    timeoutMs?: number,
  ): Promise<string> {
    return eventually(
      `${policy.metadata.name} is Ready ${status} ${reason}`,
      async () => {
        const condition = await ready(policy);
        if (condition?.status !== status || condition.reason !== reason) throw new Error(JSON.stringify(condition));
        return `${condition.message ?? ''} `;
      },
      timeoutMs,
    );
  }

  /** Applies policies, and waits until packets and model agree. */
  async function agree(what: string, ...policies: readonly (ClusterPolicy | Policy)[]): Promise<void> {
    for (const policy of policies) await ('kind' in policy ? bed.applyCluster(policy) : bed.apply(policy));
    await bed.untilEqual(what);
  }

  it('are in force when their kind appears, and end when it vanishes', async () => {
    const { kube } = bed.services.controller;
    await bed.untilEqual('all connections are allowed without the kinds');
    for (const resource of Object.values(clusterKinds)) await installKind(kube, resource);
    const policy = clusterPolicy('closed', { ingress: [from('Deny', everyPod)] });
    await bed.applyCluster(policy);
    await untilReady(policy, 'True', 'PolicyReady', kindMs);
    await agree('pods of shop are closed', policy);
    const changes = bed.services.controller.changes;
    await removeKind(kube, clusterNetworkPolicies);
    await eventually('the rows are gone', () => bed.rows().length === 0, kindMs);
    await bed.services.untilWritten(changes);
    bed.clusterPolicies.clear();
    await bed.untilEqual('all connections are allowed again');
    await installKind(kube, clusterNetworkPolicies);
    await bed.applyCluster(policy);
    await untilReady(policy, 'True', 'PolicyReady', kindMs);
    await agree('pods of shop are closed again', policy);
    await bed.removeAll();
    await bed.untilEqual('all connections are allowed at the end');
    await eventuallyPasses(() => assert.deepEqual(bed.rows(), []));
  });

  it('of the tier Admin accept what a NetworkPolicy closes', async () => {
    const accept = { ingress: [from('Accept', ops)], egress: [to('Accept', ops)] };
    await agree('shop is open for ops', closed, clusterPolicy('accept', accept));
    await bed.remove('shop', 'closed');
    await bed.untilEqual('an Accept closes nothing');
  });

  it('of the tier Admin deny what a NetworkPolicy allows', async () => {
    await agree('ops does not reach shop', open, clusterPolicy('deny', { ingress: [from('Deny', ops)] }));
    await agree('shop does not reach ops', clusterPolicy('deny', { egress: [to('Deny', ops)] }));
    await agree('a policy without rules has no effect', clusterPolicy('deny', {}));
  });

  it('pass what is left to NetworkPolicies and the tier Baseline', async () => {
    const pass = clusterPolicy('pass', { ingress: [from('Pass', ops)] });
    const baseline = clusterPolicy('baseline', { tier: 'Baseline', ingress: [from('Deny', ops)] });
    await agree('a Pass that nothing follows decides nothing', pass);
    await agree('Baseline decides', baseline);
    await agree('NetworkPolicies decide, and Baseline does not', open);
    await agree('NetworkPolicies close', networkPolicy('open', { podSelector: {}, policyTypes: ['Ingress'] }));
  });

  it('pass over the other rules of the tier Admin', async () => {
    const policy = clusterPolicy('pass', {
      ingress: [from('Pass', podsOf('cli')), from('Deny', ops)],
      egress: [{ ...to('Pass', ops), protocols: [{ tcp: {} }] }, to('Deny', ops)],
    });
    if (bed.isTiered) {
      await agree('cli passes, mon does not', policy);
      await untilReady(policy, 'True', 'PolicyReady');
      await agree('NetworkPolicies deny what has passed', closed);
      await agree(
        'a later policy is passed over',
        open,
        clusterPolicy('later', { priority: 11, ingress: [from('Deny', everyPod)] }),
      );
      return;
    }
    await bed.applyCluster(policy);
    assert.match(
      await untilReady(policy, 'False', 'NotSupported'),
      /spec\.ingress\[0\]: Pass denies .*spec\.egress\[0\]/,
    );
    const asDenied = (rules: readonly ClusterRule[] = []): ClusterRule[] =>
      rules.map((rule) => ({ ...rule, action: 'Deny' }));
    const { spec } = policy;
    const meant = { ...spec, ingress: asDenied(spec.ingress), egress: asDenied(spec.egress) };
    bed.clusterPolicies.set('ClusterNetworkPolicy/pass', { ...policy, spec: meant });
    await bed.untilEqual('a Pass that others follow denies');
    await agree('also where NetworkPolicies allow', open);
  });

  it('have the order of their priorities, and of their rules', async () => {
    const rules = [from('Accept', podsOf('cli')), from('Deny', ops), from('Accept', podsOf('mon'))];
    await agree('the first rule decides', clusterPolicy('a', { priority: 500, ingress: rules }));
    await agree('the other order', clusterPolicy('a', { priority: 500, ingress: rules.toReversed() }));
    await agree(
      'a later policy does not decide',
      clusterPolicy('b', { priority: 501, ingress: [from('Deny', everyPod)] }),
    );
    await agree('an earlier one does', clusterPolicy('b', { priority: 0, ingress: [from('Deny', everyPod)] }));
    await agree('the last one', clusterPolicy('b', { priority: 1000, ingress: [from('Deny', everyPod)] }));
    const baseline = { tier: 'Baseline', priority: 0, subject: ops } as const;
    await agree('the same of Baseline', clusterPolicy('c', { ...baseline, egress: [to('Deny', shop)] }));
    await agree(
      'a later one of Baseline',
      clusterPolicy('d', { ...baseline, priority: 1, egress: [to('Accept', everyPod)] }),
    );
    await agree('the other way around', clusterPolicy('d', { ...baseline, priority: 1, egress: [to('Deny', ops)] }));
    await agree(
      'Admin decides before Baseline',
      clusterPolicy('e', { subject: ops, egress: [to('Accept', everyPod)] }),
    );
  });

  it('of the tier Baseline decide about pods that no NetworkPolicy selects', async () => {
    const baseline = clusterPolicy('baseline', {
      tier: 'Baseline',
      subject: everyPod,
      ingress: [from('Accept', shop), from('Deny', everyPod)],
      egress: [{ ...to('Deny', everyPod), protocols: [{ udp: {} }] }],
    });
    await agree('Baseline alone', baseline);
    await agree(
      'db is of a NetworkPolicy',
      networkPolicy('db', { podSelector: { matchLabels: { app: 'db' } }, ingress: [{}] }),
    );
    await agree('and closed', networkPolicy('db', { podSelector: { matchLabels: { app: 'db' } } }));
  });

  it('know ports by number, range and name', async () => {
    const named = { destinationNamedPort: 'http' };
    const rules = (action: ClusterRule['action']): Pick<Spec, 'ingress' | 'egress'> => ({
      ingress: [{ ...from(action, ops), protocols: [named, { udp: { destinationPort: { number: 8081 } } }] }],
      egress: [
        {
          ...to(action, everyPod),
          protocols: [named, { udp: { destinationPort: { range: { start: 8000, end: 8080 } } } }],
        },
      ],
    });
    await agree('some ports are denied', clusterPolicy('ports', rules('Deny')));
    await agree('the others are', clusterPolicy('ports', rules('Accept')), closed);
    await bed.remove('shop', 'closed');
    await agree(
      'all of a protocol',
      clusterPolicy('ports', { ingress: [{ ...from('Deny', ops), protocols: [{ tcp: {} }] }] }),
    );
    await agree('none', clusterPolicy('ports', { ingress: [{ ...from('Deny', ops), protocols: [{ sctp: {} }] }] }));
  });

  it('know nodes and networks of destinations', async () => {
    const { addresses } = bed.place('mon');
    const networks = (prefixes: readonly number[]): ClusterPeer => ({
      networks: addresses.map((address, index) => `${address}/${prefixes[index]}`),
    });
    await agree('nodes are no pods', clusterPolicy('nodes', { egress: [to('Deny', everyPod)] }));
    await agree('no node', clusterPolicy('nodes', { egress: [to('Deny', { nodes: {} })] }));
    const rack = { nodes: { matchLabels: { rack: 'a' } } };
    await agree('one node', clusterPolicy('nodes', { egress: [to('Deny', rack)] }));
    await bed.labelNode('n2', { rack: 'a' });
    await bed.untilEqual('both nodes');
    await bed.labelNode('n1', { rack: 'c' });
    await bed.untilEqual('the other node');
    await bed.labelNode('n1', { rack: 'a' });
    await bed.labelNode('n2', { rack: 'b' });
    await agree('one node is accepted', closed, clusterPolicy('nodes', { egress: [to('Accept', rack)] }));
    await bed.removeAll();
    await agree('a pod by its addresses', clusterPolicy('networks', { egress: [to('Deny', networks([32, 128]))] }));
    await agree('pods by a network', clusterPolicy('networks', { egress: [to('Deny', networks([16, 112]))] }));
    const all: ClusterPeer = { networks: ['0.0.0.0/0', '::/0'] };
    await agree('everything', clusterPolicy('networks', { subject: everyPod, egress: [to('Deny', all)] }));
    await agree(
      'everything else',
      clusterPolicy('networks', { subject: everyPod, egress: [to('Accept', ops, rack), to('Deny', all)] }),
    );
  });

  it('leave a pod to its node and to itself', async () => {
    const { services } = bed;
    const vip = await services.service('web', { ports: [{ name: 'tcp', port: 80, targetPort: 8080 }] });
    await services.endpoints('web', { web: { conditions: { ready: true } } });
    const ask = (patience: number) => bed.place('web').agent.ask('TCP', vip, 80, patience);
    for (const tier of ['Admin', 'Baseline'] as const) {
      // No peer of the API names the sources outside of the cluster: a rule that is not understood denies them.
      const rules = { ingress: [from('Deny', unknown)], egress: [to('Deny', unknown)] };
      await agree(`${tier} denies everything but probes`, clusterPolicy('all', { tier, subject: everyPod, ...rules }));
      await eventually('web reaches itself by a Service', async () =>
        (await ask(patienceMs)).startsWith(bed.place('web').addresses[0] ?? '?'),
      );
      await bed.removeAll();
    }
    await services.endpoints('web', {});
  });

  it('end a connection at once that they no longer allow, and let it go on later', async () => {
    const { agent } = bed.place('cli');
    const [address = ''] = bed.place('web').addresses;
    const deny = [from('Deny', everyPod)];
    for (const [tier, policy] of [
      ['Admin', clusterPolicy('deny', { ingress: deny })],
      ['NetworkPolicy', networkPolicy('closed', { podSelector: {}, policyTypes: ['Ingress'] })],
      ['Baseline', clusterPolicy('deny', { tier: 'Baseline', ingress: deny })],
    ] as const) {
      const known = Number(await agent.ask('check'));
      assert.equal(await agent.ask('keep', address, keptPort), 'alive');
      assert.notEqual(await agent.ask('socket', address, 8080, patienceMs), 'silent');
      await agree(`${tier} closes shop`, policy);
      for (let time = 0; time < 3; time += 1) {
        assert.match(await agent.ask('again', '', 0, silenceMs), /^silent(?:\nsilent)*$/, tier);
        assert.equal(await agent.ask('check', '', 0, silenceMs), '0', tier);
      }
      await bed.removeAll();
      await bed.untilEqual(`shop is open after ${tier}`);
      assert.doesNotMatch(await agent.ask('again', '', 0, patienceMs), /silent/, tier);
      // TCP sends again after a while.
      assert.equal(await agent.ask('check'), String(known + 1), tier);
    }
  });

  it('hold beside security groups', async () => {
    const [address = ''] = bed.place('web').addresses;
    const accept = clusterPolicy('web', { ingress: [from('Accept', everyPod)] });
    const deny = clusterPolicy('web', { ingress: [from('Deny', everyPod)] });
    await bed.addGroups();
    for (const [group, policy, isOpen, what] of [
      ['open', accept, true, 'both allow it'],
      ['shut', accept, !bed.isTiered, 'the group does not'],
      ['open', deny, false, 'the policy does not'],
      ['shut', deny, false, 'neither does'],
    ] as const) {
      await bed.guard('web', group);
      await bed.applyCluster(policy);
      await eventually(what, async () => {
        const answer = await bed.place('cli').agent.ask('TCP', address, 8080, isOpen ? patienceMs : silenceMs);
        return (answer !== 'silent') === isOpen;
      });
    }
    await bed.guard('web', null);
    await bed.removeAll();
    await bed.untilEqual('all are open');
  });

  it('of v1alpha1 are in the same tiers', async () => {
    const admin = (spec: Parameters<typeof clusterPolicy>[1]) => clusterPolicy('admin', spec, 'AdminNetworkPolicy');
    const ports = [
      { portNumber: { protocol: 'TCP', port: 8080 } },
      { portRange: { protocol: 'UDP', start: 8081, end: 9000 } },
    ] as const;
    await agree('an AdminNetworkPolicy allows', closed, admin({ ingress: [{ ...from('Allow', ops), ports }] }));
    await agree('and denies', open, admin({ ingress: [{ ...from('Deny', ops), ports: [{ namedPort: 'http' }] }] }));
    await agree(
      'an earlier one of v1alpha2 decides',
      clusterPolicy('early', { priority: 9, ingress: [from('Accept', podsOf('cli'))] }),
    );
    await agree(
      'a later one does not',
      clusterPolicy('early', { priority: 11, ingress: [from('Accept', podsOf('cli'))] }),
    );
    await agree('egress', admin({ egress: [to('Deny', { nodes: { matchLabels: { rack: 'b' } } }, podsOf('mon'))] }));
    await bed.removeAll();
    const baseline = clusterPolicy(
      'default',
      { subject: everyPod, ingress: [{ ...from('Allow', shop), ports }, from('Deny', everyPod)] },
      'BaselineAdminNetworkPolicy',
    );
    await agree('a BaselineAdminNetworkPolicy decides', baseline);
    await untilReady(baseline, 'True', 'PolicyReady');
    await agree('where no NetworkPolicy does', networkPolicy('open', { podSelector: {}, ingress: [{}] }));
    await agree('and no AdminNetworkPolicy', admin({ subject: ops, ingress: [from('Allow', everyPod)] }));
  });

  it('fail closed where they are not understood, and say so', async () => {
    const check = async (what: string, spec: Parameters<typeof clusterPolicy>[1], message: RegExp): Promise<void> => {
      const policy = clusterPolicy('odd', spec);
      await agree(what, policy);
      assert.match(await untilReady(policy, 'False', 'NotSupported'), message);
    };
    const names: ClusterPeer = { domainNames: ['*.test'] };
    await bed.apply(closed);
    await check(
      'an Accept matches nothing',
      { ingress: [from('Accept', ops, unknown)] },
      /spec\.ingress\[0\].*from\[1\]/,
    );
    await check(
      'what is no name matches nothing',
      { egress: [to('Accept', names)] },
      /spec\.egress\[0\].*to\[0\].*domainNames/,
    );
    await bed.apply(open);
    await bed.remove('shop', 'closed');
    await check('a Deny denies everything', { ingress: [from('Deny', podsOf('cli'), unknown)] }, /from\[1\]/);
    await check('so it does with ports', { egress: [{ ...to('Deny', unknown), protocols: [{ tcp: {} }] }] }, /to\[0\]/);
    await check('a Pass denies everything', { egress: [to('Pass', unknown)] }, /to\[0\]/);
    await check('names are for Accept alone', { egress: [to('Deny', names)] }, /to\[0\].*domainNames/);
    await check('no networks of sources', { ingress: [from('Deny', { networks: ['10.0.0.0/8'] })] }, /from\[0\]/);
  });

  it('accept what DNS answers for a name, as long as it does, and for names with * that pods ask for', async () => {
    const everything: ClusterPeer = { networks: ['0.0.0.0/0', '::/0'] };
    const named = (name: string): ClusterPolicy =>
      clusterPolicy('names', { egress: [to('Accept', { domainNames: [name] }), to('Deny', everything)] });
    const names = await DomainNames.open(bed, untilReady);
    try {
      await names.prove(named('Shop.Example.test.'));
      await names.proveAsked(named('*.Example.test'));
    } finally {
      await names.close();
    }
  });

  it('say that another one has their priority', async () => {
    const first = clusterPolicy('first', { ingress: [from('Accept', shop)] });
    const second = clusterPolicy('second', { ingress: [from('Accept', ops)] });
    await agree('equal priorities are in force', closed, first, second);
    await untilReady(first, 'True', 'PolicyReady');
    // Creation times are of whole seconds.
    assert.match(await untilReady(second, 'True', 'SamePriority'), /first/);
    await bed.applyCluster(clusterPolicy('second', { priority: 11, ingress: [from('Accept', ops)] }));
    await untilReady(second, 'True', 'PolicyReady');
  });

  it('report samples of the packets that they and NetworkPolicies drop, where that is asked for', async () => {
    const { services } = bed;
    const { controller } = services;
    const sampled = () => controller.rows('ACL').filter((row) => row['log'] === true);
    assert.deepEqual(sampled(), [], 'off by default');
    await controller.kill();
    await services.startController('--policy-drops');
    await checkSamples(bed);
    await controller.kill();
    await services.startController();
    await eventually('samples are off again', () => sampled().length === 0);
  });

  it('agree with the model after random changes, and after a crash of the controller', async () => {
    const seed = Number(process.env['SEED'] ?? 7);
    const rounds = Number(process.env['ROUNDS'] ?? 16);
    const random = randomOf(seed);
    const policies = new RandomPolicies(random, bed);
    const remove = async (): Promise<void> => {
      const all = [...bed.policies.values(), ...bed.clusterPolicies.values()];
      if (all.length === 0) return;
      const policy = pick(random, all);
      if ('kind' in policy) await bed.removeCluster(policy);
      else await bed.remove(policy.metadata.namespace, policy.metadata.name);
    };
    const namespace = (): string => pick(random, ['shop', 'ops']);
    for (let round = 0; round < rounds; round += 1) {
      const what = random(10);
      if (what === 0) await bed.label(pick(random, ['web', 'db', 'cli', 'mon']), policies.labels());
      else if (what === 1) await bed.labelNamespace(namespace(), policies.teamLabels());
      else if (what === 2) await bed.labelNode(pick(random, ['n1', 'n2']), policies.rackLabels());
      else if (what === 3) await remove();
      else if (what < 6) await bed.apply(policies.networkPolicy(`p${random(2)}`, namespace()));
      else await bed.applyCluster(policies.clusterPolicy(bed.isTiered));
      if (round === Math.floor(rounds / 2)) {
        await bed.untilEqual(`round ${round} of seed ${seed}, before the crash`);
        const { controller } = bed.services;
        const written: string[] = [];
        const stop = controller.nb.subscribe((changes) => written.push(...changes.map(({ table }) => table)));
        await controller.kill();
        await bed.services.startController();
        stop();
        assert.deepEqual(written, [], 'a start writes nothing');
      }
      await bed.untilEqual(`round ${round} of seed ${seed}`);
      for (let time = 0; time < 3; time += 1) await checkAnswer(bed, pick(random, bed.probes()));
    }
    assert.notDeepEqual(bed.rows(), []);
    await bed.removeAll();
    await bed.untilEqual('all policies are gone');
    await eventuallyPasses(() => assert.deepEqual(bed.rows(), []));
  });
});
