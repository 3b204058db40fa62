import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';

/** What was seen of a session so far; gobgpd does not count. */
export interface SessionHistory {
  readonly isUp: boolean;
  readonly flaps: number;
  readonly lastError: string | undefined;
  /** It was up once, and is not now. */
  readonly isLost: boolean;
  /** TCP has a connection with the neighbour. */
  readonly isConnected: boolean;
  /** When TCP last had a connection with the neighbour, by the monotonic clock of this process. */
  readonly connectedAtMs: number | undefined;
  /** Since when it is up, and its hold time; of one that is lost, until when its neighbour was heard. */
  readonly heardMs: { readonly from: number; readonly to: number | undefined; readonly hold: number } | undefined;
  /** Why it is not up, as long as it is not. */
  readonly lossReason: { readonly reason: string; readonly message?: string } | undefined;
}

/** Sessions by address as this node last told of them: what is left of an earlier process' knowledge. */
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
