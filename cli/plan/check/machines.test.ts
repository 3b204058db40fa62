import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterFacts, Machine } from '../../model/cluster-facts.ts';
import { checked } from '../../testing-cluster.ts';
import type { Draft } from '../../testing-snapshots.ts';

type Spoil = (facts: Draft<ClusterFacts>) => void;

/** The second node, which does not have OVN's databases. */
const second = (change: Partial<Draft<Machine>>): Spoil => {
  return ({ machines }) => void Object.assign(machines?.[1] ?? {}, change);
};
const found = (spoil: Spoil, values = {}) => {
  const { problems, warnings, isWell } = checked(spoil, values);
  assert.equal(isWell, problems.length === 0);
  return [...problems.map(({ code }) => `problem ${code}`), ...warnings.map(({ code }) => `warning ${code}`)];
};

describe('versions', () => {
  const server =
    (version: string): Spoil =>
    (facts) => {
      facts.version = version;
      for (const machine of facts.machines ?? []) machine.kubelet = version;
    };

  it('are those the release was tested with', () => {
    for (const version of ['v1.30.0', 'v1.34.4', 'v1.33.1-eks-1de2ab1', 'v1.31.4+k3s1'])
      assert.deepEqual(found(server(version)), [], version);
  });

  it('older, newer and unreadable ones are distinguished', () => {
    assert.deepEqual(found(server('v1.29.9')), ['problem VersionTooOld', 'problem KubeletTooOld']);
    assert.deepEqual(found(server('v1.35.0')), ['warning VersionNotTested']);
    assert.deepEqual(found(server('devel')), [
      'warning VersionUnknown',
      ...Array<string>(3).fill('warning KubeletUnknown'),
    ]);
  });

  it('a kubelet is no newer than the API server, and not far behind', () => {
    assert.deepEqual(found(second({ kubelet: 'v1.35.0' })), ['warning KubeletNewer']);
    assert.deepEqual(found(second({ kubelet: 'v1.30.0' })), ['warning KubeletBehind']);
    const { problems } = checked(second({ kubelet: 'v1.28.3' }));
    assert.deepEqual(
      problems.map(({ code, message }) => [code, message.slice(0, 46)]),
      [['KubeletTooOld', 'kubelets are older than 1.30: n2 (v1.28.3); th']],
    );
  });
});

describe('machines', () => {
  it('are linux on amd64 or arm64; others are left out by the selector', () => {
    assert.deepEqual(found(second({ architecture: 'arm64' })), []);
    assert.deepEqual(found(second({ architecture: 'riscv64' })), ['problem SystemNotServed']);
    const windows = second({ os: 'windows', labels: { 'kubernetes.io/os': 'windows' } });
    assert.deepEqual(found(windows), ['warning NodesLeftOut']);
    const nobody = found(() => undefined, { daemon: { nodeSelector: { role: 'none' } } });
    assert.ok(nobody.includes('problem NoNodes'));
  });

  it('answer', () => {
    const conditions = [{ type: 'Ready', status: 'Unknown' as const, reason: 'NodeStatusUnknown', message: '' }];
    assert.deepEqual(found(second({ conditions })), ['warning NodeSilent']);
  });

  it('have a kernel that keeps comments of nftables, with any datapath', () => {
    for (const kernel of ['5.10.0-28-amd64', '6.1.0', '5.14.0-427.el9.x86_64'])
      assert.deepEqual(found(second({ kernel })), [], kernel);
    assert.deepEqual(found(second({ kernel: '5.4.0-100-generic' })), ['problem KernelTooOld']);
    const netdev = { networking: { datapathType: 'netdev' } };
    assert.deepEqual(found(second({ kernel: '4.19.0' }), netdev), ['problem KernelTooOld']);
    assert.deepEqual(found(second({ kernel: '4.18.0-553.el8_10.x86_64' })), ['warning KernelNotTested']);
    assert.deepEqual(found(second({ kernel: 'odd' })), ['warning KernelUnknown']);
  });

  it('run containerd', () => {
    assert.deepEqual(found(second({ runtime: 'containerd://1.6.20' })), []);
    assert.deepEqual(found(second({ runtime: 'containerd://1.5.9' })), ['problem RuntimeTooOld']);
    assert.deepEqual(found(second({ runtime: 'docker://27.1.1' })), ['problem RuntimeNotServed']);
    assert.deepEqual(found(second({ runtime: 'cri-o://1.34.0' })), ['warning RuntimeNotTested']);
  });
});

describe('addresses of nodes', () => {
  it('exist, and each belongs to one node', () => {
    assert.deepEqual(found(second({ addresses: [] })), ['problem NodeAddressMissing']);
    const { problems } = checked(second({ addresses: ['192.0.2.13'] }));
    assert.match(problems[0]?.message ?? '', /^n2, n3 all have the InternalIP 192\.0\.2\.13/);
  });

  it('have the same family first, and the families of the pods', () => {
    assert.deepEqual(found(second({ addresses: ['2001:db8::2', '192.0.2.12'] })), ['problem NodeFamiliesMixed']);
    const dual = {
      networking: { podCIDR: '10.16.0.0/16,fd00:10:16::/112', joinCIDR: '100.64.0.0/16,fd00:100:64::/112' },
    };
    assert.deepEqual(
      found(() => undefined, dual),
      ['warning NodeFamilyMissing'],
    );
    const both: Spoil = ({ machines }) => machines?.forEach((one, at) => one.addresses.push(`2001:db8::${at + 1}`));
    assert.deepEqual(found(both, dual), []);
  });
});
