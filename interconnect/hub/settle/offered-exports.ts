/**
 * The exports that one member offers, and those that the hub accepts. In: its reports, its own prefixes, its limits. Out:
 * accepted exports, the names of those that changed, rejections, and exports that have to be sent again. Pure. Others see
 * only endpoints within prefixes that are the member's own: it can put no address of another cluster into a Service. Of too
 * many, the oldest are accepted, whatever order they came in, so that a hub that starts again accepts the same.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { bitsOf, parseIp, type Ip } from '../../../lib/net/ip.ts';
import { PrefixCover } from '../../../lib/net/prefix-cover.ts';
import { parseCidr } from '../../../lib/net/cidr.ts';
import { changed, exportKey } from '../../model/export-change.ts';
import type { ExportChange, ExportRejections, ExportReport } from '../../model/export-messages.ts';
import type { ExportedEndpoint, ExportedService, ExportedServices, SharedClaim } from '../../model/exported-service.ts';
import type { Rejection } from '../../model/messages.ts';
import { refuseForm } from './export-form.ts';
import { legible } from './legible.ts';
import { Refusals } from './refusals.ts';
import { SharedParts } from './shared-parts.ts';

/** The limits of a member, from its HubMember. */
export interface ExportLimits {
  readonly maxExports: number;
  readonly maxEndpointsPerExport: number;
  /** All when empty. */
  readonly allowedNamespaces: readonly string[];
}

export interface ExportingMember {
  readonly cluster: string;
  /** Name of its HubMember. */
  readonly handle: string;
}

/** Of all exports together, times `maxExports`. */
const endpointsEach = 100;
/** Of all endpoints of an export together, times `maxEndpointsPerExport`. */
const portsEach = 10;
/** Including those that are not accepted, of which the hub keeps only the names, and unknown ones of which a change came. */
const mostOffered = 20_000;
/** Characters of a namespace, a slash and a name. */
const longestKey = 127;
/** Addresses or namespaces that a rejection names. */
const mostNamed = 5;

interface Offer {
  readonly createdMs: number;
  /** Endpoints that count against the limit. */
  readonly endpointCount: number;
  /** Ports of all endpoints that were offered, also of those that are left out. */
  readonly portCount: number;
  /** With no more endpoints than are allowed; undefined if it is not kept. */
  readonly service: ExportedService | undefined;
  /** Endpoints that were left out of `service` because they are too many. */
  readonly surplus: number;
  /** Why it cannot be accepted at any time. */
  readonly defect: string | undefined;
  /** The member was asked to send it again. */
  readonly isAsked: boolean;
  /** Of a shared address; not a part of `service`, because others do not see it. */
  readonly claim: SharedClaim | undefined;
}

type Kept = Pick<Offer, 'service' | 'surplus' | 'endpointCount'>;

export class OfferedExports {
  #member: ExportingMember;
  #limits: ExportLimits;
  /** `allowedNamespaces` of the limits. */
  #namespaces: ReadonlySet<string>;
  #cover = new PrefixCover();
  #prefixes = '';
  readonly #parts = new SharedParts();
  readonly #offers = new Map<string, Offer>();
  readonly #accepted = new Map<string, ExportedService>();
  readonly #refused = new Map<string, readonly Rejection[]>();
  /** While a session sends the whole set: what it has not mentioned. */
  #unmentioned: Set<string> | undefined;
  #isKnown = false;
  #changed = new Set<string>();
  #wanted = new Set<string>();
  /** Of `#wanted`, those that are not offered. */
  readonly #unknown = new Set<string>();
  #isRefusedAnew = false;
  /** Undefined if they are not what was listed last. */
  #rejections: Required<ExportRejections> | undefined;
  #endpointCount = 0;

  constructor(member: ExportingMember, limits: ExportLimits) {
    this.#member = member;
    this.#limits = limits;
    this.#namespaces = new Set(limits.allowedNamespaces);
  }

  /** The member has sent a whole set since this object was made. */
  get isKnown(): boolean {
    return this.#isKnown;
  }
  /** `namespace/name` → the export as others see it. */
  get accepted(): ExportedServices {
    return this.#accepted;
  }
  /** The shared address that an accepted export, `namespace/name`, claims. */
  claimOf(key: string): SharedClaim | undefined {
    return this.#accepted.has(key) ? this.#offers.get(key)?.claim : undefined;
  }
  /** The member's own prefix that has the address; undefined if none has. */
  prefixOf({ family, value }: Ip): string | undefined {
    return this.#cover.coverOf({ family, network: value, prefix: bitsOf(family) });
  }
  /** Endpoints of all accepted exports. */
  get endpointCount(): number {
    return this.#endpointCount;
  }
  /** Exports that were refused, or parts of them. */
  get rejectionCount(): number {
    return this.#refused.size;
  }

