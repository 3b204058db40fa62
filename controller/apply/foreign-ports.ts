/**
 * Addresses of foreign ports in the switches of Isthmus: ports of Kube-OVN, of other programs, created by hand, or of a router.
 * In: rows of the northbound database. Out: the addresses of each such port, when it appears and whenever it changes. Every
 * address that a port may answer for counts as used by it.
 */
import type { Change, OvsdbClient, Row } from 'ovsdb-client';
import { hasMember } from '../../lib/desired/compare.ts';
import { entryOf } from '../../lib/desired/entry-of.ts';
import { addTo, allOf, removeFrom, type Few } from '../../lib/desired/few.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import { parseMac } from '../../lib/net/mac.ts';
import type { ForeignPort } from '../model/foreign-port.ts';

function nameOf(row: Row): string {
  return typeof row['name'] === 'string' ? row['name'] : '';
}

export type ForeignListener = (port: string, foreign: ForeignPort | undefined) => void;

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function optionOf(row: Row, option: string): string {
  const options = row['options'] as Readonly<Record<string, string>> | undefined;
  return options?.[option] ?? '';
}

/** Addresses and MAC addresses among words such as `0a:… 10.16.0.2 dynamic`; a prefix length is left out. */
function usedIn(texts: readonly string[]): Pick<ForeignPort, 'addresses' | 'macs'> {
  const words = texts.flatMap((text) => text.split(/[\s,]+/));
  const ips = words.map((word) => parseIp(word.split('/', 1)[0] ?? '')).filter((ip) => ip !== undefined);
  const addresses = [...new Map(ips.map((ip) => [formatIp(ip), ip])).values()];
  return { addresses, macs: [...new Set(words.flatMap((word) => parseMac(word) ?? []))] };
}

interface Known {
  readonly text: string;
  readonly uuid: string;
  /** The row of the switch that holds it. */
  readonly holder: string;
  /** The name of the router's port behind it; empty if there is none. */
  readonly routerPort: string;
}

export class ForeignPorts {
  readonly #client: OvsdbClient;
  readonly #isOurs: (row: Row) => boolean;
  readonly #known = new Map<string, Known>();
  /** Names of known ports by the row of their switch. */
  readonly #heldBy = new Map<string, Set<string>>();
  /** Names of known ports by the name of the router's port behind them. */
  readonly #byRouterPort = new Map<string, Few>();
  #listener: ForeignListener | undefined;

  constructor(client: OvsdbClient, isOurs: (row: Row) => boolean) {
    this.#client = client;
    this.#isOurs = isOurs;
  }

  /** Reports all existing foreign ports, then every change. */
  follow(listener: ForeignListener): void {
    this.#listener = listener;
    for (const row of this.#rows('Logical_Switch_Port')) this.#look(row);
    this.#client.subscribe((changes) => this.#changed(changes));
  }

  #rows(table: string): IteratorObject<Row> {
    return this.#client.cache.table(table).rows.values();
  }

  #changed(changes: readonly Change[]): void {
    const again = new Set<string>();
    for (const { table, uuid, before, after } of changes) {
      if (table === 'Logical_Switch_Port') {
        if (before !== undefined && before['name'] !== after?.['name']) this.#tell(nameOf(before), undefined);
        if (after !== undefined) this.#look(after);
      } else if (table === 'Logical_Switch') {
        for (const name of this.#heldBy.get(uuid) ?? [])
          if (!hasMember(after?.['ports'], this.#known.get(name)?.uuid ?? '')) again.add(name);
      } else if (table === 'Logical_Router_Port') {
        const names = [before, after].flatMap((row) => (row === undefined ? [] : [nameOf(row)]));
        for (const router of names) for (const name of allOf(this.#byRouterPort.get(router))) again.add(name);
      }
    }
    for (const name of again) {
      const [row] = this.#client.cache.table('Logical_Switch_Port').byIndex(['name'], [name]);
      if (row === undefined) this.#tell(name, undefined);
      else this.#look(row);
    }
  }

  #look(row: Row): void {
    const isRouter = row['type'] === 'router';
    // Of our own ports, only those of routers are reported: the allocator does not know their MAC addresses.
    const holder = this.#isOurs(row) && !isRouter ? undefined : this.#holderOf(row);
    const routerPort = isRouter ? optionOf(row, 'router-port') : '';
    const foreign = holder && this.#usedBy(row, holder, isRouter);
    this.#tell(nameOf(row), holder && foreign && { uuid: row._uuid, holder, foreign, routerPort });
  }

  #usedBy(row: Row, holder: Row, isRouter: boolean): ForeignPort {
    const routers = this.#client.cache.table('Logical_Router_Port');
    const router = isRouter ? routers.byIndex(['name'], [optionOf(row, 'router-port')])[0] : undefined;
    const subnet = nameOf(holder);
    if (this.#isOurs(row)) return { subnet, addresses: [], macs: usedIn(textsOf(router?.['mac'])).macs };
    const texts = ['addresses', 'dynamic_addresses', 'port_security'].flatMap((column) => textsOf(row[column]));
    const ofRouter = router === undefined ? [] : [...textsOf(router['mac']), ...textsOf(router['networks'])];
    return { subnet, ...usedIn([...texts, ...ofRouter, optionOf(row, 'virtual-ip')]) };
  }

  /** The name of a router's port is that of its switch, a dash, and that of the router, or the reverse; other ports may have any name. */
  #holderOf(port: Row): Row | undefined {
    const name = nameOf(port);
    const switches = this.#client.cache.table('Logical_Switch');
    for (let at = name.indexOf('-'); at >= 0; at = name.indexOf('-', at + 1))
      for (const part of [name.slice(0, at), name.slice(at + 1)]) {
        const [row] = switches.byIndex(['name'], [part]);
        if (row !== undefined && hasMember(row['ports'], port._uuid)) return row;
      }
    return this.#rows('Logical_Switch').find((row) => hasMember(row['ports'], port._uuid));
  }

  #tell(
    port: string,
    found: (Pick<Known, 'uuid' | 'routerPort'> & { readonly holder: Row; readonly foreign: ForeignPort }) | undefined,
  ): void {
    const before = this.#known.get(port);
    const foreign =
      found !== undefined && found.foreign.addresses.length + found.foreign.macs.length > 0 ? found.foreign : undefined;
    if (before !== undefined) {
      this.#heldBy.get(before.holder)?.delete(port);
      removeFrom(this.#byRouterPort, before.routerPort, port);
    }
    if (found === undefined || foreign === undefined) this.#known.delete(port);
    else {
      const { uuid, holder, routerPort } = found;
      const text = JSON.stringify([foreign.subnet, foreign.addresses.map(formatIp), foreign.macs]);
      this.#known.set(port, { text, uuid, holder: holder._uuid, routerPort });
      if (routerPort !== '') addTo(this.#byRouterPort, routerPort, port);
      entryOf(this.#heldBy, holder._uuid, () => new Set<string>()).add(port);
    }
    if (this.#known.get(port)?.text !== before?.text) this.#listener?.(port, foreign);
  }
}
