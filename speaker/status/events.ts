import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { BgpState } from '../../lib/bgp/objects.ts';
import type { Refusal } from '../../lib/bgp/offers/offer.ts';
import type { EventRecorder, EventSubject } from '../../lib/kube/events.ts';
import { apiVersionOf, bgpPeers, iptablesEips, ovnEips, pods, services, subnets } from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import type { PlannedCondition } from '../plan/planned.ts';

interface Subject {
  readonly name: string;
  readonly uid: string;
  readonly status: { readonly conditions?: readonly Condition[] | undefined };
}

interface Entry {
  readonly node: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Records transitions, but not lasting states, as events. */
export class SpeakerEvents {
  readonly #recorder: Pick<EventRecorder, 'record'>;
  readonly #node: string;
  /** Messages by object. */
  readonly #faults = new Map<string, readonly string[]>();

  constructor(recorder: Pick<EventRecorder, 'record'>, node: string) {
    this.#recorder = recorder;
    this.#node = node;
  }

  /** Called when this node's entry in an object changed. */
  onEntry(resource: Resource, object: Subject, before: Entry | undefined, after: Entry | undefined): void {
    if (resource === bgpPeers) this.#onSession(object, before, after);
    else if (after?.message !== undefined && after.reason !== before?.reason) {
      this.#record(resource, object, 'Warning', after.reason ?? 'NotReady', after.message);
    }
  }

  /** Called when the summary of an object changed; problems of the object itself are not part of any node's entry. */
  onConditions(resource: Resource, object: Subject, conditions: readonly PlannedCondition[]): void {
    const refused = conditions.find(({ type, status }) => type === 'Accepted' && status === 'False');
    const before = object.status.conditions?.find(({ type }) => type === 'Accepted');
    const isNew = refused && (before?.status !== 'False' || before.reason !== refused.reason);
    const isOfObject = conditions.some(({ reason }) => reason === 'NotAccepted') || refused?.reason === 'InvalidSpec';
    if (isNew && isOfObject)
      this.#record(resource, object, 'Warning', refused.reason ?? 'Refused', refused.message ?? '');
  }

  /** Records problems of annotations, once for each object. */
  onAnnotations(state: BgpState, faults: ReadonlyMap<string, readonly Refusal[]>): void {
    for (const key of this.#faults.keys()) if (!faults.has(key)) this.#faults.delete(key);
    for (const [key, refusals] of faults) {
      const subject = subjectOf(state, key);
      const before = this.#faults.get(key) ?? [];
      this.#faults.set(
        key,
        refusals.map(({ message }) => message),
      );
      for (const { code, message } of refusals) {
        if (subject && !before.includes(message)) this.#recorder.record(subject, 'Warning', code, message);
      }
    }
  }

  #onSession(object: Subject, before: Entry | undefined, after: Entry | undefined): void {
    const was = stateOf(before);
    const is = stateOf(after);
    const why = after?.message ?? after?.reason ?? is;
    if (is === 'Established' && was !== 'Established') {
      this.#record(bgpPeers, object, 'Normal', 'SessionEstablished', `node ${this.#node}: the session is established`);
    } else if (was === 'Established' && !after) {
      this.#record(
        bgpPeers,
        object,
        'Normal',
        'SessionRemoved',
        `node ${this.#node}: the session was ended, because the node no longer has this peer`,
      );
    } else if (was === 'Established' && is !== 'Established') {
      this.#record(bgpPeers, object, 'Warning', 'SessionLost', `node ${this.#node}: the session was lost: ${why}`);
    } else if (is === 'Refused' && after?.reason !== before?.reason) {
      this.#record(bgpPeers, object, 'Warning', after?.reason ?? 'Refused', after?.message ?? '');
    }
  }

  #record(
    resource: Resource,
    { name, uid }: Subject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    this.#recorder.record(
      { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid },
      type,
      reason,
      message,
    );
  }
}

/** The object for a key of the route table. */
function subjectOf(state: BgpState, key: string): EventSubject | undefined {
  const [source = '', name = ''] = key.split(' ');
  const of = (
    resource: Resource,
    object: { readonly namespace?: string; readonly name: string; readonly uid: string } | undefined,
  ): EventSubject | undefined =>
    object && {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      name: object.name,
      uid: object.uid,
      ...(object.namespace !== undefined && { namespace: object.namespace }),
    };
  switch (source) {
    case 'Subnet':
      return of(subnets, state.subnets.get(name));
    case 'Pod':
      return of(pods, state.pods.get(name));
    case 'Service':
      return of(services, state.services.get(name));
    case 'Eip':
      return of(name.startsWith('OvnEip/') ? ovnEips : iptablesEips, state.eips.get(name));
    default:
      return undefined;
  }
}

function stateOf(entry: Entry | undefined): string | undefined {
  return (entry as { state?: string } | undefined)?.state;
}
