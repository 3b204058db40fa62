/**
 * The step of encrypted tunnels: the agent's condition Encrypted of each cluster, with what to do. A blocked port shows at the tunnels
 * first, because WireGuard keeps a session for three minutes.
 */
import { plural } from '../../model/units.ts';
import { conditionOf } from '../../model/snapshot.ts';
import { meantRemotes } from './peers.ts';
import { cause, judged, type Cause, type Outcome, type Side } from './step.ts';

const condition = 'Encrypted';

/** By the reason of the condition; `near` and `peer` are the names of the clusters. */
const fixes: Readonly<Record<string, (near: string, peer: string) => string>> = {
  PeerHasNoKey: (_, peer) =>
    `start WireGuard on the gateways of ${peer} (modprobe wireguard, or interconnect.encryption.userspace of the chart): status.wireGuard.problem of its InterconnectGateways says what is missing; or set the mode of ${peer} to off`,
  NoOwnKey: (near) =>
    `start WireGuard on the gateways of ${near} (modprobe wireguard, or interconnect.encryption.userspace of the chart): status.wireGuard.problem of the InterconnectGateways says what is missing`,
  NoHandshake: () =>
    'let the UDP port through, in both directions, on every firewall, security group and policy between the two addresses',
  WireGuardDown: () =>
    'start WireGuard there: look at the pod isthmus-wireguard and the log of the daemon on that node',
  TunnelCIDROverlap: () => 'set hub.tunnelCIDR in the cluster of the hub to a network that is free in all clusters',
  HubTooOld: () => 'upgrade the hub',
};

export function checkEncryption(side: Side): Outcome | undefined {
  const failures: Cause[] = [];
  const warnings: Cause[] = [];
  const encrypted: string[] = [];
  for (const { name, status } of meantRemotes(side)) {
    const { encryption: mode = 'off', conditions } = status;
    const found = conditionOf(conditions, condition);
    if (mode === 'off' || found === undefined) continue;
    if (found.status === 'True') encrypted.push(`${name} (${mode})`);
    else {
      const code = found.reason ?? 'NotEncrypted';
      const fix = fixes[code]?.(side.near.label, name) ?? 'see the guide of encrypted tunnels';
      const message = `tunnels from ${side.near.label} to ${name} are not all encrypted (${mode}): ${found.message ?? code}`;
      // A tunnel in the clear works.
      (mode === 'required' || code === 'NoHandshake' || code === 'WireGuardDown' ? failures : warnings).push(
        cause(code, message, fix),
      );
    }
  }
  if (failures.length + warnings.length + encrypted.length === 0) return undefined;
  return judged(failures, warnings, `${plural(encrypted.length, 'cluster')} encrypted: ${encrypted.join(', ')}`);
}
