// A test bed for the speaker with a real API server and a lab of peers: tests write objects, and read routes at the peers and statuses.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { customResourceDefinition } from '../../../lib/api/generate/crd.ts';
import { allKinds } from '../../../lib/api/kinds/all.ts';
import { annotation } from '../../../lib/api/names.ts';
import { openGobgp } from '../../../lib/gobgp/src/index.ts';
import type { GobgpClient } from '../../../lib/gobgp/src/index.ts';
import { openKube } from '../../../lib/kube/client.ts';
import { KubeApiError } from '../../../lib/kube/errors.ts';
import {
  apiVersionOf,
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  bgpPeers,
  endpointSlices,
  events,
  pods,
  services,
  nodes,
  subnets,
} from '../../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../../lib/kube/testing.ts';
import type { KubeClient, RawObject, Resource } from '../../../lib/kube/types.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import { type BgpLab, openBgpLab } from './lab.ts';
import { lendPort } from './lend-port.ts';
import { end } from './namespace.ts';
import type { Family, Host, PeerSetup } from './peer.ts';
import { startSpeaker } from './speaker-process.ts';

export interface Status {
  readonly established?: string;
  readonly prefixes?: string[];
  readonly prefixCount?: number;
  readonly notAnnounced?: { readonly object: string; readonly reason: string; readonly message: string }[];
  readonly nodes?: {
    readonly node: string;
    readonly state?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly advertised?: number;
  }[];
  readonly conditions?: {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

/**
 * Opens a bed with the node `n1` and its running speaker.
 * @param isInside the speaker runs in the node's network namespace and sees the node's links
 */
export async function openSpeakerBed(setups: readonly PeerSetup[], isInside = false): Promise<SpeakerBed> {
  const [lab, server] = await Promise.allSettled([openBgpLab(setups), startApiServer()]);
  if (lab.status === 'fulfilled' && server.status === 'fulfilled') {
    const bed = new SpeakerBed(lab.value, server.value);
    try {
      if (isInside) await bed.moveInside();
      await bed.prepare();
      return bed;
    } catch (error) {
      await bed.close();
      throw error;
    }
  }
  if (lab.status === 'fulfilled') await lab.value.close();
  if (server.status === 'fulfilled') await server.value.stop();
  throw lab.status === 'rejected' ? lab.reason : (server as PromiseRejectedResult).reason;
}

export class SpeakerBed {
  readonly lab: BgpLab;
  readonly server: TestApiServer;
  readonly kube: KubeClient;
  /** The output of each started speaker, in order of start. */
  readonly logs: string[][] = [];
  #speaker: ChildProcess | undefined;
  /** Closes the API server's port in the node's network namespace. */
  #takePort: (() => Promise<void>) | undefined;

  constructor(lab: BgpLab, server: TestApiServer) {
    this.lab = lab;
    this.server = server;
    this.kube = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
  }

  async prepare(): Promise<void> {
    const definitions = allKinds.map(customResourceDefinition);
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await Promise.all(definitions.map((each) => this.kube.request('POST', path, each)));
    for (const resource of [bgpAdvertisements, bgpInstances, bgpPeers, subnets])
      await eventuallyPasses(() => this.kube.list(resource));
    await this.createNode('n1', this.lab.routerId, { 'ovn.kubernetes.io/bgp': 'true' });
    this.startSpeaker();
  }

  /** Runs later speakers in the node's network namespace. */
  async moveInside(): Promise<void> {
    const [, port] = /https:\/\/127\.0\.0\.1:(\d+)/.exec(readFileSync(this.server.kubeconfig, 'utf8')) ?? [];
    this.#takePort = await lendPort(this.lab.node, Number(port));
  }

  async close(): Promise<void> {
    await this.killSpeaker();
    await this.#takePort?.();
    await this.lab.close();
    await this.kube.close();
    await this.server.stop();
  }

  /** @param prefix arguments before the command */
  startSpeaker(prefix: readonly string[] = []): void {
    const lines: string[] = [];
    this.logs.push(lines);
    const { node, gobgpd } = this.lab;
    const where = this.#takePort ? node.prefix : [];
    this.#speaker = startSpeaker({ name: 'n1', namespace: node, gobgpd }, this.server.kubeconfig, lines, [
      ...where,
      ...prefix,
    ]);
  }

  /** Waits until the last started speaker has listed the cluster and begins to make changes. */
  async untilWorking(): Promise<void> {
    const lines = this.logs.at(-1) ?? [];
    await eventuallyPasses(() => assert.match(lines.join(''), /all objects were read; working/));
  }

  async killSpeaker(): Promise<void> {
    if (this.#speaker) await end(this.#speaker);
  }

  /** Calls `use` with a client of the node's gobgpd, and closes the client afterwards. */
  async gobgp<T>(use: (client: GobgpClient) => Promise<T>): Promise<T> {
    const client = await openGobgp({ target: this.lab.gobgpd.target });
    try {
      return await use(client);
    } finally {
      client.close();
    }
  }

  async create(resource: Resource, name: string, spec: object, labels: Record<string, string> = {}): Promise<void> {
    await this.kube.create(resource, {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name, labels },
      spec,
    });
  }

