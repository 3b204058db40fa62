/**
 * A zone beside the lab's clusters that knows nothing of Isthmus: stock OVN with plain `ovn-ic` on the lab's interconnect
 * databases, one chassis and one pod. In: a lab and a plan; out: the zone, running. `stop` removes its processes and
 * namespaces; lab-down removes them too. Its rows in the interconnect databases stay, as they do of any zone that dies.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { installation, ovnProgram } from 'ovsdb-client/testing';
import { killComponent, startComponent } from './component.ts';
import { killAll } from './down.ts';
import { type ClusterLayout, hubRemotes, type HubLayout, type Lab } from './layout.ts';
import { addHost, deleteNamespaces, namespacesOf } from './network.ts';
import { startCentral, startNode } from './ovn.ts';
import { run } from './run.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

export interface ForeignPlan {
  /** Name of the zone; as one of a cluster. */
  readonly name: string;
  /** Its pod has the eleventh address, its router the first. */
  readonly podCidr: string;
  /** Third octet of its addresses beneath: above those of the lab's clusters. */
  readonly octet: number;
}

export interface ForeignZone {
  readonly name: string;
  readonly dir: string;
  /** Of the pod. */
  readonly netns: string;
  readonly address: string;
  nbctl(args: readonly string[]): Promise<string>;
  /** Attaches the router to a transit switch, as its administrator would; `address` is one of its network with the prefix length. */
  attach(transitSwitch: string, address: string): Promise<void>;
  /** Starts and ends `ovn-ic` alone. */
  startSync(): Promise<void>;
  stopSync(): Promise<void>;
  stop(): Promise<void>;
}

const router = 'router';
const podMtu = 1400;

/** Starts the zone and its `ovn-ic`, not yet attached to a transit switch. @throws Error if the lab has no hub. */
export async function startForeignZone(lab: Lab, plan: ForeignPlan): Promise<ForeignZone> {
  if (lab.hub === undefined) throw new Error(`lab ${lab.name} has no hub`);
  const zone = new Zone(lab, lab.hub, plan);
  try {
    await zone.start();
  } catch (error) {
    await zone.stop();
    throw error;
  }
  return zone;
}

class Zone implements ForeignZone {
  readonly name: string;
  readonly netns: string;
  readonly address: string;
  readonly #lab: Lab;
  readonly #hub: HubLayout;
  readonly #cluster: ClusterLayout;
  readonly #mac: string;

  constructor(lab: Lab, hub: HubLayout, { name, podCidr, octet }: ForeignPlan) {
    this.#lab = lab;
    this.#hub = hub;
    this.#cluster = foreignLayout(lab, name, podCidr, octet);
    this.name = name;
    this.netns = `${lab.name}-${name}-pod`;
    this.address = hostOf(podCidr, 11);
    this.#mac = `00:00:00:00:${octet.toString(16).padStart(2, '0')}`;
  }

  get dir(): string {
    return this.#cluster.dir;
  }

