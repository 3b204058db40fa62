/**
 * One address of a Service in two clusters, in a lab of its own: the clusters agree on it by the hub, both announce it to one router, and a client
 * behind the router reaches the endpoints of both, and those of one while the other has none.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { endpointSlices } from '../../lib/kube/resources.ts';
import { loadBalancerReady } from '../../lib/services/load-balancer.ts';
import { eventually, eventuallyPasses, notYet, type NotYet } from '../../lib/testing-eventually.ts';
import { takeDown } from '../lab/down.ts';
import type { LabHandle } from '../lab/lib/lab.ts';
import { startOwnLab } from './own-lab.ts';
import { Agent } from './service-agent.ts';
import { addWorkload, applyObjects, conditionsOf, waitForPods, type Condition } from './workload.ts';

const labName = `a${process.pid.toString(36)}`;
const topology = join(import.meta.dirname, '../lab/topologies/anycast.yaml');
const clusters = ['east', 'west'] as const;
type Cluster = (typeof clusters)[number];
const [namespace, name] = ['shop', 'web'];
const [served, kept] = [9080, 9090];
/** Of the router, to which the kernel's hash gives different clusters. */
const connections = 16;
/** From the last ready endpoint to the router's table. */
const withdrawnMs = 1000;
const pool = { addresses: ['203.0.113.0/28', '2001:db8:5::/120'], autoAssign: false, shared: { clusters } };
const attributes = {
  east: { med: 10, communities: { standard: ['65001:10'] } },
  west: { med: 20, communities: { standard: ['65002:20'] } },
};

