import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFlags, UsageError } from '../lib/run/flags.ts';
import { controlFolders, encapAddress, flagSpec, podMtu, type Settings } from './settings.ts';
import type { Node } from './model/node.ts';

const node: Node = {
  name: 'n1',
  uid: 'u',
  network: undefined,
  labels: {},
  networkNotes: {},
  internalIps: ['172.30.1.11'],
  chassis: undefined,
  leave: undefined,
  serviceAddresses: [],
  servicesDryRun: undefined,
  unavailable: undefined,
  isToBeDeleted: false,
};

function settingsOf(...flags: readonly string[]): Settings {
  return parseFlags(flagSpec, ['--node', 'n1', '--sb', 'tcp:172.30.1.10:6642', ...flags], {});
}

test('the tunnel address: the flag, else the InternalIP, else a clear refusal', () => {
  assert.equal(encapAddress(settingsOf('--encap-ip', '192.0.2.1'), node), '192.0.2.1');
  assert.equal(encapAddress(settingsOf(), node), '172.30.1.11');
  assert.throws(() => encapAddress(settingsOf(), { ...node, internalIps: [] }), /--encap-ip/);
  assert.throws(() => encapAddress(settingsOf('--encap-ip', 'eth0'), node), UsageError);
});

test('the MTU of pods: the flag, else that of the uplink less the tunnel', () => {
  const links = [
    { mtu: 65536, addresses: ['127.0.0.1'] },
    { mtu: 9000, addresses: ['172.30.1.11', 'fd00::1'] },
  ];
  assert.equal(podMtu(settingsOf('--mtu', '1400'), '172.30.1.11', []), 1400);
  assert.equal(podMtu(settingsOf(), '172.30.1.11', links), 8942);
  assert.equal(podMtu(settingsOf(), 'fd00::1', links), 8922);
  assert.equal(podMtu(settingsOf('--encap-type', 'vxlan'), '172.30.1.11', links), 8950);
  assert.equal(podMtu(settingsOf('--encap-type', 'geneve,vxlan'), '172.30.1.11', links), 8942);
  assert.throws(
    () => podMtu(settingsOf(), '192.0.2.1', links),
    /no interface of this node has the tunnel address 192.0.2.1/,
  );
});

test("control sockets: ovs-vswitchd's beside its database's, ovn-controller's where the flag says", () => {
  assert.deepEqual(
    [...controlFolders(settingsOf())],
    [
      ['ovs-vswitchd', '/var/run/openvswitch'],
      ['ovn-controller', '/var/run/ovn'],
    ],
  );
  const elsewhere = settingsOf('--ovs', 'tcp:127.0.0.1:6640', '--ovs-rundir', '/run/n1');
  assert.deepEqual([...controlFolders(elsewhere)], [['ovn-controller', '/run/n1']]);
});