  get #ovnIc() {
    return { dir: this.dir, name: 'ovn-ic' };
  }

  nbctl(args: readonly string[]): Promise<string> {
    return run([ovnProgram('ovn-nbctl', installation(this.#cluster.ovn)), `--db=unix:${this.dir}/nb.sock`, ...args]);
  }

  async start(): Promise<void> {
    const [node] = this.#cluster.nodes;
    if (node === undefined) throw new Error(`${this.name} has no node`);
    for (const { dir } of [this.#cluster, node]) mkdirSync(dir, { recursive: true });
    await addHost(this.#lab, { ...this.#cluster, kind: 'kernel' });
    await addHost(this.#lab, { ...node, kind: 'node' });
    await Promise.all([startCentral(this.#cluster), startNode(this.#lab, node)]);
    await this.#configureChassis();
    await this.#makeNetwork();
    await this.#makePod();
    await this.startSync();
  }

  async attach(transitSwitch: string, address: string): Promise<void> {
    await eventually(
      `ovn-ic of ${this.name} to make ${transitSwitch}`,
      async () => (await this.nbctl(['ls-list'])).includes(`(${transitSwitch})`) || notYet('it has not'),
    );
    const port = `${router}-${transitSwitch}`;
    await this.nbctl(['lrp-add', router, port, `${this.#mac}:fe`, address]);
    await this.nbctl(['lrp-set-gateway-chassis', port, this.#cluster.nodes[0]?.netns ?? '']);
    await this.#linkRouter(transitSwitch, `${transitSwitch}-${this.name}`, port);
  }

  async startSync(): Promise<void> {
    const options = ['options:ic-route-adv=true', 'options:ic-route-learn=true'];
    await this.nbctl(['set', 'NB_Global', '.', `name=${this.name}`, ...options]);
    await startComponent({
      ...this.#ovnIc,
      env: { OVN_RUNDIR: this.dir, OVS_RUNDIR: this.dir },
      argv: [
        ovnProgram('ovn-ic', installation(this.#cluster.ovn)),
        `--ic-nb-db=${hubRemotes(this.#hub, 'icnb')}`,
        `--ic-sb-db=${hubRemotes(this.#hub, 'icsb')}`,
        `--ovnnb-db=unix:${this.dir}/nb.sock`,
        `--ovnsb-db=unix:${this.dir}/sb.sock`,
        `--unixctl=${this.dir}/ovn-ic.ctl`,
        '-vconsole:info',
        '-vsyslog:off',
        '-vfile:off',
      ],
    });
  }

  stopSync(): Promise<void> {
    return killComponent(this.#ovnIc);
  }

  async stop(): Promise<void> {
    await killAll(this.dir);
    const own = [this.netns, this.#cluster.netns, ...this.#cluster.nodes.map(({ netns }) => netns)];
    await deleteNamespaces(namespacesOf(this.#lab.name).filter((netns) => own.includes(netns)));
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** The settings that a daemon would give to ovn-controller. */
  async #configureChassis(): Promise<void> {
    const ids = [
      `ovn-remote=tcp:${this.#cluster.address}:6642`,
      'ovn-encap-type=geneve',
      `ovn-encap-ip=${this.#cluster.nodes[0]?.address ?? ''}`,
      'ovn-is-interconn=true',
    ];
    await this.#vsctl(['--may-exist', 'add-br', 'br-int', '--', 'set', 'bridge', 'br-int', 'datapath_type=netdev']);
    await this.#vsctl(['set', 'open', '.', ...ids.map((id) => `external_ids:${id}`)]);
  }

  async #makeNetwork(): Promise<void> {
    const length = this.#cluster.podCidr.split('/')[1] ?? '';
    const gateway = `${hostOf(this.#cluster.podCidr, 1)}/${length}`;
    await this.nbctl(['lr-add', router, '--', 'ls-add', 'pods', '--', 'lsp-add', 'pods', 'pod']);
    await this.nbctl(['lrp-add', router, `${router}-pods`, `${this.#mac}:01`, gateway]);
    await this.#linkRouter('pods', `pods-${router}`, `${router}-pods`);
    await this.nbctl(['lsp-set-addresses', 'pod', `${this.#mac}:11 ${this.address}`]);
  }

  async #linkRouter(logicalSwitch: string, port: string, peer: string): Promise<void> {
    const set = ['--', 'lsp-set-type', port, 'router', '--', 'lsp-set-addresses', port, 'router'];
    await this.nbctl(['lsp-add', logicalSwitch, port, ...set, '--', 'lsp-set-options', port, `router-port=${peer}`]);
  }

  async #makePod(): Promise<void> {
    const node = this.#cluster.nodes[0]?.netns ?? '';
    const length = this.#cluster.podCidr.split('/')[1] ?? '';
    await run(['ip', '-batch', '-'], {
      input: `netns add ${this.netns}\nlink add eth0 netns ${this.netns} type veth peer name pod0 netns ${node}`,
    });
    await run(['ip', '-n', this.netns, '-batch', '-'], {
      input: [
        'link set lo up',
        `link set eth0 address ${this.#mac}:11 mtu ${String(podMtu)}`,
        'link set eth0 up',
        `addr add ${this.address}/${length} dev eth0`,
        `route add default via ${hostOf(this.#cluster.podCidr, 1)}`,
      ].join('\n'),
    });
    // Otherwise the userspace datapath sees packets with unfinished checksums.
    await run(['ethtool', '-K', 'eth0', 'tx', 'off'], { netns: this.netns });
    await run(['ip', '-n', node, 'link', 'set', 'pod0', 'up']);
    await this.#vsctl(['add-port', 'br-int', 'pod0', '--', 'set', 'interface', 'pod0', 'external_ids:iface-id=pod']);
  }

  #vsctl(args: readonly string[]): Promise<string> {
    const socket = `unix:${this.#cluster.nodes[0]?.dir ?? ''}/db.sock`;
    return run([ovnProgram('ovs-vsctl', installation(this.#cluster.ovn)), `--db=${socket}`, ...args]);
  }
}

function foreignLayout(lab: Lab, name: string, podCidr: string, octet: number): ClusterLayout {
  const dir = join(lab.dir, name);
  const ovn = lab.hub?.ovn ?? '';
  const subnet = `172.30.${String(octet)}`;
  const node = {
    name: 'n1',
    cluster: name,
    ovn,
    dir: join(dir, 'n1'),
    netns: `${lab.name}-${name}-n1`,
    labels: {},
    runtime: 'bare' as const,
  };
  return {
    name,
    dir,
    ovn,
    netns: `${lab.name}-${name}`,
    address: `${subnet}.10`,
    podCidr,
    joinCidr: '',
    serviceCidr: '',
    asn: 0,
    joins: false,
    kubeProxy: 'none',
    apiPort: 0,
    nodes: [{ ...node, address: `${subnet}.11` }],
  };
}

function hostOf(cidr: string, last: number): string {
  return cidr.replace(/\.\d+\/\d+$/, `.${String(last)}`);
}
