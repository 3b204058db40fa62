/** A prefix that a router announced. */
export interface ReceivedRoute {
  readonly nextHop: string;
  readonly asPath: readonly number[];
  /** Standard and large communities. */
  readonly communities: readonly string[];
}

/** Announced routes by address of the peer and prefix, only for peers with an import. */
export type Received = ReadonlyMap<string, ReadonlyMap<string, ReceivedRoute>>;
