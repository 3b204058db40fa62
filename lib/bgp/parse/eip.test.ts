import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIptablesEip, parseOvnEip } from './eip.ts';

test('an IptablesEIP has the address that is served, and none of IPv6', () => {
  const raw = {
    apiVersion: 'kubeovn.io/v1',
    kind: 'IptablesEIP',
    metadata: { name: 'a', uid: 'u', resourceVersion: '1' },
    spec: { natGwDp: 'gw', v4ip: '203.0.113.9', v6ip: '2001:db8::9' },
  };
  assert.deepEqual(parseIptablesEip(raw).ips, ['203.0.113.9']);
  assert.deepEqual(parseIptablesEip({ ...raw, status: { ready: true, ip: '203.0.113.8' } }).ips, ['203.0.113.8']);
});

test('a ready OvnEip has the addresses of its status alone: its author may write any into the spec', () => {
  const metadata = { name: 'a', uid: 'u', resourceVersion: '1' };
  const of = (spec: object, status: object) =>
    parseOvnEip({ apiVersion: 'kubeovn.io/v1', kind: 'OvnEip', metadata, spec, status });
  const forged = { v4Ip: '198.51.100.9', v6Ip: '2001:db8::9' };
  assert.deepEqual(of(forged, { ready: true, v4Ip: '203.0.113.7', v6Ip: '', type: 'nat' }).ips, ['203.0.113.7']);
  assert.deepEqual(of(forged, { ready: true }).ips, []);
  assert.deepEqual([of(forged, {}).isReady, of(forged, {}).ips], [false, ['198.51.100.9', '2001:db8::9']]);
});

test('the port of a router has its Subnet, its nodes and the node that has it', () => {
  const metadata = { name: 'blue-external', uid: 'u', resourceVersion: '1' };
  const of = (spec: object, status: object) =>
    parseOvnEip({ apiVersion: 'kubeovn.io/v1', kind: 'OvnEip', metadata, spec, status }).routerPort;
  const nodes = ['n2', 'n1'];
  assert.deepEqual(of({}, { type: 'lrp', nodes, holder: 'n2' }), { subnet: 'external', nodes, holder: 'n2' });
  assert.deepEqual(of({ externalSubnet: 'isp' }, { type: 'lrp' }), { subnet: 'isp', nodes: [], holder: '' });
  // Only the controller says what it is.
  assert.equal(of({ type: 'lrp' }, { type: 'nat' }), undefined);
});
