import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIptablesEip } from './eip.ts';

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
