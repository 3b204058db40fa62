/** Which attachments GC takes away. Pure. */
import type { Sandbox } from '../model/sandbox.ts';

export interface Kept {
  /** Name of the network configuration, and the provider that it names. */
  readonly network: string;
  readonly provider: string;
  /** Undefined where the runtime does not say what is valid. */
  readonly valid: readonly { readonly containerId: string; readonly ifname: string }[] | undefined;
}

/** Attachments of other networks never are. `isAlive`: whether the container has its network namespace still. */
export function isGarbage(sandbox: Sandbox, kept: Kept, isAlive: () => boolean): boolean {
  if (!isOfNetwork(sandbox, kept)) return false;
  if (kept.valid === undefined) return !isAlive();
  return !kept.valid.some(
    ({ containerId, ifname }) => containerId === sandbox.containerId && ifname === sandbox.ifname,
  );
}

/**
 * Configurations of one name are told apart by their providers: NetworkAttachmentDefinitions of two namespaces may share
 * a name. Records without a network's name are of before it was written.
 */
function isOfNetwork({ network, provider, ifname }: Sandbox, kept: Kept): boolean {
  const isSameProvider = provider === kept.provider || provider === `${kept.provider}.${ifname}`;
  return isSameProvider && (network === undefined || network === kept.network);
}
