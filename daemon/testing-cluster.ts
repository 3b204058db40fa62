/**
 * The rest of a cluster around a TestNode: a real API server with the chart's CRDs and the daemon's own role, and what the
 * controller would do – a logical network in NB, addresses in annotations. Callers: test/system/daemon*.test.ts only.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { addressCondition } from '../lib/api/pod-addresses.ts';
import { annotation, interfaceAnnotation } from '../lib/api/names.ts';
import { openKube } from '../lib/kube/client.ts';
import {
  bgpNodeStates,
  events,
  interconnectGateways,
  interconnects,
  nodes,
  pods,
  providerNetworks,
  remoteClusters,
  subnets,
  transitSwitches,
  vlans,
  vpcDnses,
} from '../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../lib/kube/testing.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { type TestNode } from './testing.ts';
import { vouchingStatus } from './testing-pods.ts';
import { eventually } from '../lib/testing-eventually.ts';

const chart = join(import.meta.dirname, '../charts/isthmus');
const networks = {
  join: { cidr: '100.64.0.0/16', gateway: '100.64.0.1', mac: '02:00:00:00:01:01' },
  'ovn-default': { cidr: '10.16.0.0/16', gateway: '10.16.0.1', mac: '02:00:00:00:01:02' },
  red: { cidr: '10.30.0.0/16', gateway: '10.30.0.1', mac: '02:00:00:00:01:03' },
} as const;
type Network = keyof typeof networks;
const nodeIp = '100.64.0.2';
export const nodeMac = '02:00:64:40:00:02';

/** A pod and one sandbox of it: what a runtime passes to the plugin. */
export interface TestPod {
  readonly name: string;
  readonly uid: string;
  readonly netns: string;
  readonly env: Readonly<Record<string, string>>;
}

export class TestCluster {
  readonly admin: KubeClient;
  /** With the service account of the daemon. */
  readonly kubeconfig: string;
  readonly #api: TestApiServer;
  readonly #node: TestNode;

  constructor(api: TestApiServer, node: TestNode) {
    this.#api = api;
    this.#node = node;
    this.admin = openKube({ kubeconfig: api.kubeconfig, userAgent: 'test' });
    this.kubeconfig = join(node.dir, 'kubeconfig');
  }

  /** Where the API server listens on loopback. */
  get apiPort(): number {
    return this.#api.port;
  }

  async stop(): Promise<void> {
    await this.admin.close();
    await this.#api.stop();
  }

  /** Of a pod that the controller has not seen yet. */
  async makePod(name: string, annotations: Readonly<Record<string, string>> = {}): Promise<TestPod> {
    const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', annotations }, spec };
    const { metadata } = await this.admin.create(pods, pod);
    return this.sandboxOf(name, metadata.uid, createHash('sha256').update(name).digest('hex'));
  }

  sandboxOf(name: string, uid: string, containerId: string): TestPod {
    const netns = this.#node.addNamespace(`${name}-${containerId.slice(0, 4)}`);
    const args = `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name};K8S_POD_INFRA_CONTAINER_ID=${containerId};K8S_POD_UID=${uid}`;
    return {
      name,
      uid,
      netns,
      env: { CNI_CONTAINERID: containerId, CNI_NETNS: `/var/run/netns/${netns}`, CNI_ARGS: args },
    };
  }

  /** As the controller does: the logical port first, the annotations when it is there. */
  async allocate(pod: TestPod, ip: string): Promise<void> {
    const port = `${pod.name}.default`;
    this.#node.nbctl(`lsp-add ovn-default ${port}`, ['lsp-set-addresses', port, `${macOf(ip)} ${ip}`]);
    await this.annotate(pod, ip);
  }

  async annotate(pod: TestPod, ip: string): Promise<void> {
    await this.annotatePod(pod, allocation(ip, macOf(ip), 'ovn-default'));
  }

