/**
 * The plan: which nodes serve the databases, and from what the databases are created. Its JSON is the key `plan` of the ConfigMap
 * isthmus-ovn-central, and a file on each node. The holder of the Lease writes it, every node follows it.
 */
import type { DatabaseName } from './databases.ts';

/** The source from which the founder of a generation creates a database. */
export interface Source {
  /**
   * The founder's file when this was decided: `none`, `standalone`, or the id of its cluster. While the file is unchanged, the database has not been
   * created.
   */
  readonly copy: string;
  /** Time of a backup on the founder. The rows come from that backup instead of the copy. */
  readonly backup?: string;
}

export interface Plan {
  /** A new generation creates the databases again. */
  readonly generation: number;
  /** The node that creates the databases of this generation. */
  readonly founder: string;
  readonly from: Readonly<Partial<Record<DatabaseName, Source>>>;
  /** The id of each database's cluster, once the founder has created it. Files with another id belong to another generation. */
  readonly clusters: Readonly<Partial<Record<DatabaseName, string>>>;
  /** Addresses by node. */
  readonly members: Readonly<Record<string, string>>;
}
