/**
 * `make test-conformance`: Kubernetes' own tests of networks (e2e.test), run in a cluster of machines where Isthmus was installed by `helm install`.
 * In: LAB and TOPOLOGY from the environment, FOCUS and SKIP as ginkgo takes them. Without them, a cluster with kube-proxy runs the tests that make a
 * network conformant; one without runs all tests of Services and what belongs to them. Ends with ginkgo's exit code; leaves the lab up.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { User } from '../cluster/user.ts';
import { interruptible } from '../lab/interrupt.ts';
import { type ClusterLayout, labName } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { upFromEnvironment } from '../lab/main.ts';
import { inNetns, run } from '../lab/run.ts';
import { tool } from '../lab/tools.ts';
import { giveImages, type ImageNames, install, kubeconfigInside, routeToPods } from './suite-lab.ts';

/** What a network has to pass to be called conformant. */
const conformance = String.raw`\[sig-network\].*\[Conformance\]`;
const services = String.raw`\[sig-network\] (Services|EndpointSlice|EndpointSliceMirroring|DNS|Proxy|HostPort|Service ?CIDR|Conntrack|LoadBalancers|Traffic Distribution|Networking)`;
/** Tests of Services that are not run without kube-proxy, and why. */
const leftOut = [
  ['Serial|Disruptive', 'they change nodes or restart programs that this lab does not have'],
  ['SCTP', 'the kernel of the lab may have no module for SCTP'],
  ['IPv6DualStack|Feature:(IPv6|Networking-IPv6)', 'the pods of the lab have IPv4 addresses'],
  ['Feature:Networking-IPv4|Feature:Networking-DNS', 'the lab has no way to the internet'],
  [
    'Feature:(Topology|kubemci|Federation|NoSNAT|Ingress|Networking-Performance)|Ingress',
    'they need another cluster or cloud',
  ],
  ['RelaxedServiceName', 'the feature is alpha and off'],
  [
    'large requests: udp|endpoints using hostNetwork',
    'Open vSwitch without the kernel module loses fragments that go to a Service',
  ],
  ['affinity timeout work for service with type clusterIP', 'OVN has no timeout of affinity'],
  [
    'switch session affinity for LoadBalancer service with Local traffic policy',
    'routers spread connections over nodes by their own hash',
  ],
  ['kube-proxy urls', 'there is no kube-proxy'],
] as const;
const loadBalancers = '198.51.100.0/26';
/** From where the tests reach load balancers: tests of policy Local want an address that is not in the network of the nodes. */
const client = '203.0.113.10';
/** Images of this folder, and the names of the tests' images that each stands for. */
const images = [
  ['agnhost', /^registry\.k8s\.io\/(?:e2e-test-images\/(?:agnhost|busybox|jessie-dnsutils)|pause):/],
  ['regression-issue-74839', /^registry\.k8s\.io\/e2e-test-images\/regression-issue-74839:/],
] as const;

async function judge(): Promise<void> {
  await upFromEnvironment();
  const user = new User(openLab());
  for (const cluster of user.lab.layout.clusters) {
    await install(user, cluster.name, ['services.externalIPs=Allow']);
    await Promise.all([
      giveImages(cluster, await imageNames()),
      routeToPods(cluster),
      serveLoadBalancers(user, cluster),
    ]);
    await user.untilRolledOut(cluster.name, 'deployment/coredns');
    runTests(cluster);
  }
}

async function imageNames(): Promise<readonly ImageNames[]> {
  const names = (await run([tool('e2e.test'), '--list-images'])).split('\n');
  return images.map(([image, pattern]) => [image, names.filter((name) => pattern.test(name))]);
}

/** In a cluster without kube-proxy, tests of load balancers need addresses, and a way to them: by the router that learns them by BGP. */
async function serveLoadBalancers(user: User, { name, netns, address, kubeProxy }: ClusterLayout): Promise<void> {
  const { lab } = user;
  const [router] = lab.layout.routers;
  if (kubeProxy !== 'none' || router === undefined) return;
  await user.peer(name);
  const objects = [
    { apiVersion: 'isthmus.network/v1', kind: 'LoadBalancerPool', spec: { addresses: [loadBalancers] } },
    { apiVersion: 'isthmus.network/v1alpha1', kind: 'BgpAdvertisement', spec: { source: 'Service' } },
  ];
  for (const object of objects)
    await lab.kubectl(name, ['apply', '-f', '-'], JSON.stringify({ ...object, metadata: { name: 'conformance' } }));
  await lab.kubectl(name, ['label', '--overwrite', 'nodes', '--all', 'ovn.kubernetes.io/bgp=true']);
  await run(['ip', '-n', netns, 'address', 'replace', `${client}/32`, 'dev', 'lo']);
  await run(['ip', '-n', netns, 'route', 'replace', loadBalancers, 'via', router.address, 'src', client]);
  await run(['ip', '-n', router.netns, 'route', 'replace', client, 'via', address]);
}

function choiceFor({ kubeProxy }: ClusterLayout): { readonly focus: string; readonly skip: string } {
  const { FOCUS, SKIP } = process.env;
  if (kubeProxy !== 'none') return { focus: FOCUS || conformance, skip: SKIP ?? '' };
  if (SKIP === undefined) for (const [pattern, reason] of leftOut) console.log(`left out: ${pattern}: ${reason}`);
  return { focus: FOCUS || services, skip: SKIP ?? leftOut.map(([pattern]) => pattern).join('|') };
}

function runTests(cluster: ClusterLayout): void {
  const { dir, netns, nodes } = cluster;
  const { focus, skip } = choiceFor(cluster);
  const chosen = [`--focus=${focus}`, ...(skip === '' ? [] : [`--skip=${skip}`])];
  const report = [`--output-dir=${dir}`, '--json-report=conformance.json'];
  const suite = ['--provider=skeleton', `--num-nodes=${nodes.length}`, `--kubectl-path=${tool('kubectl')}`];
  const kubeconfig = `--kubeconfig=${kubeconfigInside(cluster)}`;
  const flags = ['--procs=4', '--no-color', '--timeout=2h', ...chosen, ...report];
  const argv = [...flags, tool('e2e.test'), '--', ...suite, kubeconfig];
  const [command = '', ...args] = inNetns(netns, [tool('ginkgo'), ...argv]);
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`ginkgo ended with ${status}; its report: ${join(dir, 'conformance.json')}`);
}

if (import.meta.main)
  interruptible(labName(), judge).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
