/**
 * Asks gateways for new WireGuard keys. In: a client. Out: the changed spec of the object; whether a gateway has its new key, or what it
 * waits for.
 */
import { interconnectGateways } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Gateway, Snapshot } from '../model/snapshot.ts';

export async function setRotation(client: KubeClient, node: string, request: string): Promise<void> {
  await client.patch(interconnectGateways, { name: node }, 'merge', { spec: { rotateKey: request } });
}

export interface Rotation {
  readonly isDone: boolean;
  readonly text: string;
}

/** `before`: the gateway before the request; a rotation that went on already is that of the request. */
export function stateOf(before: Pick<Gateway, 'node' | 'status'>, { gateways }: Pick<Snapshot, 'gateways'>): Rotation {
  const { node } = before;
  const now = gateways.find((gateway) => gateway.node === node)?.status.wireGuard;
  const isNew = now?.publicKey !== undefined && now.publicKey !== before.status.wireGuard?.publicKey;
  if (isNew && now.nextKey === undefined) return { isDone: true, text: `${node} has a new key` };
  const text =
    now?.nextKey === undefined
      ? `${node} has made no new key: see the log of its daemon`
      : `${node} waits until the other clusters accept its new key: see waitsFor in kubectl get gatewaykeyslices -o yaml`;
  return { isDone: false, text };
}
