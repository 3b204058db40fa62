/** What every object has. */
import type { Condition } from '../../lib/api/kinds/shared.ts';

export interface ObjectFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly isDeleting: boolean;
}

/** Further fields of the objects of our API: a generation, finalizers and a status to write. */
export interface ApiObjectFacts extends ObjectFacts {
  readonly generation: number;
  readonly finalizers: readonly string[];
  readonly conditions: readonly Condition[];
  /** The rest of the status. */
  readonly status: Readonly<Record<string, unknown>>;
}
