import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf } from '../testing-random.ts';
import type { BgpState, Endpoint, Pod } from './objects.ts';
import { annotationAdvertisement } from './offers/offer.ts';
import { RouteTable } from './route-table.ts';
import {
  advertisementOf,
  eipOf,
  instanceOf,
  nodeOf,
  outside,
  peerOf,
  podOf,
  readyOn,
  routerPortOf,
  serviceOf,
  stateOf,
  subnetOf,
  type TestObjects,
} from './testing.ts';

const nodes = [nodeOf('n1', ['10.0.0.1']), nodeOf('n2', ['10.0.0.2']), nodeOf('n3', ['10.0.0.3'], {})];
const web = subnetOf('web', ['10.16.0.0/16', 'fd00:10:16::/64']);

function tableOf(objects: TestObjects, node = 'n1'): RouteTable {
  const table = new RouteTable();
  table.rebuild({ ...stateOf({ nodes, subnets: [web], advertisements: [], ...objects }), node }, { isLeaving: false });
  return table;
}

const prefixesOf = (table: RouteTable): string[] => [...table.routes.keys()].toSorted();

/** What is announced from n1 and n2, and why objects are not, by code. */
function outcome(objects: TestObjects, advertisement = 'a') {
  const first = tableOf(objects);
  return {
    n1: prefixesOf(first),
    n2: prefixesOf(tableOf(objects, 'n2')),
    refused: [...first.refusals(advertisement)].flatMap(([, refusals]) => refusals.map(({ code }) => code)),
  };
}

test('the annotation has the prefix sets of Kube-OVN: cluster from all speakers, local from the node of the pod', () => {
  const here = podOf('here', ['10.16.0.5']);
  const there = podOf('there', ['10.16.0.6'], { node: 'n2' });
  const annotated = (scope: 'cluster' | 'local' | 'none') => ({ annotation: { scope } });
  const of = (subnet: object, pods: readonly Pod[] = [here, there]) =>
    outcome({ subnets: [{ ...web, ...subnet }], pods }, annotationAdvertisement);
  const hosts = ['10.16.0.5/32', '10.16.0.6/32'];
  assert.deepEqual(of({}), { n1: [], n2: [], refused: [] });
  const all = ['10.16.0.0/16', ...hosts, 'fd00:10:16::/64'];
  assert.deepEqual(of(annotated('cluster')), { n1: all, n2: all, refused: [] });
  assert.deepEqual(of(annotated('local')), { n1: hosts.slice(0, 1), n2: hosts.slice(1), refused: [] });
  const overridden = [
    { ...here, ...annotated('cluster') },
    { ...there, ...annotated('none') },
  ];
  assert.deepEqual(of(annotated('local'), overridden), { n1: hosts.slice(0, 1), n2: hosts.slice(0, 1), refused: [] });
  const invalid = { annotation: { scope: 'invalid', text: 'yes' } } as const;
  assert.deepEqual(of(invalid, []), { n1: [], n2: [], refused: ['AnnotationInvalid'] });
  assert.deepEqual(of({}, [{ ...here, ...invalid }, there]), { n1: [], n2: [], refused: ['AnnotationInvalid'] });
  const elsewhere = { ...annotated('cluster'), vpc: 'tenant' };
  assert.deepEqual(of(elsewhere), { n1: [], n2: [], refused: ['VpcNotRouted'] });
  const physical = { ...annotated('cluster'), isPhysical: true };
  assert.deepEqual(of(physical), { n1: [], n2: [], refused: ['Underlay'] });
});

