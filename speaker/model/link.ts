/** A link as the kernel reports it. */
export interface SeenLink {
  /** The link is up and has a carrier. */
  readonly isRunning: boolean;
  /** The node's own usable link-local addresses. */
  readonly ownAddresses: readonly string[];
  /** Neighbours with a link-local address that did not fail to respond. */
  readonly neighbors: readonly { readonly address: string; readonly isRouter: boolean }[];
}
