/** Tests of the checks for other networks, former installations, placement, ports, and unreadable facts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterFacts } from '../../model/cluster-facts.ts';
import { checked, controllerOf } from '../../testing-cluster.ts';
import type { Draft } from '../../testing-snapshots.ts';

type Spoil = (facts: Draft<ClusterFacts>) => void;
const nothing: Spoil = () => undefined;
const found = (spoil: Spoil, values = {}) => {
  const { problems, warnings } = checked(spoil, values);
  return [...problems.map(({ code }) => `problem ${code}`), ...warnings.map(({ code }) => `warning ${code}`)];
};
const also =
  (...names: readonly string[]): Spoil =>
  ({ controllers }) =>
    void controllers?.push(...names.map((name) => controllerOf(name)));
const definition = (name: string, release?: string) => ({
  name,
  group: name.slice(name.indexOf('.') + 1),
  isOurs: release === 'kube-system/isthmus',
  release,
});
const kinds =
  (...all: readonly ReturnType<typeof definition>[]): Spoil =>
  ({ definitions }) =>
    void definitions?.push(...all);

describe('other networks', () => {
  it('that run are a problem, with both remedies', () => {
    for (const name of [
      'calico-node',
      'kube-flannel-ds',
      'cilium',
      'ovnkube-node',
      'weave-net',
      'antrea-agent',
      'kindnet',
    ])
      assert.deepEqual(found(also(name)), ['problem OtherNetwork'], name);
    const [kubeOvn] = checked(also('kube-ovn-cni', 'ovs-ovn')).problems;
    assert.match(kubeOvn?.message ?? '', /DaemonSet kube-system\/kube-ovn-cni, DaemonSet kube-system\/ovs-ovn/);
    assert.match(kubeOvn?.fix ?? '', /docs\/guides\/from-kube-ovn\.md/);
    assert.match(checked(also('calico-node')).problems[0]?.fix ?? '', /^remove Calico with its CNI configuration/);
  });

  it('of which kinds are left are a warning', () => {
    assert.deepEqual(found(kinds(definition('ippools.crd.projectcalico.org'))), ['warning OtherNetworkLeft']);
  });

  it('kinds of kubeovn.io from another installation are a problem', () => {
    const spoil = kinds(definition('subnets.kubeovn.io', 'kube-system/kube-ovn'), definition('vpcs.kubeovn.io'));
    assert.deepEqual(found(spoil), ['problem KindsOfAnother']);
    assert.match(checked(spoil).problems[0]?.message ?? '', /kube-system\/kube-ovn, an owner unknown to helm/);
    assert.deepEqual(found(kinds(definition('subnets.kubeovn.io', 'kube-system/isthmus'))), []);
  });

  it('kube-proxy is found by its name or its image', () => {
    const without: Spoil = (facts) => void (facts.controllers = []);
    assert.deepEqual(found(without), ['warning ServiceProxyNotSeen']);
    const images = ['registry.k8s.io/kube-proxy:v1.34.4'];
    assert.deepEqual(
      found((facts) => void (facts.controllers = [controllerOf('node-services', { images })])),
      [],
    );
  });
});

describe('Isthmus itself', () => {
  const ours = (namespace: string): Spoil => {
    const one = controllerOf('isthmus-daemon', { isOurs: true, version: '0.1.0', namespace });
    return ({ controllers }) => void controllers?.push(one);
  };

  it('an existing installation is to be upgraded; in another namespace it is a problem', () => {
    const { isWell, warnings } = checked(ours('kube-system'));
    assert.equal(isWell, true);
    assert.match(warnings[0]?.message ?? '', /^Isthmus 0\.1\.0 is installed in kube-system: isthmus-daemon$/);
    assert.match(warnings[0]?.fix ?? '', /docs\/guides\/upgrade\.md/);
    assert.deepEqual(found(ours('net')), ['problem Installed']);
  });

  it('kinds that an uninstallation keeps are a warning', () => {
    const kept = kinds(definition('interconnects.isthmus.network', 'kube-system/isthmus'));
    assert.deepEqual(found(kept), ['warning FormerInstallation']);
  });
});

describe('placement', () => {
  it('OVN’s databases need a node', () => {
    const workers: Spoil = ({ machines }) =>
      machines?.forEach(({ labels }) => Reflect.deleteProperty(labels, 'node-role.kubernetes.io/control-plane'));
    assert.deepEqual(found(workers), ['problem CentralNotPlaced']);
    assert.match(
      checked(workers).problems[0]?.fix ?? '',
      /kubectl label node NODE node-role\.kubernetes\.io\/control-plane=;/,
    );
    assert.deepEqual(found(workers, { ovn: { central: { deploy: false } } }), []);
    const nodeSelector = { 'node-role.kubernetes.io/control-plane': null, 'kubernetes.io/hostname': 'n2' };
    assert.deepEqual(found(workers, { ovn: { central: { nodeSelector } } }), []);
    const both = { 'kubernetes.io/hostname': 'n2' };
    assert.deepEqual(
      found(nothing, { ovn: { central: { nodeSelector: both } } }),
      ['problem CentralNotPlaced'],
      'as helm merges',
    );
  });

  it('the controller needs a node, and each of its replicas another one', () => {
    assert.deepEqual(found(nothing, { controller: { nodeSelector: { role: 'none' } } }), [
      'problem ControllerNotPlaced',
    ]);
    const single: Spoil = ({ machines }) => void machines?.splice(1);
    assert.deepEqual(found(single), ['warning ReplicasExceedNodes']);
    assert.deepEqual(found(single, { controller: { replicas: 1 } }), []);
    assert.deepEqual(found(single, { controller: { replicas: 1 }, interconnect: { enabled: true } }), [
      'warning RoleNotGiven',
      'warning ReplicasExceedNodes',
    ]);
  });

  it('speakers and gateways may get their nodes later', () => {
    const plain: Spoil = ({ machines }) =>
      machines?.forEach(({ labels }) => Reflect.deleteProperty(labels, 'ovn.kubernetes.io/bgp'));
    assert.deepEqual(found(plain), ['warning RoleNotGiven']);
    assert.deepEqual(found(plain, { speaker: { enabled: false } }), []);
    assert.deepEqual(found(nothing, { interconnect: { enabled: true } }), ['warning RoleNotGiven']);
  });

  it('the hub needs a volume, or a folder of one node', () => {
    const hub = (storage: object, nodeSelector = {}) => ({ hub: { enabled: true, storage, nodeSelector } });
    const classes: Spoil = ({ storageClasses }) =>
      void storageClasses?.push({ name: 'fast', isDefault: true }, { name: 'slow', isDefault: false });
    assert.deepEqual(found(nothing, hub({})), ['problem NoStorageClass']);
    assert.deepEqual(found(classes, hub({})), []);
    assert.deepEqual(found(classes, hub({ className: 'slow' })), []);
    assert.match(
      checked(classes, hub({ className: 'odd' })).problems[0]?.message ?? '',
      /no StorageClass odd \(there are fast, slow\)/,
    );
    assert.deepEqual(found(nothing, hub({ hostPath: '/hub' })), ['warning HubMayMove']);
    assert.deepEqual(found(nothing, hub({ hostPath: '/hub' }, { 'kubernetes.io/hostname': 'n1' })), []);
    assert.deepEqual(found(nothing, hub({}, { role: 'none' })), ['problem HubNotPlaced']);
  });

  it('admission policies are served where the chart brings them', () => {
    const without: Spoil = (facts) => void (facts.hasAdmissionPolicies = false);
    assert.deepEqual(found(without), ['problem AdmissionPolicyNotServed']);
    assert.deepEqual(found(without, { rbac: { admissionPolicy: false } }), ['warning AdmissionPolicyOff']);
  });
});

describe('ports', () => {
  const pod =
    (node: string, protocol: string, port: number, isOurs = false): Spoil =>
    ({ portHolders }) =>
      void portHolders?.push({ namespace: 'net', name: 'other', node, isOurs, ports: [{ protocol, port }] });

  it('are free where Isthmus needs them', () => {
    for (const [protocol, port] of [
      ['TCP', 10_660],
      ['TCP', 10_665],
      ['TCP', 10_667],
      ['TCP', 179],
      ['UDP', 6081],
    ] as const)
      assert.deepEqual(found(pod('n2', protocol, port)), ['problem PortTaken'], String(port));
    assert.equal(
      checked(pod('n2', 'UDP', 6081)).problems[0]?.message,
      'pod net/other holds udp port 6081 of node n2, which is for geneve tunnels',
    );
  });

  it('on other nodes, of another protocol or held by Isthmus they are ignored', () => {
    assert.deepEqual(found(pod('n2', 'TCP', 6641)), []);
    assert.deepEqual(found(pod('n1', 'TCP', 6641)), ['problem PortTaken']);
    assert.deepEqual(found(pod('n2', 'TCP', 6081)), []);
    assert.deepEqual(found(pod('n2', 'TCP', 10_665, true)), []);
    assert.deepEqual(found(pod('n2', 'UDP', 4789)), []);
    assert.deepEqual(found(pod('n2', 'UDP', 4789), { networking: { encapType: 'vxlan' } }), ['problem PortTaken']);
    assert.deepEqual(found(pod('n2', 'TCP', 10_669)), []);
    assert.ok(found(pod('n2', 'TCP', 10_669), { interconnect: { enabled: true } }).includes('problem PortTaken'));
  });
});

describe('tunnels', () => {
  const daemonWith =
    (encapType: string): Spoil =>
    ({ controllers }) =>
      void controllers?.push(controllerOf('isthmus-daemon', { isOurs: true, encapType }));

  it('that cannot carry the keys of an interconnect are a problem of a member', () => {
    for (const encapType of ['vxlan', 'geneve,vxlan']) {
      assert.deepEqual(found(nothing, { networking: { encapType } }), []);
      const { problems } = checked(nothing, { networking: { encapType }, interconnect: { hub: '192.0.2.10:6650' } });
      assert.ok(problems.some(({ code }) => code === 'TunnelTypeUnsupported'));
    }
  });

  it('of the running nodes and of the values have a type in common', () => {
    const isFound = (from: string, to: string): boolean =>
      found(daemonWith(from), { networking: { encapType: to } }).includes('problem NoCommonTunnelType');
    assert.ok(isFound('geneve', 'vxlan') && isFound('vxlan', 'geneve'));
    assert.ok(!isFound('geneve', 'geneve,vxlan') && !isFound('geneve,vxlan', 'vxlan') && !isFound('vxlan', 'vxlan'));
  });
});

it('a failed read is not reported as healthy', () => {
  const unreadable = [{ code: 'Forbidden', what: 'nodes', message: 'you may not read nodes' }];
  const report = checked((facts) => Object.assign(facts, { machines: undefined, unreadable }));
  assert.deepEqual([report.isWell, report.problems], [false, []]);
  assert.ok(report.checks.filter(({ state }) => state === 'unknown').length > 5);
  const blind = checked((facts) =>
    Object.assign(facts, {
      portHolders: undefined,
      controllers: undefined,
      definitions: undefined,
      serviceRanges: undefined,
      serverAddresses: undefined,
      hasAdmissionPolicies: undefined,
    }),
  );
  const unknown = blind.checks.filter(({ state }) => state === 'unknown').map(({ name }) => name);
  assert.deepEqual(unknown, [
    'installation',
    'other networks',
    'kinds',
    'Service range',
    'machines outside of the networks',
    'Services',
    'admission policies',
    'ports',
  ]);
});
