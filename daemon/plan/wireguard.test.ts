import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import type { KeySlice, SeenPeer } from '../model/wireguard.ts';
import { Endpoints } from '../settle/endpoints.ts';
import {
  isStillUsed,
  planDevice,
  planInsideRules,
  planKernelRules,
  planPeers,
  planTunnels,
  planUserspaceRules,
} from './wireguard.ts';

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const key = (chassis: string, byte: number, fields: Partial<GatewayKey> = {}): GatewayKey => ({
  chassis,
  publicKey: keyOf(byte),
  address: `100.126.0.${byte}`,
  endpoints: [`192.0.2.${byte}:51820`],
  ...fields,
});
const node = { isUserspace: true, encapIp: '192.0.2.1', mtu: 1420 };
const own: KeySlice = { cidr: '100.126.0.0/16', isOwn: true, gateways: [key('a1', 1), key('a2', 2)] };
const other = (...gateways: GatewayKey[]): KeySlice => ({ cidr: '100.126.0.0/16', isOwn: false, gateways });

describe('encrypted tunnels of a node', () => {
  it('lead to the gateways of other clusters', () => {
    const plan = planTunnels([other(key('b2', 4), key('b1', 3)), own], 'a1', node);
    assert.equal(plan?.address, '100.126.0.1');
    assert.deepEqual(
      plan.peers.map(({ chassis }) => chassis),
      ['b1', 'b2'],
    );
  });
  it('are none without the slice of this cluster, and have no address before the hub has given one', () => {
    assert.equal(planTunnels([other(key('b1', 3))], 'a1', node), undefined);
    assert.equal(planTunnels([{ ...own, cidr: 'fd00::/64' }], 'a1', node), undefined);
    assert.equal(planTunnels([own], 'a3', node)?.address, undefined);
    assert.equal(planTunnels([own], undefined, node)?.address, undefined);
  });
  it('never lead to an address outside of the network, or to a key or an address that occurs twice', () => {
    const bad = [
      key('x1', 5, { address: '10.0.0.1' }),
      key('x2', 6, { publicKey: 'short' }),
      key('x3', 7, { publicKey: keyOf(1) }),
      key('x4', 8, { address: '100.126.0.2' }),
      key('x5', 9, { publicKey: keyOf(3) }),
    ];
    const plan = planTunnels([own, other(key('b1', 3)), other(...bad)], 'a1', node);
    assert.deepEqual(
      plan?.peers.map(({ chassis }) => chassis),
      ['b1'],
    );
  });
});

describe('tunnels that nobody wants any more', () => {
  it('are kept as long as Open vSwitch has one to an address within them', () => {
    const plan = { cidr: '100.126.0.0/16' };
    assert.equal(isStillUsed(plan, ['192.0.2.7', '100.126.0.3']), true);
    assert.equal(isStillUsed(plan, ['192.0.2.7', '2001:db8::1']), false);
    assert.equal(isStillUsed(plan, []), false);
  });
});

const seenPeer = (byte: number, fields: Partial<SeenPeer> = {}): SeenPeer => ({
  publicKey: keyOf(byte),
  endpoint: '203.0.113.1:7',
  handshakeMs: 1000,
  receivedBytes: 0,
  sentBytes: 0,
  keepaliveSeconds: 25,
  allowedIps: [`100.126.0.${byte}/32`],
  ...fields,
});
const settings = { privateKey: keyOf(99), listenPort: 51_820 };
const none = (): undefined => undefined;

describe('what changes in WireGuard', () => {
  it('is nothing if it agrees, whatever endpoint it has learned', () => {
    assert.equal(
      planDevice({ ...settings, peers: [seenPeer(3)] }, { ...settings, peers: [key('b1', 3)] }, none),
      undefined,
    );
  });
  it('is only what differs', () => {
    const seen = { ...settings, peers: [seenPeer(3), seenPeer(4), seenPeer(5, { allowedIps: ['0.0.0.0/0'] })] };
    const change = planDevice(seen, { ...settings, peers: [key('b1', 3), key('b3', 5)] }, none);
    assert.deepEqual(change, {
      peers: [
        { publicKey: keyOf(4), isRemoved: true },
        { publicKey: keyOf(5), allowedIps: ['100.126.0.5/32'] },
      ],
    });
  });
  it('is everything for a WireGuard that has just started', () => {
    const change = planDevice(
      { privateKey: '', listenPort: 0, peers: [] },
      { ...settings, peers: [key('b1', 3)] },
      () => '192.0.2.3:51820',
    );
    assert.deepEqual(change, {
      ...settings,
      peers: [
        { publicKey: keyOf(3), endpoint: '192.0.2.3:51820', keepaliveSeconds: 25, allowedIps: ['100.126.0.3/32'] },
      ],
    });
  });
});

