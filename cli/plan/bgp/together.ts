/** Groups sessions that have the same result into one entry: all of the nodes with all of the peers. Pure. */

export interface Together<T> {
  readonly nodes: readonly string[];
  /** Peers of each of the nodes. */
  readonly peers: readonly string[];
  readonly value: T;
}

/** The result of one session. */
interface SessionResult<T> {
  readonly node: string;
  /** Undefined if the result is not about a peer. */
  readonly peer: string | undefined;
  readonly value: T;
}

/** @param keyOf returns the same text for equal values */
export function together<T>(results: Iterable<SessionResult<T>>, keyOf: (value: T) => string): readonly Together<T>[] {
  const byNode = new Map<string, { node: string; peers: string[]; key: string; value: T }>();
  for (const { node, peer, value } of results) {
    const key = keyOf(value);
    const at = `${node} ${key}`;
    const found = byNode.get(at) ?? { node, peers: [], key, value };
    if (peer !== undefined) found.peers.push(peer);
    byNode.set(at, found);
  }
  const groups = new Map<string, { nodes: string[]; peers: readonly string[]; value: T }>();
  for (const { node, peers, key, value } of byNode.values()) {
    const at = `${peers.join(' ')} ${key}`;
    const found = groups.get(at) ?? { nodes: [], peers, value };
    found.nodes.push(node);
    groups.set(at, found);
  }
  return [...groups.values()];
}
