/**
 * Chooses where WireGuard is to send to a peer. WireGuard follows a peer whose address changes, so its endpoint is set only if it has none,
 * if the peer announces other endpoints, or if there has been no session for a while: then the next of them is tried. Pure: the time is a
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
  readonly index: number;
  readonly sinceMs: number;
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
    const isNew = seen === undefined || seen.endpoint === '' || (before !== undefined && before.list !== list);
    const isOver = seen !== undefined && before !== undefined && !hasSession(seen, nowMs);
    const isDue = isOver && nowMs - before.sinceMs >= patienceMs;
    if (!isNew && !isDue) {
      if (before === undefined || !isOver)
        this.#choices.set(publicKey, { list, index: before?.index ?? 0, sinceMs: nowMs });
      return undefined;
    }
    const index = isNew ? 0 : (before?.index ?? 0) + 1;
    this.#choices.set(publicKey, { list, index, sinceMs: nowMs });
    return endpoints[index % Math.max(1, endpoints.length)];
  }
}
