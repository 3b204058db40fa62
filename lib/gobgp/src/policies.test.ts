import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { GobgpClient } from './api.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { isSamePolicies, type PolicyActions, type PolicyStatement, type RoutingPolicies } from './policies.ts';
import { statementMessages, statementsOf } from './policy-statements.ts';
import { type FrrLab, labMissing, openFrrLab, plainPeer, startLabGobgpd, type TestRouter } from './testing-frr.ts';
import type { TestGobgpd } from './testing.ts';
import { eventuallyPasses } from '../../testing-eventually.ts';

const tag = (number: number) => `65001:4048551937:${number}`;
const everyAction: PolicyActions = {
  addCommunities: ['65535:65281', '65001:10'],
  addLargeCommunities: ['65001:1:4294967295', '1:2:3'],
  removeLargeCommunities: [tag(1), tag(2)],
  med: 0,
  localPref: 4294967295,
  prepend: { asn: 4200000000, times: 255 },
  nextHop: 'fd00::9',
};

test('a statement that adds and removes large communities is sent as two and read back as one', () => {
  const statements: PolicyStatement[] = [
    { name: 'a', neighborSet: 'n', action: 'accept', actions: everyAction },
    { name: 'b', largeCommunitySet: 't', action: 'accept', actions: { addLargeCommunities: ['1:2:3'] } },
    { name: 'c', family: 'ipv6-unicast', action: 'reject' },
  ];
  const messages = statements.flatMap(statementMessages);
  assert.deepEqual(
    messages.map(({ name, actions }) => [name, actions?.route_action]),
    [
      ['a+add', 'ACTION_UNSPECIFIED'],
      ['a', 'ACTION_ACCEPT'],
      ['b', 'ACTION_ACCEPT'],
      ['c', 'ACTION_REJECT'],
    ],
  );
  assert.deepEqual(statementsOf(messages), statements);
});

test('one of these two alone is read as a statement of its own, which differs from the wanted one', () => {
  const [first, second] = statementMessages({ name: 'a', action: 'accept', actions: everyAction });
  assert.ok(first && second);
  assert.deepEqual(
    statementsOf([second, first]).map(({ name }) => name),
    ['a', 'a+add'],
  );
});

test('actions that gobgpd would misread are refused', () => {
  const refused: PolicyActions[] = [
    { localPref: 0 },
    { med: -1 },
    { med: 0x1_0000_0000 },
    { prepend: { asn: 65001, times: 256 } },
    { prepend: { asn: 0, times: 1 } },
    { nextHop: 'router' },
    { addCommunities: ['no-export'] },
    { addLargeCommunities: ['1:2:3'], removeLargeCommunities: ['01:2:3'] },
    { removeLargeCommunities: ['.*:1:2'] },
  ];
  for (const actions of refused)
    assert.throws(
      () => statementMessages({ name: 'a', action: 'accept', actions }),
      GobgpInvalidArgument,
      JSON.stringify(actions),
    );
  assert.throws(() => statementMessages({ name: 'a+add', action: 'accept' }), GobgpInvalidArgument);
});

