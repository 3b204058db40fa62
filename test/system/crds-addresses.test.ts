/** The CRDs of IP, IPPool, Vip, SwitchLBRule, SecurityGroup, VpcNatGateway, QoSPolicy, RouterLBRule and of addresses outside on a real API server, like in crds.test.ts. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ipPools,
  ips,
  iptablesDnats,
  iptablesEips,
  iptablesFips,
  iptablesSnats,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  qosPolicies,
  routerLbRules,
  securityGroups,
  switchLbRules,
  vips,
  vpcNatGateways,
} from '../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import { object, openCrdBed, type CrdBed } from './crd-bed.ts';

let bed: CrdBed;
let kube: KubeClient;
let tryCreate: CrdBed['tryCreate'];

before(async () => {
  bed = await openCrdBed([
    ipPools,
    ips,
    iptablesDnats,
    iptablesEips,
    iptablesFips,
    iptablesSnats,
    ovnDnatRules,
    ovnEips,
    ovnFips,
    ovnSnatRules,
    qosPolicies,
    routerLbRules,
    securityGroups,
    switchLbRules,
    vips,
    vpcNatGateways,
  ]);
  ({ kube, tryCreate } = bed);
});
after(() => bed.close());

test('an IP of controllers or users is accepted, and an invalid address is refused', async () => {
  const spec = {
    podName: 'web',
    namespace: 'default',
    subnet: 'ovn-default',
    attachSubnets: [],
    nodeName: 'n1',
    ipAddress: '10.16.0.9,fd00:10:16::9',
    v4IpAddress: '10.16.0.9',
    v6IpAddress: 'fd00:10:16::9',
    attachIps: [],
    macAddress: '00:00:00:C7:9A:9E',
    attachMacs: [],
    containerID: '',
    podType: '',
  };
  assert.equal(await tryCreate(ips, 'web.default', spec), 'accepted');
  const empty = { ...spec, ipAddress: '', v4IpAddress: '', v6IpAddress: '', macAddress: '' };
  assert.equal(await tryCreate(ips, 'web.default', empty), 'accepted');
  assert.match(await tryCreate(ips, 'web.default', { ...spec, v4IpAddress: '10.16.0.300' }), /v4IpAddress must be an/);
  assert.match(await tryCreate(ips, 'web.default', { ...spec, v6IpAddress: '10.16.0.9' }), /v6IpAddress must be an/);
  assert.match(await tryCreate(ips, 'web.default', { ...spec, ipAddress: '10.16.0.9/16' }), /ipAddress must be an/);
  assert.match(await tryCreate(ips, 'web.default', { ...spec, macAddress: 'x' }), /macAddress must be a MAC address/);
});

describe('SwitchLBRule', () => {
  const base = { vip: '1.1.1.1', namespace: 'default', selector: ['app:web'], ports: [{ port: 80 }] };

  test('accepts the fields of Kube-OVN, with both families', async () => {
    const spec = {
      vip: '1.1.1.1,fd00:99::1',
      namespace: 'default',
      selector: ['app:web', 'tier: front'],
      endpoints: ['192.168.0.101', 'fd00::9'],
      sessionAffinity: 'ClientIP',
      ports: [{ name: 'dns', port: 8888, targetPort: 80, protocol: 'TCP' }],
    };
    assert.equal(await tryCreate(switchLbRules, 'web', spec), 'accepted');
    assert.equal(await tryCreate(switchLbRules, 'web', base), 'accepted');
  });

  const refused: readonly [what: string, spec: object | undefined, message: RegExp][] = [
    ['no spec', undefined, /spec is needed|spec: Required value/],
    ['no address', { ...base, vip: '' }, /vip takes an address/],
    ['a name as address', { ...base, vip: 'web' }, /vip takes an address/],
    ['no namespace', { ...base, namespace: undefined }, /spec.namespace: Required value/],
    ['no ports', { ...base, ports: [] }, /spec.ports.*at least 1/],
    ['a port that is none', { ...base, ports: [{ port: 0 }] }, /port.*greater than or equal to 1/],
    ['a target by name', { ...base, ports: [{ port: 80, targetPort: 'http' }] }, /targetPort.*integer/],
    ['an unknown protocol', { ...base, ports: [{ port: 80, protocol: 'ICMP' }] }, /protocol: Unsupported value/],
    ['a label without a value', { ...base, selector: ['app'] }, /selector takes labels as `key:value`/],
    ['a name as backend', { ...base, endpoints: ['web'] }, /endpoints takes addresses/],
  ];
  for (const [what, spec, message] of refused)
    test(`refuses ${what}`, async () => assert.match(await tryCreate(switchLbRules, 'bad', spec), message));
});

describe('IPPool', () => {
  const base = { subnet: 'ovn-default', ips: ['10.16.0.10'] };

  test('accepts addresses, ranges and CIDRs of both families', async () => {
    const spec = {
      subnet: 'ovn-default',
      ips: ['10.16.0.10', '10.16.0.20..10.16.0.30', '10.16.1.0/28', 'fd00::a', 'fd00::b..fd00::f', 'fd00::1:0/112'],
      namespaces: ['ns1'],
      enableAddressSet: true,
    };
    assert.equal(await tryCreate(ipPools, 'pool', spec), 'accepted');
  });

  const refused: readonly [what: string, spec: object | undefined, message: RegExp][] = [
    ['no spec', undefined, /spec: Required value/],
    ['no subnet', { ips: base.ips }, /spec.subnet: Required value/],
    ['an empty subnet', { ...base, subnet: '' }, /spec.subnet.*at least 1 char/],
    ['no addresses', { subnet: 'a' }, /spec.ips: Required value/],
    ['an empty list of addresses', { ...base, ips: [] }, /spec.ips.*at least 1 item/],
    ['an open range', { ...base, ips: ['10.16.0.1..'] }, /spec.ips\[0\].*takes addresses, ranges and CIDRs/],
    ['a short range', { ...base, ips: ['10.16.0.1', '10.16.0.5-9'] }, /spec.ips\[1\].*takes addresses, ranges/],
    ['three ends', { ...base, ips: ['10.16.0.1..10.16.0.2..10.16.0.3'] }, /takes addresses, ranges/],
    ['a range of CIDRs', { ...base, ips: ['10.16.0.0/30..10.16.0.8/30'] }, /takes addresses, ranges/],
    ['an octet above 255', { ...base, ips: ['10.16.0.256'] }, /takes addresses, ranges/],
    ['upper case', { ...base, ips: ['FD00::1'] }, /takes addresses, ranges/],
    ['an empty address', { ...base, ips: [''] }, /takes addresses, ranges/],
  ];
  for (const [what, spec, message] of refused)
    test(`refuses ${what}`, async () => assert.match(await tryCreate(ipPools, 'pool', spec), message));

  test('has a fixed subnet and editable addresses', async () => {
    await kube.create(ipPools, object(ipPools, 'fixed', base));
    const patch = (spec: object) => kube.patch(ipPools, { name: 'fixed' }, 'merge', { spec });
    await patch({ ips: ['10.16.0.11'], namespaces: ['ns1'] });
    await assert.rejects(patch({ subnet: 'other' }), /subnet is fixed; delete the pool/);
    const status = { v4AvailableIPs: 1, v4UsingIPRange: '' };
    await kube.patch(ipPools, { name: 'fixed' }, 'merge', { status }, { subresource: 'status' });
    await kube.delete(ipPools, { name: 'fixed' });
  });
});

describe('Vip', () => {
  test('accepts the specs of Kube-OVN users', async () => {
    assert.equal(await tryCreate(vips, 'vip', { subnet: 'ovn-default' }), 'accepted');
    const whole = {
      namespace: 'default',
      subnet: 'ovn-default',
      type: 'switch_lb_vip',
      v4ip: '10.16.0.9',
      v6ip: 'fd00::9',
      macAddress: '00:00:00:C7:9A:9e',
      selector: ['app:web', 'tier: front'],
      attachSubnets: ['other'],
    };
    assert.equal(await tryCreate(vips, 'vip', whole), 'accepted');
    const empty = { namespace: '', subnet: 'ovn-default', type: '', v4ip: '', v6ip: '', macAddress: '' };
    assert.equal(await tryCreate(vips, 'vip', empty), 'accepted');
  });

  const refused: readonly [what: string, spec: object | undefined, message: RegExp][] = [
    ['no spec', undefined, /spec is needed, with a subnet/],
    ['no subnet', {}, /subnet is needed: the address of a vip/],
    ['an unknown type', { subnet: 'a', type: 'lb' }, /spec.type.*"switch_lb_vip"/],
    ['an IPv6 address as v4ip', { subnet: 'a', v4ip: 'fd00::1' }, /v4ip must be an IPv4 address/],
    ['an IPv4 address as v6ip', { subnet: 'a', v6ip: '10.16.0.9' }, /v6ip must be an IPv6 address/],
    ['a MAC address with dashes', { subnet: 'a', macAddress: '00-00-00-c7-9a-9e' }, /macAddress must be a MAC/],
    [
      'a selector with =',
      { subnet: 'a', selector: ['app=web'] },
      /spec.selector\[0\].*selector takes labels as `key:value`/,
    ],
  ];
  for (const [what, spec, message] of refused)
    test(`refuses ${what}`, async () => assert.match(await tryCreate(vips, 'vip', spec), message));

  test('has fixed addresses once they are assigned, which may be omitted', async () => {
    await kube.create(vips, object(vips, 'fixed', { subnet: 'a' }));
    const patch = (body: object) => kube.patch(vips, { name: 'fixed' }, 'merge', body);
    await patch({ spec: { v4ip: '10.16.0.8' } });
    await patch({ spec: { v4ip: '10.16.0.9' } });
    // The kind has no status subresource: a plain patch writes it.
    const { status } = await patch({ status: { v4ip: '10.16.0.9', v6ip: '', mac: '00:00:00:00:00:09' } });
    assert.deepEqual(status, { v4ip: '10.16.0.9', v6ip: '', mac: '00:00:00:00:00:09' });
    await assert.rejects(patch({ spec: { v4ip: '10.16.0.8' } }), /v4ip is fixed once assigned/);
    await assert.rejects(patch({ spec: { macAddress: '00:00:00:00:00:08' } }), /macAddress is fixed once assigned/);
    await patch({ spec: { v4ip: null } });
    await patch({ spec: { v4ip: '10.16.0.9', macAddress: '00:00:00:00:00:09', v6ip: 'fd00::9' } });
    await assert.rejects(patch({ spec: { subnet: 'b' } }), /subnet is fixed once set/);
    await assert.rejects(patch({ spec: { subnet: null } }), /subnet is needed/);
    await patch({ metadata: { labels: { a: 'b' } } });
    await kube.delete(vips, { name: 'fixed' });
  });
});

describe('addresses outside', () => {
  const port = { externalPort: '80', internalPort: '8080', protocol: 'tcp' };

  test('are accepted as Kube-OVN users write them', async () => {
    const accepted: readonly [Resource, object][] = [
      [ovnEips, {}],
      [ovnEips, { externalSubnet: 'external', type: 'nat', v4Ip: '203.0.113.9', v6Ip: '', macAddress: '' }],
      [ovnEips, { externalSubnet: 'external', type: 'lsp' }],
      [ovnFips, { ovnEip: 'web', ipName: 'web.default' }],
      [ovnFips, { ovnEip: 'web', ipType: 'vip', ipName: 'web', type: 'centralized' }],
      [ovnFips, { ovnEip: 'web', vpc: 'blue', v4Ip: '10.90.0.2', type: 'distributed' }],
      [ovnSnatRules, { ovnEip: 'out', vpcSubnet: 'inner' }],
      [ovnSnatRules, { ovnEip: 'out', ipName: 'web.default', vpc: '' }],
      [ovnSnatRules, { ovnEip: 'out', vpc: 'blue', v4IpCidr: '10.90.0.0/24', v6IpCidr: 'fd00::/64' }],
      [ovnDnatRules, { ovnEip: 'web', ipName: 'web.default', ...port }],
      [
        ovnDnatRules,
        { ovnEip: 'web', vpc: 'blue', v4Ip: '10.90.0.2', ...port, externalPort: '65535', protocol: 'UDP' },
      ],
    ];
    for (const [resource, spec] of accepted) assert.equal(await tryCreate(resource, 'one', spec), 'accepted');
  });

  const refused: readonly [what: string, resource: Resource, spec: object, message: RegExp][] = [
    ['an unknown type of OvnEip', ovnEips, { type: 'fip' }, /spec.type.*"nat"/],
    ['an IPv6 address as v4Ip', ovnEips, { v4Ip: 'fd00::1' }, /v4Ip must be an IPv4 address/],
    ['an OvnFip without an OvnEip', ovnFips, { ipName: 'web.default' }, /spec.ovnEip: Required/],
    ['an OvnFip with nothing inside', ovnFips, { ovnEip: 'web', v4Ip: '10.90.0.2' }, /ipName is needed, or vpc with/],
    ['an OvnSnatRule without a source', ovnSnatRules, { ovnEip: 'out', vpc: 'blue' }, /vpcSubnet or ipName is needed/],
    ['a CIDR that is none', ovnSnatRules, { ovnEip: 'a', vpc: 'b', v4IpCidr: '10.0.0.0/33' }, /must be an IPv4 CIDR/],
    ['port 0', ovnDnatRules, { ovnEip: 'a', ipName: 'b', ...port, externalPort: '0' }, /externalPort must be a port/],
    ['port 65536', ovnDnatRules, { ovnEip: 'a', ipName: 'b', ...port, internalPort: '65536' }, /must be a port/],
    ['a protocol without ports', ovnDnatRules, { ovnEip: 'a', ipName: 'b', ...port, protocol: 'icmp' }, /"tcp"/],
  ];
  for (const [what, resource, spec, message] of refused)
    test(`refuses ${what}`, async () => assert.match(await tryCreate(resource, 'bad', spec), message));

  test('are fixed once they are ready', async () => {
    await kube.create(ovnFips, object(ovnFips, 'fixed', { ovnEip: 'a', ipName: 'web.default' }));
    const patch = (body: object) => kube.patch(ovnFips, { name: 'fixed' }, 'merge', body);
    await patch({ spec: { ovnEip: 'b' } });
    const status = { ready: true, v4Eip: '203.0.113.9' };
    await kube.patch(ovnFips, { name: 'fixed' }, 'merge', { status }, { subresource: 'status' });
    await assert.rejects(patch({ spec: { ovnEip: 'c' } }), /the spec of an OvnFip is fixed once it is ready/);
    await patch({ spec: { ovnEip: 'b' }, metadata: { labels: { a: 'b' } } });
    await kube.delete(ovnFips, { name: 'fixed' });
  });
});

describe('a VpcNatGateway and its addresses', () => {
  const web = { eip: 'a', externalPort: '80', internalPort: '8080', internalIp: '10.90.0.2', protocol: 'tcp' };
  const limit = { name: 'in', rateMax: '1', burstMax: '1', priority: 1, direction: 'ingress' };
  const limitedBy = (change: object): readonly [Resource, object] => [
    qosPolicies,
    { bindingType: 'EIP', bandwidthLimitRules: [{ ...limit, ...change }] },
  ];

  test('accept the specs of Kube-OVN users', async () => {
    const accepted: readonly [Resource, object][] = [
      [vpcNatGateways, { vpc: 'blue', subnet: 'inner', lanIp: '10.90.0.254', externalSubnets: ['external'] }],
      [
        vpcNatGateways,
        {
          vpc: 'blue',
          subnet: 'inner',
          namespace: 'kube-system',
          lanIp: '10.90.0.254',
          selector: ['kubernetes.io/hostname: n1', 'kubernetes.io/os: linux'],
          tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 5 }],
          affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
          qosPolicy: 'slow',
          noDefaultEIP: true,
          routes: [{ cidr: '10.0.0.0/8', nextHopIP: 'gateway' }],
          replicas: 2,
          internalSubnets: ['inner'],
          internalCIDRs: ['10.90.0.0/24'],
          annotations: { a: 'b' },
          bgpSpeaker: {
            enabled: true,
            asn: 65000,
            remoteAsn: 65001,
            neighbors: ['192.0.2.1'],
            holdTime: '90s',
            extraArgs: ['-v'],
          },
          bfd: { enabled: true, minRX: 1000, minTX: 1000, multiplier: 3 },
        },
      ],
      [iptablesEips, { natGwDp: 'gw' }],
      [
        iptablesEips,
        { natGwDp: 'gw', v4ip: '203.0.113.9', v6ip: '', macAddress: '', externalSubnet: '', qosPolicy: '' },
      ],
      [iptablesFips, { eip: 'a', internalIp: '10.90.0.2' }],
      [iptablesSnats, { eip: 'a', internalCIDR: '10.90.0.0/24' }],
      [iptablesSnats, { eip: 'a', internalCIDR: '10.90.0.2' }],
      [iptablesDnats, web],
      [iptablesDnats, { ...web, protocol: 'UDP', type: 'share' }],
      [
        qosPolicies,
        {
          bindingType: 'EIP',
          shared: false,
          bandwidthLimitRules: [limit, { ...limit, name: 'out', direction: 'egress' }],
        },
      ],
      [
        qosPolicies,
        {
          bindingType: 'NATGW',
          shared: true,
          bandwidthLimitRules: [
            { ...limit, interface: 'net1', burstMax: '0.5', matchType: 'ip', matchValue: 'src 172.18.11.22/32' },
          ],
        },
      ],
      [qosPolicies, { bindingType: 'EIP' }],
      [
        routerLbRules,
        { ovnEip: 'a', vpc: 'blue', selector: ['app:web'], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] },
      ],
      [
        routerLbRules,
        {
          ovnEip: 'a',
          vpc: 'blue',
          namespace: 'x',
          endpoints: ['10.90.0.2'],
          sessionAffinity: 'ClientIP',
          ports: [{ port: 80 }],
        },
      ],
    ];
    for (const [resource, spec] of accepted) assert.equal(await tryCreate(resource, 'one', spec), 'accepted');
  });

  const refused: readonly [what: string, resource: Resource, spec: object, message: RegExp][] = [
    ['a lanIp that is none', vpcNatGateways, { vpc: 'blue', lanIp: '10.90.0' }, /lanIp must be an IP address/],
    ['an IPv6 address as v4ip', iptablesEips, { natGwDp: 'gw', v4ip: 'fd00::1' }, /v4ip must be an IPv4 address/],
    ['an IPv6 address inside', iptablesFips, { eip: 'a', internalIp: 'fd00::1' }, /internalIp must be an IPv4/],
    ['a rule without an address outside', iptablesFips, { internalIp: '10.90.0.2' }, /spec.eip: Required/],
    [
      'a CIDR that is none',
      iptablesSnats,
      { eip: 'a', internalCIDR: '10.0.0.0/33' },
      /internalCIDR must be an IPv4 CIDR/,
    ],
    ['port 0', iptablesDnats, { ...web, externalPort: '0' }, /externalPort must be a port/],
    ['an unknown type', iptablesDnats, { ...web, type: 'both' }, /"exclusive", "share"/],
    ['a rate of 0', ...limitedBy({ rateMax: '0.0' }), /rateMax must be a number of Mbit\/s above 0/],
    ['a burst with a unit', ...limitedBy({ burstMax: '10MB' }), /burstMax must be a number of MB above 0/],
    ['a priority beyond those of OVN', ...limitedBy({ priority: 32_768 }), /less than or equal to 16383/],
    ['an interface inside', ...limitedBy({ interface: 'eth0' }), /interface must be that to the network outside/],
    [
      'a network without a side',
      ...limitedBy({ matchType: 'ip', matchValue: '192.0.2.0/24' }),
      /must be `src` or `dst`/,
    ],
    ['a match of OVN', ...limitedBy({ matchType: 'ip', matchValue: 'src 0.0.0.0/0 || 1' }), /must be `src` or `dst`/],
    ['a match without its type', ...limitedBy({ matchValue: 'src 192.0.2.0/24' }), /belong together/],
    [
      'two limits of one name',
      qosPolicies,
      { bindingType: 'EIP', bandwidthLimitRules: [limit, limit] },
      /Duplicate value/,
    ],
    ['a RouterLBRule without a Vpc', routerLbRules, { ovnEip: 'a', ports: [{ port: 80 }] }, /spec.vpc: Required/],
    ['a RouterLBRule without ports', routerLbRules, { ovnEip: 'a', vpc: 'blue', ports: [] }, /spec.ports/],
    ['an unknown binding', qosPolicies, { bindingType: 'POD' }, /"EIP", "NATGW"/],
  ];
  for (const [what, resource, spec, message] of refused)
    test(`refuse ${what}`, async () => assert.match(await tryCreate(resource, 'bad', spec), message));

  test('keep what Kube-OVN does not let change', async () => {
    await kube.create(iptablesEips, object(iptablesEips, 'kept', { natGwDp: 'gw' }));
    const patch = (resource: Resource, spec: object) => kube.patch(resource, { name: 'kept' }, 'merge', { spec });
    await patch(iptablesEips, { v4ip: '203.0.113.9' });
    await kube.patch(iptablesEips, { name: 'kept' }, 'merge', { status: { ready: true } }, { subresource: 'status' });
    await assert.rejects(patch(iptablesEips, { natGwDp: 'other' }), /natGwDp of an IptablesEIP is fixed/);
    await assert.rejects(patch(iptablesEips, { v4ip: '203.0.113.8' }), /v4ip of an IptablesEIP is fixed/);
    await patch(iptablesEips, { qosPolicy: 'slow' });
    await kube.create(iptablesDnats, object(iptablesDnats, 'kept', web));
    await patch(iptablesDnats, { type: 'exclusive', internalPort: '8081' });
    await assert.rejects(patch(iptablesDnats, { type: 'share' }), /type of an IptablesDnatRule is fixed/);
    await kube.create(vpcNatGateways, object(vpcNatGateways, 'kept', { vpc: 'blue' }));
    await patch(vpcNatGateways, { externalSubnets: ['external'] });
    await assert.rejects(patch(vpcNatGateways, { vpc: 'green' }), /vpc of a VpcNatGateway is fixed/);
    await kube.create(qosPolicies, object(qosPolicies, 'kept', { bindingType: 'EIP', bandwidthLimitRules: [limit] }));
    await patch(qosPolicies, { bandwidthLimitRules: [{ ...limit, rateMax: '20' }] });
    await assert.rejects(patch(qosPolicies, { shared: true }), /bindingType and shared of a QoSPolicy are fixed/);
    await assert.rejects(
      patch(qosPolicies, { bindingType: 'NATGW' }),
      /bindingType and shared of a QoSPolicy are fixed/,
    );
    for (const resource of [iptablesEips, iptablesDnats, vpcNatGateways, qosPolicies])
      await kube.delete(resource, { name: 'kept' });
  });
});

describe('SecurityGroup', () => {
  const any = { ipVersion: 'ipv4', priority: 1, remoteType: 'address', remoteAddress: '0.0.0.0/0', policy: 'allow' };
  const web = { ...any, protocol: 'tcp', portRangeMin: 80, portRangeMax: 443 };

  test('accepts the specs of Kube-OVN users', async () => {
    const spec = {
      allowSameGroupTraffic: true,
      tier: 1,
      ingressRules: [
        { ...any, protocol: 'all', policy: 'drop' },
        { ...web, sourcePortRangeMin: 1024, sourcePortRangeMax: 65535, localAddress: '10.16.0.13' },
        {
          ipVersion: 'ipv6',
          protocol: 'icmp',
          priority: 16384,
          remoteType: 'address',
          remoteAddress: 'fd00::/64',
          policy: 'pass',
        },
      ],
      egressRules: [
        any,
        {
          ipVersion: 'ipv4',
          protocol: 'udp',
          priority: 2,
          remoteType: 'securityGroup',
          remoteSecurityGroup: 'b',
          policy: 'allow',
        },
      ],
    };
    assert.equal(await tryCreate(securityGroups, 'sg-example', spec), 'accepted');
    assert.equal(await tryCreate(securityGroups, 'sg-example', {}), 'accepted');
  });

  const refused: readonly [what: string, rule: object, message: RegExp][] = [
    ['an unknown ipVersion', { ...any, ipVersion: 'v4' }, /ipVersion.*"ipv4", "ipv6"/],
    ['an unknown protocol', { ...any, protocol: 'sctp' }, /protocol.*"all"/],
    ['priority 0', { ...any, priority: 0 }, /priority.*greater than or equal to 1/],
    ['priority 16385', { ...any, priority: 16385 }, /priority.*less than or equal to 16384/],
    ['no priority', { ...any, priority: undefined }, /priority: Required value/],
    ['an unknown policy', { ...any, policy: 'deny' }, /policy.*"allow", "drop", "pass"/],
    ['an unknown remoteType', { ...any, remoteType: 'cidr' }, /remoteType.*"address"/],
    ['no remoteAddress', { ...any, remoteAddress: undefined }, /remoteType address needs remoteAddress/],
    ['no remoteSecurityGroup', { ...any, remoteType: 'securityGroup' }, /needs remoteSecurityGroup/],
    ['a malformed remoteAddress', { ...any, remoteAddress: '10.0.0.0/99' }, /remoteAddress must be an IP address or/],
    ['a remoteAddress of the other family', { ...any, ipVersion: 'ipv6' }, /remoteAddress is not of the family/],
    ['a localAddress of the other family', { ...any, localAddress: 'fd00::1' }, /localAddress is not of the family/],
    ['port 0', { ...web, portRangeMin: 0 }, /portRangeMin.*greater than or equal to 1/],
    ['port 65536', { ...web, portRangeMax: 65536 }, /portRangeMax.*less than or equal to 65535/],
    ['a range that runs backwards', { ...web, portRangeMin: 444 }, /portRangeMin must not be above portRangeMax/],
    ['half a range', { ...web, portRangeMax: undefined }, /portRangeMin and portRangeMax go together/],
    ['ports of icmp', { ...web, protocol: 'icmp' }, /portRangeMin and portRangeMax need protocol tcp or udp/],
    ['ports without protocol', { ...web, protocol: undefined }, /need protocol tcp or udp/],
    [
      'source ports of every protocol',
      { ...any, protocol: 'all', sourcePortRangeMin: 1, sourcePortRangeMax: 2 },
      /sourcePortRangeMin and sourcePortRangeMax need protocol tcp or udp/,
    ],
  ];
  for (const [what, rule, message] of refused)
    test(`refuses ${what}`, async () => {
      assert.match(await tryCreate(securityGroups, 'sg', { ingressRules: [any, rule] }), message);
      assert.match(await tryCreate(securityGroups, 'sg', { egressRules: [rule] }), message);
    });

  test('refuses a tier that does not exist', async () => {
    assert.match(await tryCreate(securityGroups, 'sg', { tier: 2 }), /spec.tier/);
  });
});