describe('the endpoint of a peer', () => {
  const peer = key('b1', 3, { endpoints: ['192.0.2.3:1', '192.0.2.4:1'] });
  it('is set for a new peer, and left to WireGuard afterwards', () => {
    const endpoints = new Endpoints();
    assert.equal(endpoints.choose(peer, undefined, 0), '192.0.2.3:1');
    assert.equal(endpoints.choose(peer, seenPeer(3), 1000), undefined);
    assert.equal(endpoints.choose(peer, seenPeer(3), 100_000), undefined);
  });
  it('stays when the daemon starts again, and changes with what the peer announces', () => {
    const endpoints = new Endpoints();
    assert.equal(endpoints.choose(peer, seenPeer(3), 1000), undefined);
    assert.equal(endpoints.choose({ ...peer, endpoints: ['192.0.2.9:1'] }, seenPeer(3), 2000), '192.0.2.9:1');
  });
  it('is the next one after 15 seconds without a session', () => {
    const endpoints = new Endpoints();
    const dead = seenPeer(3, { handshakeMs: 0 });
    assert.equal(endpoints.choose(peer, undefined, 0), '192.0.2.3:1');
    assert.equal(endpoints.choose(peer, dead, 14_000), undefined);
    assert.equal(endpoints.choose(peer, dead, 15_000), '192.0.2.4:1');
    assert.equal(endpoints.choose(peer, dead, 20_000), undefined);
    assert.equal(endpoints.choose(peer, dead, 30_000), '192.0.2.3:1');
  });
  it('is none for a peer that announces none, which has to begin', () => {
    assert.equal(new Endpoints().choose({ ...peer, endpoints: [] }, undefined, 0), undefined);
  });
  it('is where the peer came from, once WireGuard was started again, and then the announced ones', () => {
    const endpoints = new Endpoints();
    assert.equal(endpoints.choose(peer, undefined, 0), '192.0.2.3:1');
    const learned = seenPeer(3, { endpoint: '203.0.113.1:7' });
    assert.equal(endpoints.choose(peer, learned, 1000), undefined);
    const fresh = seenPeer(3, { endpoint: '', handshakeMs: 0 });
    assert.equal(endpoints.choose(peer, fresh, 2000), '203.0.113.1:7');
    const silent = { ...learned, handshakeMs: 0 };
    assert.equal(endpoints.choose(peer, silent, 17_000), '192.0.2.3:1');
    assert.equal(endpoints.choose(peer, silent, 32_000), '192.0.2.4:1');
    assert.equal(endpoints.choose({ ...peer, endpoints: ['192.0.2.9:1'] }, fresh, 33_000), '192.0.2.9:1');
  });
});

