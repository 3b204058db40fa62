/**
 * Writes statuses, and creates and deletes the objects that belong to the agent: RemoteClusters, InterconnectGateways
 * and the TransitSwitch of the hub. In: the wanted statuses. Out: patches, only where the object differs, so that a
 * restart writes nothing; an event for each condition that changes. New measurements alone are written every two
 * seconds at most.
 */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { GatewayPeer } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import { hubSwitch, interconnectFinalizer } from '../../lib/api/names.ts';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import {
  apiVersionOf,
  interconnectGateways,
  interconnects,
  remoteClusters,
  transitSwitches,
} from '../../lib/kube/resources.ts';
import type { KubeClient, Resource } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { SliceWriter } from '../../lib/slices/writer.ts';
import { canonicalName, madeByAgent, type Interconnect, type TransitSwitchObject } from '../model/objects.ts';
import type { Sources } from '../watch/sources.ts';
import { isSameJson, withoutMeasures } from './compare.ts';
import { daemonFields, peersOf, renderGateway } from './gateway.ts';
import { renderInterconnect } from './interconnect.ts';
import { remoteRoutesOf, renderRemoteCluster } from './remote-cluster.ts';
import { Sent, type Present, type Status } from './sent.ts';
import type { Situation } from './situation.ts';
import { renderTransitSwitch } from './transit-switch.ts';

export interface ReporterOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly sources: Sources;
}

const measuresEveryMs = 2000;

export class Reporter {
  readonly #options: ReporterOptions;
  /** By kind and name. */
  readonly #sent = new Sent();
  readonly #writtenMs = new Map<string, number>();
  readonly #slices: SliceWriter<RemoteRoute>;
  #peers: readonly GatewayPeer[] = [];

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#slices = new SliceWriter(remoteRoutes, options);
    options.sources.remoteRouteSlices.subscribe(({ before, after }) => this.#slices.seen(before, after));
  }

  /** The cache has a newer version of the object. */
  seen(kind: string, name: string): void {
    this.#sent.seen(`${kind}/${name}`, this.#present(kind, name));
  }

  interconnect(object: Interconnect, situation: Situation): void {
    const before = this.#before(interconnects, canonicalName, object);
    const status = renderInterconnect(situation, before, object.generation);
    this.#write(interconnects, canonicalName, { object, before, after: status });
  }

