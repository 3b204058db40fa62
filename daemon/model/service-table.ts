/** The nftables table of Services as values: sets and maps by name, with elements in the language of nft, and chains by number of endpoints. */
import type { Family } from '../../lib/net/ip.ts';

/** Set or map → key → value; the value is empty in a set. */
export type TableElements = ReadonlyMap<string, ReadonlyMap<string, string>>;

export interface TableElement {
  readonly set: string;
  readonly key: string;
  /** Empty in a set. */
  readonly value: string;
}

export interface TableChanges {
  readonly removed: readonly TableElement[];
  readonly added: readonly TableElement[];
}

/** A chain that translates to one of `width` endpoints. Its rules depend on these values only, so all Services with the same values share it. */
export interface PickChain {
  readonly family: Family;
  /** `all`: endpoints for clients anywhere; `local`: those on this node, for clients outside under policy Local. */
  readonly list: 'all' | 'local';
  /** Whether it looks up the port only, because a NodePort is on every address of the node. */
  readonly isNodePort: boolean;
  /** Whether it first looks up the recorded endpoint of the client. */
  readonly isSticky: boolean;
  readonly width: number;
}

/** The table as the kernel has it. */
export interface PresentTable {
  /** Whether the skeleton is the wanted one, and nothing but elements and chains of the daemon was added. */
  readonly isIntact: boolean;
  readonly elements: TableElements;
  readonly chains: ReadonlySet<string>;
}

/** Maps that are filled by packets, and whose elements are not planned. */
export const affinityMaps = { 4: 'affinity4', 6: 'affinity6' } as const;
/** Map of the endpoints by number, for each list. */
export const slotMap = { all: 'slots', local: 'local-slots' } as const;

/** The address that stands for all addresses of the node. */
export const anyAddress = { 4: '0.0.0.0', 6: '::' } as const;

/** `all4-3`, `local6-port-sticky-12` */
export function pickChainName({ family, list, isNodePort, isSticky, width }: PickChain): string {
  return `${list}${family}${isNodePort ? '-port' : ''}${isSticky ? '-sticky' : ''}-${width}`;
}

export function parsePickChain(name: string): PickChain | undefined {
  const [, list, family, port, sticky, width] = /^(all|local)([46])(-port)?(-sticky)?-([1-9]\d*)$/.exec(name) ?? [];
  if (list === undefined) return undefined;
  return {
    list: list === 'all' ? 'all' : 'local',
    family: family === '6' ? 6 : 4,
    isNodePort: port !== undefined,
    isSticky: sticky !== undefined,
    width: Number(width),
  };
}

/** The chain that records the endpoint of a client for this number of seconds. */
export function learnChainName(seconds: number): string {
  return `learn-${seconds}`;
}

export function parseLearnChain(name: string): number | undefined {
  const [, seconds] = /^learn-([1-9]\d*)$/.exec(name) ?? [];
  return seconds === undefined ? undefined : Number(seconds);
}