test('pods are announced by their node, or by all with scope Cluster; each that is not has its reason', () => {
  const pods = [
    podOf('a', ['10.16.0.5', 'fd00:10:16::5'], { labels: { app: 'web' } }),
    podOf('b', ['10.16.0.6'], { labels: { app: 'web' }, isReady: false }),
    podOf('c', ['10.16.0.7'], { labels: { app: 'web' }, isAlive: false }),
    podOf('d', ['192.0.2.1'], { labels: { app: 'web' } }),
    podOf('e', ['10.16.0.8'], { labels: { app: 'web' }, node: 'n3' }),
    podOf('f', ['10.16.0.9'], { labels: { app: 'db' } }),
  ];
  const selector = { matchLabels: { app: 'web' } };
  const own = ['10.16.0.5/32', 'fd00:10:16::5/128'];
  assert.deepEqual(outcome({ pods, advertisements: [advertisementOf('a', { source: 'Pod', selector })] }), {
    n1: own,
    n2: [],
    refused: ['NotReady', 'PodFinished', 'NotOwned', 'NoSpeaker'],
  });
  const cluster = advertisementOf('a', { source: 'Pod', selector, scope: 'Cluster' });
  const everywhere = [own[0], '10.16.0.6/32', '10.16.0.8/32', own[1]];
  assert.deepEqual(outcome({ pods, advertisements: [cluster] }), {
    n1: everywhere,
    n2: everywhere,
    refused: ['PodFinished', 'NotOwned'],
  });
  const inProd = advertisementOf('a', { source: 'Pod', namespaceSelector: { matchLabels: { env: 'prod' } } });
  const namespaces = { default: {}, prod: { env: 'prod' } };
  const moved = [podOf('a', ['10.16.0.5'], { namespace: 'prod' }), podOf('b', ['10.16.0.6'])];
  assert.deepEqual(outcome({ pods: moved, namespaces, advertisements: [inProd] }).n1, ['10.16.0.5/32']);
});

test('a subnet with scope Local is announced by the pods in it', () => {
  const pods = [podOf('a', ['10.16.0.5']), podOf('b', ['10.16.0.6'], { node: 'n2' })];
  const local = advertisementOf('a', { scope: 'Local' });
  assert.deepEqual(outcome({ pods, advertisements: [local] }), {
    n1: ['10.16.0.5/32'],
    n2: ['10.16.0.6/32'],
    refused: [],
  });
});

test('a service is announced from the nodes that its endpoints, traffic policy and scope allow', () => {
  const addresses = { clusterIps: ['10.96.0.9'], externalIps: ['198.51.100.9'], loadBalancerIps: ['203.0.113.9'] };
  const of = (more: object, endpoints: readonly Endpoint[], spec: object = {}) =>
    outcome({
      services: [serviceOf('s', { ...addresses, ...more })],
      endpoints: { 'default/s': endpoints },
      peers: [peerOf('tor', '10.0.0.254')],
      advertisements: [advertisementOf('a', { source: 'Service', ...spec })],
    });
  const lb = ['203.0.113.9/32'];
  assert.deepEqual(of({}, readyOn('n2')), { n1: lb, n2: lb, refused: [] });
  assert.deepEqual(of({ isExternalPolicyLocal: true }, readyOn('n2')), { n1: [], n2: lb, refused: [] });
  assert.deepEqual(of({}, readyOn('n2'), { scope: 'Local' }), { n1: [], n2: lb, refused: [] });
  assert.deepEqual(of({}, []), { n1: [], n2: [], refused: ['NoEndpoint'] });
  assert.deepEqual(of({ isElsewhere: true }, readyOn('n1')), { n1: [], n2: [], refused: ['VpcNotRouted'] });
  assert.deepEqual(of({ isExternalPolicyLocal: true }, readyOn('n3')), { n1: [], n2: [], refused: ['NoSpeaker'] });
  const leaving = [{ node: 'n1', isReady: false, isServing: true }];
  assert.deepEqual(
    of({ isExternalPolicyLocal: true }, leaving).n1,
    lb,
    'the last endpoint is on its way out and answers',
  );
  assert.deepEqual(of({ isExternalPolicyLocal: true }, [...leaving, ...readyOn('n2')]).n1, []);
  const all = { serviceAddresses: ['ClusterIP', 'ExternalIP', 'LoadBalancerIP'] };
  assert.deepEqual(of({ isInternalPolicyLocal: true }, readyOn('n2'), all), {
    n1: ['198.51.100.9/32', ...lb],
    n2: ['10.96.0.9/32', '198.51.100.9/32', ...lb],
    refused: [],
  });
  const stolen = { externalIps: ['10.0.0.2', '10.16.0.1', '127.0.0.1', '10.0.0.254'] };
  assert.deepEqual(of(stolen, readyOn('n1'), { serviceAddresses: ['ExternalIP'] }), {
    n1: [],
    n2: [],
    refused: ['AddressInUse', 'AddressInUse', 'AddressInvalid', 'AddressInUse'],
  });
});

