import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTunnelProblem } from './tunnel-address.ts';

const well = {
  datapathType: 'netdev',
  encapIp: '192.0.2.11',
  holder: 'br-uplink',
  isOnBridge: true,
  tunnelEnds: () => ['192.0.2.12'],
} as const;
const elsewhere = { ...well, holder: 'eth1', isOnBridge: false } as const;

test('a bridge with the tunnel address, the datapath of the kernel and a node alone have nothing to mend', () => {
  assert.equal(findTunnelProblem(well), undefined);
  assert.equal(findTunnelProblem({ ...elsewhere, datapathType: 'system' }), undefined);
  assert.equal(findTunnelProblem({ ...elsewhere, tunnelEnds: () => [] }), undefined);
});

test('the interface that has the address is named, with what to do', () => {
  const problem = findTunnelProblem(elsewhere);
  assert.equal(problem?.code, 'TunnelAddressNotOnBridge');
  assert.match(problem.message, /^interface eth1 has the tunnel address 192\.0\.2\.11,.*defaultInterface is eth1$/);
});

test('an address that no interface has is named as well', () => {
  assert.match(
    findTunnelProblem({ ...elsewhere, holder: undefined })?.message ?? '',
    /^no interface has .*give the address/,
  );
});