describe('policies of gobgpd towards FRR', { skip: labMissing() }, () => {
  let lab: FrrLab;
  let daemon: TestGobgpd;
  let gobgp: GobgpClient;
  let outside: TestRouter;
  let inside: TestRouter;

  before(async () => {
    const neighbor = (address: string) => [
      ` neighbor ${address} remote-as 65001`,
      ` neighbor ${address} timers connect 1`,
    ];
    const config = (asn: number) => (router: Pick<TestRouter, 'v4' | 'nodeV4'>) => [
      `router bgp ${asn}`,
      ` bgp router-id ${router.v4}`,
      ' no bgp ebgp-requires-policy',
      ...neighbor(router.nodeV4),
      ' address-family ipv6 unicast',
      `  neighbor ${router.nodeV4} activate`,
      ' exit-address-family',
    ];
    lab = await openFrrLab([config(65101), config(65001)]);
    [outside, inside] = lab.routers as [TestRouter, TestRouter];
    ({ daemon, gobgp } = await startLabGobgpd(lab));
    await gobgp.setPolicies(policies([]));
    for (const [router, asn] of [
      [outside, 65101],
      [inside, 65001],
    ] as const)
      await gobgp.addPeer(plainPeer(router.v4, asn));
    await eventuallyPasses(async () =>
      (await gobgp.listPeers()).every(({ session }) => session.state === 'Established'),
    );
  });
  after(async () => {
    gobgp.close();
    await daemon.stop();
    await lab.close();
  });

  const policies = (statements: readonly PolicyStatement[]): RoutingPolicies => ({
    prefixSets: { some: ['10.1.0.0/16'] },
    neighborSets: { outside: ['172.30.1.1'], inside: ['172.30.2.1'] },
    largeCommunitySets: { one: [tag(1)], two: [tag(2)], ten: [tag(10)], none: [], 'one or two': [tag(2), tag(1)] },
    policies: { import: [{ name: 'own', isLocal: true, action: 'accept' }], export: statements },
    import: { policies: ['import'], otherwise: 'reject' },
    export: { policies: ['export'], otherwise: 'reject' },
  });
  const path = (prefix: string, ...tags: readonly number[]) => ({
    prefix,
    attributes: { nextHop: prefix.includes(':') ? '::' : '0.0.0.0', largeCommunities: tags.map(tag) },
  });

  test('policies read back as they were set, and each difference is found', async () => {
    const everything: PolicyStatement = {
      name: 'every',
      prefixSet: 'some',
      neighborSet: 'outside',
      largeCommunitySet: 'one or two',
      family: 'ipv4-unicast',
      action: 'accept',
      actions: everyAction,
    };
    const others: PolicyStatement[] = [
      { name: 'adds', family: 'ipv6-unicast', action: 'accept', actions: { addLargeCommunities: [tag(3)] } },
      { name: 'removes', action: 'accept', actions: { removeLargeCommunities: [tag(3)] } },
      { name: 'v4', neighborSet: 'inside', action: 'accept', actions: { med: 4294967295, nextHop: '10.0.0.1' } },
      { name: 'rejects', largeCommunitySet: 'none', action: 'reject' },
    ];
    const wanted = policies([everything, ...others]);
    await gobgp.setPolicies(wanted);
    const read = await gobgp.listPolicies();
    assert.ok(isSamePolicies(wanted, read), JSON.stringify(read, undefined, 1));
    const { actions: _, ...withoutActions } = everything;
    const { family: __, ...withoutFamily } = everything;
    const changed: PolicyStatement[] = [
      withoutActions,
      withoutFamily,
      { ...everything, family: 'ipv6-unicast' },
      { ...everything, largeCommunitySet: 'one' },
      ...(
        [
          { addCommunities: ['65535:65281'] },
          { addLargeCommunities: ['1:2:3'] },
          { removeLargeCommunities: [tag(1)] },
          { med: 1 },
          { localPref: 1 },
          { prepend: { asn: 4200000000, times: 254 } },
          { nextHop: 'fd00::8' },
        ] satisfies PolicyActions[]
      ).map((actions) => ({ ...everything, actions: { ...everyAction, ...actions } })),
    ];
    for (const statement of changed)
      assert.ok(!isSamePolicies(policies([statement, ...others]), read), JSON.stringify(statement));
    assert.ok(!isSamePolicies({ ...wanted, largeCommunitySets: { one: [tag(9)] } }, read));
  });

  test('a peer gets the paths of its tag, with the changes of its statement, and never the tag', async () => {
    const removal = { removeLargeCommunities: [tag(1), tag(2)] };
    await gobgp.setPolicies(
      policies([
        {
          name: 'outside-v4',
          neighborSet: 'outside',
          largeCommunitySet: 'one',
          family: 'ipv4-unicast',
          action: 'accept',
          actions: {
            ...removal,
            addCommunities: ['65001:20', '65535:65281'],
            addLargeCommunities: ['65001:1:1'],
            med: 50,
            localPref: 300,
            prepend: { asn: 65001, times: 2 },
            nextHop: '172.30.1.99',
          },
        },
        {
          name: 'outside-v6',
          neighborSet: 'outside',
          largeCommunitySet: 'one',
          family: 'ipv6-unicast',
          action: 'accept',
          actions: { ...removal, nextHop: 'fd00:30:1::99' },
        },
        {
          name: 'inside',
          neighborSet: 'inside',
          largeCommunitySet: 'two',
          action: 'accept',
          actions: { ...removal, localPref: 300 },
        },
      ]),
    );
    await gobgp.addPaths([path('10.1.0.0/16', 1, 2), path('10.2.0.0/16', 2), path('10.10.0.0/16', 10)]);
    await gobgp.addPaths([path('fd10::/64', 1, 2)]);
    await eventuallyPasses(() => prefixesOf(outside, 'ipv4').length === 1 && prefixesOf(outside, 'ipv6').length === 1);
    await eventuallyPasses(() => prefixesOf(inside, 'ipv4').length === 2 && prefixesOf(inside, 'ipv6').length === 1);
    assert.deepEqual(routeOf(outside, '10.1.0.0/16'), {
      asPath: '65001 65001 65001',
      nextHop: '172.30.1.99',
      med: 50,
      localPref: undefined,
      communities: '65001:20 no-export',
      largeCommunities: '65001:1:1',
    });
    assert.deepEqual(routeOf(outside, 'fd10::/64'), {
      asPath: '65001',
      nextHop: 'fd00:30:1::99',
      med: undefined,
      localPref: undefined,
      communities: '',
      largeCommunities: '',
    });
    for (const prefix of ['10.1.0.0/16', '10.2.0.0/16']) {
      assert.deepEqual(routeOf(inside, prefix), {
        asPath: '',
        nextHop: '172.30.2.11',
        med: undefined,
        localPref: 300,
        communities: '',
        largeCommunities: '',
      });
    }
  });

  test('a path whose tag changes is withdrawn from peers that no longer get it, and nothing else is sent', async () => {
    const both = (number: 'one' | 'two', set: 'outside' | 'inside'): PolicyStatement => ({
      name: `${set}-${number}`,
      neighborSet: set,
      largeCommunitySet: number,
      action: 'accept',
      actions: { removeLargeCommunities: [tag(1), tag(2)] },
    });
    await gobgp.setPolicies(policies([both('one', 'outside'), both('two', 'inside')]));
    await gobgp.withdrawPaths(['10.2.0.0/16', 'fd10::/64']);
    await gobgp.addPaths([path('10.1.0.0/16', 1), path('10.3.0.0/16', 1), path('10.4.0.0/16', 1)]);
    await eventuallyPasses(() => prefixesOf(outside, 'ipv4').length === 3 && prefixesOf(inside, 'ipv4').length === 0);
    const [before, insideBefore] = [updatesOf(outside), updatesOf(inside)];

    await gobgp.addPaths([path('10.3.0.0/16', 2)]);
    await eventuallyPasses(() => prefixesOf(inside, 'ipv4').length === 1);
    await eventuallyPasses(() => !prefixesOf(outside, 'ipv4').includes('10.3.0.0/16'));
    assert.deepEqual(prefixesOf(outside, 'ipv4'), ['10.1.0.0/16', '10.4.0.0/16']);
    assert.deepEqual([updatesOf(outside) - before, updatesOf(inside) - insideBefore], [1, 1]);

    await gobgp.addPaths([path('10.3.0.0/16', 10)]);
    await eventuallyPasses(() => prefixesOf(inside, 'ipv4').length === 0);
    assert.deepEqual([updatesOf(outside) - before, updatesOf(inside) - insideBefore], [1, 2]);
  });
});

