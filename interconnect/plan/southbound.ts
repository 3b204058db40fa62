/** Names of southbound rows that carry no ids of ours. Pure. */

/** Tunnel keys of transit switches: OVN gives them to nothing else. */
const globalKeys = { first: 16_711_681, last: 16_777_215 };

export function encapKey(type: string, ip: string): string {
  return `${type}/${ip}`;
}

export function fdbKey(datapathKey: number, mac: string): string {
  return `${datapathKey}/${mac}`;
}

/** One owner a row, so that whose it is can be told from the row alone; undefined for rows that OVN learned elsewhere. */
export function fdbOwner(datapathKey: number, mac: string): string | undefined {
  if (datapathKey < globalKeys.first || datapathKey > globalKeys.last) return undefined;
  return `fdb/${fdbKey(datapathKey, mac)}`;
}
