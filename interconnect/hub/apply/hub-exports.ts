/**
 * The exported Services of all members. In: reports of sessions, prefixes and limits of members. Out: to each session, the
 * exports of others in the namespaces of its cluster. The work follows a change and the members that have its namespace.
 * They are in memory only: members send them again to a hub that starts, and until a member has, it is among the
 * expected ones, so that the others keep what they have of it.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import { lastOf, parseCidr } from '../../../lib/net/cidr.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { ExportReport } from '../../model/export-messages.ts';
import type { ExportedService, SharedClaim } from '../../model/exported-service.ts';
import type { Rejection } from '../../model/messages.ts';
import { learnedOrigin } from '../../../lib/route-policy/policy.ts';
import type { MemberRecord } from '../model/record.ts';
import { SharedChanges } from '../plan/shared-change.ts';
import { OfferedExports } from '../settle/offered-exports.ts';
import { SharedAddresses, type MemberClaim, type Owner } from '../settle/shared-addresses.ts';
import { refuseRanges } from '../settle/shared-ranges.ts';
import type { Memberships } from '../state/memberships.ts';
import { moveEntry } from '../state/member-records.ts';
import { ExportFeed, type ExportId } from './export-feed.ts';
import type { OpenSession } from './sessions.ts';

/** A burst of changes is one update. */
const gatherMs = 5;
/** After a start, members become known one after the other; others remove what is left of them then, which is not urgent. */
const knownGatherMs = 250;

/** Names that wait for a member that does not read would grow with each of its reports. */
const tooEarly: Problem = {
  code: 'ReportTooEarly',
  message:
    'a report of exported Services came before the answer to the last one; run a release of Isthmus in this cluster that waits for it',
};

export interface HubExportsOptions {
  readonly registry: Pick<Memberships, 'members' | 'handle' | 'spec' | 'isStale'>;
  readonly onRefused: (cluster: string, count: number, rejections: readonly Rejection[]) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How many exports of the member are accepted or refused may be another number. */
  readonly onChanged: (cluster: string) => void;
}

export class HubExports {
  readonly #options: HubExportsOptions;
  readonly #offered = new Map<string, OfferedExports>();
  readonly #feeds = new Map<OpenSession, ExportFeed>();
  readonly #changes = new SharedChanges();
  /** Namespace → exports in it, by member and key. */
  readonly #byNamespace = new Map<string, Map<string, ExportId>>();
  /** Namespace → sessions of members that have it. */
  readonly #readers = new Map<string, Set<OpenSession>>();
  /** Member that had exports for an earlier hub, by the name it had then → its present name. */
  readonly #unknown: Map<string, string>;
  /** Members that became known since the last update to the others. */
  readonly #newlyKnown = new Set<string>();
  readonly #stale = new Set<ExportFeed>();
  readonly #shared = new SharedAddresses();
  /** Claims to shared addresses changed, or members became known, since these were settled. */
  #areClaimsDirty = false;
  #gather: NodeJS.Timeout | undefined;
  #knownGather: NodeJS.Timeout | undefined;

  constructor(options: HubExportsOptions) {
    this.#options = options;
    const { registry } = options;
    const expected = [...registry.members()].filter(({ cluster, leaving }) => !leaving && !registry.isStale(cluster));
    this.#unknown = new Map(expected.map(({ cluster }) => [cluster, cluster]));
  }

