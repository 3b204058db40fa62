/** For why.test.ts: a cluster of random objects like those of users and the controller. The same seed gives the same objects. */
import { annotation } from '../../../lib/api/names.ts';
import {
  apiVersionOf,
  bgpAdvertisements,
  bgpInstances,
  bgpPeers,
  endpointSlices,
  namespaces,
  pods,
  remoteClusters,
  services,
  subnets,
} from '../../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../../lib/kube/types.ts';
import { pick, type Random } from '../../../lib/testing-random.ts';
import { localAsn, type WhyBed } from './why-bed.ts';
import { createPolicies, type DeniedRanges } from './why-policies.ts';

const counts = { subnets: 12, pods: 90, services: 50 };
const spaces = ['default', 'blue', 'green'];
const letters = ['a', 'a', 'b', 'c', 'c', 'd'];

export interface Created {
  /** Names of objects as arguments of `why`. */
  readonly names: readonly string[];
  readonly denied: DeniedRanges;
}

/** Creates all objects. */
export async function createObjects(why: WhyBed, random: Random): Promise<Created> {
  const { kube } = why.bed;
  await why.bed.createNode('n3', '172.31.9.13', {});
  for (const [name, team] of [
    ['blue', 'x'],
    ['green', 'y'],
  ] as const)
    await create(kube, namespaces, { name, labels: { team } }, {});
  await createBgp(why);
  const denied = await createPolicies(why.bed, random, counts.subnets);
  const names = [
    ...(await createSubnets(kube, random)),
    ...(await createPods(kube, random)),
    ...(await createServices(kube, random)),
    ...(await createRemotes(kube)),
  ];
  return { names, denied };
}

async function createBgp({ bed: { kube }, routers: [tor1, tor2] }: WhyBed): Promise<void> {
  const spec = { localASN: localAsn, ownedPrefixes: ['10.96.0.0/16', '198.51.100.0/25'] };
  await create(kube, bgpInstances, { name: 'rack' }, spec);
  const peers: Readonly<Record<string, object>> = {
    tor1: { address: tor1.link.v4, asn: tor1.asn },
    'tor1-v6': { address: tor1.link.v6, asn: tor1.asn, nodeSelector: { matchLabels: { rack: 'n2' } } },
    tor2: {
      address: tor2.link.v4,
      asn: tor2.asn,
      families: ['ipv4', 'ipv6'],
      advertisements: { matchLabels: { scope: 'public' } },
    },
    dead: { address: '172.31.1.99', asn: 65199 },
    twin: { address: tor1.link.v4, asn: tor1.asn },
  };
  for (const [name, peer] of Object.entries(peers)) {
    await create(kube, bgpPeers, { name }, { instance: 'rack', holdTimeSeconds: 30, keepaliveSeconds: 10, ...peer });
  }
  for (const [name, { labels = {}, ...advertisement }] of Object.entries(advertisements))
    await create(kube, bgpAdvertisements, { name, labels }, advertisement);
}

const advertisements: Readonly<
  Record<string, { readonly labels?: Record<string, string>; readonly [field: string]: unknown }>
> = {
  'subnets-a': {
    labels: { scope: 'public' },
    source: 'Subnet',
    selector: { matchLabels: { tier: 'a' } },
    attributes: { communities: { standard: ['65001:100', '65001:7'] }, med: 70, localPreference: 150 },
  },
  'subnets-b-pods': {
    labels: { scope: 'public' },
    source: 'Subnet',
    scope: 'Local',
    selector: { matchLabels: { tier: 'b' } },
    attributes: { asPathPrepend: 2 },
  },
  'pods-a': {
    source: 'Pod',
    selector: { matchLabels: { app: 'a' } },
    namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['y'] }] },
    attributes: { med: 50, communities: { large: ['65001:1:2'], wellKnown: ['no-export'] } },
  },
  'pods-b-everywhere': {
    labels: { scope: 'public' },
    source: 'Pod',
    scope: 'Cluster',
    selector: { matchLabels: { app: 'b' } },
    nodeSelector: { matchLabels: { rack: 'n1' } },
    aggregation: { ipv4Length: 28, ipv6Length: 124 },
  },
  'pods-c-aggregated': {
    source: 'Pod',
    selector: { matchLabels: { app: 'c' } },
    aggregation: { ipv4Length: 29 },
    peers: ['tor1', 'dead'],
    attributes: { nextHop: { ipv4: '172.31.1.200' } },
  },
  balancers: { labels: { scope: 'public' }, source: 'Service', peers: ['tor1', 'tor2'], attributes: { med: 5 } },
  clusterips: {
    labels: { scope: 'public' },
    source: 'Service',
    scope: 'Local',
    serviceAddresses: ['ClusterIP', 'ExternalIP'],
    selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a', 'b'] }] },
  },
  clusters: { source: 'Interconnect', attributes: { communities: { standard: ['65001:999'] } } },
};

async function createSubnets(kube: KubeClient, random: Random): Promise<readonly string[]> {
  const named = Array.from({ length: counts.subnets }, (_, at) => `net${at}`);
  for (const [at, name] of ['join', ...named].entries()) {
    const networks = [`10.20.${at}.0/24`, ...(at % 3 === 1 ? [`fd00:20:${at}::/64`] : [])];
    const cidrBlock = networks.join(',');
    const isAccepted = at === 0 || random(6) > 0;
    const bgp = pick(random, [undefined, undefined, undefined, 'true', 'local', 'odd']);
    const annotations = {
      ...(isAccepted && { [annotation.accepted]: `${cidrBlock} 10.20.${at}.1` }),
      ...(bgp !== undefined && { [annotation.bgp]: bgp }),
    };
    const spec = { cidrBlock, vpc: at > 0 && random(6) === 0 ? 'tenant' : 'ovn-cluster' };
    await create(kube, subnets, { name, labels: { tier: pick(random, letters) }, annotations }, spec);
  }
  return ['join', ...named].map((name) => `subnet/${name}`);
}

