/** Objects that a real cluster would have from elsewhere: Nodes as kubelet registers them, and BGP objects as an operator writes them. */
import type { KubeClient } from '../../lib/kube/types.ts';
import { containerdVersion, runsContainerd } from './containerd.ts';
import type { ClusterLayout, Lab, NodeLayout } from './layout.ts';
import { applyAll, type Manifest } from './objects.ts';

/** Registers the cluster's nodes with address, labels and capacity, and reports them Ready. */
export async function registerNodes(kube: KubeClient, cluster: ClusterLayout): Promise<void> {
  await applyAll(
    kube,
    cluster.nodes.map((node) => nodeManifest(node)),
  );
  await Promise.all(cluster.nodes.map((node) => reportReady(kube, node)));
}

function nodeManifest(node: NodeLayout): Manifest {
  const labels = { 'kubernetes.io/hostname': node.name, 'kubernetes.io/os': 'linux', ...node.labels };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: node.name, labels } };
}

async function reportReady(kube: KubeClient, node: NodeLayout): Promise<void> {
  const now = new Date().toISOString();
  const capacity = { cpu: '8', memory: '32Gi', pods: '250' };
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'the lab runs pods here',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  const status = {
    capacity,
    allocatable: capacity,
    addresses: [
      { type: 'InternalIP', address: node.address },
      { type: 'Hostname', address: node.name },
    ],
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: '',
      osImage: 'network namespace',
      containerRuntimeVersion: runsContainerd(node) ? `containerd://${await containerdVersion()}` : 'lab://1',
      kubeletVersion: 'v1.34.4',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    },
    conditions: [ready],
  };
  // A strategic merge, so that a condition the daemon has set already is kept.
  await kube.request(
    'PATCH',
    `/api/v1/nodes/${node.name}/status`,
    { status },
    { contentType: 'application/strategic-merge-patch+json' },
  );
}

/** BGP as an operator of this cluster would configure it: every router a peer, every subnet announced. */
export function bgpManifests(lab: Lab, cluster: ClusterLayout): Manifest[] {
  if (lab.routers.length === 0) return [];
  const apiVersion = 'isthmus.network/v1alpha1';
  return [
    { apiVersion, kind: 'BgpInstance', metadata: { name: 'default' }, spec: { localASN: cluster.asn } },
    ...lab.routers.map((router) => ({
      apiVersion,
      kind: 'BgpPeer',
      metadata: { name: router.name },
      spec: {
        instance: 'default',
        address: router.address,
        asn: router.asn,
        holdTimeSeconds: 9,
        keepaliveSeconds: 3,
      },
    })),
    { apiVersion, kind: 'BgpAdvertisement', metadata: { name: 'subnets' }, spec: { source: 'Subnet' } },
  ];
}
