import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';
import type { KeySlice, SeenPeer } from '../model/wireguard.ts';
import { Endpoints } from '../settle/endpoints.ts';
import { planDevice, planNodeRules, planTunnels } from './wireguard.ts';

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const key = (chassis: string, byte: number, fields: Partial<GatewayKey> = {}): GatewayKey => ({
  chassis,
  publicKey: keyOf(byte),
  address: `100.126.0.${byte}`,
  endpoints: [`192.0.2.${byte}:51820`],
  ...fields,
});
const own: KeySlice = { cidr: '100.126.0.0/16', isOwn: true, gateways: [key('a1', 1), key('a2', 2)] };
const other = (...gateways: GatewayKey[]): KeySlice => ({ cidr: '100.126.0.0/16', isOwn: false, gateways });

describe('encrypted tunnels of a node', () => {
  it('lead to the gateways of other clusters', () => {
    const plan = planTunnels([other(key('b2', 4), key('b1', 3)), own], 'a1');
    assert.equal(plan?.address, '100.126.0.1');
    assert.deepEqual(
      plan.peers.map(({ chassis }) => chassis),
      ['b1', 'b2'],
    );
  });
  it('are none without the slice of this cluster, and have no address before the hub has given one', () => {
    assert.equal(planTunnels([other(key('b1', 3))], 'a1'), undefined);
    assert.equal(planTunnels([{ ...own, cidr: 'fd00::/64' }], 'a1'), undefined);
    assert.equal(planTunnels([own], 'a3')?.address, undefined);
    assert.equal(planTunnels([own], undefined)?.address, undefined);
  });
  it('never lead to an address outside of the network, or to a key or an address that occurs twice', () => {
    const bad = [
      key('x1', 5, { address: '10.0.0.1' }),
      key('x2', 6, { publicKey: 'short' }),
      key('x3', 7, { publicKey: keyOf(1) }),
      key('x4', 8, { address: '100.126.0.2' }),
      key('x5', 9, { publicKey: keyOf(3) }),
    ];
    const plan = planTunnels([own, other(key('b1', 3)), other(...bad)], 'a1');
    assert.deepEqual(
      plan?.peers.map(({ chassis }) => chassis),
      ['b1'],
    );
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
});

describe('rules of the node', () => {
  it('leave packets for addresses within tunnels no way but WireGuard', () => {
    assert.match(planNodeRules('100.126.0.0/16', true), /output[^}]*\n {2}ip daddr 100\.126\.0\.0\/16 drop\n/);
    assert.match(planNodeRules('100.126.0.0/16', false), /oifname != "isthmus-wg" drop/);
  });
});
