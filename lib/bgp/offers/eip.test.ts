import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { exportOf } from '../exports.ts';
import { chooseInstance } from '../instance.ts';
import type { Node } from '../objects.ts';
import { planPeers } from '../peers.ts';
import { RouteTable } from '../route-table.ts';
import {
  advertisementOf,
  eipOf,
  nodeOf,
  outside,
  peerOf,
  policyOf,
  readyOn,
  routerPortOf,
  serviceOf,
  stateOf,
  type TestObjects,
} from '../testing.ts';
import { annotationAdvertisement } from './offer.ts';

const nodes = ['n1', 'n2', 'n3'].map((name, at) => nodeOf(name, [`10.0.0.${at + 1}`, `fd00::${at + 1}`]));
const eips = [eipOf('out', ['203.0.113.7']), routerPortOf('n1', 'n2')];
const advertisements = [advertisementOf('a', { source: 'Eip' })];
const host = '203.0.113.7/32';

interface Sent {
  readonly med: number | undefined;
  readonly hop: string | undefined;
}

function tablesOf(objects: TestObjects): readonly RouteTable[] {
  return nodes.map(({ name }) => {
    const table = new RouteTable();
    const all = { nodes, eips, advertisements, subnets: [outside], ...objects };
    table.rebuild({ ...stateOf(all), node: name }, { isLeaving: false });
    return table;
  });
}

/** Announcing nodes, and the codes of the refusals. */
function outcome(objects: TestObjects, advertisement = 'a') {
  const tables = tablesOf(objects);
  return {
    nodes: nodes.flatMap(({ name }, at) => (tables[at]?.routes.has(host) ? [name] : [])),
    refused: [...(tables[0]?.refusals(advertisement) ?? [])].flatMap(([, each]) => each.map(({ code }) => code)),
  };
}

/** What the nodes send to the first peer. */
function sent(objects: TestObjects, prefix = host): readonly (Sent | undefined)[] {
  const all = { nodes, eips, advertisements, subnets: [outside], ...objects };
  return tablesOf(objects).map((table, at) => {
    const state = { ...stateOf(all), node: nodes[at]?.name ?? '' };
    const [peer] = planPeers(state, chooseInstance(state).instance).peers.values();
    const routeClass = table.routes.get(prefix);
    const exported = peer && routeClass && exportOf(peer, routeClass);
    return exported && { med: exported.med, hop: exported.nextHop[prefix.includes(':') ? 'ipv6' : 'ipv4'] };
  });
}

test('an EIP is announced by the nodes that may have its port, in the order in which they serve it', () => {
  const peers = [peerOf('tor', '10.0.0.254')];
  const hop = '203.0.113.100';
  assert.deepEqual(sent({ peers }), [{ med: 0, hop }, { med: 100, hop }, undefined]);
  const moved = [eipOf('out', ['203.0.113.7']), routerPortOf('n2', 'n1')];
  assert.deepEqual(sent({ peers, eips: moved }), [{ med: 100, hop }, { med: 0, hop }, undefined]);
  // The port is on its way from a node that may have it no longer.
  const leaving = [
    ...eips.slice(0, 1),
    { ...routerPortOf('n1'), routerPort: { subnet: 'external', nodes: ['n1'], holder: 'n3' } },
  ];
  assert.deepEqual(
    sent({ peers, eips: leaving }).map((each) => each?.med),
    [100, undefined, 0],
  );
});

test('scope Local is the node with the port alone, Cluster every node of the advertisement', () => {
  const of = (spec: object) => outcome({ advertisements: [advertisementOf('a', { source: 'Eip', ...spec })] });
  assert.deepEqual(of({ scope: 'Local' }), { nodes: ['n1'], refused: [] });
  assert.deepEqual(of({ scope: 'Cluster' }), { nodes: ['n1', 'n2', 'n3'], refused: [] });
  const labelled: Node[] = nodes.map((node) => ({ ...node, labels: { ...node.labels, name: node.name } }));
  const from = (name: string, scope: string) =>
    outcome({
      nodes: labelled,
      advertisements: [advertisementOf('a', { source: 'Eip', scope, nodeSelector: { matchLabels: { name } } })],
    });
  assert.deepEqual(from('n2', 'Auto'), { nodes: ['n2'], refused: [] });
  assert.deepEqual(from('n2', 'Local'), { nodes: [], refused: ['NoSpeaker'] });
  assert.deepEqual(from('n3', 'Auto'), { nodes: [], refused: ['NoSpeaker'] });
  assert.deepEqual(from('n3', 'Cluster'), { nodes: ['n3'], refused: [] });
});

test('an annotation is the same: true for the nodes that may have the port, local for the one that has it', () => {
  const of = (scope: 'cluster' | 'local' | 'none') =>
    outcome(
      {
        advertisements: [],
        eips: [eipOf('out', ['203.0.113.7'], { annotation: { scope } }), routerPortOf('n1', 'n2')],
      },
      annotationAdvertisement,
    );
  assert.deepEqual(of('cluster'), { nodes: ['n1', 'n2'], refused: [] });
  assert.deepEqual(of('local'), { nodes: ['n1'], refused: [] });
  assert.deepEqual(of('none'), { nodes: [], refused: [] });
});

