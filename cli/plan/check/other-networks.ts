/** Checks for other software in the cluster that provides pod networking or claims to. Pure. */
import type { Controller, Definition } from '../../model/cluster-facts.ts';
import { cause, type Cause } from '../diagnose/step.ts';
import { few, notSeen, outcome, type Outcome, type Question } from './outcome.ts';

interface KnownNetwork {
  readonly name: string;
  /** DaemonSets that identify this network. */
  readonly daemonSets: readonly string[];
  /** API groups of its kinds; empty if it has none. */
  readonly groups: readonly string[];
}

const known: readonly KnownNetwork[] = [
  { name: 'Calico', daemonSets: ['calico-node', 'canal'], groups: ['crd.projectcalico.org', 'operator.tigera.io'] },
  { name: 'Flannel', daemonSets: ['kube-flannel-ds', 'kube-flannel'], groups: [] },
  { name: 'Cilium', daemonSets: ['cilium'], groups: ['cilium.io'] },
  { name: 'Kube-OVN', daemonSets: ['kube-ovn-cni', 'ovs-ovn', 'kube-ovn-pinger'], groups: [] },
  { name: 'OVN-Kubernetes', daemonSets: ['ovnkube-node', 'ovs-node'], groups: ['k8s.ovn.org'] },
  { name: 'Weave Net', daemonSets: ['weave-net'], groups: [] },
  { name: 'Antrea', daemonSets: ['antrea-agent'], groups: ['crd.antrea.io'] },
  { name: 'kindnet', daemonSets: ['kindnet'], groups: [] },
  { name: 'kube-router', daemonSets: ['kube-router'], groups: [] },
  { name: 'Amazon VPC CNI', daemonSets: ['aws-node'], groups: ['crd.k8s.amazonaws.com'] },
];

export function judgeOtherNetworks({ facts: { controllers, definitions }, values }: Question): Outcome {
  if (controllers === undefined) return notSeen('DaemonSets');
  const problems: Cause[] = [];
  const warnings: Cause[] = [];
  for (const network of known) {
    const running = controllers.filter(
      ({ kind, name, isOurs }) => kind === 'DaemonSet' && !isOurs && network.daemonSets.includes(name),
    );
    const left = (definitions ?? []).filter(({ group }) => network.groups.includes(group));
    if (running.length > 0) problems.push(runningCause(network, running));
    else if (left.length > 0) warnings.push(leftCause(network, left, values.daemon.cni.confDir));
  }
  const seen = definitions === undefined ? '; CRDs left by other networks could not be read' : '';
  return outcome(`no other network found${seen}`, { problems, warnings });
}

function runningCause({ name }: KnownNetwork, running: readonly Controller[]): Cause {
  const objects = few(running.map((one) => `DaemonSet ${one.namespace}/${one.name}`));
  const message = `${name} runs here (${objects}): two networks cannot run side by side, because container runtimes take the CNI configuration that comes first by its file name`;
  const migration =
    name === 'Kube-OVN'
      ? 'take its objects and pods over (docs/guides/from-kube-ovn.md), or remove it from nodes without pods'
      : `remove ${name} with its CNI configuration on the nodes, then recreate all pods except those on the host network; Isthmus can take over running pods only from Kube-OVN`;
  return cause('OtherNetwork', message, migration);
}

function leftCause({ name }: KnownNetwork, left: readonly Definition[], confDir: string): Cause {
  const message = `CRDs of ${name} exist without its DaemonSet: ${few(
    left.map((one) => one.name),
    3,
  )}`;
  return cause(
    'OtherNetworkLeft',
    message,
    `check that ${name} is gone from the nodes (${confDir}, interfaces, rules), and delete its CRDs`,
  );
}

/** Finds a former or present installation of Isthmus: then this is not a new cluster. */
export function judgeInstallation({ facts: { controllers, definitions, namespace } }: Question): Outcome {
  if (controllers === undefined) return notSeen('DaemonSets and Deployments');
  const ours = controllers.filter(({ isOurs }) => isOurs);
  const [first] = ours;
  if (first !== undefined) {
    const message =
      `Isthmus ${first.version ?? ''} is installed in ${first.namespace}: ${few(ours.map(({ name }) => name))}`.replace(
        '  ',
        ' ',
      );
    const fix =
      first.namespace === namespace
        ? 'this command is for use before the installation; upgrade it (docs/guides/upgrade.md), or check it: isthmus status'
        : `a cluster can have only one Isthmus: upgrade that one (docs/guides/upgrade.md), or uninstall it before you install it in ${namespace}`;
    const found = cause('Installed', message, fix);
    return first.namespace === namespace ? outcome('', { warnings: [found] }) : outcome('', { problems: [found] });
  }
  const kept = (definitions ?? []).filter(({ group }) => group === 'isthmus.network');
  if (kept.length === 0) return outcome('none; this is the first');
  const message = `CRDs of a former installation exist (${few(
    kept.map(({ name }) => name),
    3,
  )}), with their objects`;
  const fix =
    'nothing to do if these objects will be used again; otherwise delete them first: kubectl delete interconnect default';
  return outcome('', { warnings: [cause('FormerInstallation', message, fix)] });
}

/** Kinds of the chart that have another owner: helm refuses to adopt them, or they are deleted together with their owner. */
export function judgeDefinitions({ facts: { definitions, namespace } }: Question): Outcome {
  if (definitions === undefined) return notSeen('CustomResourceDefinitions');
  const shared = definitions.filter(({ group, isOurs }) => group === 'kubeovn.io' && !isOurs);
  if (shared.length === 0) return outcome('no CRD of kubeovn.io has another owner');
  const owners = [...new Set(shared.map(({ release }) => release ?? 'an owner unknown to helm'))];
  const message = `CRDs of kubeovn.io exist and belong to ${owners.join(', ')}: ${few(
    shared.map(({ name }) => name),
    3,
  )}; helm install refuses CRDs of another owner (invalid ownership metadata), and where it does not, they lack the fields of Isthmus`;
  const fix = `if Kube-OVN is to stay out: kubectl apply --server-side --force-conflicts -f charts/isthmus/crds/ before helm install -n ${namespace}; to take it over: docs/guides/from-kube-ovn.md`;
  return outcome('', { problems: [cause('KindsOfAnother', message, fix)] });
}

/** kube-proxy handles Services until Isthmus does. */
export function judgeServiceProxy({ facts: { controllers } }: Question): Outcome {
  if (controllers === undefined) return notSeen('DaemonSets');
  const proxy = controllers.find(
    ({ kind, name, images }) =>
      kind === 'DaemonSet' &&
      (name.startsWith('kube-proxy') || images.some((image) => /\/kube-proxy[:@-]/.test(image))),
  );
  if (proxy !== undefined) return outcome(`DaemonSet ${proxy.namespace}/${proxy.name}`);
  const message =
    'no DaemonSet of kube-proxy was found; Isthmus does not serve Services by default, and its programs reach the API server through the Service kubernetes';
  const fix =
    'install kube-proxy; nothing to do where it runs as a program of the nodes (k3s, RKE2) or another program replaces it';
  return outcome('', { warnings: [cause('ServiceProxyNotSeen', message, fix)] });
}
