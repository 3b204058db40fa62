import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../model/node.ts';
import { isSameCondition, planNodeStatus, type NodeStatusInput } from './node-status.ts';

const node: Node = {
  name: 'n1',
  uid: 'u',
  network: { mac: '02:00:00:00:00:01', addresses: [], networks: [], subnet: 'join' },
  internalIps: [],
  labels: {},
  networkNotes: {},
  chassis: undefined,
  leave: undefined,
  serviceAddresses: [],
  servicesDryRun: undefined,
  unavailable: undefined,
  isToBeDeleted: false,
};
const well: NodeStatusInput = {
  node,
  hostProblems: [],
  portProblems: new Map(),
  isInstalled: true,
  down: [],
  accessProblem: undefined,
  tunnelProblem: undefined,
};
const vswitchd = { program: 'ovs-vswitchd', folder: '/run/openvswitch' } as const;
const ovnController = { program: 'ovn-controller', folder: '/run/ovn' } as const;
const problem = { code: 'RouteRefused', message: 'route 10.16.0.0/16: EEXIST' };

const cases: readonly [reason: string, status: 'True' | 'False', input: Partial<NodeStatusInput>][] = [
  ['NetworkReady', 'False', {}],
  ['NodeAddressMissing', 'True', { node: { ...node, network: undefined } }],
  ['NodeAnnotationsInvalid', 'True', { node: { ...node, network: 'annotation x is wrong' } }],
  ['HostNetworkPending', 'True', { hostProblems: undefined }],
  ['RouteRefused', 'True', { hostProblems: [problem] }],
  ['DatabaseRefused', 'True', { portProblems: new Map([['node/ovn0', { code: 'DatabaseRefused', message: 'x' }]]) }],
  ['NodePortNotInstalled', 'True', { isInstalled: false }],
  ['CertificateRefused', 'True', { isInstalled: false, accessProblem: { code: 'CertificateRefused', message: 'x' } }],
  ['NetworkReady', 'False', { accessProblem: { code: 'CertificateMissing', message: 'x' } }],
  ['TunnelAddressNotOnBridge', 'True', { tunnelProblem: { code: 'TunnelAddressNotOnBridge', message: 'x' } }],
  ['SwitchDown', 'True', { down: [vswitchd, ovnController], hostProblems: [problem], isInstalled: false }],
  ['OvnControllerDown', 'True', { down: [ovnController] }],
];

for (const [reason, status, input] of cases) {
  test(`NetworkUnavailable=${status}, ${reason}`, () => {
    const { condition, isReady } = planNodeStatus({ ...well, ...input });
    assert.deepEqual([condition.reason, condition.status, isReady], [reason, status, status === 'False']);
    assert.ok(isSameCondition({ ...condition, lastTransitionTime: 'x' }, condition));
    assert.ok(!isSameCondition({ ...condition, message: 'other', lastTransitionTime: 'x' }, condition));
  });
}
