/**
 * The test bed of the measurements between clusters: the lab, one pod per cluster (not on a gateway if there are
 * other nodes), the gateway of a path, and waiting until the lab is steady again. It uses only the lab's interfaces:
 * kubectl, the databases' sockets, pid files.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type ClusterLayout, isGateway } from '../../lab/layout.ts';
import { movingPath } from '../../lab/lib/anchors.ts';
import type { LabHandle } from '../../lab/lib/lab.ts';
import { tryRun } from '../../lab/run.ts';
import { addWorkload, applyObjects, removeWorkload, subnetManifest, waitForPods } from '../../system/workload.ts';
import type { FlowReport } from '../flows/report.ts';
import { stallAllowedMs } from './faults.ts';
import { type FlowEnds, type FlowOptions, startFlows } from '../flows/start.ts';
import { eventually, notYet, type NotYet } from '../../../lib/testing-eventually.ts';

export const namespace = 'bench-ic';
const pod = `${namespace}/one`;
/** Tunnel destination in a flow of the userspace datapath. */
const tunnelDestination = /tnl_push\(.*?ipv4\(src=[\d.]+,dst=([\d.]+)/;
/** Matches a flow that was used within the last second. */
const isRecent = /used:0\.\d+s/;
const settleTimeoutMs = 90_000;

interface RemoteClusters {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly phase?: string; readonly pathsUp?: string };
  }[];
}

export class IcBed {
  readonly lab: LabHandle;
  readonly #addresses = new Map<string, string>();

  constructor(lab: LabHandle) {
    this.lab = lab;
  }

  /** The clusters that are members from the start. */
  get members(): readonly ClusterLayout[] {
    return this.lab.layout.clusters.filter(({ joins }) => joins);
  }

  async prepare(): Promise<void> {
    for (const cluster of this.members) await this.addPod(cluster.name);
  }

