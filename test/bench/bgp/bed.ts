/**
 * The test bed of the BGP measurements: a kube-apiserver with our kinds, one node in a network namespace with gobgpd, its
 * speaker as a process of its own, and two FRR routers. All announcements come from objects created through the API.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { classTag } from '../class-tag.ts';
import { customResourceDefinition } from '../../../lib/api/generate/crd.ts';
import { allKinds } from '../../../lib/api/kinds/all.ts';
import { openKube } from '../../../lib/kube/client.ts';
import { isKubeError } from '../../../lib/kube/errors.ts';
import {
  apiVersionOf,
  bgpAdvertisements,
  bgpInstances,
  bgpPeers,
  nodes,
  subnets,
} from '../../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../../lib/kube/testing.ts';
import type { KubeClient, Resource } from '../../../lib/kube/types.ts';
import type { TestGobgpd } from '../../../lib/gobgp/src/testing.ts';
import { openGobgp } from '../../../lib/gobgp/src/index.ts';
import { checkout } from '../../lab/layout.ts';
import { node24 } from '../../lab/rooms.ts';
import { run } from '../../lab/run.ts';
import { type BgpLab, openBgpLab } from '../../system/bgp/lab.ts';
import { createPods, createSubnet, firstSingle, type Group, groups, node, selectorOf, setReady } from './pods.ts';
import { SpeakerProcess } from './speaker-process.ts';
import { Tor } from './tor.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

/** Delay before a killed process is restarted. */
const restartMs = 1000;
const advertisement = 'bench';

/** Hold time that keeps sessions up on a busy machine. */
const holdSeconds = 90;
/** Routers, in the order of their links to the node. */
const setups = [
  { kind: 'frr', name: 'tor1', asn: 65_101, holdSeconds },
  { kind: 'frr', name: 'tor2', asn: 65_102, holdSeconds },
  { kind: 'bird', name: 'bird', asn: 65_103, holdSeconds },
] as const;

export interface ToldSession {
  readonly state?: string;
  readonly reason?: string;
  readonly message?: string;
}

export class BgpBed {
  readonly api: TestApiServer;
  readonly kube: KubeClient;
  readonly lab: BgpLab;
  readonly tors: readonly [Tor, Tor];
  #speaker: SpeakerProcess | undefined;
  #pods = 0;
  #announced: readonly Group[] = [];

  private constructor(api: TestApiServer, lab: BgpLab, tors: readonly [Tor, Tor]) {
    this.api = api;
    this.kube = openKube({ kubeconfig: api.kubeconfig, userAgent: 'bench' });
    this.lab = lab;
    this.tors = tors;
  }

  static async open(): Promise<BgpBed> {
    const lab = await openBgpLab(setups);
    await run([node24, join(checkout, 'images/bundle.ts'), programsOf(lab)], { timeoutMs: 60_000 });
    const api = await startApiServer();
    const bed = new BgpBed(api, lab, [await Tor.open(lab.frr('tor1')), await Tor.open(lab.frr('tor2'))]);
    try {
      await bed.#prepare();
    } catch (error) {
      await bed.close();
      throw error;
    }
    return bed;
  }

