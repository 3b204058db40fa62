/**
 * The sets of pods of a hub and its members in one process, without connections and databases, for tests only. Timers are mocked: nothing is sent before
 * `settle`. Every message passes through its wire form.
 */
import { mock } from 'node:test';
import type { Problem } from '../../lib/desired/problem.ts';
import { setOf } from '../../lib/policies/remote-peers.ts';
import { selectorText } from '../../lib/store/selector-index.ts';
import { hubService } from '../link/protocol.ts';
import type { MemberSession } from '../link/server.ts';
import type { Rejection } from '../model/messages.ts';
import type { PodReport, PodSet, PodUpdate, WantedSet } from '../model/pod-sets.ts';
import { OwnPods } from '../state/own-pods.ts';
import { RemotePods } from '../state/remote-pods.ts';
import { HubPods } from './apply/hub-pods.ts';
import type { OpenSession } from './apply/sessions.ts';

const service = hubService()['Session'];
if (service === undefined) throw new Error('the protocol has no Session');
const wire = service;

/** The canonical text of a selector of pods with a label. */
export function selectorOf(app: string): string {
  return selectorText({ matchLabels: { 'pod:app': app } });
}

export function wanted(app: string, ...clusters: readonly string[]): WantedSet {
  const selector = selectorOf(app);
  return { id: setOf(selector), selector, clusters };
}

export class PodsMember {
  name: string;
  readonly own = new OwnPods();
  remote = new RemotePods();
  prefixes: readonly string[] = [];
  wants: readonly WantedSet[] = [];
  /** By `app`: addresses of its pods, whether they are asked for or not. */
  pods = new Map<string, ReadonlySet<string>>();
  refusal = '';
  open: OpenSession | undefined;
  refused: Problem | undefined;
  unanswered = 0;
  bytes = 0;
  isDeaf = false;
  readonly waiting: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** `cluster app address,address` of all sets that it wants and knows. */
  view(): readonly string[] {
    return this.wants
      .flatMap(({ id, selector, clusters }) =>
        clusters.flatMap((cluster) => {
          const set = this.remote.get(cluster, id);
          return set === undefined ? [] : [`${cluster} ${selector} ${textOf(set)}`];
        }),
      )
      .sort();
  }
}

export function textOf({ addresses, refusal }: PodSet): string {
  return refusal === '' ? [...addresses].sort().join() : `(${refusal})`;
}

export class PodsBed {
  readonly members = new Map<string, PodsMember>();
  logged: (readonly Rejection[])[] = [];
  hub: HubPods;

  constructor() {
    mock.timers.enable({ apis: ['setTimeout'] });
    this.hub = this.#start();
  }

  close(): void {
    this.hub.close();
    mock.timers.reset();
  }

