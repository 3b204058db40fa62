/** Addresses outside that annotations of pods name: who may have them, which pod has one, and when it is free again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { growthOf } from '../../../lib/testing-growth.ts';
import { pick, randomOf } from '../../../lib/testing-random.ts';
import { planKey } from '../../plan/plan.ts';
import type { TestController } from '../../testing-api.ts';
import { controllerOf, made, outside, shuffled, storedIn, type Made } from '../../testing-external.ts';

const allow = 'isthmus.network/eip-namespaces';

interface PodOptions {
  readonly namespace?: string;
  readonly seconds?: number;
  readonly phase?: string;
  readonly uid?: string;
}

/** A pod with the annotations `eip` and `snat`. */
function pod(
  name: string,
  wanted: { readonly eip?: string; readonly snat?: string; readonly logical_switch?: string },
  { namespace = 'team', seconds = 5, phase = 'Running', uid = `uid-${name}` }: PodOptions = {},
): Made {
  const annotations = Object.fromEntries(
    Object.entries(wanted).map(([key, value]) => [`ovn.kubernetes.io/${key}`, value]),
  );
  const { kind, raw } = made('pods', name, { nodeName: 'n1' }, seconds, { namespace, annotations, uid });
  return { kind, raw: { ...raw, status: { phase } } };
}

function external(namespaces: string | undefined, more: object = {}): Made {
  const annotations = namespaces === undefined ? {} : { [allow]: namespaces };
  const spec = {
    cidrBlock: '203.0.113.0/24,2001:db8:113::/64',
    gateway: '203.0.113.1,2001:db8:113::1',
    vlan: 'lan',
    excludeIps: ['203.0.113.1..203.0.113.9'],
    ...more,
  };
  return made('subnets', 'external', spec, 0, { annotations });
}

/** The default VPC connected by Kube-OVN's ConfigMap, with Subnet `external` for pods of namespace `team`. */
function connected(namespaces: string | undefined = 'team', data: object = {}): readonly Made[] {
  const metadata = { name: 'ovn-external-gw-config', namespace: 'kube-system' };
  return [
    ...outside().filter(({ raw }) => raw.metadata.name !== 'external'),
    external(namespaces),
    made('namespaces', 'team', {}),
    made('namespaces', 'other', {}),
    made('subnets', 'teams', { cidrBlock: '10.17.0.0/16', namespaces: ['team', 'other'] }),
    { kind: 'externalConfigs', raw: { metadata, data: { 'enable-external-gw': 'true', ...data } } },
  ];
}

/** `True Served 203.0.113.50` */
function shown({ objects }: TestController, name: string, key: 'Eip' | 'Snat' = 'Eip'): string {
  const status = objects.get(`Pod/${name}`)?.['status'] as
    | { readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[] }
    | undefined;
  const is = status?.conditions?.find(({ type }) => type === `isthmus.network/${key}`);
  return is === undefined ? 'nothing' : `${is.status} ${is.reason} ${is.message}`;
}

function nat({ cluster }: TestController, key: string): readonly string[] {
  return planKey(cluster, key)
    .rows.filter(({ table }) => table === 'NAT')
    .map(({ columns, parent }) =>
      [parent?.key, columns['type'], columns['external_ip'], columns['logical_ip'], columns['logical_port']].join(' '),
    );
}

async function put(controller: TestController, ...objects: readonly Made[]): Promise<void> {
  for (const { kind, raw } of objects) {
    const { namespace, name } = raw.metadata as { readonly namespace?: string; readonly name: string };
    const before = controller.objects.get(kind === 'pods' ? `Pod/${namespace}/${name}` : `Subnet/${name}`);
    const isSame = before?.metadata.uid === raw.metadata['uid'];
    const { phase } = (raw['status'] ?? {}) as { readonly phase?: string };
    const status =
      isSame && before?.['status'] !== undefined ? { ...(before['status'] as object), phase } : raw['status'];
    controller.put(kind, kind === 'pods' ? { ...raw, status } : raw);
  }
  await controller.settle();
}

const held = ({ cluster }: TestController): readonly string[] =>
  [...(cluster.pool('external')?.allocations().keys() ?? [])].filter((port) => port.startsWith('eip/pods/'));