  /** Stores objects of a kind without CRD validation, as if they were older than its rules. */
  async createStored(resource: Resource, specs: Readonly<Record<string, object>>): Promise<void> {
    const kind = allKinds.find((each) => each.kind === resource.kind);
    if (!kind) throw new Error(`${resource.kind} is no kind of Isthmus`);
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${kind.plural}.${kind.group}`;
    const replace = async (definition: object): Promise<void> =>
      eventuallyPasses(async () => {
        const { metadata } = (await this.kube.request('GET', path)) as RawObject;
        await this.kube.request('PUT', path, { ...definition, metadata });
      });
    const strict = customResourceDefinition(kind) as { spec: { versions: object[] } };
    const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } };
    await replace({
      ...strict,
      spec: { ...strict.spec, versions: strict.spec.versions.map((each) => ({ ...each, schema })) },
    });
    for (const [name, spec] of Object.entries(specs)) await eventuallyPasses(() => this.create(resource, name, spec));
    await replace(strict);
    const [spec = {}] = Object.values(specs);
    await eventuallyPasses(async () => {
      const answer = await this.create(resource, 'too-late', spec).catch((error: unknown) => error);
      if (answer === undefined) await this.kube.delete(resource, { name: 'too-late' });
      // While the API server replaces the schema, it briefly returns other errors.
      assert.ok(answer instanceof KubeApiError && answer.status === 422, 'the rules are not in force yet');
    });
  }

  async createNode(name: string, address: string, labels: Record<string, string>): Promise<void> {
    await this.create(nodes, name, {}, labels);
    const status = { addresses: [{ type: 'InternalIP', address }] };
    await this.kube.patch(nodes, { name }, 'merge', { status }, { subresource: 'status' });
  }

  /** Creates a BgpPeer for one address of a peer, with short timers. */
  async createPeer(peer: Host, family: Family, spec: object = {}, name = nameOf(peer, family)): Promise<void> {
    const address = family === 4 ? peer.link.v4 : peer.link.v6;
    const timers = { holdTimeSeconds: 9, keepaliveSeconds: 3 };
    await this.create(bgpPeers, name, { instance: 'rack', address, asn: peer.asn, ...timers, ...spec });
  }

  async patchPeer(name: string, spec: object): Promise<void> {
    await this.kube.patch(bgpPeers, { name }, 'merge', { spec });
  }

  async createSubnet(
    name: string,
    cidrBlock: string,
    labels: Record<string, string> = {},
    isAccepted = true,
  ): Promise<void> {
    await this.kube.create(subnets, {
      apiVersion: apiVersionOf(subnets),
      kind: subnets.kind,
      metadata: { name, labels, annotations: isAccepted ? acceptedAs(cidrBlock) : {} },
      spec: { cidrBlock, vpc: 'ovn-cluster' },
    });
  }

  /** Creates subnets with one IPv4 prefix each; returns the prefixes. */
  async createSubnets(count: number, base = 60): Promise<string[]> {
    const prefixes = Array.from({ length: count }, (_, at) => `10.${base + (at >> 8)}.${at & 255}.0/24`);
    const left = [...prefixes];
    const work = async (): Promise<void> => {
      for (let prefix = left.pop(); prefix !== undefined; prefix = left.pop())
        await this.createSubnet(`s-${prefix.replace(/[./]/g, '-')}`, prefix);
    };
    await Promise.all(Array.from({ length: 16 }, work));
    return prefixes;
  }

  /** Writes the controller's annotation of an accepted subnet. */
  async accept(name: string, cidrBlock: string): Promise<void> {
    await this.kube.patch(subnets, { name }, 'merge', { metadata: { annotations: acceptedAs(cidrBlock) } });
  }

  /** Creates a pod in the state that scheduler, controller and kubelet leave: running and ready. */
  async createPod(name: string, ip: string, more: PodSetup = {}): Promise<void> {
    const { node = 'n1', subnet = 'ovn-default', labels = {}, annotations = {}, isReady = true } = more;
    await this.kube.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace: 'default',
        labels,
        annotations: { [annotation.ipAddress]: ip, [annotation.logicalSwitch]: subnet, ...annotations },
      },
      // No kubelet terminates the pod.
      spec: { nodeName: node, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'none' }] },
    });
    const podIPs = ip.split(',').map((one) => ({ ip: one }));
    const status = { podIP: podIPs[0]?.ip, podIPs };
    await this.kube.patch(pods, { name, namespace: 'default' }, 'merge', { status }, { subresource: 'status' });
    await this.setPodReady(name, isReady);
  }

  async setPodReady(name: string, isReady: boolean): Promise<void> {
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] };
    await this.kube.patch(pods, { name, namespace: 'default' }, 'merge', { status }, { subresource: 'status' });
  }

  async annotate(resource: Resource, name: string, text: string | null): Promise<void> {
    const metadata = { annotations: { [annotation.bgp]: text } };
    await this.kube.patch(resource, nameIn(resource, name), 'merge', { metadata });
  }

  /** Creates a service of type LoadBalancer with this address; returns its cluster IP. */
  async createService(
    name: string,
    ip: string,
    spec: object = {},
    labels: Record<string, string> = {},
  ): Promise<string> {
    const created = await this.kube.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'default', labels },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
    });
    const status = { loadBalancer: { ingress: [{ ip }] } };
    await this.kube.patch(services, { name, namespace: 'default' }, 'merge', { status }, { subresource: 'status' });
    return (created['spec'] as { clusterIP: string }).clusterIP;
  }

  /** Sets the endpoints of a service, one per node name; `!` before the name means not ready. */
  async setEndpoints(service: string, ...on: readonly string[]): Promise<void> {
    const endpoints = on.map((node, at) => ({
      addresses: [`10.16.9.${at + 1}`],
      nodeName: node.replace('!', ''),
      conditions: { ready: !node.startsWith('!'), serving: !node.startsWith('!') },
    }));
    await this.kube.patch(endpointSlices, { name: `${service}-1`, namespace: 'default' }, 'apply', {
      apiVersion: apiVersionOf(endpointSlices),
      kind: 'EndpointSlice',
      metadata: { name: `${service}-1`, labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      endpoints,
      ports: [{ port: 80 }],
    });
  }

  async status(resource: Resource, name: string): Promise<Status> {
    const { status = {} } = (await this.kube.get(resource, { name })) as { status?: Status };
    return status;
  }

  /** `True Reason` of a condition. */
  async condition(resource: Resource, name: string, type: string): Promise<string> {
    const found = (await this.status(resource, name)).conditions?.find((condition) => condition.type === type);
    return `${found?.status} ${found?.reason}`;
  }

  /** Waits until a condition is `True Reason`. */
  async untilCondition(resource: Resource, name: string, type: string, wanted: string): Promise<void> {
    await eventuallyPasses(async () =>
      assert.equal(await this.condition(resource, name, type), wanted, `${type} of ${name}`),
    );
  }

  /** The state and reason of n1's session. */
  async session(peer: string): Promise<string> {
    const { state, reason } = await this.entry(peer);
    return [state, reason].filter(Boolean).join(' ');
  }

  async entry(peer: string): Promise<Partial<NonNullable<Status['nodes']>[number]>> {
    return (await this.status(bgpPeers, peer)).nodes?.find(({ node }) => node === 'n1') ?? {};
  }

  async untilSession(peer: string, wanted: RegExp, timeoutMs?: number): Promise<void> {
    await eventuallyPasses(async () => assert.match(await this.session(peer), wanted), timeoutMs);
  }

  async untilAdvertised(peer: string, count: number, timeoutMs?: number): Promise<void> {
    await eventuallyPasses(async () => assert.equal((await this.entry(peer)).advertised, count), timeoutMs);
  }

  async eventReasons(name: string): Promise<string[]> {
    const all = await this.kube.list(events, { namespace: 'default' });
    return all
      .filter((event) => (event['involvedObject'] as { name: string }).name === name)
      .map((event) => String(event['reason']));
  }

  /** How often an event was recorded for an object. */
  async eventCount(name: string, reason: string): Promise<number> {
    const all = await this.kube.list(events, { namespace: 'default' });
    return all
      .filter((event) => (event['involvedObject'] as { name: string }).name === name && event['reason'] === reason)
      .reduce((sum, event) => sum + Number(event['count'] ?? 1), 0);
  }

  /** The versions of all BGP objects after the last write; counts are reported up to three seconds late. */
  async untilWritten(): Promise<string[]> {
    return eventuallyPasses(async () => {
      const before = await this.versions();
      await sleep(3500);
      assert.deepEqual(await this.versions(), before);
      return before;
    });
  }

  /** The versions of all BGP objects, which change with every write. */
  async versions(): Promise<string[]> {
    const kinds = [bgpInstances, bgpPeers, bgpAdvertisements, bgpNodeStates];
    const objects = await Promise.all(kinds.map((resource) => this.kube.list(resource)));
    return objects
      .flat()
      .map(({ kind = '', metadata }: RawObject) => `${kind}/${metadata.name} ${metadata.resourceVersion}`);
  }
}

export interface PodSetup {
  readonly node?: string;
  readonly subnet?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly isReady?: boolean;
}

function nameIn({ namespaced }: Resource, name: string): { readonly name: string; readonly namespace?: string } {
  return namespaced ? { name, namespace: 'default' } : { name };
}

/** The default name of a BgpPeer. */
export function nameOf(peer: Host, family: Family): string {
  return family === 4 ? peer.name : `${peer.name}-v6`;
}

function acceptedAs(cidrBlock: string): Record<string, string> {
  return { [annotation.accepted]: `${cidrBlock} ${cidrBlock.replace(/[^.:]+\/.*/, '1')}` };
}
