/**
 * The requests and records of all members. In: records read back at start, requests, foreign zones, limits. Out: records,
 * networks, rejections, and events about changes. A change is settled for its member, for the participants of a network
 * that it changed, and for members whose requests were refused because of it. The first owner keeps its holdings.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { learnedOrigin } from '../../../lib/route-policy/policy.ts';
import type { MemberState, Rejection } from '../../model/messages.ts';
import type { AllocatedPort, ForeignMember, MemberRecord } from '../model/record.ts';
import { heldByForeign, heldByMember } from '../state/held.ts';
import { Holdings } from '../state/holdings.ts';
import { moveEntry, MemberRecords } from '../state/member-records.ts';
import type { Memberships } from '../state/memberships.ts';
import { admit, requestOf } from './admission.ts';
import type { Networks } from './networks.ts';
import { stayIn, takePart, type Participation } from './participation.ts';
import { Refusals } from './refusals.ts';

export interface MembersOptions {
  readonly registry: Pick<Memberships, 'member' | 'members' | 'handle' | 'spec' | 'ports' | 'isStale'>;
  readonly networks: Networks;
  readonly isForeignSwitch: (name: string) => boolean;
  /** Network of the addresses within encrypted tunnels. */
  readonly tunnelCidr: string;
}

export interface MembersEvents {
  /** A member has a new record: its rows may differ. */
  readonly onRecord: (record: MemberRecord) => void;
  /** The record of the member with this handle was removed. */
  readonly onGone: (handle: string) => void;
  /** The view that others have of the member may have changed. */
  readonly onMember: (name: string) => void;
  /** The update for the member itself may have changed. */
  readonly onOwn: (name: string) => void;
  /** The updates for all may have changed: networks, or the expected members. */
  readonly onAll: () => void;
  readonly onPorts: (name: string, ports: readonly AllocatedPort[]) => void;
  /** A part of a member's request was refused; `count`: all rejections, also those that are not listed. */
  readonly onRefused: (name: string, count: number, rejections: readonly Rejection[]) => void;
}

interface Refused {
  readonly rejections: readonly Rejection[];
  /** The total, including rejections that are not listed. */
  readonly count: number;
}

export class Members {
  readonly #options: MembersOptions;
  readonly #events: MembersEvents;
  readonly #holdings = new Holdings();
  readonly #records = new MemberRecords();
  readonly #requests = new Map<string, MemberState>();
  readonly #rejections = new Map<string, Refused>();
  /** Revision of the holdings when prefixes of routers were last compared with them. */
  #displacedFor = 0;

