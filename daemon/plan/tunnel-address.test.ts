import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTunnelProblem } from './tunnel-address.ts';

const well = {
  datapathType: 'netdev',
  encapIp: '192.0.2.11',
  holder: 'br-uplink',
  isOnBridge: true,
  hasTunnels: () => true,
  isMoving: false,
  obstacle: undefined,
} as const;
const elsewhere = { ...well, holder: 'eth1', isOnBridge: false } as const;

test('a bridge with the tunnel address, the datapath of the kernel and a node alone have nothing to mend', () => {
  assert.equal(findTunnelProblem(well), undefined);
  assert.equal(findTunnelProblem({ ...elsewhere, datapathType: 'system' }), undefined);
  assert.equal(findTunnelProblem({ ...elsewhere, hasTunnels: () => false }), undefined);
});

test('the interface that has the address is named, with what is done about it', () => {
  const pending = findTunnelProblem(elsewhere);
  assert.equal(pending?.code, 'TunnelBridgePending');
  assert.match(pending.message, /^the interface with the tunnel address 192\.0\.2\.11 is moved into a bridge/);
  const refused = findTunnelProblem({
    ...elsewhere,
    obstacle: { code: 'InterfaceInUse', message: 'interface eth1 is a slave' },
  });
  assert.equal(refused?.code, 'TunnelAddressNotOnBridge');
  assert.match(refused.message, /^interface eth1 has the tunnel address 192\.0\.2\.11,.*; interface eth1 is a slave$/);
});

test('an address that no interface has is named as well, unless it is on its way', () => {
  assert.equal(findTunnelProblem({ ...elsewhere, holder: undefined, isMoving: true })?.code, 'TunnelBridgePending');
  assert.match(
    findTunnelProblem({ ...elsewhere, holder: undefined })?.message ?? '',
    /^no interface has .*give the address/,
  );
});
