/** The generation of the ruleset of a network namespace; the kernel increments it with each nftables transaction of any program. */
import * as wire from '../../lib/netlink/message.ts';
import { exchange, openSocket, Protocol } from '../../lib/netlink/socket.ts';

/** NFNL_SUBSYS_NFTABLES and NFT_MSG_GETGEN */
const getGeneration = (10 << 8) | 16;
const NFTA_GEN_ID = 1;
/** struct nfgenmsg: no family, version 0. */
const header = Buffer.alloc(4);

/** @throws NetlinkError */
export async function rulesetGeneration(): Promise<number> {
  const socket = openSocket(Protocol.NETFILTER);
  try {
    const [message] = await exchange(socket, getGeneration, 0, [header], 'generation of the ruleset');
    const bytes = message === undefined ? undefined : wire.readAttributes(message.data.subarray(4)).get(NFTA_GEN_ID);
    if (bytes === undefined) throw new Error('the kernel reports no generation of its ruleset');
    return bytes.readUInt32BE(0);
  } finally {
    socket.close();
  }
}
