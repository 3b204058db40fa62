/** A rack for tests: n1 and n2 speak to tor1 and tor2, n3 has no labels; the session of n2 with tor2 is down. */
import type { BgpNodeStateStatus } from '../lib/api/kinds/bgp-node-state.ts';
import {
  advertisementOf,
  nodeOf,
  peerOf,
  podOf,
  readyOn,
  serviceOf,
  stateOf,
  subnetOf,
  type TestObjects,
} from '../lib/bgp/testing.ts';
import type { BgpReading } from './model/bgp.ts';

export const nowMs = Date.parse('2024-06-01T12:00:00Z');

const rack = (name: string) => ({ 'ovn.kubernetes.io/bgp': 'true', rack: name });

export const objects = {
  nodes: [
    nodeOf('n1', ['10.0.0.1', 'fd00::1'], rack('a')),
    nodeOf('n2', ['10.0.0.2', 'fd00::2'], rack('b')),
    nodeOf('n3', ['10.0.0.3'], {}),
  ],
  namespaces: { default: { team: 'a' }, other: {} },
  peers: [
    peerOf('tor1', '10.0.0.254', { families: ['ipv4', 'ipv6'] }),
    peerOf('tor2', '10.0.0.253', { asn: 65001, advertisements: { matchLabels: { scope: 'public' } } }),
  ],
  advertisements: [
    advertisementOf(
      'subnets',
      { selector: { matchLabels: { tier: 'web' } }, attributes: { localPreference: 200 } },
      { scope: 'public' },
    ),
    advertisementOf('pods', {
      source: 'Pod',
      selector: { matchLabels: { app: 'web' } },
      attributes: { med: 10, communities: { standard: ['65001:7'], wellKnown: ['no-export'] } },
    }),
    advertisementOf('racks', {
      source: 'Pod',
      scope: 'Cluster',
      nodeSelector: { matchLabels: { rack: 'b' } },
      selector: { matchLabels: { app: 'db' } },
      aggregation: { ipv4Length: 26 },
    }),
    advertisementOf('lb', { source: 'Service', peers: ['tor2'] }, { scope: 'public' }),
  ],
  subnets: [
    subnetOf('web', ['10.16.0.0/16', 'fd00:16::/64'], { labels: { tier: 'web' } }),
    subnetOf('join', ['100.64.0.0/16']),
  ],
  pods: [
    podOf('web', ['10.16.0.7', 'fd00:16::7'], { labels: { app: 'web' } }),
    podOf('db', ['10.16.1.9'], { labels: { app: 'db' }, node: 'n2' }),
    podOf('sick', ['10.16.0.8'], { labels: { app: 'web' }, isReady: false }),
    podOf('other', ['10.16.0.9'], { namespace: 'other' }),
    podOf('host', []),
  ],
  services: [
    serviceOf('lb', { clusterIps: ['10.96.0.5'], loadBalancerIps: ['192.0.2.1'], isExternalPolicyLocal: true }),
    serviceOf('idle', { loadBalancerIps: ['192.0.2.2'] }),
  ],
  endpoints: { 'default/lb': readyOn('n1') },
} satisfies TestObjects;

const since = '2024-06-01T09:00:00Z';

const up = (peer: string, address: string, asn: number) => ({
  peer,
  address,
  asn,
  state: 'Established',
  since,
  flaps: 1,
  families: [{ family: 'ipv4' as const, advertised: 4, received: 2 }],
  used: 1,
});

export const nodeStates: Readonly<Record<string, BgpNodeStateStatus>> = {
  n1: {
    instance: 'rack',
    ready: true,
    drain: 'None',
    peers: [
      up('tor2', '10.0.0.253', 65001),
      { ...up('tor1', '10.0.0.254', 65000), ownPrefixes: [{ prefix: '10.96.0.1/32', holder: 'Services' }] },
    ],
    learned: [
      { prefix: '192.0.2.128/25', peer: 'tor1', nextHop: '10.0.0.254', asPath: '65000 65010', preference: 100 },
      { prefix: '0.0.0.0/0', peer: 'tor1', nextHop: '10.0.0.254', asPath: '65000', preference: 100, tags: ['exit'] },
    ],
  },
  n2: {
    instance: 'rack',
    ready: false,
    reason: 'RestartNeeded',
    message: 'gobgpd runs with AS 65002, wanted is AS 65001; restart gobgpd on this node',
    drain: 'None',
    peers: [
      {
        peer: 'tor2',
        address: '10.0.0.253',
        asn: 65001,
        state: 'Active',
        reason: 'HoldTimerExpired',
        message: 'the neighbour was silent for the hold time; look at the link to it',
        since,
        flaps: 3,
      },
      up('tor1', '10.0.0.254', 65000),
    ],
    learned: [
      { prefix: '0.0.0.0/0', peer: 'tor1', nextHop: '10.0.0.254', asPath: '65000', preference: 100, tags: ['exit'] },
    ],
  },
};

export function readingOf(
  changed: TestObjects = {},
  states: Readonly<Record<string, BgpNodeStateStatus>> = nodeStates,
): BgpReading {
  const state = { ...stateOf({ ...objects, ...changed }), node: '' };
  const learned = new Map(Object.entries(states).map(([node, { learned: routes = [] }]) => [node, routes]));
  return { label: 'east', state, nodeStates: new Map(Object.entries(states)), learned };
}
