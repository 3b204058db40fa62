/** The configuration files of a node with a kubelet. Pure: cluster and node → texts. JSON, which YAML contains. */
import { join } from 'node:path';
import { containerdConfig } from '../containerd.ts';
import { proxyKubeconfig } from '../control-plane.ts';
import type { ClusterLayout, NodeLayout } from '../layout.ts';
import { clusterDomain, dnsAddress } from './dns.ts';

/** File in the node's folder → text. Paths within are those of the node's own machine (box.sh). */
export function nodeFiles(cluster: ClusterLayout, node: NodeLayout): Readonly<Record<string, string>> {
  return {
    'containerd.toml': containerdConfig({
      root: '/var/lib/containerd',
      state: '/run/containerd',
      socket: '/run/containerd/containerd.sock',
      cniBin: '/opt/cni/bin',
      cniConf: '/etc/cni/net.d',
      hasOwnNamespaces: false,
    }),
    'kubelet.yaml': text(kubeletConfig(cluster, node)),
    ...(cluster.kubeProxy !== 'none' && { 'kube-proxy.yaml': text(proxyConfig(cluster, node)) }),
    // There is no name server outside.
    'resolv.conf': 'nameserver 192.0.2.53\n',
  };
}

function text(value: object): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}

function kubeletConfig(cluster: ClusterLayout, node: NodeLayout): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(cluster.dir, 'pki/ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    clusterDNS: [dnsAddress(cluster)],
    clusterDomain,
    resolvConf: join(node.dir, 'resolv.conf'),
    // The disk belongs to the whole machine, so its usage does not concern this node.
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    imageGCHighThresholdPercent: 100,
    // A machine that is itself a container may not let a process be spared from the kernel's memory killer.
    oomScoreAdj: 0,
  };
}

function proxyConfig(cluster: ClusterLayout, node: NodeLayout): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: cluster.kubeProxy,
    clientConnection: { kubeconfig: proxyKubeconfig(cluster) },
    clusterCIDR: cluster.podCidr,
    hostnameOverride: node.name,
    oomScoreAdj: 0,
    // Their kernel settings can be written in the first network namespace only.
    conntrack: { maxPerCore: 0, min: 0 },
  };
}
