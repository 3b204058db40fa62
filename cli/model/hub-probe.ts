/** The result of a connection to the hub from the machine that runs the command. */
export type HubProbe =
  | { readonly outcome: 'refused' | 'timeout' | 'unresolved' | 'unreachable' | 'no-tls'; readonly detail: string }
  | {
      readonly outcome: 'answered';
      /** SHA-256 of each certificate that the hub presented. */
      readonly authorities: readonly string[];
      readonly notBeforeMs: number;
      readonly notAfterMs: number;
      /** Duration of connection and handshake, in milliseconds. */
      readonly tookMs: number;
    };