test('a summary lists prefixes in the order of their addresses, at most a hundred', () => {
  const summaryOf = (prefixes: readonly string[]) => {
    const table = new RouteTable();
    table.rebuild(stateOf({ subnets: [subnetOf('web', prefixes)] }), undefined);
    return table.summary('all');
  };
  const ordered = ['10.2.0.0/16', '10.10.0.0/16', 'fd00::/64'];
  assert.deepEqual(summaryOf(ordered.toReversed()).prefixes, ordered);
  const many = summaryOf(Array.from({ length: 150 }, (_, at) => `10.${at}.0.0/16`));
  assert.equal(many.prefixCount, 150);
  assert.equal(many.prefixes.length, 100);
});

test('an annotated service needs no EndpointSlice to be announced, but a ready endpoint where there are some', () => {
  const of = (scope: 'cluster' | 'local', endpoints: Record<string, readonly Endpoint[]>) =>
    outcome(
      { services: [serviceOf('s', { clusterIps: ['10.96.0.9'], annotation: { scope } })], endpoints },
      annotationAdvertisement,
    );
  const ip = ['10.96.0.9/32'];
  assert.deepEqual(of('cluster', {}), { n1: ip, n2: ip, refused: [] });
  assert.deepEqual(of('cluster', { 'default/s': [] }), { n1: [], n2: [], refused: ['NoEndpoint'] });
  assert.deepEqual(of('local', { 'default/s': readyOn('n2') }), { n1: [], n2: ip, refused: [] });
  assert.deepEqual(of('local', {}), { n1: [], n2: [], refused: ['NoEndpoint'] });
});

test('EIPs are announced when they are ready, prefixes of other clusters unless they were learned from a router', () => {
  const eips = [
    eipOf('e', ['203.0.113.7']),
    eipOf('x', ['203.0.113.8'], { isReady: false, annotation: { scope: 'invalid', text: 'yes' } }),
    routerPortOf('n1'),
  ];
  const advertisements = [
    advertisementOf('a', { source: 'Eip' }),
    advertisementOf('i', { source: 'Interconnect', selector: { matchLabels: { site: 'b' } } }),
  ];
  const route = (prefix: string, origin: string) => ({ prefix, origin, tags: [] });
  const remotes = [
    { name: 'west', labels: { site: 'b' }, routes: [route('10.17.0.0/16', 'connected'), route('10.99.0.0/16', 'bgp')] },
    { name: 'north', labels: {}, routes: [route('10.18.0.0/16', 'connected')] },
  ];
  const table = tableOf({ eips, remotes, advertisements, subnets: [outside] });
  assert.deepEqual(prefixesOf(table), ['10.17.0.0/16', '203.0.113.7/32']);
  assert.equal(table.routes.get('10.17.0.0/16')?.cluster, 'west');
  const codes = (name: string) => [...table.refusals(name)].flatMap(([, list]) => list.map(({ code }) => code));
  assert.deepEqual(
    [codes('a'), codes('i'), codes(annotationAdvertisement)],
    [['NotReady'], ['LearnedByBgp'], ['AnnotationInvalid']],
  );
});

