import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attributesFingerprint,
  decodeAttributes,
  encodeAttributes,
  fingerprintOf,
  type PathAttributes,
} from './attributes.ts';
import { pathFingerprint } from './client.ts';
import { GobgpInvalidArgument } from './errors.ts';
import type { EvpnPrefix } from './evpn.ts';
import { decodeRoute, encodeRoute, encodeRouteKey, routeFingerprint, routeKey, routeOfKey } from './route-nlri.ts';
import { changeOfEvent, type EventPathMessage } from './route-messages.ts';

const hex = (bytes: Uint8Array = new Uint8Array()) => Buffer.from(bytes).toString('hex');
const bytes = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const zeros = (count: number) => '00'.repeat(count);
const evpn: EvpnPrefix = { rd: '65000:100', vni: 100 };
const attributes: PathAttributes = {
  nextHop: '192.0.2.1',
  routeTargets: ['65000:100', '192.0.2.9:7', '4200000000:8', '0.65000:9'],
  encapsulation: 'vxlan',
  routerMac: '02:AA:00:00:00:01',
};
const events: Pick<EventPathMessage, 'is_withdraw' | 'neighbor_ip' | 'family'> = {
  is_withdraw: false,
  neighbor_ip: '192.0.2.2',
  family: { afi: 25, safi: 70 },
};

/** Golden bytes by the fields of RFC 9136 §3.1. */
const golden: readonly (readonly [prefix: string, evpn: EvpnPrefix, nlri: string])[] = [
  ['10.1.2.0/23', evpn, `05 22 0000 fde8 00000064 ${zeros(10)} 00000000 17 0a010200 00000000 000064`],
  [
    'fd00:10::/64',
    { rd: '192.0.2.1:65535', vni: 16777215 },
    `05 3a 0001 c0000201 ffff ${zeros(10)} 00000000 40 fd000010${zeros(12)} ${zeros(16)} ffffff`,
  ],
  [
    '0.0.0.0/0',
    { rd: '4200000000:5', ethernetTag: 4294967295, vni: 0, gateway: '10.0.0.9' },
    `05 22 0002 fa56ea00 0005 ${zeros(10)} ffffffff 00 00000000 0a000009 000000`,
  ],
  [
    '::/0',
    { rd: '0.65000:100', vni: 70000, gateway: 'fd00::9' },
    `05 3a 0002 0000fde8 0064 ${zeros(10)} 00000000 00 ${zeros(16)} fd00${zeros(13)}09 011170`,
  ],
];

test('EVPN routes are encoded as in RFC 9136, and decode to the same values', () => {
  for (const [prefix, fields, wanted] of golden) {
    const { family, nlri } = encodeRoute(prefix, fields);
    assert.equal(family, 'l2vpn-evpn');
    assert.equal(hex(nlri), hex(bytes(wanted)), prefix);
    assert.deepEqual(decodeRoute(family, nlri), { family, prefix, evpn: fields });
  }
});

test('a route is withdrawn by its key, with the rest of its bytes zero', () => {
  const { nlri } = encodeRouteKey('10.1.2.0/24', { ...evpn, ethernetTag: 3, gateway: '10.0.0.9' } as EvpnPrefix);
  assert.equal(hex(nlri), hex(bytes(`0522 0000fde800000064 ${zeros(10)} 00000003 18 0a010200 00000000 000000`)));
});

test('host bits and spellings do not change a route', () => {
  const { nlri } = encodeRoute('10.1.2.3/24', { rd: '065000:0100', ethernetTag: 0, vni: 100 });
  assert.equal(hex(nlri), hex(encodeRoute('10.1.2.0/24', evpn).nlri));
  assert.equal(routeKey({ prefix: 'p', evpn: { rd: '1.0:5' } }), routeKey({ prefix: 'p', evpn: { rd: '65536:5' } }));
  assert.equal(routeKey({ prefix: '10.0.0.0/8' }), '10.0.0.0/8');
});

