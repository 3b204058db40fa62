/**
 * Publishes the state of this node to Kubernetes: condition and annotations of its Node, marks of provider networks, events. It is called
 * after every change; only what differs from the objects, or is a new problem, is written.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { BgpNodeState } from '../model/bgp-node-state.ts';
import type { Node } from '../model/node.ts';
import type { NetworkReport } from '../model/provider-network.ts';
import type { NodeStatus } from '../plan/node-status.ts';
import type { SubnetProblem } from '../plan/subnet-problem.ts';
import type { PodProblem } from '../plan/underlay/stranded.ts';
import type { ObjectEvents } from './events.ts';
import { type NodeAnnotations, NodeStatusWriter } from './node.ts';
import { ProviderNetworkStatus } from './provider-networks.ts';

/** The state of the node, as far as Kubernetes shows it. */
export interface NodeView {
  /** Undefined if the Node object is gone, as is `status`. */
  readonly node: Node | undefined;
  readonly status: NodeStatus | undefined;
  readonly annotations: NodeAnnotations;
  readonly networks: readonly NetworkReport[];
  /** Networks whose state is not known yet. */
  readonly pendingNetworks: ReadonlySet<string>;
  /** Why ovn-controller has no way to the southbound database. */
  readonly accessProblem: Problem | undefined;
  readonly bgpNodeState: BgpNodeState | undefined;
  readonly bgpProblems: readonly Problem[];
  readonly subnetProblems: readonly SubnetProblem[];
}

export interface PublisherOptions {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly objectEvents: ObjectEvents;
  readonly view: () => NodeView;
  /** Pods that have lost their provider network. */
  readonly strandedPods: () => readonly PodProblem[];
  readonly uidOfProviderNetwork: (name: string) => string | undefined;
  /** Called after each publication that reports the node as ready. */
  readonly onReady: () => void;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #writer: ObjectWriter;
  readonly #node: NodeStatusWriter;
  readonly #networks: ProviderNetworkStatus;

  constructor(options: PublisherOptions) {
    const { client, events, uidOfProviderNetwork: uidOf, signal, log } = options;
    this.#options = options;
    this.#writer = new ObjectWriter({ signal, log });
    const common = { client, writer: this.#writer, events };
    this.#node = new NodeStatusWriter({ ...common, log, now: () => new Date() });
    this.#networks = new ProviderNetworkStatus({ ...common, uidOf });
  }

  /** Whether the last published status reports the node as ready. */
  get isReady(): boolean {
    return this.#node.isReady;
  }

  publish(): void {
    const { objectEvents, onReady } = this.#options;
    const view = this.#options.view();
    const { node, status } = view;
    if (node !== undefined && status !== undefined) this.#node.publish(node, view.annotations, status);
    // With its configuration the runtime takes the node for ready, so this comes after the status.
    if (status?.isReady === true) onReady();
    if (node !== undefined) {
      this.#networks.publish(node, view.networks, view.pendingNetworks);
      objectEvents.reportAccess(node, view.accessProblem);
    }
    objectEvents.reportBgp(view.bgpNodeState, view.bgpProblems);
    objectEvents.reportSubnets(view.subnetProblems);
  }

  /** To be called after a change of provider networks. */
  publishStrandedPods(): void {
    this.#options.objectEvents.reportPods(this.#options.strandedPods());
  }

  close(): Promise<void> {
    return this.#writer.close();
  }
}