test('objects that are not announced are counted by advertisement and reason, each once', () => {
  const state = { subnets: [web], advertisements: [advertisementOf('a', { source: 'Pod' })] };
  const pods = [podOf('a', ['10.16.0.5', 'fd00:10:16::5'], { isReady: false }), podOf('b', ['10.16.0.6'])];
  const table = tableOf({ ...state, pods: [...pods, podOf('c', ['10.16.0.7'], { isReady: false })] });
  assert.deepEqual([...table.refused()], [['a', 'NotReady', 2]]);
  table.update(stateOf({ ...state, nodes, pods }), [{ source: 'Pod', key: 'default/c' }]);
  assert.deepEqual([...table.refused()], [['a', 'NotReady', 1]]);
  table.update(stateOf({ ...state, nodes }), [{ source: 'Pod', key: 'default/a' }]);
  assert.deepEqual([...table.refused()], []);
});

test('an aggregate exists as long as one of its members, and is never wider than the prefixes that the cluster owns', () => {
  const pods = [podOf('a', ['10.16.3.5']), podOf('b', ['10.16.3.6']), podOf('c', ['10.16.4.5'])];
  const a = advertisementOf('a', { source: 'Pod', aggregation: { ipv4Length: 24 } });
  assert.deepEqual(outcome({ pods, advertisements: [a] }).n1, ['10.16.3.0/24', '10.16.4.0/24']);
  assert.deepEqual(outcome({ pods: pods.slice(1), advertisements: [a] }).n1, ['10.16.3.0/24', '10.16.4.0/24']);
  assert.deepEqual(outcome({ pods: pods.slice(2), advertisements: [a] }).n1, ['10.16.4.0/24']);
  const wide = advertisementOf('a', { source: 'Pod', aggregation: { ipv4Length: 8 } });
  assert.deepEqual(outcome({ pods: pods.slice(2), advertisements: [wide] }), {
    n1: ['10.16.4.5/32'],
    n2: [],
    refused: ['AggregateNotOwned'],
  });
  const service = {
    services: [serviceOf('s', { loadBalancerIps: ['203.0.113.9'] })],
    endpoints: { 'default/s': readyOn('n1') },
    advertisements: [advertisementOf('a', { source: 'Service', aggregation: { ipv4Length: 28 } })],
  };
  const owning = (...ownedPrefixes: string[]) =>
    outcome({ ...service, instances: [instanceOf('rack', { ownedPrefixes })] });
  assert.deepEqual(outcome(service).n1, ['203.0.113.0/28']);
  assert.deepEqual(owning('203.0.113.0/24').n1, ['203.0.113.0/28']);
  assert.deepEqual(owning('203.0.113.8/30'), {
    n1: ['203.0.113.9/32'],
    n2: ['203.0.113.9/32'],
    refused: ['AggregateNotOwned'],
  });
  assert.deepEqual(owning('198.51.100.0/24'), { n1: [], n2: [], refused: ['NotOwned'] });
  const limited = { ...service, instances: [instanceOf('rack', { ownedPrefixes: ['198.51.100.0/24'] })] };
  const pooled = { ...limited, loadBalancerPools: { lan: ['203.0.113.0/24'] } };
  assert.deepEqual(outcome(pooled).n1, ['203.0.113.0/28'], 'a LoadBalancerPool is the cluster’s own');
  const given = [serviceOf('s', { loadBalancerIps: ['203.0.113.9'], givenIps: ['203.0.113.9'] })];
  assert.deepEqual(
    outcome({ ...limited, services: given }),
    { n1: ['203.0.113.9/32'], n2: ['203.0.113.9/32'], refused: ['AggregateNotOwned'] },
    'an address that Isthmus gave stays announced when its pool has gone',
  );
});

