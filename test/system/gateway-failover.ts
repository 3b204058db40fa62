/**
 * A VPC whose port outside moves between n1 and n2, and traffic in both directions. Pods are on n1 and n3, so that n2 can die. The part of the
 * daemon that announces the port runs on both gateway nodes.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOvsdb } from 'ovsdb-client';
import { GatewayAnnouncements } from '../../daemon/apply/gateway-announcements.ts';
import { openLocalOvs } from '../../daemon/ovs/local.ts';
import { GatewayPorts } from '../../daemon/watch/gateway-ports.ts';
import { nodes, ovnDnatRules, ovnEips, ovnFips, ovnSnatRules, vpcs } from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import { textOf } from '../../lib/ovn/columns.ts';
import { createLogger } from '../../lib/run/logger.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';
import { run, tryRun } from '../lab/run.ts';
import { addOutside, gatewayLabel, label, outside, removeOutside } from './external-bed.ts';
import { ServiceBed, underlayOf, type NodeName } from './service-bed.ts';
import { sendStreams, startStreamEcho } from './tcp-flows.ts';
import { sendFlows, startEcho } from './udp-flows.ts';

const ports = { tcp: 7000, udp: 7001 } as const;
const intervalMs = 10;
const streams = 3;
const nodeOf = { leaving: 'n1', fixed: 'n3', published: 'n3' } as const;

/** How traffic was interrupted. */
export interface Interruption {
  /** The longest time without an answer in milliseconds, by kind of traffic. */
  readonly gapsMs: Readonly<Record<string, number>>;
  /** Connections that ended by themselves, by kind of traffic. */
  readonly broken: Readonly<Record<string, number>>;
}

/** `all`: connections by each kind of rule, and datagrams; `inbound`: datagrams from outside only, and nothing else that goes out. */
export type TrafficKind = 'all' | 'inbound';

type Stop = () => Promise<{ readonly name: string; readonly gapMs: number; readonly broken: number }>;

