/** NetworkPolicies by packets: a real API server, the controller, OVN, and Open vSwitch on two nodes, compared with a model of the API's documents. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { pick, randomOf } from '../../lib/testing-random.ts';
import { apiVersionOf, namespaces, networkPolicies } from '../../lib/kube/resources.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';
import type { Policy } from '../model/network-policies.ts';
import { startExecKubelet } from './exec-kubelet.ts';
import { checkAnswer, readerOf, runPolicy, unparsedMatches } from './policy-answers.ts';
import { keptPort, patienceMs, PolicyBed, silenceMs } from './policy-bed.ts';
import { PolicyCounting } from './policy-counting.ts';
import { RandomPolicies } from './random-policies.ts';

const http = (containerPort: number) => [{ name: 'http', protocol: 'TCP', containerPort }] as const;

describe('network policies', () => {
  let bed: PolicyBed;
  before(async () => {
    bed = await PolicyBed.open();
    await bed.addNamespace('shop', { team: 'shop' });
    await bed.addNamespace('ops', { team: 'ops' });
    await bed.addPod('web', { namespace: 'shop', node: 'n1', labels: { app: 'web' }, ports: http(8080) });
    await bed.addPod('db', { namespace: 'shop', node: 'n2', labels: { app: 'db' }, ports: http(8081) });
    await bed.addPod('cli', { namespace: 'ops', node: 'n1', labels: { app: 'cli' } });
    await bed.addPod('mon', { namespace: 'ops', node: 'n2', labels: { app: 'mon' }, ports: http(8080) });
  });
  after(() => bed.close());
  afterEach(() => bed.removeAll());

  const policy = (name: string, spec: Policy['spec'], namespace = 'shop'): Policy => ({
    metadata: { namespace, name },
    spec,
  });

  // The first case: connections that others cut off send again for a minute, and are counted.
  it('count the packets that each rule allows, and those that none does', async () => {
    const counting = await PolicyCounting.open(bed, 'n1');
    try {
      const { services } = bed;
      const [address = ''] = bed.place('web').addresses;
      const send = (port: number, datagrams: number): string =>
        services.in(
          'cli',
          'bash -c',
          `exec 3<>/dev/udp/${address}/${port}; for _ in {1..${datagrams}}; do echo >&3; done`,
        );
      const rules = (ports: readonly { protocol: 'UDP'; port: number }[]): NonNullable<Policy['spec']['ingress']> => [
        { from: [{ podSelector: { matchLabels: { app: 'db' } } }] },
        { from: [{ namespaceSelector: { matchLabels: { team: 'ops' } } }], ports },
      ];
      const web = { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] } as const;
      const udp = (port: number) => ({ protocol: 'UDP', port }) as const;
      // Open vSwitch adds what it has not counted yet to the flows that are in force then.
      services.forgetFlows();
      await bed.apply(policy('web', { ...web, ingress: rules([udp(8080)]) }));
      await bed.apply(policy('closed', { podSelector: {}, policyTypes: ['Ingress'] }));
      send(8080, 5);
      send(8081, 7);
      await counting.untilEqual({
        'NetworkPolicy shop/web ingress 1 allow': 5,
        'shop/closed ingress': 7,
        'shop/web ingress': 7,
      });
      // The edit replaces the flows of the rule.
      await bed.apply(policy('web', { ...web, ingress: rules([udp(8080), udp(9999)]) }));
      send(8080, 3);
      await counting.untilEqual({
        'NetworkPolicy shop/web ingress 1 allow': 8,
        'shop/closed ingress': 7,
        'shop/web ingress': 7,
      });
      await bed.removeAll();
      await counting.untilEqual({});
    } finally {
      await counting.close();
    }
  });

  it('let everything pass where there is none', async () => {
    await bed.untilEqual('all connections are allowed');
  });

  it('close and open the pods that they select', async () => {
    await bed.apply(policy('closed', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }));
    await bed.untilEqual('pods of shop are closed');
    await bed.apply(policy('web', { podSelector: { matchLabels: { app: 'web' } }, ingress: [{}] }));
    await bed.untilEqual('web is open from outside of shop');
    await bed.remove('shop', 'closed');
    await bed.apply(
      policy('web', {
        podSelector: { matchLabels: { app: 'web' } },
        ingress: [
          { from: [{ podSelector: {} }], ports: [{ port: 'http' }] },
          { from: [{ namespaceSelector: { matchLabels: { team: 'ops' } } }], ports: [{ protocol: 'UDP' }] },
        ],
      }),
    );
    await bed.untilEqual('web is open for ports of its own namespace, and for UDP');
    await checkGraph(bed);
    await bed.removeAll();
  });

  it('end a connection at once that they no longer allow, and let it go on later', async () => {
    const { agent } = bed.place('cli');
    const [address = ''] = bed.place('web').addresses;
    assert.equal(await agent.ask('keep', address, keptPort), 'alive');
    assert.notEqual(await agent.ask('socket', address, 8080, patienceMs), 'silent');
    await bed.apply(policy('closed', { podSelector: {}, policyTypes: ['Ingress'] }));
    await bed.untilEqual('pods of shop are closed');
    for (let time = 0; time < 3; time += 1) {
      assert.equal(await agent.ask('again', '', 0, silenceMs), 'silent');
      assert.equal(await agent.ask('check', '', 0, silenceMs), '0');
    }
    await bed.removeAll();
    await bed.untilEqual('pods of shop are open');
    assert.notEqual(await agent.ask('again', '', 0, patienceMs), 'silent');
    // TCP sends again after a while.
    assert.equal(await agent.ask('check'), '1');
  });

  it('see the endpoints of Services, and a pod reaches itself by its own', async () => {
    const { services } = bed;
    const vip = await services.service('web', { ports: [{ name: 'tcp', port: 80, targetPort: 8080 }] });
    const ask = (from: string, patience: number) => bed.place(from).agent.ask('TCP', vip, 80, patience);
    const untilAnswers = (from: string, whose: string) =>
      eventually(`${from} reaches ${whose} by a Service`, async () =>
        (await ask(from, patienceMs)).startsWith(bed.place(whose).addresses[0] ?? '?'),
      );
    await services.endpoints('web', { web: { conditions: { ready: true } } });
    for (const from of ['cli', 'mon', 'web']) await untilAnswers(from, 'web');
    await bed.apply(policy('closed', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }));
    await bed.apply(
      policy('out', { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [{ podSelector: {} }] }] }, 'ops'),
    );
    await bed.untilEqual('shop is closed, and ops reaches nothing else');
    await untilAnswers('web', 'web');
    for (const from of ['cli', 'mon']) assert.equal(await ask(from, silenceMs), 'silent');
    await services.endpoints('web', { mon: { conditions: { ready: true } } });
    for (const from of ['cli', 'mon']) await untilAnswers(from, 'mon');
    assert.equal(await ask('web', silenceMs), 'silent');
    await bed.removeAll();
    await bed.untilEqual('all are open');
  });

  it('hold beside security groups', async () => {
    await bed.addGroups();
    const [address = ''] = bed.place('web').addresses;
    const until = (isOpen: boolean, what: string) =>
      eventually(what, async () => {
        const answer = await bed.place('cli').agent.ask('TCP', address, 8080, isOpen ? patienceMs : silenceMs);
        return (answer !== 'silent') === isOpen;
      });
    const closed = policy('web', { podSelector: {}, policyTypes: ['Ingress'] });
    const opened = policy('web', { podSelector: {}, policyTypes: ['Ingress'], ingress: [{}] });
    for (const [group, one, isOpen, what] of [
      ['open', opened, true, 'both allow it'],
      ['shut', opened, false, 'the group does not'],
      ['open', closed, !bed.isTiered, 'the policy does not'],
      ['shut', closed, false, 'neither does'],
    ] as const) {
      await bed.guard('web', group);
      await bed.apply(one);
      await until(isOpen, what);
    }
    await bed.guard('web', null);
    await bed.removeAll();
    await bed.untilEqual('all are open');
  });

  it('say what of them has no effect', async () => {
    const { kube } = bed.services.controller;
    const name = { namespace: 'ops', name: 'logged' };
    const annotations = { 'ovn.kubernetes.io/enable_log': 'true' };
    await kube.create(networkPolicies, {
      apiVersion: apiVersionOf(networkPolicies),
      kind: networkPolicies.kind,
      metadata: { ...name, annotations },
      spec: { podSelector: {} },
    });
    const until = (pattern: RegExp | undefined) =>
      eventually('the annotation of the policy', async () => {
        const { 'isthmus.network/problem': text } = await bed.services.controller.annotations(
          networkPolicies,
          name.name,
          name.namespace,
        );
        return pattern === undefined ? text === undefined : pattern.test(text ?? '');
      });
    await until(/^NotSupported: .*enable_log/);
    await kube.patch(networkPolicies, name, 'merge', {
      metadata: { annotations: { 'ovn.kubernetes.io/enable_log': null } },
    });
    await until(undefined);
    await kube.delete(networkPolicies, name);
  });

  it('hold until the last pod of a deleted namespace is gone', async () => {
    const { controller } = bed.services;
    await bed.addNamespace('old', {});
    await bed.addPod('last', { namespace: 'old', node: 'n2', labels: {} });
    await bed.apply(policy('closed', { podSelector: {}, policyTypes: ['Ingress'] }, 'old'));
    await bed.untilEqual('the namespace is closed');
    await controller.kube.delete(namespaces, { name: 'old' });
    await eventually('the namespace is being deleted', async () => {
      const { metadata } = await controller.kube.get(namespaces, { name: 'old' });
      return metadata.deletionTimestamp !== undefined;
    });
    await controller.kube.delete(networkPolicies, { namespace: 'old', name: 'closed' });
    await bed.untilEqual('the namespace is closed without the policy');
    await controller.kill();
    await bed.services.startController();
    await bed.untilEqual('the namespace is closed after a restart');
    await bed.removePod('last');
    await eventually('the rows of the policy are gone', () => !bed.rows().some((name) => name.startsWith('np.')));
    bed.policies.delete('old/closed');
  });

  it('are explained with what OVN does, by the right to run its programs', async () => {
    const { controller, southbound } = bed.services;
    const out = policy(
      'out',
      { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [{ podSelector: {} }] }] },
      'ops',
    );
    await bed.apply(policy('web', { podSelector: {}, ingress: [{ ports: [{ port: 'http' as const }] }] }));
    await bed.untilEqual('shop is open at one port');
    assert.deepEqual(unparsedMatches(bed), [], 'there is no policy of the whole cluster');
    const none = await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '8080');
    assert.equal(none.code, 0, none.out);
    assert.match(none.out, /^ {2}not asked: no pod of DaemonSet isthmus-ovn-central in kube-system is ready/m);
    assert.equal((await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '8080', '--trace=always')).code, 1);

    const kubelet = await startExecKubelet(controller.kube, { node: 'n1', southbound });
    try {
      const open = await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '8080', '--trace=always');
      assert.equal(open.code, 0, open.out + open.err);
      assert.match(open.out, /^ {2}agrees, by ovn-trace in pod kube-system\/isthmus-ovn-central-x7k2p$/m);
      assert.match(open.out, /^ {4}ingress: passes in ls_out_acl\w*, NetworkPolicy shop\/web$/m);
      const shut = await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '22');
      assert.equal(shut.code, 1, shut.out + shut.err);
      assert.match(shut.out, /^ {4}ingress: dropped in ls_out_acl\w*, the drop of what no NetworkPolicy allows$/m);
      const untraced = await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '8080', '--trace=never');
      assert.deepEqual([untraced.code, untraced.out.includes('OVN')], [0, false]);
      const reader = await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '8080', '--kubeconfig', await readerOf(bed));
      assert.equal(reader.code, 0, reader.out + reader.err);
      assert.match(reader.out, /^ {2}not asked: no permission to run ovn-trace in the pods of OVN/m);

      await controller.kill();
      await bed.apply(out);
      const behind = await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '8080');
      assert.equal(behind.code, 1, behind.out + behind.err);
      assert.match(behind.out, /^ {2}disagrees, by ovn-trace/m);
      assert.match(behind.out, /^ {4}egress: passes, no ACL decides, and its policies say otherwise$/m);
      assert.match(behind.out, /^ {2}OvnDisagrees: /m);
      await bed.services.startController();
      await bed.untilEqual('ops is closed, too');
      const after = await runPolicy(bed, 'why', 'ops/cli', 'shop/web', '8080', '--trace=always');
      assert.equal(after.code, 1, after.out + after.err);
      assert.match(after.out, /^ {2}agrees, by ovn-trace/m);
      assert.match(after.out, /^ {4}egress: dropped in ls_in_acl_after_lb\w*, the drop of/m);
    } finally {
      await kubelet.close();
    }
    await bed.removeAll();
    await bed.untilEqual('all are open');
  });

  it('agree with the model after random changes, and after a crash of the controller', async () => {
    const seed = Number(process.env['SEED'] ?? 7);
    const rounds = Number(process.env['ROUNDS'] ?? 12);
    const random = randomOf(seed);
    const policies = new RandomPolicies(random, bed);
    for (let round = 0; round < rounds; round += 1) {
      const what = random(6);
      if (what === 0) await bed.label(pick(random, ['web', 'db', 'cli', 'mon']), policies.labels());
      else if (what === 1) await bed.labelNamespace(pick(random, ['shop', 'ops']), policies.teamLabels());
      else if (what === 2 && bed.policies.size > 0) {
        const { metadata } = pick(random, [...bed.policies.values()]);
        await bed.remove(metadata.namespace, metadata.name);
      } else await bed.apply(policies.networkPolicy(`p${random(4)}`, pick(random, ['shop', 'ops'])));
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

/** `isthmus policy graph` draws db open, and web open for db and ops alone. */
async function checkGraph(bed: PolicyBed): Promise<void> {
  const { code, out, err } = await runPolicy(bed, 'graph', 'shop');
  assert.equal(code, 0, err);
  assert.deepEqual(
    out.split('\n').filter((line) => /^n\d/.test(line)),
    [
      'n1(("anywhere"))',
      'n2["pod db"]',
      'n3["pod web"]',
      'n4(["all pods in namespaces team=ops"])',
      'n1 -.->|"all ports"| n2',
      'n2 -.->|"all ports"| n1',
      'n2 -->|"http (TCP)"| n3',
      'n3 -.->|"all ports"| n1',
      'n4 -->|"all UDP"| n3',
    ],
  );
  const missing = await runPolicy(bed, 'graph', 'nowhere');
  assert.deepEqual([missing.code, missing.out], [1, '']);
  assert.match(missing.err, /^NoSuchNamespace: there is no namespace nowhere; kubectl get namespaces lists them$/m);
}