  #start(): HubPods {
    return new HubPods({
      isMember: (name) => this.members.has(name),
      onRefused: (_, __, rejections) => this.logged.push(rejections),
    });
  }

  member(name: string, prefixes: readonly string[]): PodsMember {
    const member = new PodsMember(name);
    this.members.set(name, member);
    this.setPrefixes(member, prefixes);
    return member;
  }

  setPrefixes(member: PodsMember, cidrs: readonly string[], origin = 'connected'): void {
    member.prefixes = cidrs;
    const prefixes = cidrs.map((cidr) => ({ cidr, origin, tags: [], via: [], only: [], except: [] }));
    const attachments = [{ network: 'ts', vpc: 'v', routerId: 'r', prefixes, ports: [] }];
    this.hub.recordChanged({ name: member.name, handle: member.name, gateways: [], attachments });
  }

  want(member: PodsMember, sets: readonly WantedSet[]): void {
    member.wants = sets;
    this.#sync(member);
  }

  setPods(member: PodsMember, app: string, addresses: readonly string[]): void {
    member.pods.set(app, new Set(addresses));
    this.#sync(member);
  }

  connect(member: PodsMember): void {
    this.disconnect(member);
    const session = {
      caller: { cluster: member.name, fingerprint: '' },
      refuse: (problem: Problem) => (member.refused = problem),
      sendPods: (update: PodUpdate, onTaken: () => void) => {
        const deliver = (): void => {
          if (member.open === open) this.#deliver(member, update);
          onTaken();
        };
        if (member.isDeaf) member.waiting.push(deliver);
        else deliver();
      },
    } as unknown as MemberSession;
    const open = { session, name: member.name } as OpenSession;
    member.open = open;
    member.own.begin();
    member.unanswered = 0;
    this.hub.opened(open);
    this.#sync(member);
  }

  disconnect(member: PodsMember): void {
    if (member.open !== undefined) this.hub.closed(member.open);
    member.open = undefined;
  }

  listen(member: PodsMember): void {
    member.isDeaf = false;
    for (const deliver of member.waiting.splice(0)) deliver();
  }

  /** A hub that knows the memberships and the prefixes, and no sets. */
  restart(): void {
    for (const member of this.members.values()) this.disconnect(member);
    this.hub.close();
    this.hub = this.#start();
    for (const member of this.members.values()) this.setPrefixes(member, member.prefixes);
  }

  rename(member: PodsMember, name: string): void {
    const before = member.name;
    this.members.delete(before);
    this.members.set(name, member);
    member.name = name;
    if (member.open !== undefined) member.open.name = name;
    this.hub.rename(before, name);
    this.setPrefixes(member, member.prefixes);
  }

  remove(member: PodsMember): void {
    this.disconnect(member);
    this.members.delete(member.name);
    this.hub.drop(member.name);
  }

  /** Everything that waits is sent, and answered. */
  settle(): void {
    for (let turn = 0; turn < 20; turn += 1) mock.timers.tick(50);
  }

  /** A report of the member as it is. */
  receive(member: PodsMember, report: PodReport): void {
    if (member.open === undefined) return;
    const bytes = wire.requestSerialize({ pods: report });
    const { pods } = wire.requestDeserialize(bytes) as unknown as { readonly pods: PodReport };
    const problem = this.hub.read(member.open, structuredClone(pods));
    if (problem !== undefined) member.refused = problem;
  }

  /** As the agent: sets of what is asked for. */
  #sync(member: PodsMember): void {
    const asked = member.remote.asked.map(({ id, selector }) => [id, selector] as const);
    const sets = asked.map(([id, selector]): readonly [string, PodSet] => {
      const app = [...member.pods.keys()].find((one) => selectorOf(one) === selector);
      const addresses = member.refusal === '' && app !== undefined ? member.pods.get(app) : undefined;
      return [id, { addresses: addresses ?? new Set<string>(), refusal: member.refusal }];
    });
    member.own.set(member.wants, new Map(sets));
    this.#report(member);
    if (member.unanswered > 0 || !member.own.isWantedSent) return;
    member.remote.keep((cluster, id) => member.wants.some((one) => one.id === id && one.clusters.includes(cluster)));
  }

  #report(member: PodsMember): void {
    if (member.open === undefined || member.unanswered > 0) return;
    const report = member.own.next();
    if (report === undefined) return;
    member.unanswered = report.revision;
    this.receive(member, report);
  }

  #deliver(member: PodsMember, update: PodUpdate): void {
    const bytes = wire.responseSerialize({ pods: update });
    member.bytes += bytes.length;
    const { pods } = wire.responseDeserialize(bytes) as unknown as { readonly pods: PodUpdate };
    const decoded = structuredClone(pods);
    if (!member.remote.apply(decoded)) throw new Error(`${member.name}: a change builds on what was not sent`);
    if (decoded.asked !== null) member.own.asked(new Set(decoded.asked.sets.map(({ id }) => id)));
    if (decoded.revision >= member.unanswered) member.unanswered = 0;
    this.#sync(member);
  }
}
