/**
 * For cli-bgp.test.ts: an API server, two routers of FRR, and two nodes with a gobgpd and a speaker each. Both nodes reach the routers at
 * the same addresses, so that one BgpPeer is a session of each.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { customResourceDefinition } from '../../lib/api/generate/crd.ts';
import { allKinds } from '../../lib/api/kinds/all.ts';
import { gobgpdBinaries, startGobgpd, type TestGobgpd } from '../../lib/gobgp/src/testing.ts';
import { openKube } from '../../lib/kube/client.ts';
import { bgpNodeStates, subnets } from '../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { type BgpLab, configure, end, eventually, openBgpLab, type Router, show } from './bgp-lab.ts';

export interface BgpNode {
  readonly name: string;
  readonly netns: string;
  /** Towards each router, in their order. */
  readonly v4: readonly [string, string];
  readonly v6: readonly [string, string];
}

export class CliBgpBed {
  readonly kube: KubeClient;
  readonly lab: BgpLab;
  readonly nodes: readonly [BgpNode, BgpNode];
  readonly #server: TestApiServer;
  readonly #gobgpds: TestGobgpd[] = [];
  readonly #children: ChildProcess[] = [];

  static async start(): Promise<CliBgpBed> {
    const lab = await openBgpLab();
    const server = await startApiServer();
    const bed = new CliBgpBed(lab, server);
    try {
      for (const kind of allKinds)
        await bed.kube.request(
          'POST',
          '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
          customResourceDefinition(kind),
        );
      for (const resource of [bgpNodeStates, subnets]) await eventually(() => bed.kube.list(resource));
      joinSecondNode(lab, bed.nodes[1]);
    } catch (error) {
      await bed.stop();
      throw error;
    }
    return bed;
  }

  constructor(lab: BgpLab, server: TestApiServer) {
    this.lab = lab;
    this.#server = server;
    this.kube = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
    const [tor1, tor2] = lab.routers;
    const second = lab.nodeNetns.replace(/n1$/, 'n2');
    this.nodes = [
      { name: 'n1', netns: lab.nodeNetns, v4: [tor1.nodeV4, tor2.nodeV4], v6: [tor1.nodeV6, tor2.nodeV6] },
      {
        name: 'n2',
        netns: second,
        v4: ['172.31.1.12', '172.31.2.12'],
        v6: ['fd00:31:1::12', 'fd00:31:2::12'],
      },
    ];
  }

  get kubeconfig(): string {
    return this.#server.kubeconfig;
  }

  /** Starts gobgpd and speaker of each node. */
  async speak(): Promise<void> {
    const [binary] = gobgpdBinaries();
    if (binary === undefined) throw new Error('there is no gobgpd; run make setup');
    for (const { name, netns } of this.nodes) {
      const gobgpd = await startGobgpd(binary, ['ip', 'netns', 'exec', netns]);
      this.#gobgpds.push(gobgpd);
      const flags = ['--kubeconfig', this.kubeconfig, '--node', name, '--gobgpd', gobgpd.target];
      const program = join(import.meta.dirname, '../../speaker/main.ts');
      const words = [program, ...flags, '--metrics-address', '127.0.0.1:0'];
      this.#children.push(spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] }));
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#children) await end(child);
    for (const gobgpd of this.#gobgpds) await gobgpd.stop();
    const { netns } = this.nodes[1];
    if (execFileSync('ip', ['netns'], { encoding: 'utf8' }).includes(netns)) ip('netns', 'del', netns);
    await this.lab.close();
    await this.kube.close();
    await this.#server.stop();
  }
}

/** A second link of each router, with the router's own address on it: no bridge is needed for two nodes. */
function joinSecondNode({ routers }: BgpLab, { netns, v4, v6 }: BgpNode): void {
  ip('netns', 'add', netns);
  ip('-n', netns, 'link', 'set', 'lo', 'up');
  for (const [at, router] of routers.entries()) {
    const [near4 = '', near6 = ''] = [v4[at], v6[at]];
    ip('link', 'add', router.name, 'netns', netns, 'type', 'veth', 'peer', 'name', 'n2', 'netns', router.netns);
    ip('-n', netns, 'addr', 'add', `${near4}/24`, 'dev', router.name);
    ip('-n', netns, 'addr', 'add', `${near6}/64`, 'dev', router.name, 'nodad');
    ip('-n', netns, 'link', 'set', router.name, 'up');
    ip('-n', router.netns, 'addr', 'add', `${router.v6}/128`, 'dev', 'n2', 'nodad');
    ip('-n', router.netns, 'link', 'set', 'n2', 'up');
    ip('-n', router.netns, 'route', 'add', `${near4}/32`, 'dev', 'n2', 'src', router.v4);
    ip('-n', router.netns, '-6', 'route', 'add', `${near6}/128`, 'dev', 'n2', 'src', router.v6);
    expect(router, near4, near6);
  }
}

/** Sessions of the first node are in the lab's configuration. Both families go over the sessions of IPv4 with the second router. */
function expect(router: Router, near4: string, near6: string): void {
  const neighbor = (address: string) => [
    `neighbor ${address} remote-as external`,
    `neighbor ${address} timers connect 1`,
    `neighbor ${address} advertisement-interval 0`,
  ];
  configure(router, 'router bgp', ...neighbor(near4), ...neighbor(near6));
  const isBoth = router.name === 'tor2';
  configure(router, 'router bgp', 'address-family ipv4 unicast', `no neighbor ${near6} activate`);
  const dual = isBoth ? [`neighbor ${near4} activate`, `neighbor ${router.nodeV4} activate`] : [];
  configure(router, 'router bgp', 'address-family ipv6 unicast', `neighbor ${near6} activate`, ...dual);
}

/** Prefixes that a router has from one neighbour, of both families. */
export function prefixesFrom(router: Router, neighbor: string): readonly string[] {
  return (['ipv4', 'ipv6'] as const).flatMap((family) => {
    const { routes = {} } = show(router, `bgp ${family} unicast neighbors ${neighbor} routes`) as {
      routes?: Record<string, unknown>;
    };
    return Object.keys(routes);
  });
}

export interface SeenPath {
  readonly from: string;
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
  readonly med: number | undefined;
  readonly localPreference: number | undefined;
  readonly asPath: string;
  readonly nextHop: string;
}

/** The paths of a prefix with what they say. */
export function pathsOf(router: Router, prefix: string): readonly SeenPath[] {
  const family = prefix.includes(':') ? 'ipv6' : 'ipv4';
  const { paths = [] } = show(router, `bgp ${family} unicast ${prefix}`) as {
    paths?: readonly {
      readonly peer?: { readonly peerId: string };
      readonly community?: { readonly string: string };
      readonly largeCommunity?: { readonly string: string };
      readonly med?: number;
      readonly metric?: number;
      readonly locPrf?: number;
      readonly aspath?: { readonly string: string };
      readonly nexthops?: readonly { readonly ip: string; readonly scope?: string }[];
    }[];
  };
  const words = (text = '') => text.split(' ').filter((word) => word !== '');
  return paths.map(({ peer, community, largeCommunity, med, metric, locPrf, aspath, nexthops = [] }) => ({
    from: peer?.peerId ?? '',
    communities: words(community?.string),
    largeCommunities: words(largeCommunity?.string),
    med: med ?? metric,
    localPreference: locPrf,
    asPath: aspath?.string ?? '',
    nextHop: nexthops.find(({ scope }) => scope !== 'link-local')?.ip ?? '',
  }));
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