test('the next hop is the router port, or a node with an address beside it where the peer has none', () => {
  const hops = (address: string, first: readonly string[], prefix = host) =>
    sent(
      {
        nodes: [nodeOf('n1', [...first, 'fd00::1']), ...nodes.slice(1)],
        eips: [eipOf('out', ['203.0.113.7', '2001:db8:113::7']), routerPortOf('n1', 'n2')],
        peers: [peerOf('tor', address, { families: ['ipv4', 'ipv6'] })],
      },
      prefix,
    ).map((each) => each?.hop);
  const port = '203.0.113.100';
  assert.deepEqual(hops('203.0.113.1', ['203.0.113.11']), [port, port, undefined]);
  assert.deepEqual(hops('10.0.0.254', ['203.0.113.11']), [undefined, port, undefined]);
  assert.deepEqual(hops('10.0.0.254', ['10.0.0.1']), [port, port, undefined]);
  const v6 = '2001:db8:113::7/128';
  assert.deepEqual(hops('203.0.113.1', ['203.0.113.11'], v6), ['2001:db8:113::100', '2001:db8:113::100', undefined]);
});

test('next hop and MED of an advertisement or a RoutePolicy go before; a node without the port adds to the MED', () => {
  const peers = [peerOf('tor', '10.0.0.254')];
  const attributes = { med: 7, nextHop: { ipv4: '192.0.2.1' } };
  const named = [advertisementOf('a', { source: 'Eip', attributes })];
  const hop = '192.0.2.1';
  assert.deepEqual(sent({ peers, advertisements: named }), [{ med: 7, hop }, { med: 107, hop }, undefined]);
  const rules = [{ match: { prefixes: [{ cidr: host }] }, setBgp: { med: 4294967290 } }];
  const policies = [policyOf('p', { direction: 'Export', bgpPeers: ['tor'], rules })];
  assert.deepEqual(
    sent({ peers, policies }).map((each) => each?.med),
    [4294967290, 4294967295, undefined],
  );
});

test('a node without a switch comes last, whatever the API server knows', () => {
  const table = new RouteTable();
  const state = stateOf({ nodes, eips, advertisements, subnets: [outside], peers: [peerOf('tor', '10.0.0.254')] });
  table.rebuild({ ...state, isSwitchDown: true }, { isLeaving: false });
  const [peer] = planPeers(state, chooseInstance(state).instance).peers.values();
  const routeClass = table.routes.get(host);
  assert.equal(peer && routeClass && exportOf(peer, routeClass)?.med, 200);
});

test('only a ready address with a rule in force and a node for its port is announced', () => {
  const of = (...given: TestObjects['eips'] & readonly unknown[]) => outcome({ eips: given });
  const [eip, port] = [eipOf('out', ['203.0.113.7']), routerPortOf('n1', 'n2')];
  assert.deepEqual(of({ ...eip, isReady: false }, port), { nodes: [], refused: ['NotReady'] });
  assert.deepEqual(of({ ...eip, gatewayPort: '' }, port), { nodes: [], refused: ['NotUsed'] });
  assert.deepEqual(of(eip), { nodes: [], refused: ['NoRouterAddress'] });
  assert.deepEqual(of(eip, routerPortOf()), { nodes: [], refused: ['GatewayPending'] });
  assert.deepEqual(of(eip, { ...port, ips: ['2001:db8:113::100'] }), { nodes: [], refused: ['NoRouterAddress'] });
});

test('an address that is not the Subnet’s to give is not announced', () => {
  const elsewhere = (prefixes: readonly string[], more: object = {}) =>
    outcome({ subnets: [{ ...outside, prefixes, ...more }] });
  assert.deepEqual(elsewhere(['198.51.100.0/24']), { nodes: [], refused: ['NoExternalSubnet'] });
  assert.deepEqual(elsewhere(outside.prefixes, { isPhysical: undefined }), {
    nodes: [],
    refused: ['NoExternalSubnet'],
  });
  assert.deepEqual(outcome({ subnets: [] }), { nodes: [], refused: ['NoExternalSubnet'] });
  const host1 = [nodeOf('n1', ['203.0.113.7']), ...nodes.slice(1)];
  assert.deepEqual(outcome({ nodes: host1 }), { nodes: [], refused: ['AddressInUse'] });
  assert.deepEqual(outcome({ peers: [peerOf('tor', '203.0.113.7')] }), { nodes: [], refused: ['AddressInUse'] });
});

