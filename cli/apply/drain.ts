/**
 * Drains a gateway and ends the drain. In: a client. Out: the changed spec of the object; whether its paths have moved.
 */
import { interconnectGateways } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Gateway, Snapshot } from '../model/snapshot.ts';

export async function setDrain(client: KubeClient, node: string, drain: boolean): Promise<void> {
  await client.patch(interconnectGateways, { name: node }, 'merge', { spec: { drain } });
}

/** Paths that still use the gateway: it holds their ports, or they have not settled on another gateway. */
export function pathsThrough(snapshot: Snapshot, gateway: Gateway): readonly string[] {
  const { chassis = '' } = gateway.status;
  const held = snapshot.transitSwitches.flatMap(({ name, status }) =>
    (status.paths ?? []).flatMap(({ path, holder, state, gateways }) => {
      const isOurs = holder === chassis || gateways?.[0] === chassis;
      const isMoving = state === 'Draining' || state === 'Moving';
      return chassis !== '' && isOurs && (isMoving || holder === chassis) ? [`${name}/${path}`] : [];
    }),
  );
  return [...new Set([...(gateway.status.paths ?? []), ...held])].sort();
}
