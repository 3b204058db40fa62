/**
 * One server behind two nodes, and a client behind the router that knows both: the node of the bed, and a BIRD in place
 * of a second node. Both forward packets for the server's address, as a node does for a service, but without connection state.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { node24 } from '../../lab/rooms.ts';
import { connect, Namespace } from '../../system/bgp/namespace.ts';
import type { BgpBed } from './bed.ts';
import { eventually, type NotYet, notYet } from '../../../lib/testing-eventually.ts';

/** Announced by both. */
export const serverAddress = '203.0.113.10';
export const serverPrefix = `${serverAddress}/32`;
const port = '80';
const nodeAsn = 65_001;
/** Links, by their ends. */
const links = {
  client: { router: '172.31.240.1', client: '172.31.240.2' },
  second: { router: '172.31.241.1', second: '172.31.241.2' },
  nodeServer: { node: '172.31.242.1', server: '172.31.242.2' },
  secondServer: { second: '172.31.243.1', server: '172.31.243.2' },
} as const;
const clientNetwork = '172.31.240.0/24';
const device = 'server';

export type Way = 'node' | 'second';

/** Results of the requests of a period. */
export interface Answers {
  readonly answered: number;
  readonly slowestMs: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
}

export const failedOf = ({ failures }: Answers): number => Object.values(failures).reduce((sum, each) => sum + each, 0);

export class TwoWays {
  readonly #bed: BgpBed;
  readonly #namespaces: Readonly<Record<'second' | 'server' | 'client', Namespace>>;
  readonly #programs: ChildProcess[] = [];
  #client: ChildProcess | undefined;

  private constructor(bed: BgpBed, second: Namespace, server: Namespace, client: Namespace) {
    this.#bed = bed;
    this.#namespaces = { second, server, client };
  }

  static async open(bed: BgpBed): Promise<TwoWays> {
    const [second, server, client] = [
      await Namespace.open('second'),
      await Namespace.open('server'),
      await Namespace.open('client'),
    ];
    const ways = new TwoWays(bed, second, server, client);
    ways.#link();
    ways.#route();
    await ways.#startBird();
    await ways.#peerWithSecond();
    ways.#programs.push(ways.#start(server, 'http-server.ts', serverAddress, port));
    return ways;
  }

