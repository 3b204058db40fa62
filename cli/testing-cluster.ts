/**
 * A cluster that can take Isthmus, and a cluster that has it, as values that a test may modify. Called by tests only.
 */
import { check, type Report } from './plan/check/check.ts';
import type { ClusterFacts, Controller, Machine } from './model/cluster-facts.ts';
import type { Installation, Rollout } from './model/installation.ts';
import type { Draft } from './testing-snapshots.ts';
import { parseChartValues } from './watch/chart-values.ts';

const controlPlane = { 'node-role.kubernetes.io/control-plane': '' };

export function machineOf(name: string, address: string, more: Partial<Draft<Machine>> = {}): Draft<Machine> {
  return {
    name,
    labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name, 'ovn.kubernetes.io/bgp': 'true' },
    addresses: [address],
    podCidrs: [],
    maxPods: 110,
    kubelet: 'v1.34.4',
    kernel: '6.12.0-1-amd64',
    runtime: 'containerd://1.7.24',
    os: 'linux',
    architecture: 'amd64',
    conditions: [],
    ...more,
  };
}

export function controllerOf(name: string, more: Partial<Draft<Controller>> = {}): Draft<Controller> {
  return { kind: 'DaemonSet', namespace: 'kube-system', name, images: [], isOurs: false, version: undefined, ...more };
}

export function goodCluster(): Draft<ClusterFacts> {
  const first = machineOf('n1', '192.0.2.11');
  Object.assign(first.labels, controlPlane);
  return {
    label: 'east',
    namespace: 'kube-system',
    version: 'v1.34.4',
    machines: [first, machineOf('n2', '192.0.2.12'), machineOf('n3', '192.0.2.13')],
    portHolders: [],
    controllers: [controllerOf('kube-proxy'), controllerOf('coredns', { kind: 'Deployment' })],
    definitions: [],
    storageClasses: [],
    serviceRanges: { cidrs: ['10.96.0.0/16'], isKnown: true },
    serviceAddresses: [
      { service: 'default/kubernetes', address: '10.96.0.1' },
      { service: 'kube-system/kube-dns', address: '10.96.0.10' },
    ],
    serverAddresses: ['192.0.2.11'],
    hasAdmissionPolicies: true,
    looks: undefined,
    unreadable: [],
  };
}

/** The results of the checks for a good cluster after a modification, with the given values. */
export function checked(
  spoil: (facts: Draft<ClusterFacts>) => void,
  values: Readonly<Record<string, unknown>> = {},
): Report {
  const facts = goodCluster();
  spoil(facts);
  return check({ facts, values: parseChartValues(values) });
}

const good = (type: string, status: 'True' | 'False', reason: string) => ({ type, status, reason, message: '' });

function rolloutOf(kind: Rollout['kind'], name: string, count: number): Draft<Rollout> {
  const counts = { desired: count, updated: count, total: count, ready: count };
  const nodeSelector = { 'kubernetes.io/os': 'linux' };
  return { kind, name, component: name, isObserved: true, ...counts, obstacle: undefined, nodeSelector };
}

export function goodInstallation(): Draft<Installation> {
  const labels = { 'kubernetes.io/os': 'linux' };
  const nodeOf = (name: string) => ({
    name,
    labels: { ...labels },
    conditions: [good('NetworkUnavailable', 'False', 'NetworkReady'), good('Ready', 'True', 'KubeletReady')],
  });
  return {
    label: 'east',
    namespace: 'kube-system',
    rollouts: [
      rolloutOf('Deployment', 'isthmus-controller', 2),
      rolloutOf('DaemonSet', 'isthmus-daemon', 2),
      rolloutOf('Deployment', 'isthmus-ovn-central', 1),
      rolloutOf('DaemonSet', 'isthmus-ovs', 2),
      rolloutOf('DaemonSet', 'isthmus-speaker', 0),
    ],
    pods: [],
    nodes: [nodeOf('n1'), nodeOf('n2')],
    subnets: ['join', 'ovn-default'].map((name) => ({ name, conditions: [good('Ready', 'True', 'Ready')] })),
  };
}