test('a key distinguishes routes by prefix, distinguisher and tag, and reads back', () => {
  const keys = [
    { family: 'ipv4-unicast', prefix: '10.1.0.0/16' },
    { family: 'ipv6-unicast', prefix: 'fd00::/16' },
    { family: 'l2vpn-evpn', prefix: '10.1.0.0/16', evpn: { rd: '65000:1' } },
    { family: 'l2vpn-evpn', prefix: '10.1.0.0/16', evpn: { rd: '65000:1', ethernetTag: 1 } },
    { family: 'l2vpn-evpn', prefix: '10.1.0.0/16', evpn: { rd: '0.65000:1' } },
    { family: 'l2vpn-evpn', prefix: 'fd00::/16', evpn: { rd: '192.0.2.1:1' } },
  ] as const;
  assert.equal(new Set(keys.map(routeKey)).size, keys.length);
  for (const key of keys) assert.deepEqual(routeOfKey(routeKey(key)), key);
});

test('other EVPN route types and unknown route distinguishers are left out, and malformed routes are errors', () => {
  assert.equal(decodeRoute('l2vpn-evpn', bytes(`03 11 0001 c0000201 0001 00000000 20 c0000201`)), undefined);
  const [, , first = ''] = golden[0] ?? [];
  assert.equal(decodeRoute('l2vpn-evpn', bytes(first.replace('0000 fde8', '0003 fde8'))), undefined);
  for (const broken of [
    bytes(first).subarray(0, -1),
    bytes(first.replace('05 22', '05 21')),
    bytes('05 00'),
    bytes('05'),
  ])
    assert.throws(() => decodeRoute('l2vpn-evpn', broken), GobgpInvalidArgument, hex(broken));
  assert.throws(() => decodeRoute('l2vpn-evpn', bytes(first.replace(' 17 ', ' 21 '))), GobgpInvalidArgument);
});

test('attributes of EVPN have the next hop in MP_REACH, and each extended community once, in order', () => {
  const { family, nlri } = encodeRoute('10.1.2.0/23', evpn);
  const encoded = encodeAttributes(family, nlri, {
    ...attributes,
    routeTargets: [...(attributes.routeTargets ?? []), '65000:100'],
  });
  assert.deepEqual(encoded.map(hex), [
    '40010100',
    '400200',
    hex(bytes(`800e2d 0019 46 04 c0000201 00 ${hex(nlri)}`)),
    hex(
      bytes(
        `c01030 0002 fde8 00000064 0102 c0000209 0007 0202 0000fde8 0009 0202 fa56ea00 0008
        030c 00000000 0008 0603 02aa00000001`.replaceAll('\n', ''),
      ),
    ),
  ]);
  assert.deepEqual(decodeAttributes(encoded), {
    nextHop: '192.0.2.1',
    asPath: [],
    origin: 'igp',
    communities: [],
    largeCommunities: [],
    routeTargets: ['65000:100', '192.0.2.9:7', '0.65000:9', '4200000000:8'],
    encapsulation: 'vxlan',
    routerMac: '02:aa:00:00:00:01',
  });
});

test('extended communities come before large communities; unknown types are left out', () => {
  const encoded = encodeAttributes('ipv4-unicast', bytes('080a'), {
    nextHop: '192.0.2.1',
    routeTargets: ['1:2'],
    largeCommunities: ['1:2:3'],
  });
  assert.deepEqual(
    encoded.map((each) => each[1]),
    [1, 2, 3, 16, 32],
  );
  // Route origin, a tunnel of another type, an opaque one, a route target that is not transitive.
  const decoded = decodeAttributes([
    bytes('c01020 0003fde800000001 030c000000000007 0301000000000001 4002fde800000001'),
  ]);
  assert.deepEqual(decoded, { nextHop: '', asPath: [], communities: [], largeCommunities: [] });
});