async function createPods(kube: KubeClient, random: Random): Promise<readonly string[]> {
  const all = Array.from({ length: counts.pods }, (_, at) => {
    const net = 1 + random(counts.subnets);
    const ips = [`10.20.${net}.${10 + at}`, ...(net % 3 === 1 ? [`fd00:20:${net}::${(10 + at).toString(16)}`] : [])];
    const bgp = pick(random, [undefined, undefined, undefined, undefined, 'true', 'local', 'false', 'odd']);
    const hasAddress = random(12) > 0;
    const metadata = {
      name: `pod${at}`,
      namespace: pick(random, spaces),
      labels: { app: pick(random, letters) },
      annotations: {
        ...(hasAddress && { [annotation.ipAddress]: ips.join(','), [annotation.logicalSwitch]: `net${net - 1}` }),
        ...(bgp !== undefined && { [annotation.bgp]: bgp }),
      },
    };
    const spec = {
      nodeName: pick(random, ['n1', 'n1', 'n1', 'n2', 'n2', 'n2', 'n3']),
      containers: [{ name: 'c', image: 'none' }],
    };
    const phase = random(10) === 0 ? 'Succeeded' : 'Running';
    const status = {
      phase,
      ...(hasAddress && { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
      conditions: [{ type: 'Ready', status: phase === 'Running' && random(6) > 0 ? 'True' : 'False' }],
    };
    return { metadata, spec, status };
  });
  await Promise.all(all.map(({ metadata, spec, status }) => create(kube, pods, metadata, spec, status)));
  return all.map(({ metadata: { namespace, name } }) => `pod/${namespace}/${name}`);
}

async function createServices(kube: KubeClient, random: Random): Promise<readonly string[]> {
  const names: string[] = [];
  // All random numbers are drawn before the first response, so that the same seed gives the same objects.
  const created: Promise<void>[] = [];
  for (let at = 0; at < counts.services; at += 1) {
    const namespace = pick(random, spaces);
    const name = `svc${at}`;
    const type = pick(random, ['LoadBalancer', 'LoadBalancer', 'ClusterIP']);
    const external = pick(random, [undefined, `198.51.100.${at}`, `198.51.100.${128 + at}`, `10.20.1.${at + 1}`]);
    const bgp = pick(random, [undefined, undefined, undefined, 'cluster', 'local', 'odd']);
    const spec = {
      type,
      ports: [{ port: 80 }],
      ...(type === 'LoadBalancer' && { externalTrafficPolicy: pick(random, ['Local', 'Cluster']) }),
      ...(random(5) === 0 && { internalTrafficPolicy: 'Local' }),
      ...(external !== undefined && { externalIPs: [external] }),
      ...(random(12) === 0 && type === 'ClusterIP' && { clusterIP: 'None' }),
    };
    const metadata = {
      name,
      namespace,
      labels: { app: pick(random, letters) },
      annotations: bgp === undefined ? {} : { [annotation.bgp]: bgp },
    };
    // Two services may share an address, and some addresses do not belong to the cluster.
    const ip = pick(random, [`198.51.100.${64 + Math.floor(at / 2)}`, `198.51.100.${130 + at}`]);
    const status = type === 'LoadBalancer' && random(6) > 0 ? { loadBalancer: { ingress: [{ ip }] } } : undefined;
    created.push(create(kube, services, metadata, spec, status));
    if (random(6) > 0) created.push(createSlice(kube, random, namespace, name));
    names.push(`service/${namespace}/${name}`);
  }
  await Promise.all(created);
  return names;
}

async function createSlice(kube: KubeClient, random: Random, namespace: string, name: string): Promise<void> {
  const endpoints = Array.from({ length: 1 + random(3) }, (_, at) => ({
    addresses: [`10.20.1.${100 + at}`],
    nodeName: pick(random, ['n1', 'n2', 'n3']),
    conditions: pick(random, [
      {},
      { ready: true },
      { ready: false },
      { ready: false, serving: true, terminating: true },
    ]),
  }));
  const metadata = { name: `${name}-x`, namespace, labels: { 'kubernetes.io/service-name': name } };
  await kube.create(endpointSlices, {
    apiVersion: apiVersionOf(endpointSlices),
    kind: 'EndpointSlice',
    metadata,
    addressType: 'IPv4',
    endpoints,
    ports: [],
  });
}

async function createRemotes(kube: KubeClient): Promise<readonly string[]> {
  const route = (prefix: string, more: object = {}) => ({
    prefix,
    transitSwitch: 'ts',
    nextHop: '100.100.0.2',
    state: 'Active',
    ...more,
  });
  const status = {
    routes: [
      route('10.40.0.0/16', { origin: 'subnet' }),
      route('10.41.0.0/16', { origin: 'bgp' }),
      route('10.42.0.0/16', { state: 'Rejected' }),
      route('fd00:40::/64'),
      route('169.254.0.0/24'),
    ],
  };
  await create(kube, remoteClusters, { name: 'west' }, {}, status);
  return ['remotecluster/west'];
}

async function create(
  kube: KubeClient,
  resource: Resource,
  metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown },
  spec: object,
  status?: object,
): Promise<void> {
  const { kind } = resource;
  const { name, namespace } = metadata;
  await kube.create(resource, { apiVersion: apiVersionOf(resource), kind, metadata, spec });
  if (status === undefined) return;
  const where = { name, ...(namespace !== undefined && { namespace }) };
  await kube.patch(resource, where, 'merge', { status }, { subresource: 'status' });
}
