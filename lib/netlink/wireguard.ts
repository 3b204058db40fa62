/** WireGuard's generic netlink (linux/wireguard.h), as the package `netlink` encodes it. */
import { createWireGuard } from 'netlink';

export { AttrStream, wg } from 'netlink';

export type WireGuardSocket = Awaited<ReturnType<typeof createWireGuard>>;

/** A socket of the current network namespace; it does not keep the process running. @throws Error if the kernel has no WireGuard */
export function openWireGuardSocket(): Promise<WireGuardSocket> {
  return createWireGuard({ ref: false, recvBufferSize: 1 << 20, sendBufferSize: 0 });
}