test('a fingerprint covers everything about a route: VNI, gateway and every attribute', () => {
  const path = { prefix: '10.1.2.0/23', evpn, attributes };
  const same = {
    ...path,
    evpn: { ...evpn, rd: '65000:101' },
    attributes: { ...attributes, routerMac: '02:aa:00:00:00:01' },
  };
  assert.equal(pathFingerprint(path), pathFingerprint(same));
  const others = [
    { ...path, evpn: { ...evpn, vni: 101 } },
    { ...path, evpn: { ...evpn, gateway: '10.0.0.9' } },
    { ...path, attributes: { ...attributes, nextHop: '192.0.2.2' } },
    { ...path, attributes: { ...attributes, routerMac: '02:aa:00:00:00:02' } },
    { ...path, attributes: { nextHop: '192.0.2.1', routeTargets: ['65000:100'] } },
  ];
  assert.equal(new Set([path, ...others].map(pathFingerprint)).size, others.length + 1);
  const { family, nlri } = encodeRoute(path.prefix, evpn);
  const listed = attributesFingerprint(encodeAttributes(family, nlri, attributes));
  assert.equal(routeFingerprint(family, nlri, listed), pathFingerprint(path));
  assert.equal(routeFingerprint('ipv4-unicast', nlri, listed), listed);
  const plain = { prefix: '10.1.2.0/23', attributes: { nextHop: '192.0.2.1' } };
  assert.equal(pathFingerprint(plain), fingerprintOf('ipv4-unicast', plain.attributes));
});

test('an invalid route or attribute of EVPN is refused with the reason', () => {
  const route =
    (change: Partial<EvpnPrefix>, prefix = '10.0.0.0/8') =>
    () =>
      encodeRoute(prefix, { ...evpn, ...change });
  const refused = (call: () => unknown, message: RegExp) =>
    assert.throws(
      call,
      (error) => error instanceof GobgpInvalidArgument && message.test(error.message),
      String(message),
    );
  for (const rd of [
    '',
    '65000',
    '65000:4294967296',
    '65536:65536',
    '192.0.2.1:65536',
    '4294967296:1',
    '1.65536:1',
    '65536.1:1',
    '10.0.0.256:1',
    '-1:1',
    '1:-1',
    '1:2:3',
    'fd00::1:1',
  ])
    refused(route({ rd }), /is not a route distinguisher: .*65000:100/);
  for (const vni of [0, -1, 1.5, 16777216, Number.NaN])
    refused(route({ vni }), /the VNI .* of 10.0.0.0\/8 .* 1 to 16777215/);
  refused(route({ vni: -1, gateway: '10.0.0.1' }), /from 0 to/);
  refused(route({ vni: 0, gateway: '0.0.0.0' }), /from 1 to/);
  refused(route({ gateway: 'fd00::1' }), /the gateway fd00::1 of 10.0.0.0\/8 is of the other family/);
  refused(route({ gateway: '10.0.0.1' }, 'fd00::/16'), /other family/);
  refused(route({ gateway: 'router' }), /is not an IP address/);
  for (const ethernetTag of [-1, 1.5, 4294967296]) refused(route({ ethernetTag }), /Ethernet tag/);
  refused(route({}, '10.0.0.0'), /is not a prefix/);
  refused(() => routeKey({ prefix: '10.0.0.0/8', evpn: { rd: 'x' } }), /route distinguisher/);
  refused(() => encodeRouteKey('10.0.0.0/8', { rd: 'x' }), /route distinguisher/);

  const withAttributes = (change: Partial<PathAttributes>) => () =>
    encodeAttributes('l2vpn-evpn', bytes('0500'), { nextHop: '192.0.2.1', ...change });
  for (const target of ['65000', 'target:65000:1', '65536:65536'])
    refused(withAttributes({ routeTargets: [target] }), /is not a route target/);
  for (const routerMac of [
    '',
    '02:00:00:00:00',
    '02-00-00-00-00-01',
    '01:00:5e:00:00:01',
    'ff:ff:ff:ff:ff:ff',
    '00:00:00:00:00:00',
    '02:00:00:00:00:0g',
  ])
    refused(withAttributes({ routerMac }), /is not the MAC address of one router/);
});

