/** Drains a gateway and gives it back. In: a client. Out: the object's spec changed; whether its paths have moved. */
import { interconnectGateways } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { Gateway, Snapshot } from '../model/snapshot.ts';

export async function setDrain(client: KubeClient, node: string, drain: boolean): Promise<void> {
  await client.patch(interconnectGateways, { name: node }, 'merge', { spec: { drain } });
}

/** Paths that still lead through it: ports that it holds, or that have not settled elsewhere. */
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
