/**
 * Writes the state of provider networks on this node: labels and annotations of its Node, and an event on a ProviderNetwork that is
 * refused here. It is called with all reports after each change; only what differs from the Node is written.
 */
import type { EventRecorder } from '../../lib/kube/events.ts';
import { apiVersionOf, nodes, providerNetworks } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import { planNodeMarks } from '../plan/underlay/labels.ts';
import type { Node } from '../model/node.ts';
import type { NetworkReport } from '../model/provider-network.ts';

export interface ProviderNetworkStatusOptions {
  readonly client: Pick<KubeClient, 'patch'>;
  readonly writer: Pick<ObjectWriter, 'enqueue' | 'cancel'>;
  readonly events: Pick<EventRecorder, 'record'>;
  /** Undefined if the ProviderNetwork is gone. */
  readonly uidOf: (network: string) => string | undefined;
}

export class ProviderNetworkStatus {
  readonly #options: ProviderNetworkStatusOptions;
  /** What was written last and the Node does not show yet. */
  #last = '';
  /** Network → message of its last problem. */
  readonly #reported = new Map<string, string>();

  constructor(options: ProviderNetworkStatusOptions) {
    this.#options = options;
  }

  /** `pending` networks have no known state yet; their marks stay as they are. */
  publish(node: Node, reports: readonly NetworkReport[], pending: ReadonlySet<string>): void {
    for (const report of reports) this.#recordEvent(node.name, report);
    const { client, writer } = this.#options;
    const key = `Node/${node.name}/provider-networks`;
    const marks = planNodeMarks(reports, pending, { labels: node.labels, annotations: node.networkNotes });
    if (marks === undefined) {
      this.#last = '';
      writer.cancel(key);
      return;
    }
    const text = JSON.stringify([node.uid, node.labels, node.networkNotes, marks]);
    if (this.#last === text) return;
    this.#last = text;
    void writer.enqueue(key, () => client.patch(nodes, { name: node.name }, 'merge', { metadata: marks }));
  }

  #recordEvent(node: string, { network, problem }: NetworkReport): void {
    const message = problem?.message ?? '';
    const uid = this.#options.uidOf(network);
    if (uid === undefined || this.#reported.get(network) === message) return;
    this.#reported.set(network, message);
    if (problem === undefined) return;
    const subject = { apiVersion: apiVersionOf(providerNetworks), kind: providerNetworks.kind, name: network, uid };
    this.#options.events.record(subject, 'Warning', problem.code, `node ${node}: ${message}`);
  }
}