  /** Accepted exports of all members. */
  get size(): number {
    return this.#sum(({ accepted }) => accepted.size);
  }
  get endpoints(): number {
    return this.#sum(({ endpointCount }) => endpointCount);
  }
  /** Undefined until the member has sent them all. */
  acceptedOf(name: string): number | undefined {
    const offered = this.#offered.get(name);
    return offered?.isKnown === true ? offered.accepted.size : undefined;
  }
  rejectionCountOf(name: string): number {
    return this.#offered.get(name)?.rejectionCount ?? 0;
  }
  /** Of members that have a session. */
  get rejections(): number {
    const connected = new Set(Array.from(this.#feeds.keys(), ({ name }) => name));
    return connected.values().reduce((sum, name) => sum + (this.#offered.get(name)?.rejectionCount ?? 0), 0);
  }

  /** Call for each session; nothing is sent before its first report. */
  opened(open: OpenSession): void {
    this.#feeds.set(
      open,
      new ExportFeed({
        session: open.session,
        changes: this.#changes,
        find: ({ member, key }) => (member === open.name ? undefined : this.#offered.get(member)?.accepted.get(key)),
        rejections: () => this.#offered.get(open.name)?.rejections() ?? { rejections: [] },
        answerTo: (key) => this.#shared.answerTo({ member: open.name, key }),
      }),
    );
  }

  closed(open: OpenSession): void {
    const feed = this.#feeds.get(open);
    if (feed === undefined) return;
    feed.close();
    this.#stale.delete(feed);
    for (const namespace of feed.namespaces) this.#removeReader(namespace, open);
    this.#feeds.delete(open);
  }

  /** A report of the session that counts for its member. Returns why the session must end. */
  read(open: OpenSession, report: ExportReport): Problem | undefined {
    const feed = this.#feeds.get(open);
    if (feed === undefined) return undefined;
    if (feed.isUnanswered) return tooEarly;
    const offered = this.#of(open.name);
    const problem = offered.read(report);
    if (problem !== undefined) {
      this.#offersChanged(open.name, offered);
      return problem;
    }
    const { added, removed } = feed.read(report, () => this.#expectedBy(open.name));
    for (const namespace of added) this.#addReader(namespace, open);
    for (const namespace of removed) this.#removeReader(namespace, open);
    for (const namespace of [...added, ...removed])
      for (const id of this.#byNamespace.get(namespace)?.values() ?? []) feed.changed(id);
    this.#offersChanged(open.name, offered);
    this.#schedule(feed);
    return undefined;
  }

  /** A state of a member of an earlier release: it exports nothing. */
  readNothing(name: string): void {
    const offered = this.#offered.get(name);
    if (offered === undefined && !this.#isUnknown(name)) return;
    offered?.readNothing();
    if (offered !== undefined) this.#offersChanged(name, offered);
    this.#setKnown(name);
  }

  /** The record of a member is another one. */
  recordChanged({ name, attachments }: MemberRecord): void {
    const offered = this.#of(name);
    const own = attachments.flatMap(({ prefixes }) => prefixes.filter(({ origin }) => origin !== learnedOrigin));
    offered.setPrefixes(own.map(({ cidr }) => cidr));
    this.#offersChanged(name, offered);
    if (!this.#shared.ownersChanged()) return;
    this.#areClaimsDirty = true;
    this.#scheduleSend();
  }

  limitsChanged(name: string): void {
    const offered = this.#offered.get(name);
    if (offered === undefined) return;
    offered.setLimits(this.#options.registry.spec(name));
    this.#offersChanged(name, offered);
    for (const key of offered.accepted.keys()) this.#claim({ member: name, key });
  }

  /** To be called when the registry has the new name, before the session or a record has it. */
  rename(before: string, name: string): void {
    for (const [announced, present] of this.#unknown) if (present === before) this.#unknown.set(announced, name);
    const offered = this.#offered.get(before);
    if (offered === undefined) return;
    moveEntry(this.#offered, before, name);
    offered.rename({ cluster: name, handle: this.#options.registry.handle(name) });
    // The new name first: the others are never without the exports.
    for (const key of offered.accepted.keys()) this.#changed({ member: name, key }, true);
    for (const key of offered.accepted.keys()) this.#changed({ member: before, key }, false);
    this.#offersChanged(name, offered);
  }

  /** The member has left, or is dead: its exports are withdrawn. */
  drop(name: string): void {
    const offered = this.#offered.get(name);
    this.#offered.delete(name);
    for (const key of offered?.accepted.keys() ?? []) this.#changed({ member: name, key }, false);
    this.#setKnown(name);
  }

  close(): void {
    clearTimeout(this.#gather);
    clearTimeout(this.#knownGather);
    for (const feed of this.#feeds.values()) feed.close();
  }

  #sum(count: (offered: OfferedExports) => number): number {
    return this.#offered.values().reduce((sum, offered) => sum + count(offered), 0);
  }

  #of(name: string): OfferedExports {
    const { registry } = this.#options;
    const known = this.#offered.get(name);
    if (known !== undefined) return known;
    const offered = new OfferedExports({ cluster: name, handle: registry.handle(name) }, registry.spec(name));
    this.#offered.set(name, offered);
    return offered;
  }

  #offersChanged(name: string, offered: OfferedExports): void {
    for (const key of offered.takeChanged()) this.#changed({ member: name, key }, offered.accepted.has(key));
    const wanted = offered.takeWanted();
    const isRefusedAnew = offered.takeRefused();
    for (const [open, feed] of wanted.size > 0 || isRefusedAnew ? this.#feeds : []) {
      if (open.name !== name) continue;
      feed.want(wanted);
      feed.rejectionsChanged();
      this.#schedule(feed);
    }
    if (isRefusedAnew && offered.rejectionCount > 0)
      this.#options.onRefused(name, offered.rejectionCount, offered.rejections().rejections);
    if (offered.isKnown) this.#setKnown(name);
    this.#options.onChanged(name);
  }

  #changed(id: ExportId, isThere: boolean): void {
    this.#claim(id);
    const namespace = id.key.slice(0, id.key.indexOf('/'));
    const ids = this.#byNamespace.get(namespace) ?? new Map<string, ExportId>();
    if (isThere) ids.set(`${id.member}/${id.key}`, id);
    else ids.delete(`${id.member}/${id.key}`);
    if (ids.size > 0) this.#byNamespace.set(namespace, ids);
    else this.#byNamespace.delete(namespace);
    for (const open of this.#readers.get(namespace) ?? []) {
      const feed = this.#feeds.get(open);
      if (feed === undefined || open.name === id.member) continue;
      feed.changed(id);
      this.#schedule(feed);
    }
  }

  /** The claim to a shared address may be another one. */
  #claim(id: ExportId): void {
    const offered = this.#offered.get(id.member);
    const [service, claim] = [offered?.accepted.get(id.key), offered?.claimOf(id.key)];
    if (!this.#shared.set(id, service && claim && this.#judged(id.member, service, claim))) return;
    this.#areClaimsDirty = true;
    this.#scheduleSend();
  }

  #judged(member: string, { ipFamilies: families, createdMs }: ExportedService, claim: SharedClaim): MemberClaim {
    const { registry } = this.#options;
    const { allowedPrefixes } = registry.spec(member);
    const limits = { cluster: member, handle: registry.handle(member), allowedPrefixes };
    const refused = refuseRanges(claim.ranges, limits);
    return { ...claim, families, createdMs, refused };
  }

  /** Once for all claims of a burst. */
  #settleClaims(): void {
    if (!this.#areClaimsDirty) return;
    this.#areClaimsDirty = false;
    const facts = {
      expected: [...this.#unknown.values()],
      nowMs: this.#options.now(),
      ownerOf: (ip: Ip) => this.#ownerOf(ip),
    };
    const readers = new Map(Array.from(this.#feeds, ([open, feed]) => [open.name, feed]));
    for (const { member, key } of this.#shared.settle(facts)) {
      const feed = readers.get(member);
      feed?.answerChanged(key);
      if (feed !== undefined) this.#stale.add(feed);
    }
  }

  /** `10.17.0.0/16 of cluster west`: the member's own prefix that has an address. */
  #ownerOf(ip: Ip): Owner | undefined {
    for (const [name, offered] of this.#offered) {
      const prefix = offered.prefixOf(ip);
      if (prefix === undefined) continue;
      const cidr = parseCidr(prefix);
      return { name: `${prefix} of cluster ${name}`, last: cidr === undefined ? ip.value : lastOf(cidr) };
    }
    return undefined;
  }

  #isUnknown(name: string): boolean {
    return this.#unknown.values().some((present) => present === name);
  }

  #expectedBy(name: string): readonly string[] {
    return Array.from(this.#unknown).flatMap(([announced, present]) => (present === name ? [] : [announced]));
  }

  #setKnown(name: string): void {
    for (const [announced, present] of this.#unknown) {
      if (present !== name) continue;
      this.#unknown.delete(announced);
      this.#newlyKnown.add(announced);
    }
    if (this.#newlyKnown.size === 0) return;
    this.#areClaimsDirty = true;
    this.#scheduleSend();
    this.#knownGather ??= setTimeout(() => {
      this.#knownGather = undefined;
      for (const feed of this.#feeds.values()) {
        feed.known(this.#newlyKnown);
        this.#schedule(feed);
      }
      this.#newlyKnown.clear();
    }, knownGatherMs);
  }

  #addReader(namespace: string, open: OpenSession): void {
    const readers = this.#readers.get(namespace) ?? new Set();
    this.#readers.set(namespace, readers.add(open));
  }

  #removeReader(namespace: string, open: OpenSession): void {
    const readers = this.#readers.get(namespace);
    readers?.delete(open);
    if (readers?.size === 0) this.#readers.delete(namespace);
  }

  #schedule(feed: ExportFeed): void {
    this.#stale.add(feed);
    this.#scheduleSend();
  }

  #scheduleSend(): void {
    this.#gather ??= setTimeout(() => {
      this.#gather = undefined;
      this.#settleClaims();
      const stale = [...this.#stale];
      this.#stale.clear();
      for (const one of stale) one.send();
    }, gatherMs);
  }
}