describe('one address in two clusters', () => {
  let lab: LabHandle;
  let client: Agent;
  const servers = new Map<Cluster, Agent>();
  /** Addresses of the pod of each cluster: IPv4, IPv6. */
  const pods = new Map<Cluster, readonly string[]>();
  /** Of the Service. */
  let [address, address6] = ['', ''];

  before(async () => {
    lab = await startOwnLab(labName, topology);
    const serve = async (cluster: Cluster): Promise<void> => {
      await addWorkload(lab, cluster, { namespace, pods: [{ name: 'one', node: 'n1' }] });
      await waitForPods(lab, cluster, namespace, 1);
      const ips = await Promise.all(
        ([4, 6] as const).map((family) => lab.addressOf(cluster, `${namespace}/one`, family)),
      );
      pods.set(cluster, ips);
      servers.set(cluster, await Agent.start(lab.ns(cluster, `${namespace}/one`), ips, [served], kept));
    };
    await Promise.all(clusters.map(serve));
    const { netns } = lab.router('tor');
    await lab.exec(netns, [
      'sysctl',
      '-qw',
      'net.ipv4.fib_multipath_hash_policy=1',
      'net.ipv6.fib_multipath_hash_policy=1',
    ]);
    await addFamily();
    client = await Agent.start(netns);
  });
  after(async () => {
    for (const agent of [client as Agent | undefined, ...servers.values()]) await agent?.stop();
    await takeDown(labName);
  });

  /** The lab's own network is of IPv4 alone. */
  const addFamily = async (): Promise<void> => {
    const { netns, dir, asn } = lab.router('tor');
    await lab.exec(netns, ['ip', 'addr', 'add', 'fd00:30::1/64', 'dev', 'up0', 'nodad']);
    for (const cluster of clusters) {
      const node = lab.ns(cluster, 'n1');
      const address = sixOf(cluster);
      await lab.exec(node, ['ip', 'addr', 'add', `${address}/64`, 'dev', 'br-phys', 'nodad']);
      await lab.exec(node, ['ip', '-6', 'route', 'add', 'default', 'via', 'fd00:30::1']);
      const addresses = [nodeOf(cluster), address].map((one) => ({ type: 'InternalIP', address: one }));
      const status = JSON.stringify({ status: { addresses } });
      await lab.kubectl(cluster, ['patch', 'node', 'n1', '--subresource=status', '--type=merge', '-p', status]);
      const peer = JSON.stringify({ spec: { families: ['ipv4', 'ipv6'] } });
      await lab.kubectl(cluster, ['patch', 'bgppeer', 'tor', '--type=merge', '-p', peer]);
    }
    const activate = clusters.map((cluster) => `neighbor ${nodeOf(cluster)} activate`);
    const commands = [
      'configure terminal',
      `router bgp ${asn}`,
      'address-family ipv6 unicast',
      'maximum-paths 16',
      ...activate,
    ];
    await lab.exec(netns, ['vtysh', '--vty_socket', dir, ...commands.flatMap((line) => ['-c', line])]);
  };
  const serviceOf = (service: string): object[] => [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: service, namespace, annotations: { 'isthmus.network/load-balancer-pool': 'world' } },
      spec: {
        type: 'LoadBalancer',
        ipFamilyPolicy: 'PreferDualStack',
        ports: [
          { name: 'http', port: 80, targetPort: served },
          { name: 'kept', port: 90, targetPort: kept },
        ],
      },
    },
    { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: { name: service, namespace } },
  ];
  /** One slice for each family. */
  const slicesOf = (cluster: Cluster): object[] =>
    (pods.get(cluster) ?? []).map((ip, at) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${name}-${at}`, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: at === 0 ? 'IPv4' : 'IPv6',
      ports: [
        { name: 'http', port: served },
        { name: 'kept', port: kept },
      ],
      endpoints: [{ addresses: [ip], nodeName: 'n1', conditions: { ready: true } }],
    }));
  /** Milliseconds from the API server's answer until the router leads to these clusters. */
  const timed = async (isReady: boolean, ...wanted: readonly Cluster[]): Promise<number> => {
    const kube = lab.kube('east');
    try {
      await Promise.all(
        (pods.get('east') ?? []).map((ip, at) =>
          kube.patch(endpointSlices, { namespace, name: `${name}-${at}` }, 'merge', {
            endpoints: [{ addresses: [ip], nodeName: 'n1', conditions: { ready: isReady } }],
          }),
        ),
      );
      const start = performance.now();
      await untilRouted(...wanted);
      return performance.now() - start;
    } finally {
      await kube.close();
    }
  };
  const ingressOf = async (cluster: Cluster, service = name): Promise<readonly string[]> => {
    const text = await lab.kubectl(cluster, ['get', 'service', service, '-n', namespace, '-o', 'json']);
    const { status } = JSON.parse(text) as { status: { loadBalancer?: { ingress?: { ip: string }[] } } };
    return (status.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
  };
  const readyOf = async (cluster: Cluster, service: string): Promise<Condition | undefined> => {
    const text = await lab.kubectl(cluster, ['get', 'service', service, '-n', namespace, '-o', 'json']);
    const { status } = JSON.parse(text) as { status: { conditions?: Condition[] } };
    return status.conditions?.find(({ type }) => type === loadBalancerReady);
  };
  const nodeOf = (cluster: Cluster): string => lab.cluster(cluster).nodes[0]?.address ?? '';
  const sixOf = (cluster: Cluster): string => `fd00:30::${nodeOf(cluster).split('.').slice(2).join(':')}`;
  /** The clusters to which the router's kernel forwards each address: IPv4, IPv6. */
  const routed = async (): Promise<readonly string[]> => {
    const show = (...words: readonly string[]) => lab.exec(lab.router('tor').netns, ['ip', ...words]);
    const [four, six] = await Promise.all([show('route', 'show', address), show('-6', 'route', 'show', address6)]);
    return [
      clusters.filter((one) => four.includes(`via ${nodeOf(one)} `)).join(),
      clusters.filter((one) => six.includes(`via ${sixOf(one)} `)).join(),
    ];
  };
  const untilRouted = (...wanted: readonly Cluster[]): Promise<true> =>
    eventually(
      `the router leads to ${wanted.join()}`,
      async (): Promise<true | NotYet> => {
        const found = await routed();
        return found.every((one) => one === wanted.join()) || notYet(found.join(' and '));
      },
      undefined,
      20,
    );
  /** The clusters that answer, each once. */
  const answering = async (to = address): Promise<string> => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => client.ask('TCP', to, 80)));
    const found = answers.map(
      (answer) => clusters.find((one) => pods.get(one)?.some((ip) => answer.startsWith(`${ip} `))) ?? answer,
    );
    return [...new Set(found)].sort().join();
  };
  const untilBothAnswer = (to: string): Promise<true> =>
    eventually(`both answer at ${to}`, async () => {
      const found = await answering(to);
      return found === clusters.join() || notYet(found);
    });

  it('is agreed on by the clusters that export the Service, in both families', async () => {
    for (const cluster of clusters) {
      const source = { source: 'Service', attributes: attributes[cluster] };
      await applyObjects(lab, cluster, [
        { apiVersion: 'isthmus.network/v1', kind: 'LoadBalancerPool', metadata: { name: 'world' }, spec: pool },
        {
          apiVersion: 'isthmus.network/v1alpha1',
          kind: 'BgpAdvertisement',
          metadata: { name: 'services' },
          spec: source,
        },
        ...serviceOf(name),
        ...slicesOf(cluster),
      ]);
    }
    const seen = await eventually('both have the same', async () => {
      const [east = [], west = []] = await Promise.all(clusters.map((cluster) => ingressOf(cluster)));
      return east.length === 2 && east.join() === west.join() ? east : notYet(`${east.join()} and ${west.join()}`);
    });
    [address = '', address6 = ''] = seen;
    assert.match(seen.join(), /^203\.0\.113\.\d+,2001:db8:5::/);
    await eventuallyPasses(async () => {
      const table = await lab.kubectl('west', ['get', 'sharedaddresses']);
      assert.match(table, new RegExp(`shop.web +\\["${address}",.*\\["east"\\]`));
    });
  });

  it('is announced by both with the attributes of each, and clients reach both', async () => {
    await untilRouted('east', 'west');
    await eventuallyPasses(async () => {
      const { paths } = JSON.parse(await lab.vtysh('tor', `show bgp ipv4 unicast ${address}/32 json`)) as {
        paths: { aspath: { string: string }; metric: number; community?: { string: string } }[];
      };
      assert.deepEqual(
        paths.map(({ aspath, metric, community }) => `${aspath.string} ${metric} ${community?.string}`).sort(),
        ['65001 10 65001:10', '65002 20 65002:20'],
      );
    });
    for (const one of [address, address6]) await untilBothAnswer(one);
  });

  it('is withdrawn with the last ready endpoint of a cluster, while connections to the other go on', async (t) => {
    for (let left = connections; left > 0; left -= 1) assert.equal(await client.ask('keep', address, 90), 'alive');
    const netns = lab.ns('west', `${namespace}/one`);
    const atWest = (await lab.exec(netns, ['ss', '-Htn', 'state', 'established', `sport = :${kept}`]))
      .trim()
      .split('\n');
    assert.ok(atWest.length > 0 && atWest.length < connections, atWest.join('\n'));
    const goneMs = await timed(false, 'west');
    assert.ok(goneMs < withdrawnMs, `withdrawn after ${goneMs.toFixed(0)} ms`);
    for (const one of [address, address6]) assert.equal(await answering(one), 'west');
    assert.equal(await client.ask('check', '', 0, 1500), String(atWest.length));
    const backMs = await timed(true, 'east', 'west');
    for (const one of [address, address6]) await untilBothAnswer(one);
    t.diagnostic(`withdrawn after ${goneMs.toFixed(0)} ms, back after ${backMs.toFixed(0)} ms`);
  });

  it('stays with the other clusters when the first leaves, and comes back to it', async () => {
    await lab.kubectl('east', ['delete', 'serviceexport', name, '-n', namespace]);
    await untilRouted('west');
    await eventually('no address in east', async () => (await ingressOf('east')).length === 0 || undefined);
    await eventuallyPasses(async () => assert.equal((await readyOf('east', name))?.reason, 'AddressPending'));
    assert.equal(await answering(), 'west');
    await applyObjects(lab, 'east', serviceOf(name));
    await untilRouted('east', 'west');
  });

  it('is refused to a cluster whose pool differs, which says so', async () => {
    const other = { spec: { addresses: ['203.0.113.128/28'] } };
    await lab.kubectl('west', ['patch', 'lbpool', 'world', '--type=merge', '-p', JSON.stringify(other)]);
    await applyObjects(lab, 'east', serviceOf('api'));
    await eventually('an address in east', async () => (await ingressOf('east', 'api')).length === 2 || undefined);
    await applyObjects(lab, 'west', serviceOf('api'));
    const ready = await eventually('the condition', async () => {
      const condition = await readyOf('west', 'api');
      return condition?.reason === 'PoolDiffers' ? condition : notYet(JSON.stringify(condition));
    });
    assert.match(
      ready.message ?? '',
      /Service shop\/api has 203\.0\.113\.\d+.* in cluster east, .*make spec\.addresses/,
    );
    await eventually(
      'the condition of the pool',
      async () =>
        (await conditionsOf(lab, 'west', 'lbpool', 'world')).some(({ reason }) => reason === 'PoolDiffers') ||
        undefined,
    );
    assert.deepEqual(await ingressOf('west'), await ingressOf('east'), 'what a Service has it keeps');
  });
});