test('prefixes announced alike share a class, whose name contains every deciding attribute', () => {
  const subnets = [web, subnetOf('db', ['10.17.0.0/16'])];
  const classes = (attributes: object, name = 'a') => {
    const table = tableOf({ subnets, advertisements: [advertisementOf(name, { attributes })] });
    return new Set([...table.routes.values()].map(({ id }) => id));
  };
  assert.equal(classes({}).size, 1);
  assert.deepEqual(classes({ med: 1, localPreference: 2 }), classes({ localPreference: 2, med: 1 }));
  assert.notDeepEqual(classes({ med: 1 }), classes({ med: 2 }));
  assert.notDeepEqual(classes({}), classes({}, 'b'));
});

test('a table updated object by object in any order equals a table built from all objects', () => {
  const random = randomOf(7);
  const advertisements = [
    advertisementOf('pods', {
      source: 'Pod',
      selector: { matchLabels: { tier: '1' } },
      aggregation: { ipv4Length: 28 },
    }),
    advertisementOf('all', {
      source: 'Pod',
      scope: 'Cluster',
      nodeSelector: { matchLabels: { 'ovn.kubernetes.io/bgp': 'true' } },
    }),
    advertisementOf('local', { source: 'Subnet', scope: 'Local' }),
  ];
  const pods = new Map<string, Pod>();
  const base = stateOf({ nodes, subnets: [web], advertisements });
  const state: BgpState = { ...base, pods };
  const table = new RouteTable();
  table.rebuild(state, { isLeaving: false });
  const seen = new Map<string, string>();
  for (let step = 0; step < 400; step++) {
    const keys = Array.from({ length: 1 + random(3) }, () => `default/p${random(40)}`);
    for (const key of keys) {
      if (random(10) < 3) pods.delete(key);
      else {
        const at = { node: `n${1 + random(3)}`, isReady: random(10) < 8, labels: { tier: String(random(2)) } };
        pods.set(key, podOf(key.slice(8), [`10.16.0.${1 + random(60)}`], at));
      }
    }
    table.update(
      state,
      keys.map((key) => ({ source: 'Pod' as const, key })),
    );
    for (const prefix of table.takeChanged()) {
      const id = table.routes.get(prefix)?.id;
      if (id === undefined) seen.delete(prefix);
      else seen.set(prefix, id);
    }
    const fresh = new RouteTable();
    fresh.rebuild(state, { isLeaving: false });
    const shown = (from: RouteTable) => Object.fromEntries([...from.routes].map(([prefix, { id }]) => [prefix, id]));
    assert.deepEqual(shown(table), shown(fresh));
    assert.deepEqual(Object.fromEntries(seen), shown(fresh), 'the changes told add up to the table');
    for (const name of ['pods', 'all', 'local']) assert.deepEqual(table.summary(name), fresh.summary(name));
    const counts = (from: RouteTable) =>
      Object.fromEntries([...from.classes].map(([id, { ipv4, ipv6 }]) => [id, [ipv4, ipv6]]));
    assert.deepEqual(counts(table), counts(fresh));
    const refused = (from: RouteTable) => [...from.refused()].map((each) => each.join(' ')).toSorted();
    assert.deepEqual(refused(table), refused(fresh));
  }
});

