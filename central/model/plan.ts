/**
 * The plan: which nodes serve the databases, and what they serve. Its JSON is the key `plan` of the ConfigMap isthmus-ovn-central and, with each
 * node, a file. The holder of the Lease writes it, everybody follows it.
 */
import type { DatabaseName } from './databases.ts';

/** What the founder of a generation makes a database of. */
export interface Source {
  /** What the founder's file was when this was decided: `none`, `standalone`, or its cluster's id. While it is that, nothing was made yet. */
  readonly copy: string;
  /** Of the founder's backups: their time. The rows come from it and not from the copy. */
  readonly backup?: string;
}

export interface Plan {
  /** A new one starts databases over. */
  readonly generation: number;
  /** The node that makes the databases of this generation. */
  readonly founder: string;
  readonly from: Readonly<Partial<Record<DatabaseName, Source>>>;
  /** The cluster's id of each database, once the founder has made it. Other files are of another generation. */
  readonly clusters: Readonly<Partial<Record<DatabaseName, string>>>;
  /** Addresses by node. */
  readonly members: Readonly<Record<string, string>>;
}