  async close(): Promise<void> {
    for (const program of [...this.#programs, this.#client]) program?.stdin?.end();
    const lines = [`no neighbor ${links.second.second}`, 'no maximum-paths'];
    await this.#router.configure(`router bgp ${this.#router.asn}`, ...lines);
    await Promise.all(Object.values(this.#namespaces).map((each) => each.close()));
  }

  /** @param rate requests a second */
  startRequests(rate: number): void {
    this.#client = this.#start(this.#namespaces.client, 'http-client.ts', serverAddress, port, String(rate));
  }

  /** Results of the requests that finished since the last call. */
  async answers(): Promise<Answers> {
    if (!this.#client?.stdin || !this.#client.stdout) throw new Error('nobody asks');
    const answer = once(this.#client.stdout, 'data');
    this.#client.stdin.write('\n');
    return JSON.parse(String((await answer)[0])) as Answers;
  }

  /** Packets towards the server so far, by way. */
  packets(): Readonly<Record<Way, number>> {
    const sent = (namespace: Namespace): number => {
      const [shown] = JSON.parse(namespace.run('ip', '-j', '-s', 'link', 'show', device)) as readonly [
        { readonly stats64: { readonly tx: { readonly packets: number } } },
      ];
      return shown.stats64.tx.packets;
    };
    return { node: sent(this.#bed.lab.node), second: sent(this.#namespaces.second) };
  }

  /** The ways in the routing table of the router's kernel. */
  inRouter(): readonly Way[] {
    const hops = this.#router.fib()[serverPrefix] ?? [];
    const ways: Readonly<Record<string, Way>> = {
      [this.#bed.tor.nodeAddress]: 'node',
      [links.second.second]: 'second',
    };
    return hops.flatMap((hop) => ways[hop] ?? []).toSorted();
  }

  async untilInRouter(...wanted: readonly Way[]): Promise<void> {
    const isThere = (): true | NotYet =>
      this.inRouter().join() === wanted.join() || notYet(`it has ${this.inRouter().join()}`);
    await eventually(`the router to have ${wanted.join(' and ')}`, isThere, 30_000, 20);
  }

  /** The node stops forwarding, like one that is powered off. */
  cutNode(): void {
    this.#bed.lab.node.ip(`route replace blackhole ${serverPrefix}`);
  }

  mendNode(): void {
    this.#bed.lab.node.ip(`route replace ${serverPrefix} via ${links.nodeServer.server}`);
  }

  get #router() {
    return this.#bed.tor.peer;
  }

  #link(): void {
    const { second, server, client } = this.#namespaces;
    const { namespace: router } = this.#router;
    const cable = (left: readonly [Namespace, string, string], right: readonly [Namespace, string, string]): void =>
      connect(
        { namespace: left[0], device: left[1], addresses: [`${left[2]}/24`] },
        { namespace: right[0], device: right[1], addresses: [`${right[2]}/24`] },
      );
    cable([router, 'client', links.client.router], [client, 'router', links.client.client]);
    cable([router, 'second', links.second.router], [second, 'router', links.second.second]);
    cable([this.#bed.lab.node, device, links.nodeServer.node], [server, 'node', links.nodeServer.server]);
    cable([second, device, links.secondServer.second], [server, 'second', links.secondServer.server]);
    server.ip(`addr add ${serverPrefix} dev lo`);
  }

  /** The return path uses both ways, independent of the way of the request. */
  #route(): void {
    const { second, server, client } = this.#namespaces;
    const { node } = this.#bed.lab;
    const { namespace: router, link } = this.#router;
    for (const each of [router, node, second, server, client])
      each.run('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv4.fib_multipath_hash_policy=1');
    for (const each of [router, node, second, server]) looseReversePath(each);
    client.run('sysctl', '-qw', 'net.ipv4.ip_local_port_range=1024 65000');
    client.ip(`route add default via ${links.client.router}`);
    this.mendNode();
    node.ip(`route add ${clientNetwork} via ${link.v4}`);
    second.ip(
      `route add ${serverPrefix} via ${links.secondServer.server}`,
      `route add ${clientNetwork} via ${links.second.router}`,
    );
    server.ip(
      `route add ${clientNetwork} nexthop via ${links.nodeServer.node} nexthop via ${links.secondServer.second}`,
    );
  }

  async #startBird(): Promise<void> {
    const dir = join(this.#bed.lab.dir, 'second');
    mkdirSync(dir);
    const file = join(dir, 'bird.conf');
    writeFileSync(file, birdConfig(this.#router.asn));
    const files = ['-c', file, '-s', join(dir, 'bird.ctl'), '-P', join(dir, 'bird.pid')];
    await this.#namespaces.second.start(['bird', '-f', ...files], join(dir, 'bird.log'));
  }

  async #peerWithSecond(): Promise<void> {
    const neighbor = `neighbor ${links.second.second}`;
    const lines = [`${neighbor} remote-as ${nodeAsn}`, `${neighbor} timers connect 1`, 'maximum-paths 2'];
    await this.#router.configure(`router bgp ${this.#router.asn}`, ...lines);
  }

  #start({ prefix }: Namespace, program: string, ...args: readonly string[]): ChildProcess {
    const [command = '', ...rest] = [...prefix, node24, join(import.meta.dirname, program), ...args];
    return spawn(command, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  }
}

/** Disables the reverse path filter: a packet may arrive on another interface than that of the route to its source. */
function looseReversePath(namespace: Namespace): void {
  const all = namespace.run('sysctl', '-aN', '--pattern', String.raw`^net\.ipv4\.conf\..*\.rp_filter$`);
  namespace.run('sysctl', '-qw', ...all.split('\n').flatMap((key) => (key === '' ? [] : `${key}=0`)));
}

function birdConfig(routerAsn: number): string {
  return `router id ${links.second.second};
protocol device {}
protocol static { ipv4; route ${serverPrefix} blackhole; }
protocol bgp edge {
  local ${links.second.second} as ${nodeAsn};
  neighbor ${links.second.router} as ${routerAsn};
  hold time 90;
  connect delay time 1;
  error wait time 1, 1;
  ipv4 { import none; export where source = RTS_STATIC; next hop self; };
}
`;
}
