import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sandbox } from '../model/sandbox.ts';
import { findAttachmentFault, type KeptResult, type SeenAttachment } from './attachment-check.ts';
import { aSandbox } from '../testing-sandbox.ts';

const sandbox: Sandbox = { ...aSandbox, mac: '02:00:00:00:00:0a', ips: ['10.16.0.5', 'fd00::5'] };
const host = { index: 9, mac: '02:00:00:00:00:01', mtu: 1400, isUp: true, peer: 2 };
const pod = {
  index: 2,
  mac: '02:00:00:00:00:0a',
  mtu: 1400,
  isUp: true,
  peer: 9,
  addresses: [
    { address: '10.16.0.5', prefix: 16 },
    { address: 'fd00::5', prefix: 64 },
  ],
  routes: [
    { destination: '10.16.0.0/16', gateway: undefined, index: 2 },
    { destination: '0.0.0.0/0', gateway: '10.16.0.1', index: 2 },
    { destination: '::/0', gateway: 'fd00::1', index: 2 },
  ],
};
const seen = { pod, host, portFault: undefined };
const kept = {
  interfaces: [
    { name: 'abc_h', mac: host.mac },
    { name: 'eth0', mac: '02:00:00:00:00:0A', sandbox: '/var/run/netns/x', mtu: 1400 },
  ],
  ips: [
    { address: '10.16.0.5/16', interface: 1 },
    { address: 'fd00:0::5/64', interface: 1 },
  ],
  routes: [
    { dst: '0.0.0.0/0', gw: '10.16.0.1' },
    { dst: '::/0', gw: 'fd00::1' },
  ],
};

test('an attachment as ADD made it passes, in the format of every version', () => {
  assert.equal(findAttachmentFault(sandbox, kept, seen), undefined);
  const older = kept.interfaces.map((one) => ({ ...one, mtu: undefined }));
  assert.equal(findAttachmentFault(sandbox, { ...kept, interfaces: older }, seen), undefined);
});

test('additions and changes of later plugins pass', () => {
  const mac = '02:00:00:00:00:77';
  const tuned = kept.interfaces.map((one) => (one.name === 'eth0' ? { ...one, mac } : one));
  const more: KeptResult = {
    interfaces: [...tuned, { name: 'ifb0' }, { name: 'dummy0', sandbox: '/var/run/netns/x' }],
    ips: [...kept.ips, { address: '192.0.2.1/32', interface: 3 }, { address: '192.0.2.2/32' }],
    routes: [...kept.routes, { dst: '198.51.100.0/24', gw: '192.0.2.9' }, { dst: '203.0.113.0/24' }],
  };
  const addresses = [...pod.addresses, { address: '192.0.2.7', prefix: 24 }];
  assert.equal(findAttachmentFault(sandbox, more, { ...seen, pod: { ...pod, mac, addresses } }), undefined);
});

test('another interface of the pod may have the default route', () => {
  const routes = [{ destination: '0.0.0.0/0', gateway: '10.30.0.1', index: 3 }, ...pod.routes.slice(2)];
  assert.equal(findAttachmentFault(sandbox, kept, { ...seen, pod: { ...pod, routes } }), undefined);
});

const withPod = (changes: object): Partial<SeenAttachment> => ({ pod: { ...pod, ...changes } });
const faults: readonly [fault: string, seen: Partial<SeenAttachment>, kept?: KeptResult][] = [
  ['interface eth0 is gone', { pod: undefined }],
  ['interface abc_h of the node is gone', { host: undefined }],
  ['interface eth0 is not the other end of abc_h', withPod({ peer: 8 })],
  ['interface eth0 is down', withPod({ isUp: false })],
  ['interface abc_h of the node is down', { host: { ...host, isUp: false } }],
  ['interface eth0 has MAC address 02:00:00:00:00:99, not 02:00:00:00:00:0A', withPod({ mac: '02:00:00:00:00:99' })],
  ['interface eth0 has MTU 1300, not 1400', withPod({ mtu: 1300 })],
  ['interface eth0 has lost address fd00::5', withPod({ addresses: pod.addresses.slice(0, 1) })],
  [
    'address 10.16.0.5 of interface eth0 has prefix length 24, not 16',
    withPod({ addresses: [{ address: '10.16.0.5', prefix: 24 }] }),
  ],
  ['the route to 0.0.0.0/0 by 10.16.0.1 is gone', withPod({ routes: pod.routes.slice(2) })],
  [
    'the route to 0.0.0.0/0 on interface eth0 leads to 10.16.0.9, not to 10.16.0.1',
    withPod({ routes: [{ destination: '0.0.0.0/0', gateway: '10.16.0.9', index: 2 }] }),
  ],
  ['port abc_h is missing', { portFault: 'port abc_h is missing' }],
  ['prevResult has no interface eth0 in a sandbox', {}, { interfaces: [{ name: 'eth0' }] }],
  ['prevResult does not have address 10.16.0.5 of interface eth0', {}, { ...kept, ips: [] }],
];

for (const [fault, changes, result = kept] of faults)
  test(fault, () => assert.equal(findAttachmentFault(sandbox, result, { ...seen, ...changes }), fault));
