/**
 * Writes statuses, and makes and removes RemoteCluster and TransitSwitch objects. In: the wanted statuses. Out: patches,
 * only where the object in the cache differs, so that a restart writes nothing; an event for each condition that turns.
 */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import { apiVersionOf, interconnects, remoteClusters, transitSwitches } from '../../lib/kube/resources.ts';
import type { KubeClient, Reflector, Resource } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { canonicalName, type Interconnect, type Report } from '../watch/objects.ts';
import type { Sources } from '../watch/sources.ts';
import { renderInterconnect, renderRemoteCluster, renderTransitSwitch, type Situation } from './render.ts';

export interface ReporterOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly events: Pick<EventRecorder, 'record'>;
}

type Status = Readonly<Record<string, unknown>>;

export class Reporter {
  readonly #options: ReporterOptions;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  interconnect(object: Interconnect, situation: Situation): void {
    const status = renderInterconnect(situation, object.status, object.generation);
    if (isSame(object.status, status)) return;
    void this.#options.writer.enqueue(`Interconnect/${canonicalName}`, () =>
      this.#patch(interconnects, canonicalName, object.status, status),
    );
    const subject = {
      apiVersion: apiVersionOf(interconnects),
      kind: interconnects.kind,
      name: canonicalName,
      uid: object.uid,
    };
    for (const condition of turned(object.status.conditions, status.conditions)) {
      const type = condition.status === 'True' ? 'Normal' : 'Warning';
      this.#options.events.record(
        subject,
        type,
        condition.reason ?? condition.type,
        `${condition.type}: ${condition.message ?? condition.status}`,
      );
    }
  }

  /** RemoteClusters and TransitSwitches: one for each that the hub knows, no others. */
  others(present: Pick<Sources, 'remoteClusters' | 'transitSwitches'>, situation: Situation): void {
    const statusOf = (reflector: Reflector<Report>, name: string): Status => reflector.get(name)?.status ?? {};
    const clusters = [...situation.members].map(([name, member]) => {
      const plan = situation.network.remotes.get(name);
      return [
        name,
        renderRemoteCluster(member, plan, statusOf(present.remoteClusters, name), situation.nowIso),
      ] as const;
    });
    const transit = situation.switches.map((network) => {
      const before = statusOf(present.transitSwitches, network.name);
      return [network.name, renderTransitSwitch(network, situation, before)] as const;
    });
    this.#bring(remoteClusters, present.remoteClusters, new Map(clusters));
    this.#bring(transitSwitches, present.transitSwitches, new Map(transit));
  }

  #bring(resource: Resource, present: Reflector<Report>, wanted: ReadonlyMap<string, Status>): void {
    const { client, writer } = this.#options;
    for (const [name] of present.entries()) {
      if (!wanted.has(name)) void writer.enqueue(`${resource.kind}/${name}`, () => client.delete(resource, { name }));
    }
    for (const [name, status] of wanted) {
      const object = present.get(name);
      if (object !== undefined && isSame(object.status, status)) continue;
      void writer.enqueue(`${resource.kind}/${name}`, async () => {
        if (object === undefined)
          await client.create(resource, {
            apiVersion: apiVersionOf(resource),
            kind: resource.kind,
            metadata: { name },
          });
        await this.#patch(resource, name, object?.status ?? {}, status);
      });
    }
  }

  async #patch(resource: Resource, name: string, before: Status, after: Status): Promise<void> {
    const gone = Object.fromEntries(Object.keys(before).flatMap((key) => (key in after ? [] : [[key, null]])));
    await this.#options.client.patch(
      resource,
      { name },
      'merge',
      { status: { ...gone, ...after } },
      { subresource: 'status' },
    );
  }
}

/** What a membership goes through whenever it begins. */
const beginnings = new Set(['Waiting', 'WaitingForHub', 'InProgress', 'NotClaimed']);

/** Conditions that turned; of those that are new only what is wrong, and `Ready` not, which repeats another. */
function turned(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): readonly Condition[] {
  return (after ?? []).filter(({ type, status, reason }) => {
    const old = before?.find((condition) => condition.type === type);
    if (old !== undefined) return old.status !== status;
    return status === 'False' && type !== 'Ready' && !beginnings.has(reason ?? '');
  });
}

function isSame(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

/** JSON with sorted keys: the API server gives fields back in its own order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
