/** Owners of rows, and keys of rows without external_ids: plans write them, and `watch/` recognises rows by them. Pure. */

const ownerPrefix = 'remote/';

export function remoteOwner(handle: string): string {
  return `${ownerPrefix}${handle}`;
}

/** The handle of the cluster whose rows an owner has; undefined for other owners. */
export function handleOfOwner(owner: string): string | undefined {
  return owner.startsWith(ownerPrefix) ? owner.slice(ownerPrefix.length) : undefined;
}

const transitPrefix = 'transit/';

export function transitOwner(logicalSwitch: string): string {
  return `${transitPrefix}${logicalSwitch}`;
}

/** The logical switch whose rows an owner has; undefined for other owners. */
export function switchOfOwner(owner: string): string | undefined {
  return owner.startsWith(transitPrefix) ? owner.slice(transitPrefix.length) : undefined;
}

const importPrefix = 'import/';

/** `key`: `namespace/name`. */
export function importOwner(key: string): string {
  return `${importPrefix}${key}`;
}

/** The import whose rows an owner has, as `namespace/name`; undefined for other owners. */
export function importOfOwner(owner: string): string | undefined {
  return owner.startsWith(importPrefix) ? owner.slice(importPrefix.length) : undefined;
}

/** Tunnel keys of transit switches: OVN gives them to nothing else. */
const globalKeys = { first: 16_711_681, last: 16_777_215 };

export function encapKey(type: string, ip: string): string {
  return `${type}/${ip}`;
}

export function fdbKey(datapathKey: number, mac: string): string {
  return `${datapathKey}/${mac}`;
}

/**
 * Each row has an owner of its own, so that the owner follows from the row alone; undefined for rows that OVN learned
 * elsewhere.
 */
export function fdbOwner(datapathKey: number, mac: string): string | undefined {
  if (datapathKey < globalKeys.first || datapathKey > globalKeys.last) return undefined;
  return `fdb/${fdbKey(datapathKey, mac)}`;
}
