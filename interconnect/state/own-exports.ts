/**
 * The exports of this cluster as the hub has them by this session, and as they are. In: the present exports and namespaces. Out:
 * the next message for the hub, with the differences. Used by `apply/membership.ts`, which sends the next message after
 * the answer to the last.
 */
import { changeOf } from '../model/export-change.ts';
import { chunkSize, type ExportChange, type ExportReport } from '../model/export-messages.ts';
import type { ExportedService, ExportedServices } from '../model/exported-service.ts';

/** The most that a HubMember may allow, and one more, so that the hub reports that there are too many. */
const mostEndpoints = 10_001;
const mostEndpointPorts = 100_001;
/** The hub ends the session of a member that sends more. */
export const mostExports = 20_000;

export class OwnExports {
  readonly #most: number;
  #exports: ExportedServices | undefined;
  /** Exports that are not sent. */
  #surplus: ReadonlySet<string> = new Set();
  #namespaces: ReadonlySet<string> = new Set();
  /** As this session has sent them. */
  readonly #sent = new Map<string, ExportedService>();
  readonly #sentNamespaces = new Set<string>();
  #revision = 0;
  #isWholeSent = false;
  #isSent = false;

  /** @param most exports that are sent */
  constructor(most = mostExports) {
    this.#most = most;
  }

  /** The hub receives nothing before this is called for the first time: an empty set would withdraw all. */
  set(exports: ExportedServices, namespaces: ReadonlySet<string>): void {
    const sent = oldestOf(exports, this.#most);
    this.#exports = sent;
    this.#surplus = sent === exports ? new Set() : new Set(exports.keys()).difference(sent);
    this.#namespaces = namespaces;
    this.#isSent = false;
  }

  /** Another session has begun: everything is sent again. */
  begin(): void {
    this.#sent.clear();
    this.#sentNamespaces.clear();
    this.#revision = 0;
    this.#isWholeSent = false;
    this.#isSent = false;
  }

  /** The cluster is not a member any more: nothing is sent until `set` is called again. */
  forget(): void {
    this.begin();
    this.#exports = undefined;
    this.#surplus = new Set();
    this.#namespaces = new Set();
  }

  /** The hub does not have these exports in full. */
  sendAgain(keys: Iterable<string>): void {
    for (const key of keys) if (this.#sent.delete(key)) this.#isSent = false;
  }

  /** Whether there are too many exports, of which this one is not sent. */
  isSurplus(key: string): boolean {
    return this.#surplus.has(key);
  }

  /** All that was set has been sent in this session. */
  get isSent(): boolean {
    return this.#isSent;
  }

  /** Undefined if the hub has everything, or nothing was set yet. */
  next(): ExportReport | undefined {
    const exports = this.#exports;
    if (exports === undefined || this.#isSent) return undefined;
    const room = { left: chunkSize };
    const namespacesAdded = this.#addNamespaces(room);
    const namespacesRemoved = [...this.#sentNamespaces].filter((name) => !this.#namespaces.has(name));
    for (const name of namespacesRemoved) this.#sentNamespaces.delete(name);
    const removed = [...this.#sent.keys()].filter((key) => !exports.has(key));
    for (const key of removed) this.#sent.delete(key);
    const changes = this.#changes(exports, room);
    const isComplete = room.left > 0;
    this.#isSent = isComplete;
    const isNews = [changes, removed, namespacesAdded, namespacesRemoved].some(({ length }) => length > 0);
    if (!isNews && this.#isWholeSent) return undefined;
    const begins = this.#revision === 0;
    this.#isWholeSent ||= isComplete;
    this.#revision += 1;
    return {
      revision: this.#revision,
      begins,
      isComplete,
      changed: changes,
      removed,
      namespacesAdded,
      namespacesRemoved,
    };
  }

  #addNamespaces(room: { left: number }): readonly string[] {
    const added: string[] = [];
    for (const name of this.#namespaces) {
      if (room.left <= 0) break;
      if (this.#sentNamespaces.has(name)) continue;
      this.#sentNamespaces.add(name);
      added.push(name);
      room.left -= name.length;
    }
    return added;
  }

  #changes(exports: ExportedServices, room: { left: number }): readonly ExportChange[] {
    const changes: ExportChange[] = [];
    for (const [key, service] of exports) {
      if (room.left <= 0) break;
      const before = this.#sent.get(key);
      if (before === service) continue;
      const change = changeOf(before === undefined ? undefined : cut(before), cut(service));
      this.#sent.set(key, service);
      if (change === undefined) continue;
      changes.push(change);
      room.left -= JSON.stringify(change).length;
    }
    return changes;
  }
}

/** In the order in which the hub accepts them. */
function oldestOf(exports: ExportedServices, most: number): ExportedServices {
  if (exports.size <= most) return exports;
  const order = [...exports].sort(([a, one], [b, other]) => one.createdMs - other.createdMs || (a < b ? -1 : 1));
  return new Map(order.slice(0, most));
}

/** A message has a greatest length, and a member that exceeds it loses its session. */
function cut(service: ExportedService): ExportedService {
  let ports = 0;
  const end = service.endpoints.findIndex((endpoint, at) => {
    ports += endpoint.ports.length;
    return at >= mostEndpoints || ports > mostEndpointPorts;
  });
  return end < 0 ? service : { ...service, endpoints: service.endpoints.slice(0, Math.max(end, 1)) };
}
