/**
 * Writes the status of this node: the condition NetworkUnavailable, the chassis annotation, and an event when something is wrong.
 * It is called with the planned status after each change; only what differs from the observed object is written.
 */
import { annotation } from '../../lib/api/names.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import { nodes } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { isSameCondition, type NodeStatus } from '../plan/node-status.ts';
import { type Node, networkUnavailable } from '../model/node.ts';

export interface NodeStatusOptions {
  readonly client: Pick<KubeClient, 'patch'>;
  readonly writer: Pick<ObjectWriter, 'enqueue' | 'cancel'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly log: Pick<Logger, 'info'>;
  readonly now: () => Date;
}

/** The values of the daemon's annotations of its Node. */
export interface NodeAnnotations {
  readonly chassis: string;
  /** Null: absent; undefined: not known yet, and left as it is. */
  readonly servicesDryRun: string | null | undefined;
}

/** Reasons that each start passes through; events for them would only be noise. */
const passing = new Set([
  'NodeAddressMissing',
  'HostNetworkPending',
  'NodePortNotInstalled',
  'LinkMissing',
  'WaitingForRow',
  'TunnelBridgePending',
]);
const fieldManager = 'isthmus-daemon';

function statusKey(node: Node): string {
  return `Node/${node.name}/status`;
}

export class NodeStatusWriter {
  readonly #options: NodeStatusOptions;
  #isReady = false;
  /** What was written last and the Node does not show yet. */
  #lastCondition = '';
  #lastAnnotations = '';

  constructor(options: NodeStatusOptions) {
    this.#options = options;
  }

  /** Readiness by the last published status. */
  get isReady(): boolean {
    return this.#isReady;
  }

  publish(node: Node, { chassis, servicesDryRun }: NodeAnnotations, { condition, isReady }: NodeStatus): void {
    if (isReady !== this.#isReady)
      this.#options.log.info({ node: node.name, reason: condition.reason }, condition.message);
    this.#isReady = isReady;
    this.#writeAnnotations(node, {
      ...(node.chassis === chassis ? {} : { [annotation.chassis]: chassis }),
      ...(servicesDryRun === undefined || (node.servicesDryRun ?? null) === servicesDryRun
        ? {}
        : { [annotation.servicesDryRun]: servicesDryRun }),
    });
    if (isSameCondition(node.unavailable, condition)) this.#withdrawCondition(node);
    else this.#writeCondition(node, condition);
  }

  /** A condition that could not be written for lack of a network is not written once it is over. */
  #withdrawCondition(node: Node): void {
    if (this.#lastCondition === '') return;
    this.#lastCondition = '';
    this.#options.writer.cancel(statusKey(node));
  }

  #writeAnnotations(node: Node, annotations: Readonly<Record<string, string | null>>): void {
    if (Object.keys(annotations).length === 0) return;
    const key = JSON.stringify([node.uid, node.chassis, node.servicesDryRun, annotations]);
    if (this.#lastAnnotations === key) return;
    this.#lastAnnotations = key;
    const { client, writer } = this.#options;
    void writer.enqueue(`Node/${node.name}`, () =>
      client.patch(nodes, { name: node.name }, 'merge', { metadata: { annotations } }),
    );
  }

  #writeCondition(node: Node, condition: NodeStatus['condition']): void {
    const key = JSON.stringify([node.uid, node.unavailable, condition]);
    if (this.#lastCondition === key) return;
    this.#lastCondition = key;
    const { client, writer, events, now } = this.#options;
    const isWrong = condition.status === 'True' && !passing.has(condition.reason);
    if (isWrong)
      events.record(
        { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid },
        'Warning',
        condition.reason,
        condition.message,
      );
    const time = now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const since = node.unavailable?.status === condition.status ? node.unavailable.lastTransitionTime : time;
    const conditions = [
      { type: networkUnavailable, ...condition, lastHeartbeatTime: time, lastTransitionTime: since || time },
    ];
    // By server-side apply, because the other conditions belong to the kubelet.
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: node.name }, status: { conditions } };
    void writer.enqueue(statusKey(node), () =>
      client.patch(nodes, { name: node.name }, 'apply', body, { subresource: 'status', fieldManager }),
    );
  }
}
