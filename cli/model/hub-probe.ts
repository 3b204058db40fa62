/** What became of a connection to the hub from where the command runs. */
export type HubProbe =
  | { readonly outcome: 'refused' | 'timeout' | 'unresolved' | 'unreachable' | 'no-tls'; readonly detail: string }
  | {
      readonly outcome: 'answered';
      /** SHA-256 of each certificate that it presented. */
      readonly authorities: readonly string[];
      readonly notBeforeMs: number;
      readonly notAfterMs: number;
      /** Connection and handshake, in milliseconds. */
      readonly tookMs: number;
    };
