import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';

/** The observed history of a session; gobgpd keeps no counts. */
export interface SessionHistory {
  readonly isUp: boolean;
  readonly flaps: number;
  readonly lastError: string | undefined;
  /** The session was established once, and is not now. */
  readonly isLost: boolean;
  /** TCP has a connection with the neighbour. */
  readonly isConnected: boolean;
  /** When TCP last had a connection with the neighbour, by the monotonic clock of this process. */
  readonly connectedAtMs: number | undefined;
  /** The time since which the session is established, and its hold time; for a lost session also until when its neighbour was heard. */
  readonly heardMs: { readonly from: number; readonly to: number | undefined; readonly hold: number } | undefined;
  /** The reason why the session is down, while it is down. */
  readonly lossReason: { readonly reason: string; readonly message?: string } | undefined;
}

/** Sessions by address from this node's last status: the remaining knowledge of an earlier process. */
export function historyOf(status: BgpNodeStateStatus | undefined): ReadonlyMap<string, SessionHistory> {
  return new Map(
    (status?.peers ?? []).map(({ address, state, flaps = 0, lastError }) => [
      address,
      {
        isUp: state === 'Established',
        flaps,
        lastError,
        isLost: false,
        isConnected: state === 'Established',
        connectedAtMs: undefined,
        heardMs: undefined,
        lossReason: undefined,
      },
    ]),
  );
}