  /** An export that is accepted in full is in none of the lists. */
  rejections(): Required<ExportRejections> {
    if (this.#rejections === undefined) {
      const refusals = new Refusals();
      const unlisted = new Map<string, string[]>();
      for (const rejections of this.#refused.values()) {
        for (const one of rejections) {
          if (refusals.add(one)) continue;
          const exports = unlisted.get(one.code) ?? [];
          exports.push(legible(one.value));
          unlisted.set(one.code, exports);
        }
      }
      const names = Array.from(unlisted, ([code, exports]) => ({ code, exports }));
      this.#rejections = { rejections: refusals.list(), unlisted: names };
    }
    return this.#rejections;
  }

  /** Exports of which others see something else since the last call. */
  takeChanged(): ReadonlySet<string> {
    const keys = this.#changed;
    this.#changed = new Set();
    return keys;
  }

  /** Exports that the member is to send whole. */
  takeWanted(): ReadonlySet<string> {
    const wanted = this.#wanted;
    this.#wanted = new Set();
    this.#unknown.clear();
    return wanted;
  }

  /** Whether the rejections are others since the last call. */
  takeRefused(): boolean {
    const isRefusedAnew = this.#isRefusedAnew;
    this.#isRefusedAnew = false;
    return isRefusedAnew;
  }