  async addPod(cluster: string): Promise<void> {
    await addWorkload(this.lab, cluster, { namespace, pods: [{ name: 'one', node: this.#podNode(cluster) }] });
    await waitForPods(this.lab, cluster, namespace, 1);
    this.#addresses.set(cluster, await this.lab.addressOf(cluster, pod));
  }

  #podNode(cluster: string): string {
    const { nodes } = this.lab.cluster(cluster);
    return (nodes.find((candidate) => !isGateway(candidate)) ?? nodes.at(-1))?.name ?? '';
  }

  async removePod(cluster: string): Promise<void> {
    await removeWorkload(this.lab, cluster, namespace);
  }

  netns(cluster: string): string {
    return this.lab.ns(cluster, pod);
  }

  address(cluster: string): string {
    const address = this.#addresses.get(cluster);
    if (address === undefined) throw new Error(`${cluster} has no pod of the benchmark`);
    return address;
  }

  answers(from: string, to: string): Promise<boolean> {
    return this.lab.answers(this.netns(from), this.address(to));
  }

  /** Flows between two clusters from before `action` until `afterMs` after it. */
  flowsDuring(
    [from, to]: readonly [string, string],
    action: () => Promise<unknown>,
    options: FlowOptions & { readonly afterMs?: number } = {},
  ): Promise<FlowReport> {
    return this.flowsBetween(
      { from: this.netns(from), to: this.netns(to), address: this.address(to) },
      action,
      options,
    );
  }

  async flowsBetween(
    ends: FlowEnds,
    action: () => Promise<unknown>,
    { afterMs = 3000, ...options }: FlowOptions & { readonly afterMs?: number } = {},
  ): Promise<FlowReport> {
    const flows = await startFlows(ends, options);
    try {
      await pause(1000);
      await action();
      await pause(afterMs);
    } catch (error) {
      await flows.stop().catch(() => undefined);
      throw error;
    }
    const report = await flows.stop();
    if (report.stallMs > stallAllowedMs)
      console.error(
        `the machine stood still for ${report.stallMs} ms: BFD lost gateways that live, and the figure is of that`,
      );
    return report;
  }

  /** The nodes that hold a cluster's ports of transit switches, by port, such as `cr-east-ts` → `n1`. */
  async holders(cluster: string): Promise<ReadonlyMap<string, string>> {
    const find = ['--format=json', '--columns=logical_port,chassis', 'find', 'Port_Binding', 'type=chassisredirect'];
    const bindings = rowsIn(await this.lab.sbctl(cluster, find));
    const chassis = rowsIn(
      await this.lab.sbctl(cluster, ['--format=json', '--columns=_uuid,hostname', 'list', 'Chassis']),
    );
    const hostnames = new Map(chassis.map(([uuid, hostname]) => [uuidIn(uuid), String(hostname)]));
    return new Map(
      bindings
        .filter(([port]) => String(port).startsWith(`cr-${cluster}-`))
        .map(([port, holder]) => [String(port), hostnames.get(uuidIn(holder)) ?? '']),
    );
  }

  /**
   * The node of `cluster`, one of the two, whose gateway carries the flows of these benchmarks. Open vSwitch
   * hashes UDP by the addresses alone, so that all flows between two pods take one path.
   * @throws Error if the packets pass no gateway
   */
  async carrierOf(cluster: string, [from, to]: readonly [string, string]): Promise<string> {
    const pair = { src: this.address(from), dst: this.address(to) };
    let gateway: string | undefined;
    const look = async (): Promise<void> => {
      gateway = await this.nextNode(from, this.#podNode(from), pair);
    };
    await this.flowsDuring([from, to], look, { udp: 10, afterMs: 0 });
    const port = [...(await this.holders(from))].find(([, holder]) => holder === gateway)?.[0];
    if (gateway === undefined || port === undefined)
      throw new Error(`packets from ${from} to ${to} pass no gateway of ${from}, or one without a port`);
    if (cluster === from) return gateway;
    const far = port.replace(`cr-${from}-`, `cr-${cluster}-`);
    const holder = (await this.holders(cluster)).get(far);
    if (holder === undefined) throw new Error(`no gateway of ${cluster} holds ${far}`);
    return holder;
  }

  /** The node of the same cluster to which `node` currently sends the UDP packets of a pair of pods; undefined if there is none. */
  async nextNode(
    cluster: string,
    node: string,
    { src, dst }: { readonly src: string; readonly dst: string },
  ): Promise<string | undefined> {
    // UDP only: pings of the pair may take the other path.
    const pair = [`src=${src}`, `dst=${dst}`, 'proto=17'];
    const lines = (await this.lab.datapathFlows(cluster, node)).split('\n');
    const flows = lines.filter((line) => isRecent.test(line) && pair.every((part) => line.includes(part)));
    const target = flows.map((line) => tunnelDestination.exec(line)?.[1]).find((address) => address !== undefined);
    return this.lab.cluster(cluster).nodes.find(({ address }) => address === target)?.name;
  }

  /** Starts dead processes, continues stopped ones, and waits until all paths between all members carry traffic. */
  async settle(): Promise<void> {
    await this.lab.heal();
    for (const [from, to] of this.pairs()) {
      const what = `an answer from ${to} to ${from}`;
      await eventually(what, async () => (await this.answers(from, to)) || notYet('none'), settleTimeoutMs, 500);
    }
    await this.#untilSteady();
  }

  /** Anchors return and paths leave their hold-down one after the other: the lab is steady when nothing has moved for longer than that. */
  async #untilSteady(): Promise<void> {
    const steadyMs = (await this.holdDownMs()) + 1000;
    let since = performance.now();
    const isSteady = async (): Promise<true | NotYet> => {
      for (const { name } of this.members) {
        const moving = await this.#moving(name);
        if (moving === '') continue;
        since = performance.now();
        return notYet(moving);
      }
      const quietMs = performance.now() - since;
      return quietMs >= steadyMs || notYet(`nothing has moved for ${quietMs.toFixed(0)} ms`);
    };
    await eventually(`nothing to move for ${steadyMs} ms`, isSteady, settleTimeoutMs, 500);
  }

  /** The first path of a cluster that is down or not at its anchor; empty if there is none. */
  async #moving(cluster: string): Promise<string> {
    const up = await this.#pathsAreUp(cluster);
    if (up !== true) return `${cluster}: ${up.why}`;
    const moving = await movingPath(this.lab, cluster);
    return moving === '' ? '' : `${cluster}: ${moving}`;
  }

  /** Waits until the agents report all paths as up. */
  async untilPathsAreUp(): Promise<void> {
    for (const { name } of this.members)
      await eventually(`the paths of ${name} to be up`, () => this.#pathsAreUp(name), settleTimeoutMs, 500);
  }

  /** Time of the first answer of a pod to another cluster's pod, by performance.now(). @throws Error after the timeout. */
  async untilAnswers(from: string, to: string, timeoutMs = 30_000): Promise<number> {
    await untilPinged(this.netns(from), this.address(to), timeoutMs);
    return performance.now();
  }

  /** Time of the first answer of a cluster's pod to a node of its cluster, by performance.now(). */
  async untilLocalAnswer(cluster: string): Promise<number> {
    await untilPinged(this.lab.cluster(cluster).nodes[0]?.netns ?? '', this.address(cluster), 30_000);
    return performance.now();
  }

  async addSubnet(cluster: string, name: string, cidrBlock: string): Promise<void> {
    await applyObjects(this.lab, cluster, [subnetManifest(name, { cidrBlock })]);
  }

  async removeSubnet(cluster: string, name: string): Promise<void> {
    await this.lab.kubectl(cluster, ['delete', 'subnet', name, '--ignore-not-found', '--timeout=60s']);
  }

  pairs(): (readonly [string, string])[] {
    const names = this.members.map(({ name }) => name);
    return names.flatMap((from) => names.filter((to) => to !== from).map((to) => [from, to] as const));
  }

  /** The hold-down of a recovered path, in ms. */
  async holdDownMs(): Promise<number> {
    const path = 'jsonpath={.spec.failback.holdDownSeconds}';
    const text = await this.lab.kubectl('east', ['get', 'interconnect', 'default', '-o', path]);
    return Number(text) * 1000;
  }

  /** BFD's configured detection time of a dead tunnel: interval × multiplier, in ms. */
  async detectionMs(): Promise<number> {
    const get = (key: string): Promise<string> => this.lab.nbctl('east', ['get', 'NB_Global', '.', `options:${key}`]);
    const texts = await Promise.all([get('bfd-min-rx'), get('bfd-mult')]);
    return texts.map((text) => Number(text.trim().replaceAll('"', ''))).reduce((product, value) => product * value, 1);
  }

  async #pathsAreUp(cluster: string): Promise<true | NotYet> {
    const text = await this.lab.kubectl(cluster, ['get', 'remoteclusters', '-o', 'json']);
    const { items } = JSON.parse(text) as RemoteClusters;
    for (const { name } of this.members) {
      if (name === cluster) continue;
      const found = items.find(({ metadata }) => metadata.name === name);
      if (found === undefined) return notYet(`it does not know ${name}`);
      const { status } = found;
      // Absent if the agent knows one path only.
      const [up, all] = status?.pathsUp?.split('/') ?? [];
      if (up !== all) return notYet(`${name}: ${status?.pathsUp ?? 'unknown'}`);
      if (status?.phase !== 'Ready') return notYet(`${name} is ${status?.phase ?? 'unknown'}`);
    }
    return true;
  }
}

/** Pings at least every tenth of a second, which is the precision of the first answer's time. */
async function untilPinged(netns: string, address: string, timeoutMs: number): Promise<void> {
  const ping = ['ping', '-n', '-c', '1', '-W', '0.1', address];
  await eventually(
    `an answer from ${address} to ${netns}`,
    async () => (await tryRun(ping, { netns })).code === 0 || notYet('no echo reply'),
    timeoutMs,
    20,
  );
}

function rowsIn(json: string): readonly (readonly unknown[])[] {
  return (JSON.parse(json) as { data: unknown[][] }).data;
}

/** The text of an OVSDB uuid; empty for an absent optional one. */
function uuidIn(value: unknown): string {
  return Array.isArray(value) && value[0] === 'uuid' ? String(value[1]) : '';
}
