/**
 * Traffic between a prefix behind a router of one cluster and a pod of the other: the prefix is learned by BGP in east, offered over the
 * interconnect by policy, withdrawn and restored with the session, and not used where west's own router leads there.
 */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { remoteClusters } from '../../lib/kube/resources.ts';
import { killAll } from '../lab/down.ts';
import type { RouterLayout } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { addHost, deleteNamespaces } from '../lab/network.ts';
import { startRouter } from '../lab/router.ts';
import { node24 } from '../lab/rooms.ts';
import { tryRun } from '../lab/run.ts';
import { addWorkload, applyObjects, removeWorkload, waitForPods } from './workload.ts';
import { eventually, eventuallyPasses, notYet, type NotYet } from '../../lib/testing-eventually.ts';

const prefix = '198.51.100.0/24';
/** The default hold time of sessions: how long a node keeps the session of a silent router. */
const holdSeconds = 90;
const target = '198.51.100.1';
const namespace = 'edges';
const apiVersion = 'isthmus.network/v1alpha1';

describe('a prefix behind a router of the other cluster', () => {
  const lab = openLab();
  const kube = lab.kube('west');
  const [east, west] = [lab.cluster('east'), lab.cluster('west')];
  const edge: RouterLayout = {
    name: 'edge',
    dir: join(lab.layout.dir, 'edge'),
    netns: `${lab.layout.name}-edge`,
    address: '172.30.0.9',
    asn: 65_100,
    outside: `${target}/24`,
  };
  const speakers = east.nodes.filter(({ labels }) => labels['ovn.kubernetes.io/bgp'] === 'true');
  const pod = lab.ns('west', `${namespace}/walker`);
  const object = (kind: string, name: string, spec: object) => ({ apiVersion, kind, metadata: { name }, spec });
  const made = {
    east: [
      object('RoutePolicy', 'from-edge', { direction: 'Import', bgpPeers: ['edge'], rules: [{ setTags: ['wan'] }] }),
      object('BgpPeer', 'edge', {
        instance: 'default',
        address: edge.address,
        asn: edge.asn,
        import: { vpc: 'ovn-cluster' },
      }),
      // Gives the router a route back.
      object('BgpAdvertisement', 'others', { source: 'Interconnect', peers: ['edge'] }),
    ],
    west: [
      object('RoutePolicy', 'from-tor', {
        direction: 'Import',
        bgpPeers: ['tor'],
        rules: [{ match: { prefixes: [{ cidr: prefix }] } }],
      }),
    ],
  };
  const offering = object('RoutePolicy', 'to-west', { direction: 'Export', rules: [{ match: { tags: ['wan'] } }] });

  before(async () => {
    mkdirSync(edge.dir);
    await addHost(lab.layout, { netns: edge.netns, address: edge.address, kind: 'kernel' });
    await lab.exec(edge.netns, ['ip', 'addr', 'add', edge.outside, 'dev', 'lo']);
    await startRouter({ ...lab.layout, clusters: [east] }, edge);
    await configure(edge, ' address-family ipv4 unicast', `  network ${prefix}`);
    await addWorkload(lab, 'west', { namespace, pods: [{ name: 'walker', node: 'n3' }] });
    await waitForPods(lab, 'west', namespace, 1);
    for (const cluster of ['east', 'west'] as const) await applyObjects(lab, cluster, made[cluster]);
  });
  after(async () => {
    await kube.close();
    await setImport('tor', null);
    await configure(lab.router('tor'), ` no neighbor ${edge.address}`);
    for (const cluster of ['east', 'west'] as const)
      for (const { kind, metadata } of [...made[cluster], offering])
        await lab.kubectl(cluster, ['delete', kind, metadata.name, '--ignore-not-found', '--timeout=30s']);
    await removeWorkload(lab, 'west', namespace);
    await killAll(edge.dir);
    await deleteNamespaces([edge.netns]);
    rmSync(edge.dir, { recursive: true });
  });

  async function configure(router: RouterLayout, ...lines: readonly string[]): Promise<void> {
    const commands = ['configure terminal', `router bgp ${router.asn}`, ...lines];
    await lab.exec(router.netns, ['vtysh', '--vty_socket', router.dir, ...commands.flatMap((line) => ['-c', line])]);
  }

  const sessions = (word: string) =>
    configure(edge, ...speakers.map(({ address }) => ` ${word} neighbor ${address} shutdown`));

  function setImport(peer: string, wanted: object | null): Promise<string> {
    return lab.kubectl('west', [
      'patch',
      'bgppeer',
      peer,
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { import: wanted } }),
    ]);
  }

  async function routesInWest(): Promise<readonly string[]> {
    const { status } = await kube.get(remoteClusters, { name: 'east' });
    const { routes = [] } = status as { routes?: Record<string, string>[] };
    const found = routes.filter((route) => route['prefix'] === prefix);
    return found.map((route) => [route['state'], route['origin'], route['reason'] ?? ''].join(' ').trim());
  }

  function untilInWest(what: string, wanted: (routes: readonly string[]) => boolean): Promise<true> {
    return eventually(what, async () => {
      const routes = await routesInWest();
      return wanted(routes) || notYet(JSON.stringify(routes));
    });
  }

  async function why(cluster: 'east' | 'west'): Promise<string> {
    const argv = [node24, join(import.meta.dirname, '../../cli/main.ts'), 'ic', 'routes', '--why', target];
    return (await tryRun([...argv, `--kubeconfig=${join(lab.cluster(cluster).dir, 'kubeconfig')}`])).stdout;
  }

  /** Waits until the answer matches all patterns, because statuses are written one after the other. */
  function untilWhy(cluster: 'east' | 'west', ...patterns: readonly RegExp[]): Promise<true> {
    return eventually(`${cluster} to say why`, async () => {
      const text = await why(cluster);
      return patterns.every((pattern) => pattern.test(text)) || notYet(text);
    });
  }

  /** Milliseconds from the command until west's northbound database has rows of the prefix, or none. */
  async function timed(command: () => Promise<void>, isThere: boolean): Promise<number> {
    const start = performance.now();
    await command();
    const args = ['--bare', '--columns=nexthop', 'find', 'Logical_Router_Static_Route', `ip_prefix="${prefix}"`];
    const ask = async (): Promise<true | NotYet> =>
      ((await lab.nbctl('west', args)).trim() !== '') === isThere || notYet('not yet');
    await eventually(`the route to ${isThere ? 'come' : 'go'}`, ask, undefined, 20);
    return performance.now() - start;
  }

  /** The source address and the sending node of an echo request that reaches the router. */
  async function senderOf(): Promise<readonly string[]> {
    const seen = await lab.firstPacket(edge.netns, 'up0', 'icmp[icmptype] == icmp-echo', () => lab.ping(pod, target));
    const [, mac = '', source = ''] = /([0-9a-f:]{17}) > .* ([\d.]+) > /.exec(seen) ?? [];
    const nodes = [...east.nodes, ...west.nodes];
    const links = await Promise.all(nodes.map(({ netns }) => lab.exec(netns, ['ip', 'link', 'show', 'br-phys'])));
    const host = nodes[links.findIndex((one) => one.includes(mac))];
    assert.ok(mac !== '' && host, `who sent ${seen}? ${links.join(' ')}`);
    return [source, `${host.cluster}/${host.name}`];
  }

  /** Waits until a node of these sends what the pod sends, with the pod's address: flows follow the statuses. */
  async function untilSentBy(node: RegExp): Promise<void> {
    const walker = await lab.addressOf('west', `${namespace}/walker`);
    await eventuallyPasses(async () => {
      const [source, host = ''] = await senderOf();
      assert.match(host, node);
      assert.equal(source, walker);
    });
  }

  /** The number of packets that the BGP nodes sent into the overlay. */
  async function sentIntoOverlay(): Promise<number> {
    const argv = ['ip', '-s', '-j', 'link', 'show', 'ovn0'];
    const shown = await Promise.all(speakers.map(({ netns }) => lab.exec(netns, argv)));
    const links = shown.flatMap((text) => JSON.parse(text) as { stats64: { tx: { packets: number } } }[]);
    return links.reduce((sum, { stats64 }) => sum + stats64.tx.packets, 0);
  }

  it('is not offered without a policy', async () => {
    await eventually('east to lead there', async () => {
      const routes = await lab.nbctl('east', ['lr-route-list', 'ovn-cluster']);
      return routes.includes(prefix) || notYet(routes);
    });
    assert.deepEqual(await routesInWest(), []);
    await untilWhy(
      'east',
      /198\.51\.100\.1 leaves by routers of this cluster: 198\.51\.100\.0\/24, learned by n1, n2 from edge/,
      /198\.51\.100\.0\/24 +west +ts +NotOffered/,
    );
    assert.equal(await lab.answers(pod, target), false);
  });

  it('is reached over the interconnect through a node that learned it, with the pod’s own address', async () => {
    await applyObjects(lab, 'east', [offering]);
    await untilInWest(
      'west to take it',
      (routes) => routes.length > 0 && routes.every((route) => route === 'Active bgp'),
    );
    await untilSentBy(/^east\/n[12]$/);
    await untilWhy('east', /198\.51\.100\.0\/24 +west +ts +Offered +to-west rules\[0\]/);
    await untilWhy('west', /has a route to cluster east by 198\.51\.100\.0\/24/);
  });

  it('reaches the pod through an announced node and the overlay, not the node’s default route', async () => {
    const walker = await lab.addressOf('west', `${namespace}/walker`);
    await eventually('the router to know the way', async () => {
      const route = await lab.exec(edge.netns, ['ip', 'route', 'get', walker]);
      return speakers.some(({ address }) => route.includes(`via ${address} `)) || notYet(route);
    });
    for (const { netns } of speakers)
      await eventually('the node to know the way', async () => {
        const argv = ['ip', 'route', 'get', walker, 'from', target, 'iif', 'br-phys'];
        const route = await lab.exec(netns, argv);
        return /dev ovn0 table 10155/.test(route) || notYet(route);
      });
    const count = 20;
    const before = await sentIntoOverlay();
    const seen = await lab.firstPacket(pod, 'eth0', 'icmp[icmptype] == icmp-echo', () =>
      lab.exec(edge.netns, ['ping', '-i0.1', `-c${String(count)}`, '-W20', '-I', target, walker]),
    );
    assert.match(seen, new RegExp(` ${target} > ${walker}: ICMP echo request`), 'with its own address');
    const sent = (await sentIntoOverlay()) - before;
    assert.ok(sent >= count, `${String(sent)} packets of ${String(count)} went into the overlay`);
  });

  it('is withdrawn at once when the sessions end, and restored with them', async (t) => {
    const goneMs = await timed(() => sessions(''), false);
    assert.ok(goneMs < (holdSeconds * 1000) / 2, `${goneMs.toFixed(0)} ms`);
    await eventually('no answer', async () => !(await lab.answers(pod, target)) || notYet('one still'));
    await untilInWest('west to forget it', (routes) => routes.length === 0);
    const backMs = await timed(() => sessions('no'), true);
    await lab.ping(pod, target);
    t.diagnostic(`gone after ${goneMs.toFixed(0)} ms, back after ${backMs.toFixed(0)} ms`);
  });

  it('is a backup while west has its own router that leads there', async () => {
    await setImport('tor', { vpc: 'ovn-cluster' });
    await configure(lab.router('tor'), ` neighbor ${edge.address} remote-as ${edge.asn}`);
    const { address, asn } = lab.router('tor');
    await configure(edge, ` neighbor ${address} remote-as ${asn}`, ` neighbor ${address} timers connect 1`);
    await untilInWest(
      'west to prefer its own',
      (routes) => routes.length > 0 && routes.every((one) => one === 'Backup bgp NotPreferred'),
    );
    await eventuallyPasses(async () => assert.match((await senderOf())[1] ?? '', /^west\/n[12]$/));
    await untilWhy('west', /leaves by routers of this cluster: 198\.51\.100\.0\/24, learned by n1, n2 from tor/);
    await configure(edge, ` no neighbor ${address}`);
    await untilInWest(
      'west to use it again',
      (routes) => routes.length > 0 && routes.every((one) => one === 'Active bgp'),
    );
    await untilSentBy(/^east\/n[12]$/);
  });
});
