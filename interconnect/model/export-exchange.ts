/** The exports of all clusters as the link to the hub carries them: what this cluster sends, and what it knows of the others. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { SharedAnswer } from './export-messages.ts';
import type { ExportedService, ExportedServices } from './exported-service.ts';

/** Whether the hub has an export of this cluster. */
export type Delivery =
  /** `message`: which endpoints the hub left out; empty if none. */
  | { readonly kind: 'delivered'; readonly message: string }
  | { readonly kind: 'pending'; readonly message: string }
  | { readonly kind: 'refused'; readonly problem: Problem };

export interface ExportExchange {
  /** Cluster → its export of a Service, `namespace/name`, without this cluster. An export is the same object until it changes. */
  of(key: string): ReadonlyMap<string, ExportedService>;
  /** Services whose exports by other clusters changed since the last call. */
  takeDirty(): ReadonlySet<string>;
  /** The hub has sent all that it knows: nothing may be concluded from an export that is absent before. */
  readonly isReceived: boolean;
  /** Clusters that the hub expects, and whose exports this process has never had in full. */
  readonly unknown: ReadonlySet<string>;
  /** Replaces the exports of this cluster, and the namespaces whose exports it needs. */
  send(own: ExportedServices, namespaces: ReadonlySet<string>): void;
  /** `key`: `namespace/name`. */
  deliveryOf(key: string): Delivery;
  /** The hub's last answer to the claim of a Service, `namespace/name`, to a shared address; undefined before the first. */
  answerTo(key: string): SharedAnswer | undefined;
  /** The Service claims none any more. */
  forgetAnswer(key: string): void;
}