describe('an address outside that a pod names', () => {
  test('is translated for the pod, one way or both, and the condition of the pod says so', async () => {
    const controller = await controllerOf([
      ...connected(),
      pod('web', { eip: '203.0.113.50' }),
      pod('six', { eip: '2001:DB8:113::50' }, { seconds: 6 }),
      pod('job', { snat: '203.0.113.60' }),
      pod('jobs', { snat: ' 203.0.113.60 ' }),
    ]);
    const { cluster } = controller;
    const [web = '', job = ''] = ['web', 'job'].map((name) => cluster.allocation(`${name}.team`)?.v4 ?? '');
    assert.deepEqual(nat(controller, 'pod-fip/team/web'), [`ovn-cluster dnat_and_snat 203.0.113.50 ${web} `]);
    assert.deepEqual(nat(controller, 'pod-snat/team/job'), [`ovn-cluster snat 203.0.113.60 ${job} `]);
    assert.equal(nat(controller, 'pod-snat/team/jobs').length, 1);
    assert.equal(shown(controller, 'team/web'), 'True Served 203.0.113.50');
    assert.equal(shown(controller, 'team/web', 'Snat'), 'nothing');
    assert.equal(shown(controller, 'team/jobs', 'Snat'), 'True Served 203.0.113.60');
    assert.match(shown(controller, 'team/six'), /^False FamilyMismatch address 2001:db8:113::50 /);
    assert.equal(
      planKey(cluster, 'pod-fip/team/web').together,
      planKey(cluster, 'gateway-port/ovn-cluster/external').together,
    );
    controller.close();
  });

  test('is at the node of the pod where the ConfigMap says distributed', async () => {
    const controller = await controllerOf([
      ...connected('*', { type: 'distributed' }),
      pod('web', { eip: '203.0.113.50' }),
    ]);
    assert.match(nat(controller, 'pod-fip/team/web').join(), / web\.team$/);
    const stored = storedIn(controller);
    const rows = planKey(controller.cluster, 'pod-fip/team/web').rows;
    controller.close();
    const again = await controllerOf(stored);
    assert.deepEqual(planKey(again.cluster, 'pod-fip/team/web').rows, rows);
    again.close();
  });

  const refusals: readonly (readonly [what: string, pod: Made, reason: RegExp])[] = [
    [
      'another namespace',
      pod('web', { eip: '203.0.113.50' }, { namespace: 'other' }),
      /^NotPermitted .*namespace other/,
    ],
    ['no address', pod('web', { eip: 'any' }), /^InvalidAddress annotation ovn.kubernetes.io\/eip: 'any'/],
    ['several addresses', pod('web', { snat: '203.0.113.50,203.0.113.51' }), /^InvalidAddress/],
    ['another network', pod('web', { eip: '198.51.100.9' }), /^AddressOutOfRange .*203\.0\.113\.0\/24/],
    ['an excluded address', pod('web', { eip: '203.0.113.7' }), /^AddressExcluded/],
    ['the gateway', pod('web', { snat: '2001:db8:113::1' }), /^AddressExcluded/],
    ['the broadcast address', pod('web', { eip: '203.0.113.255' }), /^AddressOutOfRange/],
    ['the address of the router', pod('web', { eip: '203.0.113.40' }), /^AddressConflict .*ovn-cluster-external/],
    ['the address of an OvnEip without a rule', pod('web', { snat: '203.0.113.41' }), /^AddressConflict .*eip\/mine/],
    ['a pod of another VPC', pod('web', { eip: '203.0.113.50', logical_switch: 'inner' }), /^VpcMismatch .*Vpc blue/],
  ];
  for (const [what, wanted, reason] of refusals)
    test(`is refused with an event: ${what}; the pod has its network`, async () => {
      const lrp = { type: 'lrp', v4Ip: '203.0.113.40' };
      const controller = await controllerOf([
        ...connected(),
        made('ovnEips', 'ovn-cluster-external', lrp, 1),
        made('ovnEips', 'mine', { v4Ip: '203.0.113.41' }, 1),
        wanted,
      ]);
      const name = `${String(wanted.raw.metadata['namespace'])}/web`;
      const is = [shown(controller, name), shown(controller, name, 'Snat')].find((one) => one !== 'nothing') ?? '';
      assert.match(is, /^False /);
      assert.match(is.slice('False '.length), reason);
      const [code = ''] = is.slice('False '.length).split(' ', 1);
      assert.ok(
        controller.events.some((text) => text.startsWith(`Warning Pod/${name} ExternalAddressFailed: ${code}: `)),
        controller.events.join('\n'),
      );
      assert.deepEqual([...nat(controller, `pod-fip/${name}`), ...nat(controller, `pod-snat/${name}`)], []);
      assert.ok(controller.cluster.allocation(`web.${name.split('/', 1).join('')}`));
      controller.close();
    });

  test('waits for a port outside, and for a node that may hold it', async () => {
    const controller = await controllerOf([
      ...connected('').filter(({ kind }) => kind !== 'externalConfigs'),
      external('team'),
      pod('web', { eip: '203.0.113.50' }),
    ]);
    assert.match(
      shown(controller, 'team/web'),
      /^False NoExternalSubnet 203\.0\.113\.50 waits: Vpc ovn-cluster is not connected/,
    );
    controller.put('vpcs', made('vpcs', 'ovn-cluster', { enableExternal: true }).raw);
    await controller.settle();
    assert.equal(shown(controller, 'team/web'), 'True Served 203.0.113.50');
    for (const name of ['n1', 'n2']) controller.remove('nodes', name);
    await controller.settle();
    assert.match(shown(controller, 'team/web'), /^False NoGatewayNode 203\.0\.113\.50 waits: /);
    controller.close();
  });

  test("is the administrator's to permit: it goes with the permission", async () => {
    const controller = await controllerOf([...connected(''), pod('web', { eip: '203.0.113.50' })]);
    assert.deepEqual(held(controller), []);
    await put(controller, external('a, team'));
    assert.equal(shown(controller, 'team/web'), 'True Served 203.0.113.50');
    assert.deepEqual(held(controller), ['eip/pods/203.0.113.50']);
    await put(controller, external('team', { excludeIps: ['203.0.113.50'] }));
    assert.match(shown(controller, 'team/web'), /^False AddressExcluded/);
    assert.deepEqual(held(controller), []);
    await put(controller, external('team'));
    await put(controller, external(undefined));
    assert.match(shown(controller, 'team/web'), /^False NotPermitted/);
    assert.deepEqual([...held(controller), ...nat(controller, 'pod-fip/team/web')], []);
    controller.close();
  });

  test('is free once the pod ends, is gone, or names it no more', async () => {
    const ends: readonly ((controller: TestController) => Promise<void> | void)[] = [
      (controller) => put(controller, pod('web', { eip: '203.0.113.50' }, { phase: 'Succeeded' })),
      (controller) => put(controller, pod('web', {})),
      (controller) => put(controller, pod('web', { eip: '203.0.113.51' })),
      (controller) => controller.remove('pods', 'team/web'),
    ];
    for (const end of ends) {
      const controller = await controllerOf([
        ...connected(),
        pod('web', { eip: '203.0.113.50' }),
        pod('next', { eip: '203.0.113.50' }, { seconds: 6 }),
      ]);
      assert.match(
        shown(controller, 'team/next'),
        /^False AddressInUse .*Pod team\/web \(annotation ovn\.kubernetes\.io\/eip\)/,
      );
      await end(controller);
      await controller.settle();
      assert.equal(shown(controller, 'team/next'), 'True Served 203.0.113.50');
      if (controller.cluster.pods.has('team/web'))
        assert.doesNotMatch(shown(controller, 'team/web'), /203\.0\.113\.50/);
      controller.remove('pods', 'team/next');
      await controller.settle();
      assert.ok(!held(controller).includes('eip/pods/203.0.113.50'));
      controller.close();
    }
  });

  test('stays with the pod that has it: an older pod that names it later, an OvnFip and an OvnEip do not take it', async () => {
    let controller = await controllerOf([
      ...connected(),
      pod('web', { eip: '203.0.113.50' }),
      pod('old', {}, { seconds: 1 }),
    ]);
    await put(controller, pod('old', { eip: '203.0.113.50' }, { seconds: 1 }));
    for (const { kind, raw } of [
      made('ovnEips', 'same', { v4Ip: '203.0.113.50' }, 1),
      made('ovnEips', 'other', { v4Ip: '203.0.113.70' }, 1),
      made('ovnFips', 'web', { ovnEip: 'other', ipName: 'web.team' }, 1),
    ])
      controller.put(kind, raw);
    await controller.settle();
    for (let restart = 0; restart < 3; restart += 1) {
      assert.equal(shown(controller, 'team/web'), 'True Served 203.0.113.50');
      assert.match(shown(controller, 'team/old'), /^False AddressInUse/);
      const { refusal } = controller.cluster.externalRules.get('ovnFips/web') ?? {};
      assert.match(refusal?.message ?? '', /in use by Pod team\/web/);
      assert.equal(controller.cluster.allocation('eip/same'), undefined);
      const stored = shuffled(storedIn(controller), restart);
      controller.close();
      controller = await controllerOf(stored);
      assert.deepEqual(controller.writes, []);
      assert.deepEqual(controller.events, []);
    }
    controller.close();
  });

  test('stays with a pod over an outage of the gateway, also over a restart', async () => {
    const first = await controllerOf([...connected(), pod('web', { eip: '203.0.113.50' })]);
    for (const name of ['n1', 'n2']) first.remove('nodes', name);
    await first.settle();
    first.put('pods', pod('old', { eip: '203.0.113.50' }, { seconds: 1 }).raw);
    await first.settle();
    assert.match(shown(first, 'team/old'), /^False AddressInUse/);
    const stored = storedIn(first);
    first.close();
    const controller = await controllerOf(stored);
    assert.deepEqual(controller.writes, []);
    assert.match(shown(controller, 'team/web'), /^False NoGatewayNode 203\.0\.113\.50 waits: /);
    for (const { kind, raw } of outside().filter(({ kind: of }) => of === 'nodes')) controller.put(kind, raw);
    await controller.settle();
    assert.equal(shown(controller, 'team/web'), 'True Served 203.0.113.50');
    controller.close();
  });

  test('is one of a pod: with both annotations the one in force stays', async () => {
    const controller = await controllerOf([...connected(), pod('web', { snat: '203.0.113.60' })]);
    await put(controller, pod('web', { snat: '203.0.113.60', eip: '203.0.113.50' }));
    assert.equal(shown(controller, 'team/web', 'Snat'), 'True Served 203.0.113.60');
    assert.match(
      shown(controller, 'team/web'),
      /^False AddressInUse the address outside of 10\.17\..* is in use by Pod team\/web/,
    );
    await put(controller, pod('web', { eip: '203.0.113.50' }));
    assert.equal(shown(controller, 'team/web'), 'True Served 203.0.113.50');
    assert.equal(
      shown(controller, 'team/web', 'Snat'),
      'False NotRequested the pod has no annotation ovn.kubernetes.io/snat',
    );
    controller.close();
  });

  test('is not shared between namespaces: hosts outside tell tenants by their addresses', async () => {
    let controller = await controllerOf([
      ...connected('*'),
      pod('job', { snat: '203.0.113.60' }),
      pod('jobs', { snat: '203.0.113.60' }, { seconds: 6 }),
    ]);
    await put(controller, pod('spy', { snat: '203.0.113.60' }, { namespace: 'other', seconds: 1 }));
    for (let restart = 0; restart < 2; restart += 1) {
      assert.match(
        shown(controller, 'other/spy', 'Snat'),
        /^False AddressInUse address 203\.0\.113\.60 is in use by Pod team\/job/,
      );
      assert.deepEqual(nat(controller, 'pod-snat/other/spy'), []);
      for (const name of ['job', 'jobs'])
        assert.equal(shown(controller, `team/${name}`, 'Snat'), 'True Served 203.0.113.60');
      const stored = shuffled(storedIn(controller), restart);
      controller.close();
      controller = await controllerOf(stored);
      assert.deepEqual(controller.writes, []);
    }
    for (const name of ['job', 'jobs']) controller.remove('pods', `team/${name}`);
    await controller.settle();
    assert.equal(shown(controller, 'other/spy', 'Snat'), 'True Served 203.0.113.60');
    controller.close();
  });

  test('is not that of a node, and a node that reports it later does not take it', async () => {
    const node = (name: string, address: string): Made => {
      const { kind, raw } = made('nodes', name, {});
      return { kind, raw: { ...raw, status: { addresses: [{ type: 'InternalIP', address }] } } };
    };
    let controller = await controllerOf([
      ...connected(),
      node('lan', '203.0.113.50'),
      pod('web', { eip: '203.0.113.50' }),
      pod('six', { snat: '203.0.113.60' }),
    ]);
    const refused = 'annotation ovn.kubernetes.io/eip: 203.0.113.50 is the address of node lan: name another address';
    assert.equal(shown(controller, 'team/web'), `False AddressConflict ${refused}`);
    assert.deepEqual(held(controller), ['eip/pods/203.0.113.60']);
    controller.put('nodes', node('late', '203.0.113.60').raw);
    await controller.settle();
    const stored = storedIn(controller);
    controller.close();
    controller = await controllerOf(stored);
    assert.deepEqual(controller.writes, []);
    assert.equal(shown(controller, 'team/web'), `False AddressConflict ${refused}`);
    assert.equal(shown(controller, 'team/six', 'Snat'), 'True Served 203.0.113.60');
    controller.put('nodes', node('lan', '203.0.113.51').raw);
    await controller.settle();
    assert.equal(shown(controller, 'team/web'), 'True Served 203.0.113.50');
    controller.close();
  });

  test('is none that a rule can name, also before the pod does', async () => {
    const id = 'pods/203.0.113.60';
    const controller = await controllerOf([
      ...connected(),
      made('ovnFips', 'early', { ovnEip: id, vpc: 'ovn-cluster', v4Ip: '10.17.0.200' }, 1),
      made('ovnSnatRules', 'early', { ovnEip: id, vpc: 'ovn-cluster', v4IpCidr: '10.17.9.0/24' }, 1),
      pod('job', { snat: '203.0.113.60' }),
    ]);
    assert.equal(shown(controller, 'team/job', 'Snat'), 'True Served 203.0.113.60');
    for (const store of ['ovnFips', 'ovnSnatRules']) {
      const { refusal } = controller.cluster.externalRules.get(`${store}/early`) ?? {};
      assert.deepEqual(refusal, {
        code: 'EipNotFound',
        message: `spec.ovnEip: '${id}' is not the name of an OvnEip: create one, and name it`,
      });
    }
    controller.close();
  });

  test('costs nothing in changes of the pod that are about something else, however many share it', async () => {
    const [few, many] = await Promise.all([20, 600].map((count) => sharing(count)));
    assert.ok(few && many);
    const change = (controller: TestController) => () => {
      const [name = '', before] =
        [...controller.cluster.pods].find(([, { annotations }]) => 'ovn.kubernetes.io/snat' in annotations) ?? [];
      assert.ok(before);
      for (let edit = 0; edit < 100; edit += 1) {
        controller.cluster.change('pods', name, { ...before, resourceVersion: `edit-${edit}` });
        controller.cluster.settle();
      }
    };
    const growth = await growthOf({ small: change(few), large: change(many) });
    assert.ok(growth < 6, `30 times the pods cost ${growth.toFixed(1)} times as much`);
    few.close();
    many.close();
  });

  for (let seed = 1; seed <= 4; seed += 1)
    test(`seed ${seed}: stays where it is through changes of others, and a restart decides the same and writes nothing`, async () => {
      const random = randomOf(seed);
      const addresses = ['203.0.113.50', '203.0.113.51', '203.0.113.52'];
      const names = ['a', 'b', 'c', 'd'];
      let controller = await controllerOf(connected());
      for (let step = 0; step < 40; step += 1) {
        const name = pick(random, names);
        const before = new Map(names.flatMap((one) => servedOf(controller, one)));
        if (random(5) === 0) {
          const eip = `eip-${random(2)}`;
          if (controller.cluster.ovnEips.has(eip)) controller.remove('ovnEips', eip);
          else controller.put('ovnEips', made('ovnEips', eip, { v4Ip: pick(random, addresses) }, random(9)).raw);
          await controller.settle();
        } else if (random(4) === 0) controller.remove('pods', `team/${name}`);
        else {
          const key = pick(random, ['eip', 'snat'] as const);
          const options = { seconds: random(9), phase: pick(random, ['Running', 'Running', 'Failed']) };
          await put(controller, pod(name, { [key]: pick(random, addresses) }, options));
        }
        await controller.settle();
        const served = names.flatMap((one) => servedOf(controller, one));
        for (const [key, address] of before)
          if (!key.endsWith(` ${name}`)) assert.equal(new Map(served).get(key), address, `${key} in step ${step}`);
        for (const [key, address] of served)
          if (key.startsWith('podFips')) assert.equal(served.filter(([, other]) => other === address).length, 1, key);
        const ofEips = [...controller.cluster.ovnEips.keys()].map(
          (eip) => controller.cluster.allocation(`eip/${eip}`)?.v4,
        );
        for (const [key, address] of served) assert.ok(!ofEips.includes(address), `${key} in step ${step}`);
        if (step % 5 !== 4) continue;
        const verdicts = verdictsOf(controller);
        const stored = shuffled(storedIn(controller), step);
        controller.close();
        controller = await controllerOf(stored);
        assert.deepEqual(controller.writes, []);
        assert.deepEqual(verdictsOf(controller), verdicts);
      }
      controller.close();
    });
});

function verdictsOf({ cluster }: TestController): readonly unknown[] {
  return [...cluster.externalRules].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** So many pods with one address. */
async function sharing(count: number): Promise<TestController> {
  const pods = Array.from({ length: count }, (_, index) => pod(`p${index}`, { snat: '203.0.113.60' }));
  return controllerOf([...connected(), ...pods]);
}

/** The rules in force of a pod, with the address outside. */
function servedOf({ cluster }: TestController, name: string): readonly (readonly [key: string, address: string])[] {
  return (['podFips', 'podSnats'] as const).flatMap((store) => {
    const rule = cluster.externalRules.get(`${store}/team/${name}`);
    if (rule === undefined || rule.refusal !== undefined || rule.obstacle !== undefined) return [];
    return [[`${store} ${name}`, rule.pairs[0]?.outside ?? ''] as const];
  });
}
