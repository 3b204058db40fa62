/** Connection tracking of UDP in the kernel: lists entries, and deletes those that lead to an endpoint that no longer serves. */
import type { Family } from '../../lib/net/ip.ts';
import { CT, deletionOf, readUdpEntry, udpDump, type UdpEntry } from '../../lib/netlink/conntrack.ts';
import { NLM } from '../../lib/netlink/message.ts';
import { exchange, NetlinkError, type NetlinkSocket, openSocket, Protocol } from '../../lib/netlink/socket.ts';

export class UdpFlows {
  /** @throws NetlinkError; EINVAL if the kernel has no nf_conntrack_netlink */
  async deleteIf(family: Family, isStale: (entry: UdpEntry) => boolean): Promise<number> {
    const socket = openSocket(Protocol.NETFILTER);
    try {
      const messages = await exchange(socket, CT.GET, NLM.DUMP, udpDump(family), 'connections');
      const stale = messages.flatMap(({ data }) => {
        const entry = readUdpEntry(data);
        return entry !== undefined && isStale(entry) ? [entry] : [];
      });
      for (const entry of stale) await deleteEntry(socket, entry);
      return stale.length;
    } finally {
      socket.close();
    }
  }
}

async function deleteEntry(socket: NetlinkSocket, entry: UdpEntry): Promise<void> {
  try {
    await exchange(socket, CT.DELETE, 0, deletionOf(entry), `connection from ${entry.original.source}`);
  } catch (error) {
    // The entry has expired meanwhile.
    if (!(error instanceof NetlinkError) || error.code !== 'ENOENT') throw error;
  }
}
