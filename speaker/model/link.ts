/** A link as the kernel has it. */
export interface SeenLink {
  /** It is up and has a carrier. */
  readonly isRunning: boolean;
  /** The node's own usable link-local addresses. */
  readonly ownAddresses: readonly string[];
  /** Neighbours with a link-local address that did not fail to answer. */
  readonly neighbors: readonly { readonly address: string; readonly isRouter: boolean }[];
}