test('an external IP that is the address of an EIP takes nothing of it', () => {
  const tables = tablesOf({
    advertisements: [...advertisements, advertisementOf('s', { source: 'Service', serviceAddresses: ['ExternalIP'] })],
    services: [serviceOf('s', { externalIps: ['203.0.113.7', '203.0.113.8'] })],
    endpoints: { 'default/s': readyOn('n1') },
  });
  const [first, , third] = tables;
  const names = first?.routes.get(host)?.advertisements.map(({ name }) => name);
  assert.deepEqual([names, third?.routes.has(host), third?.routes.has('203.0.113.8/32')], [['a'], false, true]);
  const { prefixes, notAnnounced } = first?.summary('s') ?? {};
  assert.deepEqual(prefixes, ['203.0.113.8/32']);
  assert.match(notAnnounced?.[0]?.message ?? '', /the external IP 203\.0\.113\.7 of .* is an address of OvnEip out/);
  assert.deepEqual([...(first?.refused() ?? [])], [['s', 'AddressInUse', 1]]);
});

test('an external IP takes nothing of an EIP that is not announced, nor of the router port, the next hop of all of them', () => {
  const ips = ['203.0.113.7', '203.0.113.100', '2001:db8:113::100', '203.0.113.9'];
  const of = (...given: TestObjects['eips'] & readonly unknown[]) => {
    const [table] = tablesOf({
      eips: given,
      advertisements: [advertisementOf('s', { source: 'Service', serviceAddresses: ['ExternalIP'] })],
      services: [serviceOf('s', { externalIps: ips })],
      endpoints: { 'default/s': readyOn('n1') },
    });
    return [...(table?.routes.keys() ?? [])];
  };
  const wanted = eipOf('free', ['203.0.113.9'], { isReady: false });
  assert.deepEqual(of(...eips, wanted), ['203.0.113.9/32']);
  // No node has the port for a while, or no rule is in force.
  const [eip, port] = [eipOf('out', ['203.0.113.7'], { gatewayPort: '' }), routerPortOf()];
  assert.deepEqual(of(eip, port, wanted), ['203.0.113.9/32']);
});

test('an address that a LoadBalancerPool gave a Service takes nothing of an EIP either', () => {
  const tables = tablesOf({
    advertisements: [...advertisements, advertisementOf('s', { source: 'Service' })],
    services: [serviceOf('s', { type: 'LoadBalancer', loadBalancerIps: ['203.0.113.7'] })],
    endpoints: { 'default/s': readyOn('n1') },
  });
  const names = tables[0]?.routes.get(host)?.advertisements.map(({ name }) => name);
  assert.deepEqual([names, tables[2]?.routes.has(host)], [['a'], false]);
  const { notAnnounced } = tables[0]?.summary('s') ?? {};
  assert.match(notAnnounced?.[0]?.message ?? '', /^203\.0\.113\.7\/32 is the address of OvnEip\/out/);
});

test('an aggregate is not made of EIPs, and a selector of everything does not mean addresses of routers', () => {
  const [table] = tablesOf({
    advertisements: [
      advertisementOf('a', { source: 'Eip', aggregation: { ipv4Length: 28 } }),
      advertisementOf('b', { source: 'Eip', aggregation: { ipv4Length: 32 } }),
      advertisementOf('c', { source: 'Eip', selector: { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] } }),
    ],
  });
  assert.deepEqual([...(table?.routes.keys() ?? [])], [host]);
  const refused = [...(table?.refused() ?? [])].map(([name, code]) => `${name} ${code}`);
  assert.deepEqual(refused.toSorted(), ['a AggregateOfEips', 'c RouterAddress']);
});

describe('in a Subnet that nodes route to', () => {
  const subnets = [{ ...outside, isByNodes: true }];
  const peers = [peerOf('tor', '10.0.0.254')];

  test('the node itself is the next hop, whatever network it and the peer are in', () => {
    const here = [{ med: 0, hop: undefined }, { med: 100, hop: undefined }, undefined];
    assert.deepEqual(sent({ peers, subnets }), here);
    const inside = nodes.map((node, at) => ({ ...node, addresses: [`203.0.113.${at + 11}`] }));
    assert.deepEqual(sent({ peers: [peerOf('tor', '203.0.113.254')], subnets, nodes: inside }), here);
  });

  test('the addresses of a router are announced as those of its rules are, and withdrawn without a node', () => {
    const router = '203.0.113.100/32';
    assert.deepEqual(
      sent({ peers, subnets }, router).map((each) => each?.med),
      [0, 100, undefined],
    );
    assert.deepEqual(sent({ peers }, router), [undefined, undefined, undefined]);
    const lost = [{ ...routerPortOf('n1'), routerPort: { subnet: 'external', nodes: ['n1'], holder: '' } }];
    assert.deepEqual(sent({ peers, subnets, eips: lost }, router), [undefined, undefined, undefined]);
    assert.deepEqual(outcome({ subnets, eips: lost }).refused, ['GatewayPending']);
    const wanting = [{ ...routerPortOf('n1'), isReady: false }];
    assert.deepEqual(sent({ peers, subnets, eips: wanting }, router), [undefined, undefined, undefined]);
  });

  test('its network is not announced', () => {
    const table = new RouteTable();
    const all = [advertisementOf('s', { source: 'Subnet' })];
    table.rebuild(stateOf({ nodes, eips, subnets, advertisements: all }), { isLeaving: false });
    assert.deepEqual([...table.routes.keys()], []);
  });
});