  /** Writes annotations as the controller does, with the condition that vouches for them. null removes an annotation. */
  async annotatePod({ name }: TestPod, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    const { metadata } = await this.admin.get(pods, { namespace: 'default', name });
    const all = Object.entries({ ...metadata.annotations, ...annotations }).filter((one) => one[1] !== null);
    const status = vouchingStatus(Object.fromEntries(all) as Readonly<Record<string, string>>);
    await this.#patchStatus(name, { metadata: { annotations }, status });
  }

  /** As the pod's author can. */
  async forge({ name }: TestPod, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.admin.patch(pods, { namespace: 'default', name }, 'merge', { metadata: { annotations } });
  }

  /** As the controller does where a pod gets no address. */
  async refuse({ name }: TestPod, reason: string, message: string): Promise<void> {
    await this.#patchStatus(name, {
      status: { conditions: [{ type: addressCondition, status: 'False', reason, message }] },
    });
  }

  async #patchStatus(name: string, patch: object): Promise<void> {
    await this.admin.patch(pods, { namespace: 'default', name }, 'strategic', patch, { subresource: 'status' });
  }

  /** null takes an annotation away. */
  async annotateNode(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.admin.patch(nodes, { name: 'n1' }, 'merge', { metadata: { annotations } });
  }

  /** An interface of the pod in a switch of its own for attachments, `red`, in which nothing routes. */
  async attach(pod: TestPod, provider: string, ip: string): Promise<void> {
    const [port, mac] = [`${pod.name}.default.${provider}`, macOf(ip)];
    this.#node.nbctl('--may-exist ls-add red', `lsp-add red ${port}`, ['lsp-set-addresses', port, `${mac} ${ip}`]);
    const keys = Object.entries(allocation(ip, mac, 'red'));
    await this.annotatePod(
      pod,
      Object.fromEntries(keys.map(([key, value]) => [interfaceAnnotation(provider, key), value])),
    );
  }

  async setSubnet(name: string, spec: object): Promise<void> {
    await this.admin.patch(subnets, { name }, 'merge', { spec });
  }

  /** Messages of the events on an object, by reason. */
  async eventsOn(kind: string, name: string): Promise<Readonly<Record<string, string>>> {
    const found = await this.admin.list(events, {
      fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name}`,
    });
    return Object.fromEntries(found.map((event) => [String(event['reason']), String(event['message'])]));
  }

  async deletePod(name: string): Promise<void> {
    await this.admin.request('DELETE', `/api/v1/namespaces/default/pods/${name}`, { gracePeriodSeconds: 0 });
  }

  async makeSubnet(name: string, cidrBlock: string, natOutgoing: boolean): Promise<void> {
    const spec = { cidrBlock, natOutgoing, vpc: 'ovn-cluster' };
    const metadata = {
      name,
      annotations: { [annotation.accepted]: `${cidrBlock} ${cidrBlock.replace(/\d+\/.*/, '1')}` },
    };
    await this.admin.create(subnets, { apiVersion: 'kubeovn.io/v1', kind: 'Subnet', metadata, spec });
  }

  /** Node and Subnets as they are once the controller has run. */
  async makeObjects(): Promise<void> {
    const metadata = { name: 'n1', annotations: allocation(nodeIp, nodeMac, 'join') };
    await this.admin.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata });
    await this.makeSubnet('join', networks.join.cidr, false);
    await this.makeSubnet('ovn-default', networks['ovn-default'].cidr, true);
  }

  /** A router, two switches, the node's port, and egress through the node. */
  makeLogicalNetwork(): void {
    const policy = (priority: number, match: string, ...action: readonly string[]): readonly string[] => [
      'lr-policy-add',
      'ovn-cluster',
      String(priority),
      match,
      ...action,
    ];
    this.#node.nbctl('lr-add ovn-cluster');
    for (const [name, { gateway, cidr, mac }] of Object.entries(networks)) {
      if (name === 'red') continue;
      this.#node.nbctl(
        `ls-add ${name}`,
        `lrp-add ovn-cluster ovn-cluster-${name} ${mac} ${gateway}/16`,
        `lsp-add ${name} ${name}-ovn-cluster`,
        `lsp-set-type ${name}-ovn-cluster router`,
        `lsp-set-addresses ${name}-ovn-cluster router`,
        `lsp-set-options ${name}-ovn-cluster router-port=ovn-cluster-${name}`,
        policy(31000, `ip4.dst == ${cidr}`, 'allow'),
      );
    }
    this.#node.nbctl(
      'lsp-add join node-n1',
      ['lsp-set-addresses', 'node-n1', `${nodeMac} ${nodeIp}`],
      policy(29000, `ip4.src == ${networks['ovn-default'].cidr}`, 'reroute', nodeIp),
      `lr-route-add ovn-cluster 0.0.0.0/0 ${networks.join.gateway}`,
    );
  }

  /** CRDs, and the daemon's role as the chart gives it, with a token of its service account. */
  async installChartParts(): Promise<void> {
    const crds = readdirSync(join(chart, 'crds')).filter((name) =>
      /^kubeovn\.io_|_interconnect|_gatewaykeyslices|_transitswitches|_remoteclusters|_remoterouteslices|_bgpnodestates|_bgprouteslices/.test(
        name,
      ),
    );
    for (const file of crds) {
      const crd = parse(readFileSync(join(chart, 'crds', file), 'utf8')) as object;
      await this.admin.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
    }
    for (const kind of [
      subnets,
      interconnects,
      interconnectGateways,
      transitSwitches,
      remoteClusters,
      bgpNodeStates,
      providerNetworks,
      vlans,
      vpcDnses,
    ])
      await eventually(`the kind ${kind.kind}`, () =>
        this.admin.list(kind).then(
          () => true,
          () => false,
        ),
      );
    const accounts = '/api/v1/namespaces/kube-system/serviceaccounts';
    const metadata = { name: 'isthmus-daemon' };
    await this.admin.request('POST', accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
    // With every part switched on.
    const template = readFileSync(join(chart, 'templates/daemon-rbac.yaml'), 'utf8').replaceAll(/^ *\{\{- .*\n/gm, '');
    for (const document of parseAllDocuments(template.replaceAll('{{ .Release.Namespace }}', 'kube-system'))) {
      const object = document.toJS() as { kind: string; metadata: { namespace?: string } };
      const { namespace } = object.metadata;
      const place = namespace === undefined ? '' : `/namespaces/${namespace}`;
      const path = `/apis/rbac.authorization.k8s.io/v1${place}/${object.kind.toLowerCase()}s`;
      await this.admin.request('POST', path, object);
    }
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const answer = await this.admin.request('POST', `${accounts}/isthmus-daemon/token`, request);
    const { token } = (answer as { status: { token: string } }).status;
    const config = JSON.parse(readFileSync(this.#api.kubeconfig, 'utf8')) as object;
    writeFileSync(this.kubeconfig, JSON.stringify({ ...config, users: [{ name: 'admin', user: { token } }] }));
  }
}

/** Everything but the daemon, running and filled. */
export async function startCluster(node: TestNode): Promise<TestCluster> {
  node.enterNamespace();
  node.startOvn();
  const [api] = await Promise.all([startApiServer({ pool: 'none' }), node.startOvs()]);
  const cluster = new TestCluster(api, node);
  await cluster.installChartParts();
  cluster.makeLogicalNetwork();
  await cluster.makeObjects();
  return cluster;
}

function macOf(ip: string): string {
  return `02:00:00:00:00:${ip.split('.')[3]?.padStart(2, '0')}`;
}

function allocation(ip: string, mac: string, network: Network): Readonly<Record<string, string>> {
  const { cidr, gateway } = networks[network];
  return {
    [annotation.allocated]: 'true',
    [annotation.ipAddress]: ip,
    [annotation.macAddress]: mac,
    [annotation.cidr]: cidr,
    [annotation.gateway]: gateway,
    [annotation.logicalSwitch]: network,
  };
}
