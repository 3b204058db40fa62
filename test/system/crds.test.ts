/** The CRDs on a real API server: users' manifests are accepted, and invalid objects are refused with a message. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpPeers,
  interconnects,
  providerNetworks,
  routePolicies,
  subnets,
  vpcs,
} from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { object, openCrdBed, type CrdBed } from './crd-bed.ts';

let bed: CrdBed;
let kube: KubeClient;
let tryCreate: CrdBed['tryCreate'];

before(async () => {
  bed = await openCrdBed([
    bgpAdvertisements,
    bgpInstances,
    bgpPeers,
    interconnects,
    providerNetworks,
    routePolicies,
    subnets,
    vpcs,
  ]);
  ({ kube, tryCreate } = bed);
});
after(() => bed.close());

describe('ProviderNetwork', () => {
  test('has either an interface or routedByNodes, which is fixed', async () => {
    const needed = /either a defaultInterface or routedByNodes: true/;
    for (const spec of [{}, { routedByNodes: false }, { defaultInterface: 'eth1', routedByNodes: true }])
      await assert.rejects(kube.create(providerNetworks, object(providerNetworks, 'net1', spec)), needed);
    await kube.create(providerNetworks, object(providerNetworks, 'edge', { routedByNodes: true }));
    await kube.create(providerNetworks, object(providerNetworks, 'net1', { defaultInterface: 'eth1' }));
    const patch = (name: string, spec: object) => kube.patch(providerNetworks, { name }, 'merge', { spec });
    await patch('net1', { defaultInterface: 'eth2', routedByNodes: false });
    await patch('edge', { excludeNodes: ['n1'] });
    const fixed = /routedByNodes is fixed/;
    await assert.rejects(patch('net1', { defaultInterface: null, routedByNodes: true }), fixed);
    await assert.rejects(patch('edge', { defaultInterface: 'eth1', routedByNodes: null }), fixed);
  });
});

describe('Subnet', () => {
  const accepted: Record<string, object> = {
    'one IPv4 CIDR': { cidrBlock: '10.66.0.0/16' },
    'host bits, which the controller clears': { cidrBlock: '10.66.1.7/16' },
    'the smallest ranges': { cidrBlock: '10.66.0.0/30,fd00:66::/126' },
    'both families': { cidrBlock: '10.66.0.0/16,fd00:10:66::/112', gateway: '10.66.0.1,fd00:10:66::1', mtu: 1400 },
    'an IPv6 CIDR without shortening': { cidrBlock: 'fd00:0:0:0:0:0:0:0/64' },
    'a manifest with all fields of Kube-OVN users': {
      protocol: 'IPv4',
      default: false,
      vpc: 'ovn-cluster',
      namespaces: ['ns1', 'ns2'],
      namespaceSelectors: [{ matchLabels: { a: 'b' } }],
      cidrBlock: '10.66.0.0/16',
      gateway: '10.66.0.1',
      excludeIps: ['10.66.0.1', '10.66.0.101..10.66.0.151'],
      provider: 'ovn',
      gatewayType: 'centralized',
      gatewayNode: 'node1,node2:192.0.2.1',
      natOutgoing: true,
      private: true,
      allowSubnets: ['10.16.0.0/16', '10.18.0.0/16'],
      enableEcmp: true,
      enableLb: true,
      logicalGateway: false,
      u2oInterconnection: false,
      enableDHCP: true,
      dhcpV4Options: 'lease_time=3600,router=10.66.0.1,server_id=169.254.0.254',
      acls: [{ direction: 'to-lport', priority: 1001, match: 'ip4.dst == 10.66.0.0/16', action: 'allow-related' }],
      natOutgoingPolicyRules: [
        { action: 'forward', match: { srcIPs: '10.66.0.0/30,10.66.0.254', dstIPs: '192.0.2.0/24' } },
      ],
      vips: ['10.66.0.9'],
      mtu: 0,
      gatewayNodeSelectors: [{ matchExpressions: [{ key: 'x', operator: 'Exists' }] }],
      u2oFeatures: { overlayOnlyRouting: false },
    },
    'an egress gateway with its rule and table': {
      cidrBlock: '10.66.0.0/16',
      externalEgressGateway: '192.0.2.1',
      policyRoutingPriority: 1001,
      policyRoutingTableID: 1001,
    },
    'NAT rules of either family, with and without match': {
      cidrBlock: '10.66.0.0/16,fd00:66::/64',
      natOutgoingPolicyRules: [
        { match: { srcIPs: 'fd00:66::/96', dstIPs: 'fd01::1, fd02::/64,fd03::' }, action: 'nat' },
        { match: { srcIPs: '', dstIPs: '192.0.2.0/24, 198.51.100.1' }, action: 'nat' },
        { action: 'forward' },
      ],
    },
    'an underlay subnet with only a vlan': { vlan: 'vlan1', provider: 'p' },
    'empty strings of a serialised Go struct': { cidrBlock: '10.66.0.0/16', gateway: '', gatewayType: '', vlan: '' },
  };
  for (const [what, spec] of Object.entries(accepted))
    test(`accepts ${what}`, async () => assert.equal(await tryCreate(subnets, 'sub', spec), 'accepted'));

  const egress = { cidrBlock: '10.66.0.0/16', policyRoutingPriority: 1000, policyRoutingTableID: 1000 };

  const refused: readonly [what: string, spec: object | undefined, message: RegExp][] = [
    ['no spec', undefined, /spec is needed, with a cidrBlock/],
    ['no CIDR', {}, /cidrBlock is needed/],
    ['an address without prefix', { cidrBlock: '10.66.0.0' }, /cidrBlock must be an IPv4 CIDR, an IPv6 CIDR/],
    ['an octet above 255', { cidrBlock: '10.66.0.256/16' }, /cidrBlock must be an IPv4 CIDR/],
    ['an octet with a leading zero', { cidrBlock: '10.066.0.0/16' }, /cidrBlock must be an IPv4 CIDR/],
    ['three octets', { cidrBlock: '10.66.0/16' }, /cidrBlock must be an IPv4 CIDR/],
    ['a prefix above 32', { cidrBlock: '10.66.0.0/33' }, /cidrBlock must be an IPv4 CIDR/],
    ['a trailing comma', { cidrBlock: '10.66.0.0/16,' }, /cidrBlock must be an IPv4 CIDR/],
    ['two double colons', { cidrBlock: 'fd00::1::/64' }, /cidrBlock must be an IPv4 CIDR/],
    ['upper case', { cidrBlock: 'FD00::/64' }, /cidrBlock must be an IPv4 CIDR, an IPv6 CIDR \(lower case\)/],
    ['two IPv4 CIDRs', { cidrBlock: '10.66.0.0/16,10.67.0.0/16' }, /at most one IPv4 and one IPv6 CIDR/],
    ['two IPv6 CIDRs', { cidrBlock: 'fd00:1::/64,fd00:2::/64' }, /at most one IPv4 and one IPv6 CIDR/],
    ['a /31', { cidrBlock: '10.66.0.0/31' }, /too small: the prefix may be at most \/30/],
    ['a /32', { cidrBlock: '10.66.0.1/32' }, /too small/],
    ['a /128', { cidrBlock: 'fd00::1/128' }, /too small/],
    ['loopback', { cidrBlock: '127.1.0.0/16' }, /loopback, link-local, multicast or unspecified/],
    ['multicast', { cidrBlock: '239.0.0.0/16' }, /loopback, link-local, multicast/],
    ['IPv6 link-local', { cidrBlock: 'fe80::/64' }, /loopback, link-local, multicast/],
    ['0.0.0.0/0', { cidrBlock: '0.0.0.0/0' }, /unspecified/],
    ['a malformed gateway', { cidrBlock: '10.66.0.0/16', gateway: '10.66.0' }, /gateway must be an IPv4 address/],
    ['a gateway of the other family', { cidrBlock: '10.66.0.0/16', gateway: 'fd00::1' }, /gateway has an address of a/],
    [
      'a malformed excludeIps',
      { cidrBlock: '10.66.0.0/16', excludeIps: ['10.66.0.5-9'] },
      /spec.excludeIps\[0\].*ranges/,
    ],
    [
      'an open range',
      { cidrBlock: '10.66.0.0/16', excludeIps: ['10.66.0.5..'] },
      /excludeIps takes addresses and ranges/,
    ],
    ['an unknown gatewayType', { cidrBlock: '10.66.0.0/16', gatewayType: 'local' }, /gatewayType.*"distributed"/],
    ['an unknown protocol', { cidrBlock: '10.66.0.0/16', protocol: 'ipv4' }, /protocol.*Unsupported value/],
    ['an MTU too small for IPv6', { cidrBlock: 'fd00::/64', mtu: 1200 }, /mtu must be at least 1280/],
    [
      'egress gateway with NAT',
      { cidrBlock: '10.66.0.0/16', natOutgoing: true, externalEgressGateway: '192.0.2.1' },
      /externalEgressGateway and natOutgoing exclude each other/,
    ],
    [
      'an egress gateway without a table',
      { cidrBlock: '10.66.0.0/16', externalEgressGateway: '192.0.2.1', policyRoutingPriority: 1000 },
      /externalEgressGateway needs policyRoutingPriority and policyRoutingTableID above 0/,
    ],
    [
      'an egress gateway with a routing table of the node',
      { ...egress, externalEgressGateway: '192.0.2.1', policyRoutingTableID: 254 },
      /policyRoutingTableID must not be 253, 254 or 255/,
    ],
    [
      'an egress gateway of the other family',
      { ...egress, externalEgressGateway: '192.0.2.1,fd00::1' },
      /externalEgressGateway has an address of a family that cidrBlock does not have/,
    ],
    ['a malformed vip', { cidrBlock: '10.66.0.0/16', vips: ['10.66.0'] }, /vips must be an IP address/],
    [
      'a NAT rule of two families',
      {
        cidrBlock: '10.66.0.0/16',
        natOutgoingPolicyRules: [{ match: { srcIPs: '10.66.0.0/24', dstIPs: 'fd00::/64' } }],
      },
      /must be of one family/,
    ],
    ...['10.66.0.300', '10.66.0.0/24 192.0.2.1', '10.66.0.0/24,', 'FD00::1', '10.66.0', '10.66.0.0/', ','].flatMap(
      (list) =>
        (['srcIPs', 'dstIPs'] as const).map((field): [string, object, RegExp] => [
          `"${list}" as ${field} of a NAT rule`,
          { cidrBlock: '10.66.0.0/16', natOutgoingPolicyRules: [{ match: { [field]: list } }] },
          new RegExp(
            `^(?!.*25\\[0-5).*${field} must be CIDRs or IP addresses \\(IPv6 in lower case\\) separated by commas`,
            's',
          ),
        ]),
    ),
    [
      'an unknown action of a NAT rule',
      { cidrBlock: '10.66.0.0/16', natOutgoingPolicyRules: [{ action: 'snat' }] },
      /action.*"nat", "forward"/,
    ],
    ['a field that does not exist', { cidrBlock: '10.66.0.0/16', cidr: 'x' }, /unknown field "spec.cidr"/],
    ['the name of its VPC', { cidrBlock: '10.66.0.0/16', vpc: 'sub' }, /must not have the name of its vpc/],
  ];
  for (const [what, spec, message] of refused)
    test(`refuses ${what}`, async () => assert.match(await tryCreate(subnets, 'sub', spec), message));

  test('vpc is fixed once set, but may be defaulted', async () => {
    await kube.create(subnets, object(subnets, 'fixed', { cidrBlock: '10.70.0.0/16' }));
    const patch = (spec: object) => kube.patch(subnets, { name: 'fixed' }, 'merge', { spec });
    await patch({ vpc: 'ovn-cluster', gateway: '10.70.0.1' });
    await patch({ vpc: null });
    await assert.rejects(patch({ vpc: 'other' }), /vpc is fixed once set/);
    await kube.delete(subnets, { name: 'fixed' });
  });

  test('provider is fixed once set, unless its value is not served', async () => {
    const patch = (provider: string | null) =>
      kube.patch(subnets, { name: 'fixed' }, 'merge', { spec: { provider, gateway: '10.70.0.1' } });
    await kube.create(subnets, object(subnets, 'fixed', { cidrBlock: '10.70.0.0/16' }));
    for (const provider of ['ovn', null, '']) await patch(provider);
    for (const provider of ['nonsense', 'net.default.ovn'])
      await assert.rejects(patch(provider), /provider is fixed once set/);
    await kube.delete(subnets, { name: 'fixed' });
    await kube.create(subnets, object(subnets, 'fixed', { cidrBlock: '10.70.0.0/16', provider: 'nonsense' }));
    await patch('net.default.ovn');
    await assert.rejects(patch('ovn'), /provider is fixed once set/);
    await kube.delete(subnets, { name: 'fixed' });
  });

  test('status is written through the subresource only, conditions are a map by type', async () => {
    await kube.create(subnets, object(subnets, 'status', { cidrBlock: '10.71.0.0/16' }));
    const apply = (manager: string, type: string) =>
      kube.patch(
        subnets,
        { name: 'status' },
        'apply',
        { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', status: { conditions: [{ type, status: 'True' }] } },
        { subresource: 'status', fieldManager: manager },
      );
    await apply('one', 'Ready');
    const { status } = await apply('two', 'Validated');
    assert.deepEqual(status, {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Validated', status: 'True' },
      ],
    });
    await kube.delete(subnets, { name: 'status' });
  });
});

test('a Vpc of Kube-OVN users is accepted, and a reroute without a next hop is refused', async () => {
  const spec = {
    namespaces: ['ns1'],
    enableExternal: true,
    staticRoutes: [
      { cidr: '0.0.0.0/0', nextHopIP: '10.0.1.254', policy: 'policyDst' },
      { cidr: '172.31.0.7', nextHopIP: '10.0.1.253', policy: 'policySrc', routeTable: 't' },
    ],
    policyRoutes: [{ priority: 10, match: 'ip4.src==10.0.1.0/24', action: 'reroute', nextHopIP: '10.0.1.252' }],
    vpcPeerings: [{ remoteVpc: 'b', localConnectIP: '169.254.0.1/30' }],
  };
  assert.equal(await tryCreate(vpcs, 'a', spec), 'accepted');
  const lost = { policyRoutes: [{ priority: 10, match: 'ip4', action: 'reroute' }] };
  assert.match(await tryCreate(vpcs, 'a', lost), /action reroute needs nextHopIP/);
  const bad = { staticRoutes: [{ cidr: '10.0.0.0/99', nextHopIP: '10.0.1.254' }] };
  assert.match(await tryCreate(vpcs, 'a', bad), /must be a CIDR or an IP address/);
});

test('localConnectIP of a peering must have a prefix length', async () => {
  const link = (localConnectIP: string): Promise<string> =>
    tryCreate(vpcs, 'a', { vpcPeerings: [{ remoteVpc: 'b', localConnectIP }] });
  for (const right of ['', '169.254.0.1/30', '169.254.0.1/30,fd00::1/126', 'fd00::1/126, 169.254.0.1/30'])
    assert.equal(await link(right), 'accepted', right);
  const message = /localConnectIP must be an address with its prefix length such as 169\.254\.0\.1\/30/;
  for (const wrong of [
    '169.254.0.1',
    '169.254.0.1/30,',
    '169.254.0.1/30 fd00::1/126',
    ',',
    '1.2.3.4/30,1.2.3.5/30,::1/9',
  ]) {
    const answer = await link(wrong);
    assert.match(answer, message, wrong);
    assert.doesNotMatch(answer, /25\[0-5/, 'no regular expression');
  }
});

describe('Interconnect', () => {
  const spec = { clusterName: 'east', hub: '192.0.2.1:6650', tokenSecretRef: { name: 'token' } };

  test('is named default and names a hub', async () => {
    assert.equal(await tryCreate(interconnects, 'default', spec), 'accepted');
    assert.match(await tryCreate(interconnects, 'second', spec), /one Interconnect, named default/);
    assert.match(await tryCreate(interconnects, 'default', { ...spec, hub: 'hub' }), /hub must be host:port/);
    assert.match(await tryCreate(interconnects, 'default', { ...spec, clusterName: 'East' }), /spec.clusterName/);
    assert.match(await tryCreate(interconnects, 'default', undefined), /spec: Required value/);
  });

  test('has a default gatewayNodeSelector, and may be renamed', async () => {
    const created = await kube.create(interconnects, object(interconnects, 'default', spec));
    const { gatewayNodeSelector } = created['spec'] as Record<string, unknown>;
    assert.deepEqual(gatewayNodeSelector, { matchLabels: { 'ovn.kubernetes.io/ic-gw': 'true' } });
    const rename = (clusterName: string) =>
      kube.patch(interconnects, { name: 'default' }, 'merge', { spec: { clusterName } });
    const status = { conditions: [{ type: 'Joined', status: 'True' }] };
    await kube.patch(interconnects, { name: 'default' }, 'merge', { status }, { subresource: 'status' });
    const renamed = (await rename('west'))['spec'] as Record<string, unknown>;
    assert.equal(renamed['clusterName'], 'west');
    await kube.delete(interconnects, { name: 'default' });
  });
});

test('a BgpPeer needs an address and a keepalive below the hold time', async () => {
  const spec = { instance: 'default', address: '192.0.2.1', asn: 65000 };
  assert.equal(await tryCreate(bgpPeers, 'tor', spec), 'accepted');
  assert.match(await tryCreate(bgpPeers, 'tor', { ...spec, address: 'tor' }), /address must be an IP address/);
  assert.match(await tryCreate(bgpPeers, 'tor', { ...spec, holdTimeSeconds: 9 }), /keepaliveSeconds must be below/);
  assert.match(await tryCreate(bgpPeers, 'tor', { ...spec, asn: 0 }), /spec.asn/);
});

test('a BgpPeer with import takes 10,000 prefixes at most', async () => {
  const spec = { instance: 'default', address: '192.0.2.1', asn: 65000 };
  const many = { ...spec, maximumPrefixes: { limit: 10_001 } };
  assert.equal(await tryCreate(bgpPeers, 'tor', many), 'accepted');
  assert.match(await tryCreate(bgpPeers, 'tor', { ...many, import: {} }), /limit may be 10000 at most/);
  assert.equal(
    await tryCreate(bgpPeers, 'tor', { ...many, maximumPrefixes: { limit: 10_000 }, import: {} }),
    'accepted',
  );
});

describe('values that no router accepts are refused by the API', () => {
  const no4 = ['127.0.0.1', '224.0.0.1', '0.0.0.0', '0.1.2.3', '240.0.0.1', '255.255.255.255'];
  const no6 = ['::', '0::0', '::1', '0:0:0:0:0:0:0:1', 'ff02::1', 'fe80::1', 'febf::1', '::ffff:7f00:1', '::a00:1'];
  const peer = { instance: 'rack', address: '10.0.0.254', asn: 65001 };
  const advertisement = (attributes: object) => tryCreate(bgpAdvertisements, 'a', { source: 'Subnet', attributes });
  const policy = (rule: object) =>
    tryCreate(routePolicies, 'p', { direction: 'Export', bgpPeers: ['tor'], rules: [rule] });
  const both = async (attributes: object) => {
    const answers = [await advertisement(attributes), await policy({ setBgp: attributes })];
    assert.equal(answers.filter((each) => each === 'accepted').length % 2, 0, answers.join('; '));
    return answers.join('; ');
  };

  test('next hops', async () => {
    for (const ipv4 of no4) assert.match(await both({ nextHop: { ipv4 } }), /nextHop.ipv4 must be an address that a/);
    for (const ipv6 of no6) assert.match(await both({ nextHop: { ipv6 } }), /nextHop.ipv6 must be an address that a/);
    assert.match(await both({ nextHop: { ipv4: 'fd00::1' } }), /nextHop.ipv4 must be an IPv4 address/);
    assert.match(await both({ nextHop: { ipv6: '10.0.0.1' } }), /nextHop.ipv6 must be an IPv6 address/);
    assert.match(await both({ nextHop: { ipv6: '::ffff:127.0.0.1' } }), /nextHop.ipv6 must be an IPv6 address/);
    const good = ['fd00::1', 'fe8::1', '1::', '2001:db8:0:0:0:0:0:1', '::1:0:0:1', 'fd00:0:0::ffff:1:2', '64:ff9b::1'];
    for (const ipv6 of good)
      assert.equal(await both({ nextHop: { ipv4: '10.0.0.1', ipv6 } }), 'accepted; accepted', ipv6);
    assert.equal(await both({ nextHop: { ipv4: '169.254.1.1' } }), 'accepted; accepted');
  });

  test('communities', async () => {
    const of = (communities: object) => both({ communities });
    assert.match(await of({ standard: ['65536:1'] }), /a standard community is asn:value, each up to 65535/);
    assert.match(await of({ standard: ['1:99999'] }), /a standard community is asn:value, each up to 65535/);
    assert.match(await of({ standard: ['65535:6'] }), /LLGR_STALE/);
    assert.match(await of({ large: ['1:1:4294967296'] }), /a large community is asn:value:value/);
    assert.match(await of({ large: ['4294967295:1:1'] }), /reserved: no network may have that AS/);
    assert.match(await of({ extended: ['rt:65001:1'] }), /extended communities are not sent; give large ones/);
    const good = { standard: ['0:65101', '65535:666'], large: ['0:0:0', '4294967294:4294967295:0'] };
    assert.equal(await of({ ...good, wellKnown: ['no-export'] }), 'accepted; accepted');
    const match = (community: string) =>
      tryCreate(routePolicies, 'p', {
        direction: 'Import',
        bgpPeers: ['tor'],
        rules: [{ match: { communities: [community] } }],
      });
    assert.match(await match('65001:65536'), /a community is asn:value, each up to 65535/);
    assert.match(await match('1:1:1:1'), /communities/);
    for (const community of ['65001:7', '65001:4294967295:7'])
      assert.equal(await match(community), 'accepted', community);
  });

  test('preferences, prepends and AS numbers', async () => {
    for (const bad of [{ localPreference: 0 }, { localPreference: 4294967296 }, { med: -1 }, { med: 4294967296 }])
      assert.match(await both(bad), /localPreference|med/);
    for (const asPathPrepend of [0, 11]) assert.match(await both({ asPathPrepend }), /asPathPrepend/);
    for (const asn of [0, 23456, 65535, 4294967295, 4294967296]) {
      assert.notEqual(await tryCreate(bgpPeers, 'tor', { ...peer, asn }), 'accepted');
      assert.notEqual(await tryCreate(bgpPeers, 'tor', { ...peer, localASN: asn }), 'accepted');
      assert.notEqual(await tryCreate(bgpInstances, 'rack', { localASN: asn }), 'accepted');
    }
    assert.match(await tryCreate(bgpPeers, 'tor', { ...peer, asn: 23456 }), /are reserved, and no router may have/);
    for (const asn of [1, 64512, 65536, 4200000000])
      assert.equal(await tryCreate(bgpPeers, 'tor', { ...peer, asn }), 'accepted');
  });

  test('addresses of neighbours and own addresses', async () => {
    for (const address of [...no4, ...no6]) {
      assert.match(await tryCreate(bgpPeers, 'tor', { ...peer, address }), /address must be an address that a router/);
      const neighbor = address.includes(':') ? 'fd00::fe' : '10.0.0.254';
      const spec = { ...peer, address: neighbor, sourceAddress: address };
      assert.match(await tryCreate(bgpPeers, 'tor', spec), /sourceAddress must be an address that a router/);
    }
    assert.match(
      await tryCreate(bgpInstances, 'rack', { localASN: 1, ownedPrefixes: ['10.0.0.0'] }),
      /ownedPrefixes are/,
    );
    assert.equal(await tryCreate(bgpInstances, 'rack', { localASN: 1, ownedPrefixes: ['10.0.0.0/8'] }), 'accepted');
  });
});
