/**
 * The exports of a hub and its members in one process, without connections and databases, for tests only. Timers are
 * mocked: nothing is sent before `settle`. Every message passes through its wire form.
 */
import { mock } from 'node:test';
import type { Problem } from '../../lib/desired/problem.ts';
import { hubService } from '../link/protocol.ts';
import type { MemberSession } from '../link/server.ts';
import type { ExportReport, ExportUpdate } from '../model/export-messages.ts';
import type { ExportedService } from '../model/exported-service.ts';
import type { Rejection } from '../model/messages.ts';
import { OwnExports } from '../state/own-exports.ts';
import { RemoteExports } from '../state/remote-exports.ts';
import { HubExports } from './apply/hub-exports.ts';
import type { OpenSession } from './apply/sessions.ts';
import { usualLimits, type MemberSpec } from './model/store.ts';

const service = hubService()['Session'];
if (service === undefined) throw new Error('the protocol has no Session');
const wire = service;

interface Wire<T> {
  readonly exports: T;
}

function decodeReport(bytes: Buffer): ExportReport {
  return structuredClone((wire.requestDeserialize(bytes) as Wire<ExportReport>).exports);
}

function decodeUpdate(bytes: Buffer): ExportUpdate {
  return structuredClone((wire.responseDeserialize(bytes) as Wire<ExportUpdate>).exports);
}

export class BedMember {
  name: string;
  /** A member of another author sends as many as it likes. */
  readonly own = new OwnExports(Infinity);
  remote = new RemoteExports();
  prefixes: readonly string[];
  spec: MemberSpec = { ...usualLimits, allowedPrefixes: [] };
  open: OpenSession | undefined;
  refused: Problem | undefined;
  unanswered = 0;
  /** It reads nothing: updates are not taken. */
  isDeaf = false;
  /** It reads updates without keeping them. */
  isThin = false;
  /** Of all updates that it was sent, where `isThin` is not set. */
  bytes = 0;
  updates: ExportUpdate[] = [];
  readonly waiting: (() => void)[] = [];

  constructor(name: string, prefixes: readonly string[]) {
    this.name = name;
    this.prefixes = prefixes;
  }

  /** `cluster namespace/name address,address` of all exports that it knows. */
  view(): readonly string[] {
    return [...this.remote.clusters]
      .flatMap(([cluster, all]) => [...all].map(([key, { endpoints }]) => textOf(cluster, key, endpoints)))
      .sort();
  }
}

export function textOf(cluster: string, key: string, endpoints: ExportedService['endpoints']): string {
  return `${cluster} ${key} ${endpoints
    .map(({ address }) => address)
    .sort()
    .join(',')}`;
}

export class ExportsBed {
  readonly members = new Map<string, BedMember>();
  readonly stale = new Set<string>();
  logged: (readonly Rejection[])[] = [];
  /** What the hub's clock says, milliseconds since 1970. */
  nowMs = 1000;
  hub: HubExports;

  constructor() {
    mock.timers.enable({ apis: ['setTimeout'] });
    this.hub = this.#start();
  }

  close(): void {
    this.hub.close();
    mock.timers.reset();
  }

