import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCidr } from '../net/cidr.ts';
import { type LifelineFacts, Lifelines } from './lifelines.ts';

const owner = (name: string, ...prefixes: readonly string[]) => ({ name, prefixes });

const facts: LifelineFacts = {
  subnets: [owner('join', '100.64.0.0/16', 'fd00:64::/112')],
  transitSwitches: [
    { ...owner('ts', '169.100.0.0/22', 'fd00:100::/64'), vpc: 'ovn-cluster' },
    { ...owner('blue', '169.101.0.0/22'), vpc: 'tenant' },
  ],
  clusters: [
    {
      name: 'west',
      prefixes: [
        { prefix: '10.18.0.0/16', transitSwitch: 'ts' },
        { prefix: 'fd00:18::/48', transitSwitch: 'ts' },
        { prefix: '10.19.0.0/16', transitSwitch: 'blue' },
        { prefix: '10.20.0.0/16', transitSwitch: 'gone' },
      ],
    },
  ],
  services: ['10.96.0.0/16', 'fd00:96::/112', '203.0.113.7'],
  nodes: [owner('n1', '172.30.1.11', 'fd00:30::11'), owner('n9', '172.30.9.19', 'fd00:39::19')],
  gateways: [owner('west', '172.30.77.1')],
  apiServers: ['10.5.5.10', 'fd00:5::10'],
  hubs: ['hub.example.org', '10.7.7.7'],
  peers: [owner('tor', '10.255.0.1', 'fe80::1')],
  nextHops: ['172.30.1.254'],
  connected: ['172.30.1.0/24', 'fd00:30::/64', '0.0.0.0/0', 'nonsense'],
};
const lifelines = new Lifelines(facts);

function ask(prefix: string, of: Lifelines = lifelines): { readonly holder?: string; readonly taken?: string } {
  const cidr = parseCidr(prefix);
  assert.ok(cidr, prefix);
  const [holder, taken] = [of.holderOf(cidr), of.takenBy(cidr)];
  return { ...(holder !== undefined && { holder }), ...(taken !== undefined && { taken }) };
}

test('a lifeline or a part of it has a holder', () => {
  const holders: Readonly<Record<string, string>> = {
    '100.64.3.0/24': 'subnet join',
    'fd00:64::/120': 'subnet join',
    '169.100.0.0/22': 'transit switch ts',
    'fd00:100::5/128': 'transit switch ts',
    '10.18.4.0/24': 'cluster west',
    'fd00:18:0:4::/64': 'cluster west',
    '169.101.0.0/24': 'transit switch blue',
    '10.96.0.0/16': 'Services',
    '10.96.0.1/32': 'Services',
    'fd00:96::1/128': 'Services',
    '203.0.113.7/32': 'Services',
    '172.30.9.19/32': 'node n9',
    'fd00:39::19/128': 'node n9',
    '172.30.77.1/32': 'a gateway of cluster west',
    '10.5.5.10/32': 'the API server',
    'fd00:5::10/128': 'the API server',
    '10.7.7.7/32': 'the hub',
    '10.255.0.1/32': 'BGP peer tor',
    '172.30.1.254/32': "next hop of the node's own routes",
    '172.30.1.0/24': "a network on the node's own links",
    '172.30.1.128/25': "a network on the node's own links",
    'fd00:30::/72': "a network on the node's own links",
  };
  for (const [prefix, holder] of Object.entries(holders)) assert.equal(ask(prefix).holder, holder, prefix);
});

test('a prefix that another cluster offers to another VPC is no lifeline: only the default VPC has routes from routers', () => {
  for (const prefix of ['10.19.4.0/24', '10.20.4.0/24']) assert.deepEqual(ask(prefix), {}, prefix);
});

test('a wider prefix covers lifelines that the node reaches through a router, not those on its own links', () => {
  const taken: Readonly<Record<string, string | undefined>> = {
    '10.5.5.8/30': 'the API server',
    '10.5.0.0/16': 'the API server',
    'fd00:5::/64': 'the API server',
    '10.7.7.6/31': 'the hub',
    '172.30.9.0/24': 'node n9',
    '172.30.76.0/23': 'a gateway of cluster west',
    '10.255.0.0/24': 'BGP peer tor',
    '172.30.0.0/21': undefined,
    '198.51.100.0/24': undefined,
    'fd00:30::/48': undefined,
  };
  for (const [prefix, what] of Object.entries(taken))
    assert.deepEqual(ask(prefix), what ? { taken: what } : {}, prefix);
  assert.deepEqual(ask('0.0.0.0/1'), { taken: 'the API server' });
  assert.deepEqual(ask('128.0.0.0/1'), { taken: 'node n9' });
  assert.deepEqual(ask('::/1'), {});
  assert.deepEqual(ask('8000::/1'), { taken: 'the API server' });
});

test('without facts there is no lifeline', () => {
  const none = new Lifelines({});
  for (const prefix of ['0.0.0.0/0', '10.0.0.0/8', '10.0.0.1/32', '::/0']) assert.deepEqual(ask(prefix, none), {});
});
