/** The counters of a flow of the integration bridge, as Open vSwitch reports them. */
export interface FlowCount {
  /** The first 32 bits of the uuid of the logical flow that it comes from. */
  readonly cookie: number;
  /** Number of its OpenFlow table. */
  readonly table: number;
  /** Identifies the flow among all flows of the bridge: table, priority and match. */
  readonly flow: string;
  /** Milliseconds since it was added. */
  readonly ageMs: number;
  readonly packets: number;
  /** Numbers of OVN's datapath and of its ports that the flow is for. */
  readonly datapath?: number;
  readonly inPort?: number;
  readonly outPort?: number;
  /** Number of the port of the bridge to which it sends, if it does nothing else. */
  readonly output: number | undefined;
}
