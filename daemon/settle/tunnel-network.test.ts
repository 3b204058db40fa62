import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NicMove, ProviderNetwork } from '../model/provider-network.ts';
import { decideTunnelNetwork, type TunnelNetworkInput } from './tunnel-network.ts';

const input: TunnelNetworkInput = {
  datapathType: 'netdev',
  holder: 'eth1',
  isOnBridge: false,
  hasTunnels: () => true,
  networks: [],
  node: { name: 'n1', labels: {} },
  move: undefined,
};
const joined: NicMove = {
  network: 'tunnel',
  phase: 'joined',
  nic: 'eth1',
  mac: '02:00:00:00:00:01',
  mtu: 1500,
  wish: 'w',
  moved: [],
  checks: { gateways: [], api: false },
};
const network = (name: string, fields: Partial<ProviderNetwork> = {}): ProviderNetwork => ({
  name,
  uid: name,
  generation: 1,
  createdAt: '2026-01-01T00:00:00Z',
  spec: { defaultInterface: 'eth1' },
  isDryRun: false,
  ...fields,
});
const interfaceOf = (fields: Partial<TunnelNetworkInput>): string | undefined =>
  decideTunnelNetwork({ ...input, ...fields })?.spec?.defaultInterface;

test('the interface with the tunnel address goes into a bridge in user space, and stays there', () => {
  assert.equal(interfaceOf({}), 'eth1');
  const moved = { holder: 'br-tunnel', isOnBridge: true, move: joined };
  assert.equal(interfaceOf(moved), 'eth1');
  assert.equal(interfaceOf({ ...moved, hasTunnels: () => false }), 'eth1');
  assert.equal(interfaceOf({ holder: undefined, move: { ...joined, phase: 'joining' } }), 'eth1');
  assert.equal(interfaceOf({ move: { ...joined, phase: 'rolledBack' } }), 'eth1');
});

test('there is no need of it with the datapath of the kernel, for a node alone, and where the address is on a bridge', () => {
  assert.equal(interfaceOf({ datapathType: 'system' }), undefined);
  assert.equal(interfaceOf({ datapathType: 'system', holder: 'br-tunnel', isOnBridge: true, move: joined }), undefined);
  assert.equal(interfaceOf({ hasTunnels: () => false }), undefined);
  assert.equal(interfaceOf({ holder: 'br-phys', isOnBridge: true }), undefined);
  assert.equal(interfaceOf({ holder: undefined }), undefined);
});

test('a ProviderNetwork that asks for the interface here, or has the name, takes its place', () => {
  assert.equal(interfaceOf({ networks: [network('up')] }), undefined);
  assert.equal(
    interfaceOf({ networks: [network('up')], holder: 'br-tunnel', isOnBridge: true, move: joined }),
    undefined,
  );
  assert.equal(interfaceOf({ networks: [network('tunnel', { spec: { defaultInterface: 'eth2' } })] }), undefined);
  assert.equal(interfaceOf({ networks: [network('up', { isDryRun: true })] }), 'eth1');
  assert.equal(interfaceOf({ networks: [network('up', { spec: { defaultInterface: 'eth2' } })] }), 'eth1');
  assert.equal(
    interfaceOf({ networks: [network('up', { spec: { defaultInterface: 'eth1', excludeNodes: ['n1'] } })] }),
    'eth1',
  );
});