  /** Reports the named clusters, or all. Returns the names of those whose new measurements are to be written later. */
  remoteClusters(names: Iterable<string> | 'all', situation: Situation): readonly string[] {
    const present = this.#options.sources.remoteClusters;
    const everything = [...situation.members.keys(), ...keysOf(present), ...this.#slices.owners];
    const all = names === 'all' ? new Set(everything) : names;
    const later: string[] = [];
    for (const name of all) {
      const object = present.get(name);
      const member = situation.members.get(name);
      if (member === undefined) {
        // The object of a member that the hub expects stays as it is, and so do its slices.
        if (situation.expected.has(name)) continue;
        if (object !== undefined) this.#delete(remoteClusters, name);
        this.#slices.remove(name);
        continue;
      }
      // Slices belong to an existing object; the watch will report a new one.
      if (object !== undefined)
        this.#slices.write({ name, uid: object.uid }, remoteRoutesOf(member, situation.remotes.get(name)));
      const before = this.#before(remoteClusters, name, object) as RemoteClusterStatus;
      const status = renderRemoteCluster(member, situation.remotes.get(name), situation, before);
      if (this.#isTooSoon(name, before, status, situation.nowMs)) later.push(name);
      else this.#write(remoteClusters, name, { object, before, after: status }, {});
    }
    return later;
  }

  /** Peers are the same for all gateways, and change only with a remote cluster. */
  peers(situation: Situation): void {
    const peers = peersOf(situation);
    if (!isSameJson(peers, this.#peers)) this.#peers = peers;
  }

  transitSwitches(situation: Situation): void {
    const present = this.#options.sources.transitSwitches;
    const own = situation.local?.transitRequests.find(({ name }) => name === hubSwitch);
    const ours = present.get(hubSwitch);
    if (own === undefined && ours !== undefined && !ours.isDeleting) this.#delete(transitSwitches, hubSwitch);
    const names = new Set([...keysOf(present), ...(own === undefined ? [] : [hubSwitch])]);
    for (const name of names) {
      const object = present.get(name);
      if (object?.isDeleting === true || (name === hubSwitch && own === undefined)) continue;
      const before = this.#before(transitSwitches, name, object);
      const status = renderTransitSwitch(name, situation, before, object?.generation ?? 1);
      const spec = name === hubSwitch && own !== undefined ? { vpc: own.vpc } : undefined;
      if (spec !== undefined && object !== undefined) this.#alignSpec(object, spec.vpc);
      this.#write(transitSwitches, name, { object, before, after: status }, { spec });
    }
  }

  /** One for each node that is selected, and for those that still hold a path. */
  gateways(situation: Situation, anchors: ReadonlySet<string>): void {
    const present = this.#options.sources.gateways;
    const { local } = situation;
    const selected = new Set([...(local?.gatewayNodes ?? []).map(({ node }) => node), ...(local?.unknownNodes ?? [])]);
    for (const node of selected) this.#gateway(node, situation);
    for (const [node, object] of present.entries()) {
      if (selected.has(node) || object.isDeleting) continue;
      const isBusy = local !== undefined && anchors.has(object.status.chassis ?? '');
      if (isBusy) this.#gateway(node, situation);
      else if (object.isMadeByAgent) this.#delete(interconnectGateways, node);
    }
  }

  /** `isWanted`: whether the object is to have the finalizer. */
  finalizer(name: string, object: TransitSwitchObject, isWanted: boolean): void {
    if (object.finalizers.includes(interconnectFinalizer) === isWanted) return;
    const rest = object.finalizers.filter((one) => one !== interconnectFinalizer);
    const finalizers = isWanted ? [...rest, interconnectFinalizer] : rest;
    const { client, writer } = this.#options;
    void writer.enqueue(`TransitSwitch/${name}/finalizers`, () =>
      client.patch(transitSwitches, { name }, 'merge', { metadata: { uid: object.uid, finalizers } }),
    );
  }

  #gateway(node: string, situation: Situation): void {
    const object = this.#options.sources.gateways.get(node);
    const before = this.#before(interconnectGateways, node, this.#present(interconnectGateways.kind, node));
    const view = object === undefined ? undefined : { ...object, status: before };
    const status = renderGateway(node, view, situation, this.#peers);
    this.#write(interconnectGateways, node, { object, before, after: status }, { labels: madeByAgent });
  }

  #alignSpec(object: TransitSwitchObject, vpc: string): void {
    if (!('code' in object.spec) && object.spec.vpc === vpc) return;
    const { client, writer } = this.#options;
    void writer.enqueue(`TransitSwitch/${hubSwitch}/spec`, () =>
      client.patch(transitSwitches, { name: hubSwitch }, 'merge', { spec: { vpc } }),
    );
  }

  /** With the part of its status that is written here. */
  #present(kind: string, name: string): Present | undefined {
    const { sources } = this.#options;
    if (kind === interconnects.kind) return sources.interconnects.get(name);
    if (kind === remoteClusters.kind) return sources.remoteClusters.get(name);
    if (kind === transitSwitches.kind) return sources.transitSwitches.get(name);
    const gateway = sources.gateways.get(name);
    if (gateway === undefined) return undefined;
    const status = Object.fromEntries(Object.entries(gateway.status).filter(([field]) => !daemonFields.has(field)));
    return { uid: gateway.uid, status };
  }

  #before(resource: Resource, name: string, object: Present | undefined): Status {
    return this.#sent.get(`${resource.kind}/${name}`) ?? object?.status ?? {};
  }

  #isTooSoon(name: string, before: RemoteClusterStatus, after: RemoteClusterStatus, nowMs: number): boolean {
    const key = `${remoteClusters.kind}/${name}`;
    if (isSameJson(before, after)) return false;
    const isMeasure = isSameJson(withoutMeasures(before), withoutMeasures(after));
    if (isMeasure && nowMs - (this.#writtenMs.get(key) ?? 0) < measuresEveryMs) return true;
    this.#writtenMs.set(key, nowMs);
    return false;
  }

  #delete(resource: Resource, name: string): void {
    const { client, writer } = this.#options;
    this.#sent.forget(`${resource.kind}/${name}`);
    this.#writtenMs.delete(`${resource.kind}/${name}`);
    void writer.enqueue(`${resource.kind}/${name}`, () => client.delete(resource, { name }));
  }

  /** `made`: of an object that is not there yet. */
  #write(
    resource: Resource,
    name: string,
    {
      object,
      before,
      after,
    }: { readonly object: Present | undefined; readonly before: Status; readonly after: Status },
    made?: { readonly spec?: object | undefined; readonly labels?: Readonly<Record<string, string>> },
  ): void {
    const key = `${resource.kind}/${name}`;
    if ((object !== undefined || this.#sent.has(key)) && isSameJson(before, after)) return;
    const { client, writer } = this.#options;
    this.#sent.set(key, after, { before, uid: object?.uid });
    const gone = Object.fromEntries(Object.keys(before).flatMap((field) => (field in after ? [] : [[field, null]])));
    const create = { apiVersion: apiVersionOf(resource), kind: resource.kind, spec: made?.spec };
    const metadata = { name, ...(made?.labels === undefined ? {} : { labels: made.labels }) };
    void writer
      .enqueue(key, async () => {
        if (object === undefined && made !== undefined) await this.#create(resource, { ...create, metadata });
        await client.patch(resource, { name }, 'merge', { status: { ...gone, ...after } }, { subresource: 'status' });
      })
      .then((outcome) => {
        if (outcome !== 'written') this.#sent.forget(key, after);
      });
    if (object !== undefined) this.#announce(resource, name, object.uid, before, after);
  }

  /** A write that was superseded or tried again may have made it already. */
  async #create(resource: Resource, object: object): Promise<void> {
    try {
      await this.#options.client.create(resource, object);
    } catch (error) {
      if (!(error instanceof KubeApiError) || error.status !== 409) throw error;
    }
  }

  #announce(resource: Resource, name: string, uid: string, before: Status, after: Status): void {
    const subject = { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid };
    for (const condition of changedConditions(conditionsOf(before), conditionsOf(after))) {
      const type = condition.status === 'False' ? 'Warning' : 'Normal';
      const message = `${condition.type}: ${condition.message ?? condition.status}`;
      this.#options.events.record(subject, type, condition.reason ?? condition.type, message);
    }
  }
}

function keysOf(reflector: { entries(): Iterable<readonly [string, unknown]> }): readonly string[] {
  return [...reflector.entries()].map(([name]) => name);
}

function conditionsOf(status: Status): readonly Condition[] {
  return (status['conditions'] ?? []) as readonly Condition[];
}

/** Reasons that every membership goes through when it begins. */
const startingReasons = new Set(['Waiting', 'WaitingForHub', 'InProgress', 'NotClaimed', 'NoPath', 'Unclaimed']);

/** Conditions that changed. Of new ones only those that are False, except `Ready`, which repeats another. */
function changedConditions(before: readonly Condition[], after: readonly Condition[]): readonly Condition[] {
  return after.filter(({ type, status, reason }) => {
    const old = before.find((condition) => condition.type === type);
    if (old !== undefined && old.status !== 'Unknown') return old.status !== status;
    return status === 'False' && type !== 'Ready' && !startingReasons.has(reason ?? '');
  });
}