  constructor(options: MembersOptions, events: MembersEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Loads the records of earlier processes, by handle; members of the registry without a record are expected. */
  load(records: ReadonlyMap<string, MemberRecord>): void {
    const { registry } = this.#options;
    for (const { cluster, formerName, leaving } of registry.members()) {
      const record = records.get(registry.handle(cluster));
      // A rename may have been cut short before the databases had it.
      if (record !== undefined) this.#give({ ...record, name: cluster });
      else this.#reserve(cluster);
      if (formerName !== undefined && registry.member(formerName) === undefined) this.#redefine(formerName, cluster);
      if (record === undefined && !leaving && !registry.isStale(cluster)) this.#records.expect(cluster);
    }
    // A membership may have ended while there was no hub.
    const definers = new Set(Array.from(this.#options.networks.values(), ({ definedBy }) => definedBy));
    for (const definer of definers) if (definer !== '' && registry.member(definer) === undefined) this.disown(definer);
    // Paths or limits may have become others meanwhile.
    const names = Array.from(this.#records.names());
    for (const name of names) this.settleAgain(name);
    this.#collect();
  }

  get records(): Pick<
    MemberRecords,
    'names' | 'values' | 'has' | 'held' | 'size' | 'foreign' | 'foreignNames' | 'expected' | 'attached'
  > {
    return this.#records;
  }

  get rejectionCount(): number {
    return this.#rejections.values().reduce((sum, { count }) => sum + count, 0);
  }

  rejectionCountOf(name: string): number {
    return this.#rejections.get(name)?.count ?? 0;
  }

  rejections(name: string): readonly Rejection[] {
    const known = this.#rejections.get(name)?.rejections ?? [];
    const problem = this.#records.problem(name);
    if (problem === undefined) return known;
    return [...known, { kind: 'member', value: name, ...problem, holder: '', transitSwitch: '' }];
  }

  request(name: string, request: MemberState): void {
    this.#requests.set(name, request);
    this.#settle(name, request, true);
    this.#events.onOwn(name);
  }

  /** Call when its session ended: it keeps its record and gets nothing new. */
  forgetRequest(name: string): void {
    this.#requests.delete(name);
    this.#rejections.delete(name);
  }

  /** Settles the member's last request again, or its record if there is no request. */
  settleAgain(name: string): void {
    const request = this.#requests.get(name);
    const record = this.#records.get(name);
    if (request !== undefined) this.#settle(name, request, true);
    else if (record !== undefined) this.#settle(name, requestOf(record), false);
  }

  /** The registry has a new name for it: its rows stay, with the new name of its zone. */
  rename(before: string, name: string): void {
    for (const map of [this.#requests, this.#rejections]) moveEntry<unknown>(map, before, name);
    this.#holdings.delete(before);
    const record = this.#records.takeFor(before, name);
    this.#redefine(before, name);
    if (this.#records.stopExpecting(before)) this.#records.expect(name);
    if (record === undefined) this.#reserve(name);
    else this.#give({ ...record, name });
    this.#events.onAll();
    this.#events.onMember(before);
    // Rejections name the holder, whose name may be in the text.
    this.#reconsider(before);
    this.settleAgain(name);
  }

  /** Its membership is over: networks that it defined stay as they are until another member defines them. */
  disown(name: string): void {
    if (this.#redefine(name, '')) this.#events.onAll();
  }

  /** Removes its rows. Its ports stay reserved as long as it is a member. */
  drop(name: string): void {
    const before = this.#records.get(name);
    this.#records.delete(name);
    for (const map of [this.#requests, this.#rejections]) map.delete(name);
    if (this.#records.stopExpecting(name)) this.#events.onAll();
    this.#events.onGone(before?.handle ?? this.#options.registry.handle(name));
    this.#reserve(name);
    this.#events.onMember(name);
    this.#collect();
    this.#reconsider(name);
  }

  /** The result of writing a member's rows. */
  result(name: string, problem: Problem | undefined): void {
    if (!this.#records.setResult(name, problem)) return;
    this.#events.onOwn(name);
    this.#events.onMember(name);
  }

  setForeign(name: string, zone: ForeignMember | undefined): void {
    if (zone === undefined) {
      if (!this.#records.deleteForeign(name)) return;
      this.#holdings.delete(name);
    } else {
      this.#holdings.set(name, heldByForeign(zone));
      // Also a zone that overlaps a member's prefix: the members refuse it, each with the reason.
      if (!this.#records.setForeign(zone)) return;
    }
    this.#events.onMember(name);
    this.#reconsider(name);
  }

  /** The time of a retiring path is over: its ports go too. */
  removePath(network: string, index: number): void {
    this.#options.networks.removePath(network, index);
    this.#networkChanged(network, '');
  }

  #settle(name: string, request: MemberState, isRequested: boolean): void {
    const { registry } = this.#options;
    const record = this.#records.get(name);
    const refusals = new Refusals();
    const { networks, changed } = isRequested
      ? takePart(name, request, this.#participation(name), refusals)
      : stayIn(name, request, this.#options.networks);
    const facts = {
      cluster: name,
      handle: registry.handle(name),
      own: record,
      limits: registry.spec(name),
      others: this.#holdings.others(name),
      networks,
      transits: Array.from(this.#options.networks.values()),
      recorded: registry.ports(name),
      tunnelCidr: this.#options.tunnelCidr,
      hasUnknownPorts: this.#records.expected.values().some((one) => one !== name && registry.ports(one).length === 0),
    };
    const admitted = admit(request, facts, refusals);
    const [rejections, { count }] = [refusals.list(), refusals];
    const isNews = JSON.stringify(rejections) !== JSON.stringify(this.#rejections.get(name)?.rejections ?? []);
    if (isNews && count > 0) this.#events.onRefused(name, count, rejections);
    if (count > 0) this.#rejections.set(name, { rejections, count });
    else this.#rejections.delete(name);
    if (isNews) this.#events.onOwn(name);
    if (this.#give(admitted)) this.#reconsider(name);
    for (const network of changed) this.#networkChanged(network, name);
    this.#collect();
  }

  #participation(name: string): Participation {
    const { networks, registry, isForeignSwitch } = this.#options;
    const isAttached = (network: string): boolean => this.#records.attached(network).has(name);
    const prefixWithin = (cidr: Cidr) => this.#holdings.overlapAnywhere(cidr);
    return { networks, recorded: registry.ports(name), isAttached, isForeignSwitch, prefixWithin };
  }

  /** Whether that was new. */
  #give(record: MemberRecord): boolean {
    const { name } = record;
    const before = this.#records.get(name);
    if (this.#records.stopExpecting(name)) this.#events.onAll();
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(record)) return false;
    this.#records.set(record);
    const ports = record.attachments.flatMap((attachment) => attachment.ports);
    this.#events.onPorts(name, ports);
    this.#holdings.set(name, heldByMember(record));
    this.#events.onRecord(record);
    this.#events.onMember(name);
    this.#events.onOwn(name);
    return true;
  }

  #reserve(name: string): void {
    const { registry } = this.#options;
    const member = registry.member(name);
    const ports = member === undefined || member.leaving ? [] : registry.ports(name);
    if (ports.length === 0) this.#holdings.delete(name);
    else
      this.#holdings.set(
        name,
        heldByMember({ name, handle: registry.handle(name), gateways: [], attachments: [] }, ports),
      );
  }

  /** Networks that `before` defined are those of another name now. Whether there are any. */
  #redefine(before: string, definedBy: string): boolean {
    const { networks } = this.#options;
    const its = Array.from(networks.values()).filter((network) => network.definedBy === before);
    for (const { switches: _, ...definition } of its) networks.put({ ...definition, definedBy });
    return its.length > 0;
  }

  #networkChanged(network: string, except: string): void {
    this.#events.onAll();
    // Settling takes a member out and puts it in again.
    const attached = Array.from(this.#records.attached(network));
    for (const name of attached) if (name !== except) this.settleAgain(name);
    this.#settleRefused(({ kind, value }) => kind === 'transit-switch' && value === network, except);
  }

  /** A network is removed with its last member, unless an expected member may still take part. */
  #collect(): void {
    const { networks } = this.#options;
    if (this.#records.expected.size > 0) return;
    const candidates = Array.from(networks.values());
    for (const { name } of candidates) {
      if (name === networks.standard.name || this.#records.attached(name).size > 0) continue;
      networks.remove(name);
      this.#events.onAll();
      this.#settleRefused(({ kind }) => kind === 'transit-switch');
    }
  }

  /** Things that were refused because of `holder`, or for want of room, may be free now. */
  #reconsider(holder: string): void {
    this.#displace();
    this.#settleRefused(
      (one) => one.holder === holder || ['TransitExhausted', 'TunnelAddressesExhausted'].includes(one.code),
      holder,
    );
  }

  /** Prefixes of routers give way to the member whose own addresses they are, whichever came first. */
  #displace(): void {
    if (this.#displacedFor === this.#holdings.revision) return;
    this.#displacedFor = this.#holdings.revision;
    const others = Array.from(this.#records.values()).filter(({ name, attachments }) => {
      const rest = this.#holdings.others(name);
      return attachments.some(({ network, prefixes }) =>
        prefixes.some(({ cidr: text, origin }) => {
          const cidr = origin === learnedOrigin ? parseCidr(text) : undefined;
          return cidr !== undefined && rest.cover(network, cidr) !== undefined;
        }),
      );
    });
    for (const { name } of others) this.settleAgain(name);
  }

  #settleRefused(isFree: (rejection: Rejection) => boolean, except?: string): void {
    // Settling changes the map.
    const refused = Array.from(this.#rejections);
    for (const [name, { rejections }] of refused)
      if (name !== except && this.#requests.has(name) && rejections.some(isFree)) this.settleAgain(name);
  }
}