  #start(): HubExports {
    const members = [...this.members.values()];
    return new HubExports({
      registry: {
        *members() {
          for (const { name } of members)
            yield { cluster: name, fingerprint: '', token: '', joinedMs: 0, leaving: false };
        },
        handle: (name) => name,
        spec: (name) => this.members.get(name)?.spec ?? { ...usualLimits, allowedPrefixes: [] },
        isStale: (name) => this.stale.has(name),
      },
      now: () => this.nowMs,
      onRefused: (_, __, rejections) => this.logged.push(rejections),
      onChanged: () => undefined,
    });
  }

  member(name: string, prefixes: readonly string[]): BedMember {
    const member = new BedMember(name, prefixes);
    this.members.set(name, member);
    this.setPrefixes(member, prefixes);
    return member;
  }

  setPrefixes(member: BedMember, cidrs: readonly string[], origin = 'connected'): void {
    member.prefixes = cidrs;
    const prefixes = cidrs.map((cidr) => ({ cidr, origin, tags: [], via: [], only: [], except: [] }));
    const attachments = [{ network: 'ts', vpc: 'v', routerId: 'r', prefixes, ports: [] }];
    this.hub.recordChanged({ name: member.name, handle: member.name, gateways: [], attachments });
  }

  setExports(member: BedMember, exports: readonly ExportedService[], namespaces: Iterable<string>): void {
    member.own.set(new Map(exports.map((one) => [`${one.namespace}/${one.name}`, one])), new Set(namespaces));
    this.#report(member);
  }

  connect(member: BedMember): void {
    this.disconnect(member);
    const session: MemberSession = {
      caller: { cluster: member.name, fingerprint: '' },
      onState: () => undefined,
      onExports: () => undefined,
      onPods: () => undefined,
      sendPods: () => undefined,
      onPaths: () => undefined,
      onEnd: () => undefined,
      send: () => undefined,
      refuse: (problem) => (member.refused = problem),
      sendExports: (update, onTaken) => {
        const deliver = (): void => {
          if (member.open === open) this.#deliver(member, update);
          onTaken();
        };
        if (member.isDeaf) member.waiting.push(deliver);
        else deliver();
      },
    };
    const open = { session, name: member.name } as OpenSession;
    member.open = open;
    member.own.begin();
    member.unanswered = 0;
    this.hub.opened(open);
    this.#report(member);
  }

  disconnect(member: BedMember): void {
    if (member.open !== undefined) this.hub.closed(member.open);
    member.open = undefined;
  }

  /** A hub that knows the memberships and the prefixes, and no exports. */
  restart(): void {
    for (const member of this.members.values()) this.disconnect(member);
    this.hub.close();
    this.hub = this.#start();
    for (const member of this.members.values()) this.setPrefixes(member, member.prefixes);
  }

  rename(member: BedMember, name: string): void {
    const before = member.name;
    this.members.delete(before);
    this.members.set(name, member);
    member.name = name;
    if (member.open !== undefined) member.open.name = name;
    this.hub.rename(before, name);
    this.setPrefixes(member, member.prefixes);
  }

  remove(member: BedMember): void {
    this.disconnect(member);
    this.members.delete(member.name);
    this.hub.drop(member.name);
  }

  listen(member: BedMember): void {
    member.isDeaf = false;
    for (const deliver of member.waiting.splice(0)) deliver();
  }

  /** Everything that waits is sent, and answered. */
  settle(): void {
    for (let turn = 0; turn < 20; turn += 1) mock.timers.tick(50);
  }

  #report(member: BedMember): void {
    if (member.open === undefined || member.unanswered > 0) return;
    const report = member.own.next();
    if (report === undefined) return;
    member.unanswered = report.revision;
    this.receive(member, report);
  }

  /** A report of the member as it is. */
  receive(member: BedMember, report: ExportReport): void {
    if (member.open === undefined) return;
    const message = member.isThin ? report : decodeReport(wire.requestSerialize({ exports: report }));
    const problem = this.hub.read(member.open, message);
    if (problem !== undefined) member.refused = problem;
  }

  #deliver(member: BedMember, update: ExportUpdate): void {
    if (!member.isThin) {
      const bytes = wire.responseSerialize({ exports: update });
      member.bytes += bytes.length;
      const decoded = decodeUpdate(bytes);
      member.updates.push(decoded);
      if (member.remote.apply(decoded) === undefined)
        throw new Error(`${member.name}: a change builds on what was not sent`);
    }
    member.own.sendAgain(update.wanted);
    if (update.revision >= member.unanswered) member.unanswered = 0;
    this.#report(member);
  }
}