export class GatewayFailover {
  readonly bed: ServiceBed;
  readonly #announcing: {
    readonly node: NodeName;
    readonly announcements: GatewayAnnouncements;
    readonly close: () => Promise<unknown>;
  }[] = [];
  readonly #echoes: ChildProcess[] = [];
  #addresses: Readonly<Record<'out' | 'fixed' | 'published', string>> = { out: '', fixed: '', published: '' };

  private constructor(bed: ServiceBed) {
    this.bed = bed;
  }

  /** n2 has the port of the VPC `blue`, n1 is the next one. */
  static async open(): Promise<GatewayFailover> {
    const failover = new GatewayFailover(await ServiceBed.open());
    try {
      await failover.#prepare();
    } catch (error) {
      await failover.close();
      throw error;
    }
    return failover;
  }

  async #prepare(): Promise<void> {
    const { bed } = this;
    await addOutside(bed);
    await bed.addWitness();
    bed.favourSwitches();
    await label(bed, 'n2', gatewayLabel);
    await bed.controller.create(vpcs, 'blue', { enableExternal: true });
    await bed.controller.createSubnet('blue-net', { vpc: 'blue', cidrBlock: '10.90.0.0/16,fd00:90::/112' });
    await eventually('the network', () => bed.controller.row('Logical_Switch', 'blue-net') !== undefined);
    const annotations = { 'ovn.kubernetes.io/logical_switch': 'blue-net' };
    for (const [pod, node] of Object.entries(nodeOf)) await bed.plugPod(pod, node, { annotations });
    await this.untilHeld('n2');
    await label(bed, 'n1', gatewayLabel);
    await eventually('two nodes', () => this.order.join() === 'n2,n1' || notYet(this.order.join()));
    this.#addresses = {
      out: await this.#eip('out'),
      fixed: await this.#eip('fixed'),
      published: await this.#eip('published'),
    };
    await this.#rule(ovnSnatRules, 'out', { ipName: 'leaving.default' });
    await this.#rule(ovnFips, 'fixed', { ipName: 'fixed.default' });
    const port = String(ports.tcp);
    const publish = { ipName: 'published.default', protocol: 'tcp', externalPort: port, internalPort: port };
    await this.#rule(ovnDnatRules, 'published', publish);
    for (const place of [outside.name, 'fixed', 'published']) {
      this.#echoes.push(await startStreamEcho(bed.space(place), ports.tcp));
      this.#echoes.push(await startEcho(bed.space(place), ports.udp));
    }
    await this.untilHeld('n2');
    await this.untilInstalled();
  }

  /** Starts the part of the daemon that announces ports, on both nodes. */
  async announce(): Promise<void> {
    const { bed } = this;
    for (const node of ['n1', 'n2'] as const) {
      const ending = new AbortController();
      const log = createLogger(`daemon of ${node}`, 'warn');
      const ovs = await openLocalOvs(`unix:${bed.dir}/${node}/db.sock`, ending.signal);
      const { signal } = ending;
      const access = { remotes: () => [bed.southbound], onRemotes: () => undefined, signal, log };
      const announcements = new GatewayAnnouncements({
        ovs,
        bridgeSocket: bed.bridgeSocket(node),
        openPorts: (onChange) => new GatewayPorts(access, onChange),
        log,
      });
      const close = async (): Promise<void> => {
        await announcements.close();
        ending.abort();
        await ovs.close();
      };
      this.#announcing.push({ node, announcements, close });
    }
    await eventually('both nodes know the ports', () =>
      this.#announcing.every(({ announcements }) => announcements.held !== undefined),
    );
  }

  /** Announcements that a node has sent. */
  announcedBy(node: NodeName): number {
    const { arp = 0, nd = 0 } = this.#announcing.find((one) => one.node === node)?.announcements.sent ?? {};
    return arp + nd;
  }

  async close(): Promise<void> {
    for (const { close } of this.#announcing.splice(0)) await close();
    for (const echo of this.#echoes) {
      const ended = once(echo, 'exit');
      echo.kill('SIGKILL');
      await ended;
    }
    removeOutside(this.bed);
    await this.bed.close();
  }

  /** Chassis of the port, the first one first. */
  get order(): readonly string[] {
    const rows = this.bed.controller.rows('Gateway_Chassis').filter((row) => textOf(row, 'name').startsWith('blue-'));
    const sorted = rows.toSorted((a, b) => Number(b['priority']) - Number(a['priority']));
    return sorted.map((row) => textOf(row, 'chassis_name').slice('chassis-'.length));
  }

  /** The node has the port, and is the first. */
  untilHeld(node: NodeName, eip = 'blue-external'): Promise<unknown> {
    return eventually(`the port on ${node}`, async () => {
      const { holder } = await this.bed.controller.status(ovnEips, eip);
      return (holder === node && this.order[0] === node) || notYet(`${String(holder)} of ${this.order.join()}`);
    });
  }

  /** The node that has the port, and since when. */
  async status(): Promise<readonly unknown[]> {
    const { holder, holderSince } = await this.bed.controller.status(ovnEips, 'blue-external');
    return [holder, holderSince];
  }

  async cordon(node: NodeName, isCordoned: boolean): Promise<void> {
    await this.bed.controller.kube.patch(nodes, { name: node }, 'merge', { spec: { unschedulable: isCordoned } });
  }

  /** Moves the port by a drain of the node that has it. */
  async drain(from: NodeName, to: NodeName): Promise<void> {
    await this.cordon(from, true);
    await this.untilHeld(to);
    await this.cordon(from, false);
  }

  /** The switch of a node runs again, and it carries packets of others again. */
  async revive(node: NodeName): Promise<void> {
    await this.bed.reviveSwitch(node);
    await this.untilInstalled();
  }

  /** The switch of a node runs again. For some time one node does not see it: sessions of BFD come up in any order. */
  async reviveBlind(node: NodeName, unseen: 'n1' | 'n2'): Promise<void> {
    const { bed } = this;
    const southbound = await openOvsdb({
      remotes: [bed.southbound],
      database: 'OVN_Southbound',
      monitor: { Chassis: ['name'], Port_Binding: ['logical_port', 'chassis'] },
    });
    let hasClaimed = false;
    southbound.subscribe(() => {
      const { cache } = southbound;
      const own = [...cache.table('Chassis').rows.values()].find(({ name }) => name === `chassis-${node}`);
      hasClaimed ||= [...cache.table('Port_Binding').rows.values()].some(
        (row) => row['logical_port'] === 'cr-blue-external' && row['chassis'] === own?._uuid,
      );
    });
    const bridge = `unix:${bed.dir}/${unseen}/br-phys.mgmt`;
    const tunnel = `udp,nw_src=${underlayOf(node)},nw_dst=${underlayOf(unseen)},tp_dst=6081`;
    bed.in(unseen, `ovs-ofctl add-flow ${bridge} priority=99,${tunnel},actions=drop`);
    try {
      await bed.reviveSwitch(node);
      await eventually(`a claim of ${node}`, () => hasClaimed);
      await sleep(1000);
    } finally {
      bed.in(unseen, `ovs-ofctl --strict del-flows ${bridge} priority=99,${tunnel}`);
      await southbound.close();
    }
    await this.untilInstalled();
  }

  /** All nodes have the flows of everything that is in the northbound database. */
  async untilInstalled(): Promise<void> {
    const argv = ['ovn-nbctl', '--timeout=60', '--wait=hv', `--db=${this.bed.controller.server.remote}`, 'sync'];
    await run(argv, { timeoutMs: 60_000 });
  }

  /** Sends while something happens, and until everything is answered again. */
  async interruption(kind: TrafficKind, meanwhile: () => Promise<unknown>): Promise<Interruption> {
    const senders = await this.#send(kind);
    const stop = () => Promise.all(senders.map((one) => one()));
    try {
      await meanwhile();
      await this.#untilAnswered(kind);
    } catch (error) {
      await stop();
      throw error;
    }
    const results = await stop();
    return {
      gapsMs: Object.fromEntries(results.map(({ name, gapMs }) => [name, gapMs])),
      broken: Object.fromEntries(results.flatMap(({ name, broken }) => (broken > 0 ? [[name, broken]] : []))),
    };
  }

  async #send(kind: TrafficKind): Promise<readonly Stop[]> {
    const { fixed, published } = this.#addresses;
    const { bed } = this;
    const datagrams = (name: string, from: string, address: string): Stop => {
      const stop = sendFlows(bed.space(from), { address, port: ports.udp, flows: 1, intervalMs });
      return async () => ({ name, gapMs: Math.round((await stop()).gapsMs[0] ?? 0), broken: 0 });
    };
    const inbound = datagrams('FIP, datagrams from outside', outside.name, fixed);
    if (kind === 'inbound') return [inbound];
    const connections = async (name: string, from: string, address: string): Promise<Stop> => {
      const stop = await sendStreams(bed.space(from), { address, port: ports.tcp, flows: streams, intervalMs });
      return async () => ({ name, ...(await stop()) });
    };
    return [
      inbound,
      datagrams('SNAT, datagrams from a pod', 'leaving', outside.router[0]),
      await connections('SNAT', 'leaving', outside.server[0]),
      await connections('FIP', outside.name, fixed),
      await connections('DNAT', outside.name, published),
    ];
  }

  /** Without a packet that goes out by itself. */
  async #untilAnswered(kind: TrafficKind): Promise<void> {
    const { fixed } = this.#addresses;
    const isAnswered = async (from: string, address: string): Promise<boolean> => {
      const argv = ['ping', '-c1', '-W1', address];
      return (await tryRun(argv, { netns: this.bed.space(from) })).code === 0;
    };
    const untilAnswered = async (what: string, from: string, address: string): Promise<void> => {
      // A switch that ended by itself answers nothing any more.
      await eventually(what, async () => this.bed.crashes.length > 0 || (await isAnswered(from, address)));
      assert.deepEqual(this.bed.crashes, []);
    };
    await untilAnswered('answers from outside', outside.name, fixed);
    if (kind === 'all') await untilAnswered('answers to a pod', 'leaving', outside.router[0]);
  }

  async #rule(resource: Resource, name: string, spec: object): Promise<void> {
    await this.bed.controller.create(resource, name, { ovnEip: name, ...spec });
    await this.#ready(resource, name);
  }

  async #eip(name: string): Promise<string> {
    await this.bed.controller.create(ovnEips, name, {});
    return String((await this.#ready(ovnEips, name))['v4Ip']);
  }

  #ready(resource: Resource, name: string): Promise<Readonly<Record<string, unknown>>> {
    return eventually(`${resource.kind} ${name}`, async () => {
      const status = await this.bed.controller.status(resource, name);
      return status['ready'] === true ? status : notYet(JSON.stringify(status));
    });
  }
}