  async #prepare(): Promise<void> {
    for (const kind of allKinds)
      await this.kube.request(
        'POST',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        customResourceDefinition(kind),
      );
    for (const resource of [bgpAdvertisements, bgpInstances, bgpPeers, subnets]) await this.#untilServed(resource);
    await this.#createNode();
    await createSubnet(this.kube);
    await this.create(bgpInstances, 'rack', { localASN: 65001 });
    await this.addPeer(this.tor.address, 'tor1', this.tor.peer.asn);
    await this.startSpeaker();
    await this.tor.untilEstablished();
    await this.ensurePods(1);
    await this.announce([]);
  }

  async close(): Promise<void> {
    // Only a process that exits gracefully writes its profile.
    await this.#speaker?.end(profiling().length > 0 ? 'SIGTERM' : 'SIGKILL');
    for (const tor of this.tors) tor.close();
    await this.kube.close();
    await Promise.all([this.api.stop(), this.lab.close()]);
  }

  /** The router that most measurements observe. */
  get tor(): Tor {
    return this.tors[0];
  }

  get gobgpd(): TestGobgpd {
    return this.lab.gobgpd;
  }

  /** @throws Error while no speaker runs */
  get speaker(): SpeakerProcess {
    if (this.#speaker === undefined) throw new Error('there is no speaker');
    return this.#speaker;
  }

  async startSpeaker(flags: readonly string[] = profiling()): Promise<SpeakerProcess> {
    const { kubeconfig } = this.api;
    const netstat = `/proc/${this.lab.node.pid}/net/netstat`;
    this.#speaker = await SpeakerProcess.start({
      programs: programsOf(this.lab),
      kubeconfig,
      node,
      gobgpd: this.gobgpd.target,
      log: this.gobgpd.log,
      netstat,
      flags,
    });
    return this.#speaker;
  }

  async untilReady(): Promise<void> {
    await eventually(
      'the speaker to be ready',
      async () => (await this.speaker.isReady()) || notYet('not ready'),
      60_000,
      20,
    );
  }

  /** Run time, in ms, of a program that reads the pods and exits. */
  async nodeStartMs(): Promise<number> {
    const started = performance.now();
    await run([node24, join(import.meta.dirname, 'pod-reader.ts'), this.api.kubeconfig]);
    return performance.now() - started;
  }

  /** Restarts gobgpd like a container that has exited. */
  async restartGobgpd(): Promise<number> {
    await this.gobgpd.kill();
    await pause(restartMs);
    const started = performance.now();
    await this.gobgpd.restart();
    return started;
  }

  async create(resource: Resource, name: string, spec: object): Promise<void> {
    await this.kube.create(resource, {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name },
      spec,
    });
  }

  /** @param more further fields of the spec */
  async addPeer(address: string, name: string, asn: number, more: object = {}): Promise<void> {
    await this.create(bgpPeers, name, { instance: 'rack', address, asn, ...more });
  }

  async removePeer(name: string): Promise<void> {
    await this.kube.delete(bgpPeers, { name });
  }

  /** The node's session in the status of a BgpPeer. */
  async session(name: string): Promise<ToldSession> {
    const { status } = (await this.kube.get(bgpPeers, { name })) as {
      readonly status?: { readonly nodes?: readonly ToldSession[] };
    };
    return status?.nodes?.[0] ?? {};
  }

  /** Ensures that all pods of the groups exist and are ready; ignores other pods. */
  async ensurePods(count: number = firstSingle): Promise<void> {
    if (this.#pods >= count) return;
    await createPods(this.kube, this.#pods, count, true);
    this.#pods = count;
  }

  /** Makes a pod outside the groups ready; resolves with the time of the API's answer, by performance.now(). */
  async addPod(at: number): Promise<number> {
    await setReady(this.kube, firstSingle + at, true);
    return performance.now();
  }

  async removePod(at: number): Promise<void> {
    await setReady(this.kube, firstSingle + at, false);
  }

  /** Creates pods that are not ready yet, for `addPod`. */
  async createSingles(from: number, to: number): Promise<void> {
    await createPods(this.kube, firstSingle + from, firstSingle + to, false);
  }

  /** Requests the announcement of these groups and the first pod; resolves with the time of the API's answer, by performance.now(). */
  async ask(taken: readonly Group[]): Promise<number> {
    const spec = { source: 'Pod', selector: selectorOf(['first', ...taken]) };
    const body = { apiVersion: apiVersionOf(bgpAdvertisements), kind: 'BgpAdvertisement', spec };
    await this.kube.patch(bgpAdvertisements, { name: advertisement }, 'apply', {
      ...body,
      metadata: { name: advertisement },
    });
    this.#announced = taken;
    return performance.now();
  }

  /** Like `ask`, with the required pods; waits until the router has exactly their routes. */
  async announce(taken: readonly Group[]): Promise<number> {
    const last = Math.max(-1, ...Object.keys(groups).map((group, at) => (taken.includes(group as Group) ? at : -1)));
    const needed = Object.values(groups).slice(0, last + 1);
    await this.ensurePods(needed.reduce((sum, each) => sum + each, 0));
    await this.ask(taken);
    await this.tor.untilCount(this.announced);
    return this.announced;
  }

  /** Number of routes of the announced groups. */
  get announced(): number {
    return new Set<Group>(['first', ...this.#announced])
      .values()
      .reduce((sum, group) => sum + (group === 'single' ? 0 : groups[group]), 0);
  }

  /** The community by which gobgpd's policies recognize paths of the announced pods. */
  async tag(): Promise<string> {
    const gobgp = await openGobgp({ target: this.gobgpd.target });
    try {
      return await classTag(gobgp);
    } finally {
      gobgp.close();
    }
  }

  async #createNode(): Promise<void> {
    await this.kube.create(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: node, labels: { 'ovn.kubernetes.io/bgp': 'true' } },
    });
    const status = { addresses: [{ type: 'InternalIP', address: this.tor.nodeAddress }] };
    await this.kube.patch(nodes, { name: node }, 'merge', { status }, { subresource: 'status' });
  }

  async #untilServed(resource: Resource): Promise<void> {
    for (const until = performance.now() + 15_000; ; await pause(50)) {
      try {
        await this.kube.list(resource);
        return;
      } catch (error) {
        if (!isKubeError(error) || performance.now() > until) throw error;
      }
    }
  }
}

/** Bundles the programs as they ship, in the lab's folder, which is removed with the lab. */
function programsOf({ dir }: BgpLab): string {
  return join(dir, 'shipped');
}

/** BGP_PROFILE=folder: speakers that exit gracefully write CPU profiles there. */
export function profiling(): readonly string[] {
  const dir = process.env['BGP_PROFILE'];
  return dir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${dir}`];
}
