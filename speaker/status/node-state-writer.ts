// Writes the BgpNodeState of this node: creates it when the node gets an instance, keeps it current, and deletes it when the node has none. Times are
// set here.
import { isDeepStrictEqual } from 'node:util';
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import { apiVersionOf, bgpNodeStates } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';

export interface NodeStateWriterOptions {
  readonly client: KubeClient;
  readonly writer: Pick<ObjectWriter, 'enqueue'>;
  readonly node: string;
  /** RFC 3339. */
  readonly now: () => string;
}

export class NodeStateWriter {
  readonly #options: NodeStateWriterOptions;
  /** The last written status and the object that the watch showed then: until the object changes, the same status is not written again. */
  #sent:
    | { readonly shown: BgpNodeStateStatus | undefined; readonly status: BgpNodeStateStatus | undefined }
    | undefined;
  #since = new Map<string, { readonly state: string; readonly since: string }>();

  constructor(options: NodeStateWriterOptions) {
    this.#options = options;
  }

  /** @param shown the object last seen by the watch; undefined if it does not exist @param nodeUid uid of the Node, which owns the object */
  write(
    shown: BgpNodeStateStatus | undefined,
    nodeUid: string | undefined,
    planned: BgpNodeStateStatus | undefined,
  ): void {
    const status = planned && this.#stamped(shown, planned);
    if (isDeepStrictEqual(shown, status)) return;
    if (this.#sent && this.#sent.shown === shown && isDeepStrictEqual(this.#sent.status, status)) return;
    const attempt = { shown, status };
    this.#sent = attempt;
    const { client, writer, node } = this.#options;
    const write = async (): Promise<unknown> => {
      if (!status) return shown && (await client.delete(bgpNodeStates, { name: node }));
      if (!shown) await this.#create(nodeUid);
      const body = {
        apiVersion: apiVersionOf(bgpNodeStates),
        kind: bgpNodeStates.kind,
        metadata: { name: node },
        status,
      };
      return client.patch(bgpNodeStates, { name: node }, 'apply', body, { subresource: 'status' });
    };
    void writer.enqueue(`BgpNodeState/${node}`, write).then((outcome) => {
      if (outcome instanceof Error && this.#sent === attempt) this.#sent = undefined;
    });
  }

  #create(nodeUid: string | undefined): Promise<unknown> {
    const { client, node } = this.#options;
    const owner = { apiVersion: 'v1', kind: 'Node', name: node, uid: nodeUid };
    const metadata = { name: node, ...(nodeUid !== undefined && { ownerReferences: [owner] }) };
    const body = { apiVersion: apiVersionOf(bgpNodeStates), kind: bgpNodeStates.kind, metadata };
    return client.patch(bgpNodeStates, { name: node }, 'apply', body);
  }

  #stamped(shown: BgpNodeStateStatus | undefined, planned: BgpNodeStateStatus): BgpNodeStateStatus {
    const next = new Map<string, { readonly state: string; readonly since: string }>();
    const peers = (planned.peers ?? []).map((peer) => {
      const before = this.#since.get(peer.address) ?? shownSince(shown, peer.address);
      const since = peer.since ?? (before?.state === peer.state ? before.since : this.#options.now());
      next.set(peer.address, { state: peer.state, since });
      return { ...peer, since };
    });
    this.#since = next;
    return { ...planned, peers };
  }
}

function shownSince(shown: BgpNodeStateStatus | undefined, address: string) {
  const found = shown?.peers?.find((peer) => peer.address === address);
  return found?.since === undefined ? undefined : { state: found.state, since: found.since };
}
