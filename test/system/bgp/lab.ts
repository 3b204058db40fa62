// A node and its peers as network namespaces. The node has a dual-stack link to each peer and runs gobgpd; each peer runs FRR, BIRD,
// gobgpd, OpenBGPD or ExaBGP. Link `at` has the addresses 172.31.<at>.0/24 and fd00:31:<at>::/64.
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeGobgpd, startGobgpd, type TestGobgpd } from '../../../lib/gobgp/src/testing.ts';
import { BirdPeer } from './bird.ts';
import { ExaBgpPeer } from './exabgp.ts';
import { FrrPeer } from './frr.ts';
import { GobgpdPeer } from './gobgpd.ts';
import { connect, Namespace } from './namespace.ts';
import { OpenBgpdPeer } from './openbgpd.ts';
import { type Host, type Link, Peer, type PeerContext, type PeerSetup } from './peer.ts';
import { RawHost } from './raw-peer.ts';

export interface BgpLab {
  readonly node: Namespace;
  /** The node's gobgpd. */
  readonly gobgpd: TestGobgpd;
  /** The lab's folder, also for files of the test. */
  readonly dir: string;
  readonly peers: readonly Peer[];
  /** The node's InternalIP. */
  readonly routerId: string;
  peer(name: string): Peer;
  frr(name: string): FrrPeer;
  bird(name: string): BirdPeer;
  raw(name: string): RawHost;
  /** Adds a peer on the next link. */
  add(setup: PeerSetup): Promise<void>;
  close(): Promise<void>;
}

/** Starts the lab; the peers are on the links 1, 2, … in this order. */
export async function openBgpLab(setups: readonly PeerSetup[]): Promise<BgpLab> {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-bgp-'));
  chmodSync(dir, 0o755);
  const namespaces: Namespace[] = [];
  let gobgpd: TestGobgpd | undefined;
  const open = async (name: string): Promise<Namespace> => {
    const opened = await Namespace.open(name);
    namespaces.push(opened);
    return opened;
  };
  const close = async (): Promise<void> => {
    await gobgpd?.stop();
    await Promise.all(namespaces.map((each) => each.close()));
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const node = await open('node');
    const hosts: Host[] = [];
    const place = async (setup: PeerSetup, at: number): Promise<Host> => {
      const namespace = await open(setup.name);
      const link = linkOf(at);
      if (setup.isBehindRouter) connectThrough(await open(`${setup.name}-between`), node, namespace, setup.name, link);
      else if (setup.isUnnumbered) connectUnnumbered(node, namespace, setup.name);
      else connectDirectly(node, namespace, setup.name, link);
      const folder = join(dir, setup.name);
      mkdirSync(folder);
      return hostOf({ setup, namespace, link, dir: folder });
    };
    hosts.push(...(await Promise.all(setups.map((setup, index) => place(setup, index + 1)))));
    const [started] = await Promise.all([startGobgpd(nodeGobgpd(), node.prefix), ...hosts.map((host) => host.start())]);
    gobgpd = started;
    return {
      node,
      gobgpd,
      dir,
      get peers() {
        return hosts.filter((host) => host instanceof Peer);
      },
      routerId: linkOf(1).nodeV4,
      peer: (name) => ofKind(hosts, name, Peer),
      frr: (name) => ofKind(hosts, name, FrrPeer),
      bird: (name) => ofKind(hosts, name, BirdPeer),
      raw: (name) => ofKind(hosts, name, RawHost),
      add: async (setup) => {
        const host = await place(setup, hosts.length + 1);
        hosts.push(host);
        await host.start();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function hostOf(context: PeerContext): Host {
  switch (context.setup.kind) {
    case 'frr':
      return new FrrPeer(context);
    case 'bird':
      return new BirdPeer(context);
    case 'gobgpd':
      return new GobgpdPeer(context);
    case 'openbgpd':
      return new OpenBgpdPeer(context);
    case 'exabgp':
      return new ExaBgpPeer(context);
    case 'raw':
      return new RawHost(context);
  }
}

function ofKind<Kind extends Host>(
  hosts: readonly Host[],
  name: string,
  kind: abstract new (context: PeerContext) => Kind,
): Kind {
  const found = hosts.find((host) => host.name === name);
  if (found instanceof kind) return found;
  throw new Error(`${name} is no ${kind.name}`);
}

function linkOf(at: number): Link {
  return {
    v4: `172.31.${at}.201`,
    v6: `fd00:31:${at}:1::1`,
    nodeV4: `172.31.${at}.11`,
    nodeV6: `fd00:31:${at}::11`,
  };
}

function connectDirectly(node: Namespace, peer: Namespace, device: string, link: Link): void {
  connect(
    { namespace: node, device, addresses: [`${link.nodeV4}/24`, `${link.nodeV6}/48`] },
    { namespace: peer, device: 'node', addresses: [`${link.v4}/24`, `${link.v6}/48`] },
  );
}

function connectUnnumbered(node: Namespace, peer: Namespace, device: string): void {
  // The link-local addresses are usable at once.
  const settings = ['net.ipv6.conf.default.accept_dad=0', 'net.ipv6.conf.default.accept_ra=0'];
  for (const each of [node, peer]) each.run('sysctl', '-qw', ...settings);
  connect({ namespace: node, device, addresses: [] }, { namespace: peer, device: 'node', addresses: [] });
  // The kernel probes a neighbour after a second instead of half a minute.
  for (const each of ['base_reachable_time_ms=1000', 'delay_first_probe_time=1', 'retrans_time_ms=100'])
    node.run('sysctl', '-qw', `net.ipv6.neigh.${device}.${each}`);
}

/** Connects node and peer through a router, whose addresses are in the middle of the link's addresses. */
function connectThrough(router: Namespace, node: Namespace, peer: Namespace, device: string, link: Link): void {
  const at = link.nodeV4.split('.')[2] ?? '';
  const [nearV4, farV4, nearV6, farV6] = [
    `172.31.${at}.126`,
    `172.31.${at}.254`,
    `fd00:31:${at}::fe`,
    `fd00:31:${at}:1::fe`,
  ];
  connect(
    { namespace: node, device, addresses: [`${link.nodeV4}/25`, `${link.nodeV6}/64`] },
    { namespace: router, device: 'node', addresses: [`${nearV4}/25`, `${nearV6}/64`] },
  );
  connect(
    { namespace: peer, device: 'node', addresses: [`${link.v4}/25`, `${link.v6}/64`] },
    { namespace: router, device: 'peer', addresses: [`${farV4}/25`, `${farV6}/64`] },
  );
  router.run('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
  node.ip(`route add 172.31.${at}.128/25 via ${nearV4}`, `route add fd00:31:${at}:1::/64 via ${nearV6}`);
  peer.ip(`route add 172.31.${at}.0/25 via ${farV4}`, `route add fd00:31:${at}::/64 via ${farV6}`);
}