test('prefixes that may not be announced are announced from no source', () => {
  const special = ['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4', 'fe80::/10', 'ff00::/8', '::ffff:0:0/96'];
  const whole = ['0.0.0.0/0', '::/0'];
  const subnets = outcome({
    subnets: [subnetOf('x', [...special, ...whole, '10.1.0.0/16'])],
    advertisements: [advertisementOf('a')],
  });
  assert.deepEqual([subnets.n1, subnets.refused], [['10.1.0.0/16'], [...special, ...whole].map(() => 'PrefixInvalid')]);
  const remote = {
    name: 'west',
    labels: {},
    routes: [...special, ...whole].map((prefix) => ({ prefix, origin: 'subnet', tags: [] })),
  };
  const remotes = outcome({ remotes: [remote], advertisements: [advertisementOf('a', { source: 'Interconnect' })] });
  assert.deepEqual([remotes.n1, remotes.refused], [[], remote.routes.map(() => 'PrefixInvalid')]);
  const addresses = [
    '0.0.0.0',
    '127.0.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'ff02::1',
    'fe80::1',
    '::ffff:7f00:1',
  ];
  const everywhere = { clusterIps: addresses, externalIps: addresses, loadBalancerIps: addresses };
  const all = { serviceAddresses: ['ClusterIP', 'ExternalIP', 'LoadBalancerIP'] };
  const services = outcome({
    services: [serviceOf('s', everywhere)],
    endpoints: { 'default/s': readyOn('n1') },
    advertisements: [advertisementOf('a', { source: 'Service', ...all })],
  });
  assert.deepEqual([services.n1, new Set(services.refused)], [[], new Set(['AddressInvalid'])]);
  // A forged subnet does not make them ordinary.
  const pods = outcome({
    subnets: [subnetOf('web', [...special, ...whole])],
    pods: [podOf('p', addresses, { annotation: { scope: 'cluster' } })],
    advertisements: [advertisementOf('a', { source: 'Pod' })],
  });
  assert.deepEqual([pods.n1, new Set(pods.refused)], [[], new Set(['AddressInvalid'])]);
  const eips = outcome({
    // A forged Subnet does not make them ordinary.
    subnets: [subnetOf('external', [...special, ...whole], { isPhysical: true })],
    eips: [eipOf('e', addresses), routerPortOf('n1')],
    advertisements: [advertisementOf('a', { source: 'Eip' })],
  });
  assert.deepEqual([eips.n1, new Set(eips.refused)], [[], new Set(['AddressInvalid'])]);
});

test('an aggregate that would contain special-use addresses is not announced', () => {
  const of = (ip: string, ipv4Length: number) =>
    outcome({
      services: [serviceOf('s', { loadBalancerIps: [ip] })],
      endpoints: { 'default/s': readyOn('n1') },
      advertisements: [advertisementOf('a', { source: 'Service', aggregation: { ipv4Length } })],
    });
  assert.deepEqual(of('100.70.0.1', 1), {
    n1: ['100.70.0.1/32'],
    n2: ['100.70.0.1/32'],
    refused: ['AggregateNotOwned'],
  });
  assert.deepEqual(of('100.70.0.1', 4), { n1: ['96.0.0.0/4'], n2: ['96.0.0.0/4'], refused: [] });
});

test('communities of one prefix fit one message: those of the youngest advertisements that do not are left out', () => {
  const large = (at: number) => Array.from({ length: 32 }, (_, index) => `65001:${at}:${index}`);
  const advertisements = Array.from({ length: 12 }, (_, at) => ({
    ...advertisementOf(`a${at}`, { attributes: { communities: { large: large(at) } } }),
    createdAt: `2024-01-01T00:00:${String(at).padStart(2, '0')}Z`,
  })).toReversed();
  const table = tableOf({ advertisements });
  const [routeClass] = table.routes.values();
  const heard = ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'];
  assert.deepEqual(
    routeClass?.advertisements.map(({ name }) => name),
    heard,
  );
  const late = table.summary('a9');
  assert.deepEqual(
    [late.prefixCount, late.prefixes, late.notAnnounced.map(({ reason }) => reason)],
    [0, [], ['TooManyCommunities', 'TooManyCommunities']],
  );
  assert.equal(table.summary('a7').prefixCount, 2);
  assert.deepEqual(
    [...table.refused()].filter(([name]) => name === 'a9'),
    [['a9', 'TooManyCommunities', 2]],
  );
  // The same communities once more cost nothing.
  const alike = advertisements.map((each) => ({
    ...advertisementOf(each.name, { attributes: { communities: { large: large(0) } } }),
  }));
  assert.equal(tableOf({ advertisements: alike }).summary('a9').prefixCount, 2);
});
