/** What the daemon knows of the interconnect: made by watch/, read by plan/. */
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';

/** A prefix of another cluster that is a route of a VPC here. Checked, in canonical text. */
export interface RemoteRoute {
  readonly prefix: string;
  readonly transitSwitch: string;
}

export interface InterconnectFacts {
  /** The nodes that are gateways; undefined where it is not said in a way we read. */
  readonly gateways: LabelSelector | undefined;
  /** That the hub's own transit switch joins. */
  readonly vpc: string;
  /** Host of the hub: a name or an address. */
  readonly hub: string;
}

/** A TransitSwitch. */
export interface TransitFacts {
  /** That it joins. */
  readonly vpc: string;
  readonly networks: readonly string[];
}

/** Of the routes for forwarded packets: a subnet's policyRoutingTableID must be another. */
export const forwardingTable = 10_155;
