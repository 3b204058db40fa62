import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawObject } from '../../lib/kube/types.ts';
import { annotation } from '../../lib/api/names.ts';
import { vouchedFor } from '../testing-pods.ts';
import { aSandbox } from '../testing-sandbox.ts';
import { parsePod } from '../watch/pod.ts';
import { parseSubnet } from '../watch/subnet.ts';
import { droppedBy, guardOf, unknownGuard } from './port-guard.ts';

function subnetOf(name: string, note: string, namespaces: string) {
  const annotations = { [annotation.accepted]: note, [annotation.routerNamespaces]: namespaces };
  return parseSubnet({ metadata: { name, uid: name, annotations }, spec: {} } as unknown as RawObject);
}

function podIn(subnet: string, ip = '10.16.0.5') {
  const annotations = {
    [annotation.allocated]: 'true',
    [annotation.macAddress]: aSandbox.mac,
    [annotation.ipAddress]: ip,
    [annotation.cidr]: '10.16.0.0/16',
    [annotation.logicalSwitch]: subnet,
  };
  const metadata = { name: 'web', namespace: 'default', uid: 'u1', annotations };
  return parsePod(vouchedFor({ metadata } as unknown as RawObject));
}

const subnets = [
  ['open', '10.16.0.0/16 10.16.0.1', '*'],
  ['ours', '10.16.0.0/16 10.16.0.1', 'infra, default'],
  ['theirs', '10.16.0.0/16,fd00::/64 10.16.0.1,fd00::1', 'infra'],
  ['elsewhere', '10.17.0.0/16 10.17.0.1', '*'],
].map(([name = '', note = '', namespaces = '']) => subnetOf(name, note, namespaces)!);
const guardIn = (subnet: string, sandbox = aSandbox) => guardOf({ sandbox, pod: podIn(subnet), subnets });

test('a Subnet says whose pods may be routers', () => {
  assert.equal(guardIn('open').isRouter, true);
  assert.equal(guardIn('ours').isRouter, true);
  assert.equal(guardIn('theirs').isRouter, false);
});

test('a Subnet without the sandbox’s addresses, a missing Subnet, and the Subnet of a deleted pod allow nothing', () => {
  assert.equal(guardIn('elsewhere').isRouter, false);
  assert.equal(guardIn('missing').isRouter, false);
  assert.equal(guardIn('open', { ...aSandbox, ips: [] }), unknownGuard);
  assert.equal(guardIn('open', { ...aSandbox, ips: ['10.16.0.5', 'fd00::5'] }).isRouter, false);
  assert.equal(guardOf({ sandbox: aSandbox, pod: undefined, subnets }).isRouter, false);
});

test('addresses of routers are those of every network that the pod may be in, whatever it says of itself', () => {
  for (const name of ['theirs', 'elsewhere', 'missing'])
    assert.deepEqual(guardIn(name).gateways, ['10.16.0.1', 'fd00::1']);
  assert.deepEqual(guardIn('missing', { ...aSandbox, ips: ['10.17.0.5'] }).gateways, ['10.17.0.1']);
});

test('what is dropped of one network is the same array each time', () => {
  assert.equal(droppedBy(guardIn('theirs')), droppedBy(guardIn('theirs')));
  assert.notEqual(droppedBy(guardIn('theirs')), droppedBy(unknownGuard));
  assert.ok(droppedBy(guardIn('ours')).length < droppedBy(unknownGuard).length);
});

test('a network of another VPC with the same addresses takes nothing from a pod: its Subnet decides, and its address is its own', () => {
  const twin = subnetOf('twin', '10.16.0.0/16 10.16.0.5', '')!;
  const guard = guardOf({ sandbox: aSandbox, pod: podIn('ours'), subnets: [...subnets, twin] });
  assert.deepEqual(guard.gateways, ['10.16.0.1']);
  const unvouched = guardOf({ sandbox: aSandbox, pod: podIn('missing'), subnets: [...subnets, twin] });
  assert.ok(aSandbox.ips.includes('10.16.0.5') && !unvouched.gateways.includes('10.16.0.5'));
});
