/**
 * The plan: which nodes serve the databases, and what they serve. Its JSON is the key `plan` of the ConfigMap isthmus-ovn-central and, with each
 * node, a file. The holder of the Lease writes it, every node follows it.
 */
import type { DatabaseName } from './databases.ts';

/** What the founder of a generation makes a database from. */
export interface Source {
  /** The founder's file when this was decided: `none`, `standalone`, or the id of its cluster. As long as the file is the same, the database has not been made. */
  readonly copy: string;
  /** Time of a backup on the founder. The rows come from that backup and not from the copy. */
  readonly backup?: string;
}

export interface Plan {
  /** A new generation starts the databases over. */
  readonly generation: number;
  /** The node that makes the databases of this generation. */
  readonly founder: string;
  readonly from: Readonly<Partial<Record<DatabaseName, Source>>>;
  /** The id of each database's cluster, once the founder has made it. Files with another id are of another generation. */
  readonly clusters: Readonly<Partial<Record<DatabaseName, string>>>;
  /** Addresses by node. */
  readonly members: Readonly<Record<string, string>>;
}