describe('rules of the node', () => {
  const cidr = '100.126.0.0/16';
  const [address, end] = ['100.126.0.1', '192.0.2.1'];
  const rulesOf = (text: string, chain: string): readonly string[] => {
    const [, body = ''] = new RegExp(`chain ${chain} {\n([^}]*)\n}`).exec(text) ?? [];
    return body
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  };

  it('let no packet with an address within tunnels pass beside the userspace datapath', () => {
    const text = planUserspaceRules(cidr);
    assert.deepEqual(rulesOf(text, 'prerouting'), [`ip daddr ${cidr} drop`, `ip saddr ${cidr} drop`]);
    assert.deepEqual(rulesOf(text, 'output'), [`ip daddr ${cidr} drop`]);
  });
  it('translate between the address of the node and that within tunnels, for tunnels of both kinds of ovn-controller', () => {
    const text = planInsideRules(address, end);
    assert.deepEqual(rulesOf(text, 'prerouting'), [
      'notrack',
      'iifname "wg-node" ip saddr 192.0.2.1 ip saddr set 100.126.0.1',
      'iifname "wg-node" ip saddr 169.254.126.2 ip saddr set 100.126.0.1',
      'iifname "isthmus-wg" ip daddr 100.126.0.1 ip daddr set 192.0.2.1',
    ]);
    assert.match(text, /forward priority filter; policy drop;/);
    assert.deepEqual(rulesOf(text, 'forward'), [
      'iifname "wg-node" oifname "isthmus-wg" ip saddr 100.126.0.1 udp dport 6081 accept',
      'iifname "isthmus-wg" oifname "wg-node" ip daddr 192.0.2.1 udp dport 6081 accept',
    ]);
  });
  it('let nothing pass before the node has an address', () => {
    const inside = planInsideRules(undefined, end);
    assert.deepEqual([rulesOf(inside, 'prerouting'), rulesOf(inside, 'forward')], [['notrack'], []]);
    const kernel = planKernelRules(cidr, undefined, end, 1420);
    assert.equal(rulesOf(kernel, 'prerouting').at(-1), 'iifname "isthmus-wg" drop');
    assert.equal(rulesOf(kernel, 'output').at(-1), `ip daddr ${cidr} drop`);
  });
  it('translate on the node if its kernel has the tunnels, and let nothing else pass there', () => {
    const text = planKernelRules(cidr, address, end, 1420);
    assert.deepEqual(rulesOf(text, 'prerouting'), [
      `ip daddr ${cidr} iifname != "isthmus-wg" drop`,
      `ip saddr ${cidr} iifname != "isthmus-wg" drop`,
      'iifname "isthmus-wg" meta l4proto != udp drop',
      'iifname "isthmus-wg" udp dport != 6081 drop',
      'iifname "isthmus-wg" ip daddr != 100.126.0.1 drop',
      'iifname "isthmus-wg" notrack',
      'iifname "isthmus-wg" udp checksum set 0',
      'iifname "isthmus-wg" ip daddr set 192.0.2.1',
    ]);
    assert.deepEqual(rulesOf(text, 'output'), [
      `ip daddr ${cidr} oifname != "isthmus-wg" drop`,
      `ip daddr ${cidr} meta l4proto != udp drop`,
      `ip daddr ${cidr} udp dport != 6081 drop`,
      `ip daddr ${cidr} notrack`,
      `ip daddr ${cidr} meta length <= 1420 udp checksum set 0`,
      `ip daddr ${cidr} ip saddr set 100.126.0.1`,
    ]);
  });
  it('end tunnels at the bridge of the node if its own address is of IPv6', () => {
    const plan = (isUserspace: boolean) => planTunnels([own], 'a1', { ...node, isUserspace, encapIp: '2001:db8::1' });
    assert.equal(plan(true)?.end, '169.254.126.2');
    assert.equal(plan(false)?.end, '100.126.0.1');
    assert.doesNotMatch(plan(false)?.rules.node ?? '', /daddr set/);
  });
});

describe('a peer that is about to change its key', () => {
  const rotating = key('b1', 3, { nextKey: keyOf(33) });
  const wanted = { privateKey: keyOf(9), listenPort: 51_820 };
  const device = (...peers: SeenPeer[]) => ({ ...wanted, peers });
  const changes = (...peers: SeenPeer[]) =>
    planDevice(device(...peers), { ...wanted, peers: planPeers([rotating], device(...peers)) }, () => undefined)?.peers;
  const idle = seenPeer(33, { handshakeMs: 0, keepaliveSeconds: 0, allowedIps: [] });

  it('keeps its address at the old key until the first handshake with the new one', () => {
    assert.deepEqual(changes(seenPeer(3, { allowedIps: ['100.126.0.3/32'] })), [{ publicKey: keyOf(33) }]);
    assert.equal(changes(idle, seenPeer(3, { allowedIps: ['100.126.0.3/32'] })), undefined);
  });
  it('has it at the new one afterwards, which is given the address before it is taken from the other', () => {
    const before = seenPeer(3, { allowedIps: ['100.126.0.3/32'] });
    assert.deepEqual(changes({ ...idle, handshakeMs: 1 }, before), [
      { publicKey: keyOf(33), keepaliveSeconds: 25, allowedIps: ['100.126.0.3/32'] },
      { publicKey: keyOf(3), keepaliveSeconds: 0, allowedIps: [] },
    ]);
  });
  it('cannot announce a key of another gateway', () => {
    const theirs = [
      key('b1', 3, { nextKey: keyOf(1) }),
      key('b2', 4, { nextKey: keyOf(3) }),
      key('b3', 5, { nextKey: 'x' }),
    ];
    const plan = planTunnels([own, other(...theirs)], 'a1', node);
    assert.deepEqual(
      plan?.peers.map(({ chassis, nextKey }) => [chassis, nextKey]),
      [
        ['b1', undefined],
        ['b2', undefined],
        ['b3', undefined],
      ],
    );
  });
});
