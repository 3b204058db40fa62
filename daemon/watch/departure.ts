/**
 * Whether this node must be released: an annotation of its Node names the DaemonSet of this daemon's pod. An annotation with another
 * DaemonSet is left from an earlier installation.
 */
import { annotation } from '../../lib/api/names.ts';
import { pods } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Logger } from '../../lib/run/logger.ts';
import type { Node } from '../model/node.ts';

export interface DepartureOptions {
  readonly client: Pick<KubeClient, 'list'>;
  /** `namespace/name` of the daemon's own pod; undefined for a daemon without a pod, which is never asked. */
  readonly pod: string | undefined;
  /** Called once. */
  readonly leave: () => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

export class Departure {
  readonly #options: DepartureOptions;
  /** The last value of the annotation. */
  #seen: string | undefined;
  #isAsked = false;

  constructor(options: DepartureOptions) {
    this.#options = options;
  }

  async isAsked(node: Pick<Node, 'leave'>): Promise<boolean> {
    if (node.leave === this.#seen || this.#isAsked) return this.#isAsked;
    this.#seen = node.leave;
    const { pod, leave, log } = this.#options;
    if (node.leave === undefined || pod === undefined) return false;
    const owners = await this.#owners(pod);
    if (!owners.includes(node.leave)) {
      log.info({ leave: node.leave }, `the annotation ${annotation.leave} is of another installation and is ignored`);
      return false;
    }
    if (this.#isAsked as boolean) return true;
    this.#isAsked = true;
    log.info({}, 'Isthmus is being uninstalled: the node is released');
    leave();
    return true;
  }

  async #owners(pod: string): Promise<readonly string[]> {
    const [namespace = '', name = ''] = pod.split('/');
    try {
      const found = await this.#options.client.list(pods, { namespace, fieldSelector: `metadata.name=${name}` });
      return found.flatMap(({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid));
    } catch (error) {
      // Read again with the next change of the Node, which the heartbeats of its kubelet cause.
      this.#seen = undefined;
      this.#options.log.warn(
        { err: error },
        `the owner of pod ${pod} could not be read, so the node is not released yet`,
      );
      return [];
    }
  }
}
