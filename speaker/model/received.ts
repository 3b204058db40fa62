/** A prefix as a router announced it. */
export interface ReceivedRoute {
  readonly nextHop: string;
  readonly asPath: readonly number[];
  /** Standard and large. */
  readonly communities: readonly string[];
}

/** What routers announce, by address of the peer and prefix; only peers that are asked for it. */
export type Received = ReadonlyMap<string, ReadonlyMap<string, ReceivedRoute>>;
