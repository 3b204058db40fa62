/** Decides which attachments GC removes. Pure. */
import type { Sandbox } from '../model/sandbox.ts';

/** The content of a GC request about one network. */
export interface GcScope {
  /** Name of the network configuration, and the provider that it names. */
  readonly network: string;
  readonly provider: string;
  /** The valid attachments; undefined if the runtime sends no list. */
  readonly valid: readonly { readonly containerId: string; readonly ifname: string }[] | undefined;
}

/** Attachments of other networks are never garbage. `isAlive`: whether the network namespace of the container still exists. */
export function isGarbage(sandbox: Sandbox, scope: GcScope, isAlive: () => boolean): boolean {
  if (!isOfNetwork(sandbox, scope)) return false;
  if (scope.valid === undefined) return !isAlive();
  return !scope.valid.some(
    ({ containerId, ifname }) => containerId === sandbox.containerId && ifname === sandbox.ifname,
  );
}

/**
 * The provider distinguishes configurations with the same name, because NetworkAttachmentDefinitions of two namespaces may share one.
 * Records of old daemons have no network name.
 */
function isOfNetwork({ network, provider, ifname }: Sandbox, scope: GcScope): boolean {
  const isSameProvider = provider === scope.provider || provider === `${scope.provider}.${ifname}`;
  return isSameProvider && (network === undefined || network === scope.network);
}
