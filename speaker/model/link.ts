/** A link as the kernel has it. */
export interface SeenLink {
  /** It is up and has a carrier. */
  readonly isRunning: boolean;
  /** The node's own link-local ones that can be used. */
  readonly ownAddresses: readonly string[];
  /** Those with a link-local address that answer, as far as is known. */
  readonly neighbors: readonly { readonly address: string; readonly isRouter: boolean }[];
}
