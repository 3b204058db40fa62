import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeInspection } from '../../model/node-inspection.ts';
import { checked, controllerOf } from '../../testing-cluster.ts';

function goodLook(address: string): NodeInspection {
  return {
    kernel: '6.12.0',
    modules: { openvswitch: 'loadable', vport_geneve: 'loadable', vport_vxlan: 'loadable' },
    interfaces: [{ name: 'eth0', mtu: 1500, addresses: [address] }],
    listening: [{ protocol: 'TCP', port: 10_250, address: '::' }],
    cni: [],
    unreadable: [],
  };
}

/** The results if the first node's inspection is modified; that node has the labels of OVN's databases. */
function found(spoil: (look: NodeInspection) => void, values = {}): readonly string[] {
  const { problems, warnings } = checked((facts) => {
    facts.looks = (facts.machines ?? []).map(({ name, addresses: [address = ''] }) => {
      const look = goodLook(address);
      if (name === 'n1') spoil(look);
      return { node: name, look, why: '' };
    });
  }, values);
  return [...problems.map(({ code }) => `problem ${code}`), ...warnings.map(({ code }) => `warning ${code}`)];
}

describe('the report of a node', () => {
  it('is well, and is not evaluated without an inspection', () => {
    assert.deepEqual(
      found(() => undefined),
      [],
    );
    const names = checked(() => undefined).checks.map(({ name }) => name);
    assert.ok(!names.includes('kernel modules') && !names.includes('MTU'));
  });

  it('a node that could not be inspected, or only in part', () => {
    const { problems } = checked((facts) => {
      facts.looks = [
        { node: 'n1', look: undefined, why: 'its pod did not end in time: container inspect: ErrImagePull' },
      ];
    });
    assert.deepEqual(
      problems.map(({ message }) => message),
      ['node n1 could not be inspected: its pod did not end in time: container inspect: ErrImagePull'],
    );
    assert.deepEqual(
      found((look) => void look.unreadable.push('/etc/cni/net.d: EACCES')),
      ['warning NodePartlySeen'],
    );
  });

  it('modules of the switch, with the datapath of the kernel', () => {
    const without = (look: NodeInspection): void => void (look.modules['vport_geneve'] = 'absent');
    assert.deepEqual(found(without), ['problem ModuleMissing']);
    assert.deepEqual(found(without, { networking: { datapathType: 'netdev' } }), []);
    assert.deepEqual(found(without, { ovs: { deploy: false } }), []);
  });

  it('room in the MTU of the uplink', () => {
    const mtu = (size: number) => (look: NodeInspection) => Object.assign(look.interfaces[0] ?? {}, { mtu: size });
    assert.deepEqual(found(mtu(1450)), ['warning MtuDiffers']);
    assert.deepEqual(found(mtu(1300)), ['problem MtuTooSmall']);
    assert.deepEqual(found(mtu(1450), { networking: { mtu: 1392 } }), []);
    assert.deepEqual(found(mtu(1450), { networking: { mtu: 1393 } }), ['problem MtuTooSmall']);
    assert.deepEqual(found(mtu(1450), { networking: { mtu: 1400, encapType: 'vxlan' } }), []);
    assert.deepEqual(
      found((look) => void look.interfaces.pop()),
      ['problem TunnelAddressAbsent'],
    );
  });

  it('ports that other programs of the node hold', () => {
    const port = (protocol: 'TCP' | 'UDP', number: number, address: string, values = {}) =>
      found((look) => void look.listening.push({ protocol, port: number, address }), values);
    assert.deepEqual(port('TCP', 6641, '0.0.0.0'), ['problem PortInUse']);
    assert.deepEqual(port('TCP', 6641, '192.0.2.11'), ['problem PortInUse']);
    assert.deepEqual(port('TCP', 10_660, '127.0.0.1'), ['problem PortInUse']);
    assert.deepEqual(port('TCP', 10_660, '192.0.2.11'), [], 'metrics are on one address');
    assert.deepEqual(port('TCP', 10_660, '192.0.2.11', { metrics: { bindAddress: '0.0.0.0' } }), ['problem PortInUse']);
    assert.deepEqual(port('UDP', 6081, '::'), ['problem PortInUse']);
    assert.deepEqual(port('UDP', 4789, '::'), []);
    const { problems } = checked((facts) => {
      facts.controllers?.push(controllerOf('isthmus-daemon', { isOurs: true }));
      const look = goodLook('192.0.2.11');
      look.listening.push({ protocol: 'TCP', port: 6641, address: '0.0.0.0' });
      facts.looks = [{ node: 'n1', look, why: '' }];
    });
    assert.deepEqual(problems, [], 'Isthmus itself');
  });

  it('configurations of other networks', () => {
    const with_ = (name: string) => found((look) => void look.cni.push(name));
    assert.deepEqual(with_('00-multus.conf'), ['problem ConfigurationFirst']);
    assert.deepEqual(with_('10-calico.conflist'), ['warning ConfigurationLeft']);
    assert.deepEqual(with_('01-isthmus.conflist'), []);
  });
});
