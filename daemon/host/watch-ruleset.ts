/** Watches for changes of one of this daemon's nftables tables by other programs. */
import * as wire from '../../lib/netlink/message.ts';
import { openEvents } from '../../lib/netlink/events.ts';
import { type NetlinkMessage, Protocol } from '../../lib/netlink/socket.ts';
import type { TableFamily } from './nft.ts';

/** NFNLGRP_NFTABLES */
const group = 7;
/** NFNL_SUBSYS_NFTABLES, in the upper byte of a message's type. */
const nftables = 10;
const newGeneration = 15;
const NFPROTO = { inet: 1, netdev: 5 } as const;
/** The attribute with the name of the table, in messages about tables and about everything in them. */
const NFTA_TABLE = 1;

export interface WatchedTable {
  readonly family: TableFamily;
  readonly name: string;
  /** Whether the netlink port of the change's author belongs to this daemon. The listener is not called for such changes. */
  readonly isOwn?: (port: number) => boolean;
}

/** Calls `onChange` after each transaction that touched the table, and when the kernel lost messages. Returns a function that unsubscribes. */
export function watchRuleset(table: WatchedTable, onChange: () => void): () => void {
  const events = openEvents({
    protocol: Protocol.NETFILTER,
    groups: [group],
    onMessages: (messages) => {
      if (messages.some((message) => concerns(table, message))) onChange();
    },
    onLoss: onChange,
  });
  return () => events.close();
}

function concerns({ family, name, isOwn }: WatchedTable, { type, port, data }: NetlinkMessage): boolean {
  if (type >> 8 !== nftables || (type & 0xff) === newGeneration || data[0] !== NFPROTO[family]) return false;
  if (isOwn?.(port) === true) return false;
  const table = wire.readAttribute(data.subarray(4), NFTA_TABLE);
  return table !== undefined && wire.readText(table) === name;
}