function prefixesOf(router: TestRouter, family: 'ipv4' | 'ipv6'): string[] {
  const { routes = {} } = router.show(`bgp ${family} unicast`) as { routes?: Record<string, object> };
  return Object.keys(routes).toSorted();
}

function updatesOf(router: TestRouter): number {
  const all = router.show(`bgp neighbors ${router.nodeV4}`) as Record<
    string,
    { messageStats: { updatesRecv: number } }
  >;
  return all[router.nodeV4]?.messageStats.updatesRecv ?? Number.NaN;
}

interface FrrPath {
  readonly aspath: { readonly string: string };
  readonly nexthops: readonly { readonly ip: string; readonly scope?: string }[];
  readonly metric?: number;
  readonly locPrf?: number;
  readonly community?: { readonly string: string };
  readonly largeCommunity?: { readonly string: string };
}

function routeOf(router: TestRouter, prefix: string): object {
  const family = prefix.includes(':') ? 'ipv6' : 'ipv4';
  const { paths } = router.show(`bgp ${family} unicast ${prefix}`) as { paths: FrrPath[] };
  const [only] = paths;
  assert.ok(only && paths.length === 1);
  return {
    asPath: only.aspath.string === 'Local' ? '' : only.aspath.string,
    nextHop: only.nexthops[0]?.ip,
    med: only.metric,
    localPref: only.locPrf,
    communities: only.community?.string ?? '',
    largeCommunities: only.largeCommunity?.string ?? '',
  };
}
