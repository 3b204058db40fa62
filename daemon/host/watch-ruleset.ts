/** Tells of changes to our nftables table of one family, by us or by somebody else. */
import * as wire from '../../lib/netlink/message.ts';
import { type NetlinkMessage, openSocket, Protocol } from '../../lib/netlink/socket.ts';
import { tableName, type TableFamily } from './nft.ts';

/** NFNLGRP_NFTABLES */
const group = 7;
/** NFNL_SUBSYS_NFTABLES, in the upper byte of a message's type. */
const nftables = 10;
const newGeneration = 15;
const NFPROTO = { inet: 1, netdev: 5 } as const;
/** The table's name has this number in the messages of tables and of everything in them. */
const NFTA_TABLE = 1;

/** `onChange` is called after each transaction that touched the table, and where the kernel lost messages. */
export function watchRuleset(family: TableFamily, onChange: () => void): () => void {
  const socket = openSocket(Protocol.NETFILTER);
  socket.on('message', (messages) => {
    if (messages.some((message) => isOurs(family, message))) onChange();
  });
  socket.on('invalid', onChange);
  // ENOBUFS: more changes than the buffer holds.
  socket.on('error', onChange);
  socket.addMembership(group);
  return () => socket.close();
}

function isOurs(family: TableFamily, { type, data }: NetlinkMessage): boolean {
  if (type >> 8 !== nftables || (type & 0xff) === newGeneration || data[0] !== NFPROTO[family]) return false;
  const name = wire.readAttributes(data.subarray(4)).get(NFTA_TABLE);
  return name !== undefined && wire.readText(name) === tableName;
}