  /** Returns why the session must end. */
  read(report: ExportReport): Problem | undefined {
    if (report.begins) this.#unmentioned = new Set(this.#offers.keys());
    // First, so that there is room for those that take their place.
    for (const key of report.removed) this.#withdraw(keyOf(key));
    const isTaken = report.changed.every((change) => this.#offer(change));
    if (isTaken && report.isComplete && this.#unmentioned !== undefined) {
      for (const key of this.#unmentioned) this.#withdraw(key);
      this.#unmentioned = undefined;
      this.#isKnown = true;
    }
    this.#settleLimits();
    if (isTaken) return undefined;
    const message = `this cluster exports more than ${mostOffered} Services; export fewer`;
    return { code: 'StateTooLarge', message };
  }

  /** A member of an earlier release exports nothing. */
  readNothing(): void {
    const keys = Array.from(this.#offers.keys());
    for (const key of keys) this.#withdraw(key);
    this.#unmentioned = undefined;
    this.#isKnown = true;
  }

  /** Normalised CIDRs that are the member's own, on any network. */
  setPrefixes(cidrs: Iterable<string>): void {
    const prefixes = [...new Set(cidrs)].sort();
    if (prefixes.join() === this.#prefixes) return;
    this.#prefixes = prefixes.join();
    this.#cover = new PrefixCover();
    for (const text of prefixes) {
      const cidr = parseCidr(text);
      if (cidr !== undefined) this.#cover.add(cidr, text);
    }
    for (const key of this.#offers.keys()) this.#accept(key, true);
  }

  setLimits(limits: ExportLimits): void {
    this.#limits = limits;
    this.#namespaces = new Set(limits.allowedNamespaces);
    for (const [key, offer] of this.#offers) {
      const { service, surplus } = offer;
      if (!this.#isAcceptable(key, offer)) this.#offers.set(key, withoutService(offer));
      else if (service !== undefined) {
        if (surplus > 0) this.#wanted.add(key);
        this.#offers.set(key, { ...offer, ...this.#shortened(service, surplus) });
      }
      this.#accept(key);
    }
    this.#settleLimits();
  }

  rename(member: ExportingMember): void {
    this.#member = member;
    for (const key of this.#offers.keys()) this.#accept(key);
  }

  /** Returns false if there is no room for its name. */
  #offer(change: ExportChange): boolean {
    const key = keyOf(exportKey(change));
    const before = this.#offers.get(key);
    const isKnown = before !== undefined || this.#unknown.has(key);
    if (!isKnown && !this.#hasRoom()) return false;
    const isBase = this.#unmentioned?.delete(key) !== true && before?.surplus === 0;
    const defect = refuseForm(change);
    const endpoints = defect === undefined ? change.endpoints : [];
    const service = changed(isBase ? before.service : undefined, { ...change, endpoints, shared: null });
    if (service === undefined) {
      // One that is not kept for another reason than its content is asked for when it can be.
      if (before === undefined || before.service !== undefined || this.#isFaulty(before)) this.#wanted.add(key);
      if (before === undefined) this.#unknown.add(key);
      return true;
    }
    this.#unknown.delete(key);
    const createdMs = Number.isSafeInteger(change.createdMs) ? change.createdMs : 0;
    const portCount = service.endpoints.reduce((sum, { ports }) => sum + ports.length, 0);
    const claim = defect === undefined ? (change.shared ?? undefined) : undefined;
    const rest = { createdMs, defect, portCount, isAsked: false, claim };
    const offer = { ...rest, ...(defect === undefined ? this.#shortened(service, 0) : notKept) };
    const isKept = this.#isAcceptable(key, offer);
    this.#offers.set(key, isKept ? { ...offer, ...this.#shared(offer, endpoints) } : withoutService(offer));
    this.#accept(key);
    return true;
  }

  /** What an earlier session offered gives way: a member that was refused for too many has to be able to offer others. */
  #hasRoom(): boolean {
    if (this.#offers.size + this.#unknown.size < mostOffered) return true;
    const [oldest] = this.#unmentioned ?? [];
    if (oldest === undefined) return false;
    this.#withdraw(oldest);
    return true;
  }

  /** Only what is kept is shared: what is refused would fill the memory of the parts. */
  #shared(kept: Kept, decoded: readonly ExportedEndpoint[]): Kept {
    const { service } = kept;
    if (service === undefined || decoded.length === 0) return kept;
    const others = new Set(decoded);
    const endpoints = service.endpoints.map((one) => (others.has(one) ? this.#parts.endpoint(one) : one));
    return { ...kept, service: { ...service, endpoints } };
  }

  #shortened(service: ExportedService, surplus: number): Kept {
    const { length } = service.endpoints;
    const endpointCount = Math.min(length, this.#limits.maxEndpointsPerExport);
    if (endpointCount === length) return { service, surplus, endpointCount };
    const short = { ...service, endpoints: service.endpoints.slice(0, endpointCount) };
    return { service: short, surplus: surplus + length - endpointCount, endpointCount };
  }

  /** If there is room for it. */
  #isAcceptable(key: string, offer: Offer): boolean {
    return !this.#isFaulty(offer) && this.#isNamespaceAllowed(key);
  }

  /** Another content could be accepted. */
  #isFaulty(offer: Offer): boolean {
    return offer.defect !== undefined || this.#hasTooManyPorts(offer);
  }

  #isNamespaceAllowed(key: string): boolean {
    return this.#namespaces.size === 0 || this.#namespaces.has(key.slice(0, key.indexOf('/')));
  }

  #hasTooManyPorts({ portCount }: Offer): boolean {
    return portCount > portsEach * this.#limits.maxEndpointsPerExport;
  }

  #withdraw(key: string): void {
    this.#unmentioned?.delete(key);
    this.#wanted.delete(key);
    this.#unknown.delete(key);
    if (this.#offers.delete(key)) this.#accept(key);
  }

  /** Decides what others see of the export; endpoints that they see already are judged again only for other prefixes. */
  #accept(key: string, areOtherPrefixes = false): void {
    const offer = this.#offers.get(key);
    const before = this.#accepted.get(key);
    const rejections: Rejection[] = [];
    let after: ExportedService | undefined;
    if (offer?.defect !== undefined) rejections.push(this.#invalid(key, offer.defect));
    else if (offer !== undefined && !this.#isNamespaceAllowed(key)) rejections.push(this.#namespaceNotAllowed(key));
    else if (offer !== undefined && this.#hasTooManyPorts(offer)) rejections.push(this.#tooManyPorts(key, offer));
    else if (offer?.service !== undefined) {
      after = this.#withOwnEndpoints(offer.service, areOtherPrefixes ? [] : (before?.endpoints ?? []));
      if (offer.surplus > 0) rejections.push(this.#tooManyEndpoints(key, offer.surplus));
      if (after !== offer.service) rejections.push(this.#notOwn(key, offer.service, after));
    } else if (offer !== undefined) rejections.push(this.#tooMany(key));
    this.#refuse(key, rejections);
    if (before === after) return;
    this.#endpointCount += (after?.endpoints.length ?? 0) - (before?.endpoints.length ?? 0);
    if (after === undefined) this.#accepted.delete(key);
    else this.#accepted.set(key, after);
    this.#changed.add(key);
  }

  #refuse(key: string, rejections: readonly Rejection[]): void {
    const texts = [this.#refused.get(key) ?? [], rejections].map((list) => list.map(({ message }) => message).join());
    if (texts[0] === texts[1]) return;
    this.#isRefusedAnew = true;
    this.#rejections = undefined;
    if (rejections.length === 0) this.#refused.delete(key);
    else this.#refused.set(key, rejections);
  }

  #withOwnEndpoints(service: ExportedService, judged: readonly ExportedEndpoint[]): ExportedService {
    const own = new Set(judged);
    const endpoints = service.endpoints.filter((endpoint) => own.has(endpoint) || this.#isOwn(endpoint));
    return endpoints.length === service.endpoints.length ? service : { ...service, endpoints };
  }

  #isOwn({ address }: ExportedEndpoint): boolean {
    const ip = parseIp(address);
    return ip !== undefined && this.prefixOf(ip) !== undefined;
  }

  /** The oldest have the room there is; the hub keeps only the names of the others, and asks for them when there is room. */
  #settleLimits(): void {
    const { maxExports } = this.#limits;
    const offers = [...this.#offers].filter(([key, offer]) => this.#isAcceptable(key, offer));
    const isKept = offers.every(([, { service }]) => service !== undefined);
    let room = maxExports * endpointsEach;
    const count = offers.reduce((sum, [, { endpointCount }]) => sum + endpointCount, 0);
    if (isKept && offers.length <= maxExports && count <= room) return;
    offers.sort(([a, one], [b, other]) => one.createdMs - other.createdMs || (a < b ? -1 : 1));
    let exportsLeft = maxExports;
    for (const [key, offer] of offers) {
      const fits = exportsLeft > 0 && offer.endpointCount <= room;
      if (fits) {
        exportsLeft -= 1;
        room -= offer.endpointCount;
      }
      if (fits && offer.service === undefined && !offer.isAsked) {
        this.#wanted.add(key);
        this.#offers.set(key, { ...offer, isAsked: true });
      } else if (!fits && offer.service !== undefined) {
        this.#offers.set(key, withoutService(offer));
        this.#accept(key);
      }
    }
  }

  #invalid(key: string, defect: string): Rejection {
    return rejectionOf(key, 'ExportInvalid', `${key}: ${defect}; correct the Service or its ServiceExport`);
  }

  #tooMany(key: string): Rejection {
    const { maxExports } = this.#limits;
    const message = `${key}: ${this.#member.cluster} may export ${maxExports} Services with ${maxExports * endpointsEach} endpoints together, of which the oldest are accepted; ${this.#remedy()}`;
    return rejectionOf(key, 'MaxExports', message);
  }

  #tooManyEndpoints(key: string, surplus: number): Rejection {
    const message = `${key}: ${surplus} endpoints are more than the ${this.#limits.maxEndpointsPerExport} that an export may have, and are left out; ${this.#remedy()}`;
    return rejectionOf(key, 'MaxEndpoints', message);
  }

  #tooManyPorts(key: string, { portCount }: Offer): Rejection {
    const { maxEndpointsPerExport } = this.#limits;
    const message = `${key}: its endpoints have ${portCount} ports; at most ${portsEach * maxEndpointsPerExport} are allowed, ${portsEach} for each of the ${maxEndpointsPerExport} endpoints that an export may have; ${this.#remedy()}`;
    return rejectionOf(key, 'MaxEndpoints', message);
  }

  #namespaceNotAllowed(key: string): Rejection {
    const named = firstOf(this.#limits.allowedNamespaces);
    const message = `${key}: ${this.#member.cluster} may export Services of namespaces ${named} only; ${this.#remedy()}`;
    return rejectionOf(key, 'NamespaceNotAllowed', message);
  }

  #remedy(): string {
    return `the administrator of the hub can change HubMember ${this.#member.handle}`;
  }

  #notOwn(key: string, offered: ExportedService, accepted: ExportedService): Rejection {
    const own = new Set(accepted.endpoints);
    const others = offered.endpoints.flatMap((endpoint) => (own.has(endpoint) ? [] : [endpoint.address]));
    const message = `${key}: endpoints ${firstOf(others)} are in no prefix that ${this.#member.cluster} offers to other clusters as its own, and are left out; offer the subnet they are in`;
    return rejectionOf(key, 'EndpointNotOffered', message);
  }
}

function firstOf(names: readonly string[]): string {
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '';
  return names.slice(0, mostNamed).join(', ') + more;
}

function withoutService(offer: Offer): Offer {
  return { ...offer, service: undefined, surplus: 0, isAsked: false, claim: undefined };
}

const notKept = { service: undefined, surplus: 0, endpointCount: 0 } as const;

/** A part of a text keeps all of it in memory, so that the part of one that is too long is copied. */
function keyOf(text: string): string {
  return text.length <= longestKey ? text : Buffer.from(legible(text)).toString();
}

function rejectionOf(value: string, code: string, message: string): Rejection {
  return { kind: 'export', value, code, message, holder: '', transitSwitch: '' };
}
