/** NetworkPolicies by packets: a real API server, the controller, OVN, and Open vSwitch on two nodes, compared with a model of the API's documents. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { pick, randomOf } from '../../lib/testing-random.ts';
import { apiVersionOf, namespaces, networkPolicies, pods, securityGroups } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import type { Peer, Policy, Port, Selector } from '../model/network-policies.ts';
import type { PolicyWhy } from '../../cli/plan/network-policy/why.ts';
import type { Host } from '../model/network-policies.ts';
import { runProgram } from './cli-bed.ts';
import { type Probe, keptPort, patienceMs, PolicyBed, silenceMs } from './policy-bed.ts';

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

  const policy = (name: string, spec: Policy['spec'], namespace = 'shop'): Policy => ({
    metadata: { namespace, name },
    spec,
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
    const { controller } = bed.services;
    const isTiered = controller.nb.schema.tables['ACL']?.columns['tier'] !== undefined;
    const rule = { ipVersion: 'ipv4', protocol: 'all', priority: 1, remoteType: 'address', policy: 'allow' };
    const open = [{ ...rule, remoteAddress: '0.0.0.0/0' }];
    const spec = { ingressRules: open, egressRules: open };
    await controller.create(securityGroups, 'open', spec);
    await controller.create(securityGroups, 'shut', { ...spec, ingressRules: [] });
    const annotate = (group: string | null) =>
      controller.kube.patch(pods, { namespace: 'shop', name: 'web' }, 'merge', {
        metadata: { annotations: { 'ovn.kubernetes.io/security_groups': group } },
      });
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
      ['open', closed, !isTiered, 'the policy does not'],
      ['shut', closed, false, 'neither does'],
    ] as const) {
      await annotate(group);
      await bed.apply(one);
      await until(isOpen, what);
    }
    await annotate(null);
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
    await bed.removePod('last');
    await eventually('the rows of the policy are gone', () => !rowsOf(bed).includes('np.'));
    bed.policies.delete('old/closed');
  });

  it('agree with the model after random changes, and after a crash of the controller', async () => {
    const seed = Number(process.env['SEED'] ?? 7);
    const rounds = Number(process.env['ROUNDS'] ?? 12);
    const random = randomOf(seed);
    const labels = (): Record<string, string> => ({ app: pick(random, ['web', 'db', 'cli', 'mon']) });
    const selector = (): Selector =>
      pick<Selector>(random, [
        {},
        { matchLabels: labels() },
        { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'mon'] }] },
        { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] },
        { matchExpressions: [{ key: 'app', operator: 'Exists' }] },
        { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
      ]);
    const team = (): Selector => pick<Selector>(random, [{}, { matchLabels: { team: pick(random, ['shop', 'ops']) } }]);
    const address = (): string => pick(random, pick(random, [...bed.places.values()]).addresses);
    const block = (): Peer => {
      const one = address();
      const [all, own] = one.includes(':') ? ['::/0', `${one}/128`] : ['0.0.0.0/0', `${one}/32`];
      return pick<Peer>(random, [
        { ipBlock: { cidr: own } },
        { ipBlock: { cidr: all } },
        { ipBlock: { cidr: all, except: [own] } },
      ]);
    };
    const peer = (): Peer =>
      pick(random, [
        () => ({ podSelector: selector() }),
        () => ({ namespaceSelector: team() }),
        () => ({ namespaceSelector: team(), podSelector: selector() }),
        block,
      ])();
    const port = (): Port =>
      pick<Port>(random, [
        {},
        { protocol: 'UDP' },
        { port: 8080 },
        { port: 8081, protocol: 'UDP' },
        { port: 8000, endPort: 8080 },
        { port: 'http' },
        { port: 'http', protocol: 'UDP' },
      ]);
    const list = <T>(one: () => T): T[] | undefined =>
      random(4) === 0 ? undefined : Array.from({ length: 1 + random(2) }, one);
    const isNamed = (ports: readonly Port[] | undefined): boolean =>
      ports?.some((one) => typeof one.port === 'string') === true;
    const spec = (): Policy['spec'] => ({
      podSelector: selector(),
      policyTypes: pick(random, [['Ingress'], ['Egress'], ['Ingress', 'Egress']] as const),
      ingress: Array.from({ length: random(3) }, () => ({
        ...given('from', list(peer)),
        ...given('ports', list(port)),
      })),
      egress: Array.from({ length: random(3) }, () => {
        const ports = list(port);
        // No pod is known by an address of a block: a named port matches nothing there.
        const peers = list(isNamed(ports) ? () => ({ namespaceSelector: team(), podSelector: selector() }) : peer);
        return { ...given('to', peers), ...given('ports', ports) };
      }),
    });
    for (let round = 0; round < rounds; round += 1) {
      const what = random(6);
      if (what === 0) await bed.label(pick(random, ['web', 'db', 'cli', 'mon']), labels());
      else if (what === 1)
        await bed.labelNamespace(pick(random, ['shop', 'ops']), { team: pick(random, ['shop', 'ops']) });
      else if (what === 2 && bed.policies.size > 0) {
        const { metadata } = pick(random, [...bed.policies.values()]);
        await bed.remove(metadata.namespace, metadata.name);
      } else await bed.apply(policy(`p${random(4)}`, spec(), pick(random, ['shop', 'ops'])));
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
      await checkAnswer(bed, pick(random, bed.probes()));
    }
    const before = rowsOf(bed);
    assert.notEqual(before, '[]');
    await bed.removeAll();
    await bed.untilEqual('all policies are gone');
    assert.equal(rowsOf(bed), '[]');
  });
});

/** What `isthmus policy why` says about a connection is what happens to it. */
async function checkAnswer({ services: { controller } }: PolicyBed, { connection, isAllowed }: Probe): Promise<void> {
  const { from, to, source, protocol, port } = connection;
  const name = (host: Host): string => (host.namespace === undefined ? host.name : `${host.namespace}/${host.name}`);
  const argv = ['policy', 'why', name(from), name(to), `${port}/${protocol}`, '-o', 'json'];
  const env = { HOME: '/nonexistent', KUBECONFIG: controller.api.kubeconfig };
  const { out, err } = await runProgram(argv, env);
  const { families } = JSON.parse(out) as PolicyWhy;
  const verdict = families.find((one) => one.source === source)?.verdict;
  assert.equal(verdict, isAllowed ? 'allowed' : 'denied', `${argv.join(' ')}: ${out}${err}`);
}

/** `isthmus policy graph` draws db open, and web open for db and ops alone. */
async function checkGraph({ services: { controller } }: PolicyBed): Promise<void> {
  const env = { HOME: '/nonexistent', KUBECONFIG: controller.api.kubeconfig };
  const { code, out, err } = await runProgram(['policy', 'graph', 'shop'], env);
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
  const missing = await runProgram(['policy', 'graph', 'nowhere'], env);
  assert.deepEqual([missing.code, missing.out], [1, '']);
  assert.match(missing.err, /^NoSuchNamespace: there is no namespace nowhere; kubectl get namespaces lists them$/m);
}

function given<K extends string, T>(key: K, value: T | undefined): { readonly [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: T });
}

/** Names of the port groups and address sets of policies. */
function rowsOf({ services: { controller } }: PolicyBed): string {
  const names = ['Port_Group', 'Address_Set'].flatMap((table) =>
    controller.rows(table).map(({ name }) => String(name)),
  );
  return JSON.stringify(names.filter((name) => /^(?:np|sel)\./.test(name)).sort());
}
