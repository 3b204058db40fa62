/** kube-proxy as kubeadm installs it: a DaemonSet with its ConfigMap. Its program is that of the machine, as no registry has its image. */
import { imageName } from '../../lab/cri/image.ts';
import type { ClusterLayout } from '../../lab/layout.ts';
import { managementAddress } from '../../lab/network.ts';
import { tool } from '../../lab/tools.ts';

const name = 'kube-proxy';
const namespace = 'kube-system';
const folder = '/run/kube-proxy';
/** The machine's files in the container. */
const host = '/host';

export function kubeProxyManifest(cluster: ClusterLayout, mode: 'iptables' | 'nftables'): object {
  const metadata = { name, namespace };
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'kubeadm:node-proxier' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-proxier' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: {
        'config.conf': JSON.stringify(configOf(cluster, mode)),
        'kubeconfig.conf': JSON.stringify(kubeconfigOf(cluster)),
      },
    },
    { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec: daemonSetSpec() },
  ];
  return { apiVersion: 'v1', kind: 'List', items };
}

function configOf({ podCidr }: ClusterLayout, mode: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode,
    clientConnection: { kubeconfig: `${folder}/config/kubeconfig.conf` },
    clusterCIDR: podCidr,
    oomScoreAdj: 0,
    // Their kernel settings can be written in the first network namespace only.
    conntrack: { maxPerCore: 0, min: 0 },
  };
}

function kubeconfigOf(cluster: ClusterLayout): object {
  const server = `https://${managementAddress(cluster)}:6443`;
  const secret = `${folder}/secret`;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'default', cluster: { 'certificate-authority': `${secret}/ca.crt`, server } }],
    users: [{ name: 'default', user: { tokenFile: `${secret}/token` } }],
    contexts: [{ name: 'default', context: { cluster: 'default', user: 'default' } }],
    'current-context': 'default',
  };
}

function daemonSetSpec(): object {
  const labels = { 'k8s-app': name };
  const node = { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } };
  return {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: name,
        automountServiceAccountToken: false,
        hostNetwork: true,
        priorityClassName: 'system-node-critical',
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name,
            image: imageName,
            imagePullPolicy: 'Never',
            command: ['/bin/chroot', host, tool(name), `--config=${folder}/config/config.conf`],
            args: ['--hostname-override=$(NODE_NAME)'],
            env: [node, { name: 'PATH', value: '/usr/sbin:/usr/bin:/sbin:/bin' }],
            securityContext: { privileged: true },
            // At port 10256 the daemon may answer.
            readinessProbe: { httpGet: { host: '127.0.0.1', port: 10249, path: '/healthz' }, periodSeconds: 1 },
            volumeMounts: [
              { name: 'machine', mountPath: host },
              { name: 'config', mountPath: `${host}${folder}/config` },
              { name: 'secret', mountPath: `${host}${folder}/secret` },
            ],
          },
        ],
        volumes: [
          { name: 'machine', hostPath: { path: '/' } },
          { name: 'config', configMap: { name } },
          {
            name: 'secret',
            projected: {
              sources: [
                { serviceAccountToken: { path: 'token' } },
                { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
              ],
            },
          },
        ],
      },
    },
  };
}
