/**
 * Renews the tokens of a node's processes when its Node object is recreated: the old tokens expired with the old object. A real
 * cluster deletes the pods of a deleted Node, and makes new ones, whose tokens name the new Node. In: the Nodes of the API and the
 * tokens there are; out: tokens, which the processes read again once theirs is refused.
 */
import { existsSync, readFileSync } from 'node:fs';
import { isKubeError } from '../../../lib/kube/errors.ts';
import { reflect } from '../../../lib/kube/reflector.ts';
import { nodes } from '../../../lib/kube/resources.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import type { Logger } from '../../../lib/run/logger.ts';
import { nodeAccounts, renewNodeTokens, tokenFile } from '../chart.ts';
import type { ClusterLayout, NodeLayout } from '../layout.ts';

export interface NodeTokensOptions {
  readonly cluster: ClusterLayout;
  /** With all rights. */
  readonly kube: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Follows the Nodes from now on. */
export function keepNodeTokens({ cluster, kube, log, signal }: NodeTokensOptions): void {
  const uids = reflect({ client: kube, resource: nodes, parse: ({ metadata }) => metadata.uid, signal, log });
  /** Renewals that have not ended, so that one follows the other. */
  const running = new Map<string, Promise<void>>();
  uids.subscribe(({ key, before, after }) => {
    const node = cluster.nodes.find(({ name }) => name === key);
    if (node === undefined || after === undefined || after === before) return;
    const next = (running.get(key) ?? Promise.resolve()).then(() => renew(node, after));
    running.set(key, next);
  });

  async function renew(node: NodeLayout, uid: string): Promise<void> {
    if (uids.get(node.name) !== uid || nodeAccounts.every((account) => boundTo(node, account) === uid)) return;
    try {
      await renewNodeTokens(kube, node);
      log.info({ node: node.name, uid }, 'tokens renewed: the Node is another one');
    } catch (error) {
      if (!isKubeError(error)) throw error;
      // The Node may be deleted again; its next creation triggers the next renewal.
      log.warn({ node: node.name, err: error }, 'tokens not renewed: the processes of this node cannot use the API');
    }
  }
}

/** The uid of the Node that the token of a node's process is bound to; undefined if there is no token. */
function boundTo(node: NodeLayout, account: string): string | undefined {
  const file = tokenFile(node, account);
  if (!existsSync(file)) return undefined;
  const [, payload = ''] = readFileSync(file, 'utf8').split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
  return claims['kubernetes.io'].node?.uid;
}

interface Claims {
  readonly 'kubernetes.io': { readonly node?: { readonly uid: string } };
}
