/** This cluster's ports on transit switches, as the databases have them and as the hub granted them. */
import type { Cache } from 'ovsdb-client';
import type { HeldPort, TransitSwitch } from '../model/messages.ts';
import { mostPaths, switchName, switchNames } from '../model/path-names.ts';
import type { PathFacts } from '../model/anchors.ts';
import type { LocalView } from '../model/local.ts';
import { handleOfPort } from '../model/port-names.ts';
import { readHandle, readHolder, readPort } from './databases.ts';

/** Transit switches as the hub granted them. */
export interface Granted {
  /** The hub has answered to a state of this cluster: what it granted counts. */
  readonly isComplete: boolean;
  readonly switches: readonly TransitSwitch[];
}

/**
 * The name in this cluster's ports: as the database has it until the hub has answered; undefined while there are none.
 */
export function ownHandle(northbound: Cache, { isComplete, switches }: Granted): string | undefined {
  const ports = switches.flatMap(({ paths }) => paths.flatMap(({ port }) => port ?? []));
  const granted = ports.map(handleOfPort).find((handle) => handle !== undefined);
  return isComplete ? (granted ?? readHandle(northbound)) : (readHandle(northbound) ?? granted);
}

/** Paths that the hub granted, and, until it has answered, those that are in the database from before. */
export function readPathFacts(
  { northbound, southbound }: { readonly northbound: Cache; readonly southbound: Cache },
  handle: string,
  network: string,
  hub: Granted,
): readonly PathFacts[] {
  const granted = hub.switches.find(({ name }) => name === network);
  const paths = new Map((granted?.paths ?? []).map((path) => [path.index, path]));
  const indexes = hub.isComplete ? paths.keys() : Array(mostPaths).keys();
  return [...indexes].flatMap((index): PathFacts[] => {
    const path = paths.get(index);
    const name = path?.switch ?? switchName(network, index);
    const present = readPort(northbound, handle, name);
    if (present === undefined && (path?.port ?? null) === null) return [];
    const holder = readHolder(southbound, handle, name);
    return [{ index, present: present?.order ?? [], holder, isRetiring: path?.retiring === true }];
  });
}

/** Ports that this cluster holds, so that a hub that lost them can restore them. */
export function readHeld(northbound: Cache, handle: string, network: string, hub: Granted): readonly HeldPort[] {
  const granted = hub.switches.find(({ name }) => name === network);
  if (hub.isComplete)
    return (granted?.paths ?? []).flatMap(({ switch: name, port }) =>
      port === null ? [] : [{ switch: name, mac: port.mac, networks: port.networks, tunnelKey: port.tunnelKey }],
    );
  return switchNames(network).flatMap((name): HeldPort[] => {
    const present = readPort(northbound, handle, name);
    if (present === undefined || present.tunnelKey === 0) return [];
    return [{ switch: name, mac: present.mac, networks: present.networks, tunnelKey: present.tunnelKey }];
  });
}

/** Chassis that are first in some order: after a start only the database remembers them. */
export function presentAnchors(northbound: Cache, { handle, transitRequests }: LocalView): ReadonlySet<string> {
  const first = transitRequests.flatMap(({ name }) =>
    switchNames(name).flatMap((pathSwitch) => readPort(northbound, handle, pathSwitch)?.order[0] ?? []),
  );
  return new Set(first);
}
