import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import { apiVersionOf, bgpPeers } from '../../lib/kube/resources.ts';
import type { Resource } from '../../lib/kube/types.ts';
import type { PlannedCondition } from '../plan/planned.ts';

interface Subject {
  readonly name: string;
  readonly uid: string;
  readonly status: { readonly conditions: readonly Condition[] };
}

interface Entry {
  readonly node: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Says transitions as events, and nothing that merely goes on. */
export class SpeakerEvents {
  readonly #recorder: Pick<EventRecorder, 'record'>;
  readonly #node: string;

  constructor(recorder: Pick<EventRecorder, 'record'>, node: string) {
    this.#recorder = recorder;
    this.#node = node;
  }

  /** This node's entry in an object changed. */
  onEntry(resource: Resource, object: Subject, before: Entry | undefined, after: Entry | undefined): void {
    if (resource === bgpPeers) this.#onSession(object, before, after);
    else if (after?.message !== undefined && after.reason !== before?.reason) {
      this.#record(resource, object, 'Warning', after.reason ?? 'NotReady', after.message);
    }
  }

  /** The summary of an object changed; a problem of the object itself is nobody's entry. */
  onConditions(resource: Resource, object: Subject, conditions: readonly PlannedCondition[]): void {
    const refused = conditions.find(({ type, status }) => type === 'Accepted' && status === 'False');
    const before = object.status.conditions.find(({ type }) => type === 'Accepted');
    const isNew = refused && (before?.status !== 'False' || before.reason !== refused.reason);
    const isOfObject = conditions.some(({ reason }) => reason === 'NotAccepted') || refused?.reason === 'InvalidSpec';
    if (isNew && isOfObject)
      this.#record(resource, object, 'Warning', refused.reason ?? 'Refused', refused.message ?? '');
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

function stateOf(entry: Entry | undefined): string | undefined {
  return (entry as { state?: string } | undefined)?.state;
}
