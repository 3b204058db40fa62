/**
 * Chooses where WireGuard is to send to a peer. WireGuard follows a peer whose address changes, so its endpoint is set only if it has none,
 * if the peer announces other endpoints, or if there has been no session for a while: then the next of them is tried. An endpoint from
 * which the peer came is the only one behind an address translation, so it is tried first when WireGuard was started again. Pure: the time is a
 * parameter.
 */
import { hasSession, type SeenPeer } from '../model/wireguard.ts';

/** WireGuard repeats a handshake every five seconds. */
const patienceMs = 15_000;

interface Peer {
  readonly publicKey: string;
  /** The best first. */
  readonly endpoints: readonly string[];
}

interface Choice {
  readonly list: string;
  /** Of the endpoint that was set last, in the list of `candidates`. */
  readonly index: number;
  readonly sinceMs: number;
  /** Where the peer was last during a session. */
  readonly learned: string;
}

export class Endpoints {
  #choices = new Map<string, Choice>();

  /** Forgets peers that are gone. */
  keep(peers: readonly Pick<Peer, 'publicKey'>[]): void {
    this.#choices = new Map(
      peers.flatMap(({ publicKey }) => {
        const choice = this.#choices.get(publicKey);
        return choice === undefined ? [] : [[publicKey, choice] as const];
      }),
    );
  }

  /** The endpoint to set now; undefined if that of WireGuard stays. */
  choose({ publicKey, endpoints }: Peer, seen: SeenPeer | undefined, nowMs: number): string | undefined {
    const list = endpoints.join();
    const before = this.#choices.get(publicKey);
    const isConnected = seen !== undefined && hasSession(seen, nowMs);
    const isOther = before !== undefined && before.list !== list;
    const learned = isOther ? '' : isConnected && seen.endpoint !== '' ? seen.endpoint : (before?.learned ?? '');
    const isNew = seen === undefined || seen.endpoint === '' || isOther;
    const isOver = seen !== undefined && before !== undefined && !isConnected;
    const isDue = isOver && nowMs - before.sinceMs >= patienceMs;
    if (!isNew && !isDue) {
      const sinceMs = before === undefined || !isOver ? nowMs : before.sinceMs;
      this.#choices.set(publicKey, { list, index: before?.index ?? 0, sinceMs, learned });
      return undefined;
    }
    const candidates = [...new Set([...(learned === '' ? [] : [learned]), ...endpoints])];
    const index = isNew ? 0 : (before?.index ?? 0) + 1;
    this.#choices.set(publicKey, { list, index, sinceMs: nowMs, learned });
    return candidates[index % Math.max(1, candidates.length)];
  }
}