test('an event and a list decode to the same route', () => {
  const route = {
    rd: { four_octet_asn: { admin: 65000, assigned: 100 } },
    ethernet_tag: 7,
    ip_prefix: '10.1.2.0',
    ip_prefix_len: 24,
    gw_address: '0.0.0.0',
    label: 100,
  };
  const extended = [
    { two_octet_as_specific: { is_transitive: true, sub_type: 3, asn: 65000, local_admin: 1 } },
    { two_octet_as_specific: { is_transitive: false, sub_type: 2, asn: 65000, local_admin: 2 } },
    { two_octet_as_specific: { is_transitive: true, sub_type: 2, asn: 65000, local_admin: 4294967295 } },
    { ipv4_address_specific: { is_transitive: true, sub_type: 2, address: '192.0.2.9', local_admin: 7 } },
    { four_octet_as_specific: { is_transitive: true, sub_type: 2, asn: 65000, local_admin: 9 } },
    { encap: { tunnel_type: 8 } },
    { encap: { tunnel_type: 7 } },
    { router_mac: { mac: '02:aa:00:00:00:01' } },
    {},
  ];
  const message: EventPathMessage = {
    ...events,
    nlri: { evpn_ip_prefix: route },
    pattrs: [{ mp_reach: { next_hops: ['192.0.2.1'] } }, { extended_communities: { communities: extended } }],
  };
  const key = { peer: '192.0.2.2', family: 'l2vpn-evpn', prefix: '10.1.2.0/24' } as const;
  assert.deepEqual(changeOfEvent(message, ['l2vpn-evpn']), {
    ...key,
    evpn: { rd: '0.65000:100', ethernetTag: 7, vni: 100 },
    isWithdrawn: false,
    attributes: {
      nextHop: '192.0.2.1',
      asPath: [],
      communities: [],
      largeCommunities: [],
      routeTargets: ['65000:4294967295', '192.0.2.9:7', '0.65000:9'],
      encapsulation: 'vxlan',
      routerMac: '02:aa:00:00:00:01',
    },
  });
  assert.deepEqual(changeOfEvent({ ...message, is_withdraw: true }, ['l2vpn-evpn']), {
    ...key,
    evpn: { rd: '0.65000:100', ethernetTag: 7 },
    isWithdrawn: true,
  });
  const ofAddress = { ...route, rd: { ip_address: { admin: '192.0.2.1', assigned: 5 } } };
  assert.equal(
    changeOfEvent({ ...message, nlri: { evpn_ip_prefix: ofAddress } }, ['l2vpn-evpn'])?.evpn?.rd,
    '192.0.2.1:5',
  );
});

test('events of other families and types are not reported', () => {
  const unicast = { ...events, pattrs: [], nlri: { prefix: { prefix: '10.0.0.0', prefix_len: 8 } } };
  assert.equal(changeOfEvent({ ...unicast, family: { afi: 1, safi: 1 } }, ['l2vpn-evpn']), undefined);
  assert.equal(changeOfEvent({ ...unicast, family: { afi: 1, safi: 1 } }, ['ipv4-unicast'])?.prefix, '10.0.0.0/8');
  assert.equal(changeOfEvent({ ...events, pattrs: [], nlri: {} }, ['l2vpn-evpn']), undefined);
  const nobodys = { rd: {}, ethernet_tag: 0, ip_prefix: '10.0.0.0', ip_prefix_len: 8, gw_address: '0.0.0.0', label: 1 };
  assert.equal(changeOfEvent({ ...events, pattrs: [], nlri: { evpn_ip_prefix: nobodys } }, ['l2vpn-evpn']), undefined);
});
