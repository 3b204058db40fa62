/** A hub on real IC databases with members that speak its protocol, for tests only. State is kept in memory. */
import { once } from 'node:events';
import { openOvsdb, type OvsdbClient, type Row } from 'ovsdb-client';
import { createToken, readToken, type TokenClaims } from '../../lib/pki/join-token.ts';
import { schemaFile, startOvsdbServer, type TestServer } from '../../lib/ovsdb/src/testing.ts';
import { createKey, createRequest } from '../../lib/pki/certificate.ts';
import { createHubAuthority } from '../link/certificate.ts';
import { joinHub, openHubLink, type HubLink, type HubSession, type LinkIdentity } from '../link/client.ts';
import type { Attachment, HubUpdate, Member, MemberState, PathReport, Prefix, Rejection } from '../model/messages.ts';
import { exportKey } from '../model/export-change.ts';
import type { ExportedService } from '../model/exported-service.ts';
import { OwnExports } from '../state/own-exports.ts';
import { RemoteExports } from '../state/remote-exports.ts';
import type { HubRefused, HubUnreachable } from '../link/protocol.ts';
import { openHubEndpoint, type HubEndpoint } from './apply/endpoint.ts';
import { startHub, type Hub, type HubOptions } from './hub.ts';
import { MemoryStore } from './apply/memory-store.ts';
import { Registry } from './apply/registry.ts';
import { icNorthbound, icSouthbound } from './watch/databases.ts';

const patienceMs = 60_000;

export const bedTimes = { graceMs: 400, startGraceMs: 400, staleAfterMs: 60_000, retireMs: 150 };

/** A prefix as most are. */
export function prefix(cidr: string, rest: Partial<Prefix> = {}): Prefix {
  return { cidr, origin: 'connected', tags: [], via: [], only: [], except: [], ...rest };
}

/** A part in a network with this gateway as anchor and holder of two paths. */
export function attachment(prefixes: readonly (string | Prefix)[], rest: Partial<Attachment> = {}): Attachment {
  return {
    transitSwitch: 'ts',
    vpc: 'ovn-cluster',
    routerId: 'router',
    prefixes: prefixes.map((one) => (typeof one === 'string' ? prefix(one) : one)),
    ends: [],
    held: [],
    cidrs: [],
    paths: 0,
    clusters: [],
    ...rest,
  };
}

/** A member as the hub knows it: it joins, sends its state, and keeps what it receives. */
export class TestMember {
  readonly #link: HubLink;
  #session: HubSession | undefined;
  #revision = 0;
  readonly #sleepers: (() => void)[] = [];
  last: HubUpdate | undefined;
  updates = 0;
  readonly members = new Map<string, Member>();
  exportUpdates = 0;
  exportRevision = 0;
  readonly own = new OwnExports();
  exports = new RemoteExports();
  ended: HubRefused | HubUnreachable | undefined;

  constructor(address: string, identity: LinkIdentity) {
    this.#link = openHubLink(address, identity);
  }

  open(): this {
    this.#session = this.#link.session({
      onUpdate: (update) => {
        if (update.full)
          for (const name of this.members.keys()) if (!update.expected.includes(name)) this.members.delete(name);
        for (const member of update.members) this.members.set(member.name, structuredClone(member));
        for (const name of update.removed) this.members.delete(name);
        this.last = update;
        this.updates += 1;
        this.#wake();
      },
      onPods: () => undefined,
      onExports: (update) => {
        this.exportUpdates += 1;
        if (this.exports.apply(update) === undefined) throw new Error('a change builds on what was never sent');
        this.exportRevision = update.revision;
        this.own.sendAgain(update.wanted);
        this.#wake();
      },
      onEnd: (error) => {
        this.ended = error;
        this.#wake();
      },
    });
    return this;
  }

  /** Sends its state and waits until it is in the databases; the chassis is the anchor and holder of all its paths. */
  async sendAttachments(
    attachments: readonly Attachment[],
    chassis: string,
    ip: string,
    unreachable: readonly string[] = [],
  ): Promise<readonly Rejection[]> {
    const gateways: MemberState['gateways'] = [
      { chassis, hostname: `host-${chassis}`, encaps: [{ type: 'geneve', ip, options: { csum: 'true' } }] },
    ];
    const ends = [0, 1, 2, 3].map((index) => ({ index, gateways: [chassis], holder: chassis, draining: false }));
    const filled = attachments.map((one) => (one.ends.length === 0 ? { ...one, ends } : one));
    return await this.sendState({
      gateways,
      attachments: filled,
      unreachable,
      tellsExports: true,
      tellsPaths: true,
      tellsPods: true,
    });
  }

  /** Sends a state as it is. */
  async sendState(state: Omit<MemberState, 'revision'>): Promise<readonly Rejection[]> {
    const revision = ++this.#revision;
    this.#session?.send({ revision, ...state });
    await this.until(() => this.last?.revision === revision);
    return structuredClone(this.last?.rejections ?? []);
  }

  /** Sends its exports and namespaces, and waits until the hub has read them. */
  async sendExports(exports: readonly ExportedService[], namespaces: readonly string[]): Promise<void> {
    this.own.set(new Map(exports.map((one) => [exportKey(one), one])), new Set(namespaces));
    for (let report = this.own.next(); report !== undefined; report = this.own.next()) {
      const { revision } = report;
      this.#session?.sendExports(report);
      await this.until(() => this.exportRevision === revision);
    }
  }

  sendPaths(report: PathReport): void {
    this.#session?.sendPaths(report);
  }

  async until(condition: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(patienceMs);
    while (!condition()) {
      if (this.ended !== undefined) throw new Error(`the session ended: ${this.ended.message}`);
      await new Promise<void>((resolve, reject) => {
        this.#sleepers.push(resolve);
        const state = `last: ${JSON.stringify(this.last)}, ended: ${this.ended?.message}`;
        deadline.addEventListener('abort', () => reject(new Error(`no such update in time; ${state}`)), { once: true });
      });
    }
  }

  /** The ports it was given on a network, as it would report them to the hub. */
  held(network = 'ts'): Attachment['held'] {
    const paths = this.last?.transitSwitches.find(({ name }) => name === network)?.paths ?? [];
    return paths.flatMap(({ port }) => (port === null ? [] : [structuredClone(port)]));
  }

  #wake(): void {
    for (const resolve of this.#sleepers.splice(0)) resolve();
  }

  leave(): Promise<void> {
    return this.#link.leave();
  }
  close(): void {
    this.#session?.end();
    this.#link.close();
  }
}

export class HubBed {
  /** Of IC-NB, then of IC-SB: one, or the members of a raft cluster. */
  servers: readonly TestServer[] = [];
  clients: OvsdbClient[] = [];
  store!: MemoryStore;
  registry!: Registry;
  hub!: Hub;
  transactions = 0;
  warnings: string[] = [];
  #port = 0;
  readonly #identities = new Map<string, LinkIdentity>();
  readonly #members: TestMember[] = [];

  async up(options: Partial<HubOptions> = {}): Promise<void> {
    await this.startDatabases();
    await this.startOver(options);
  }

  /** A hub that never was before, over the databases there are. */
  async startOver(options: Partial<HubOptions> = {}): Promise<void> {
    this.store = new MemoryStore(await createHubAuthority(Date.now()));
    await this.start(options);
  }

  async startDatabases(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    this.servers = await Promise.all(
      (['nb', 'sb'] as const).map((name) => startOvsdbServer({ schema: schemaFile(`ovn-ic-${name}`) })),
    );
  }

  async start(options: Partial<HubOptions> = {}): Promise<void> {
    const northbound = await openOvsdb({ ...icNorthbound, remotes: [this.servers[0]?.remote ?? ''] });
    const remotes = this.servers.slice(1).map((server) => server.remote);
    const southbound = await openOvsdb({ ...icSouthbound, remotes });
    await this.take(await this.openHubEndpoint(), { northbound, southbound }, options);
  }

  openHubEndpoint(): Promise<HubEndpoint> {
    this.registry = new Registry(this.store);
    return openHubEndpoint({
      listen: `127.0.0.1:${this.#port}`,
      registry: this.registry,
      now: Date.now,
      log: { info: () => undefined },
    });
  }

  /** The hub itself, once its databases are open. */
  async take(
    endpoint: HubEndpoint,
    clients: Pick<HubOptions, 'northbound' | 'southbound'>,
    options: Partial<HubOptions> = {},
  ): Promise<void> {
    this.clients = [clients.northbound, clients.southbound];
    for (const client of this.clients) client.subscribe(() => (this.transactions += 1));
    this.hub = await startHub({
      ...clients,
      registry: this.registry,
      endpoint,
      transitCidrs: ['100.100.0.0/24'],
      paths: 2,
      now: Date.now,
      times: bedTimes,
      log: { info: () => undefined, warn: (_, message) => this.warnings.push(message) },
      ...options,
    }).catch(async (error: unknown) => {
      endpoint.close();
      await this.#close();
      throw error;
    });
    this.#port = this.hub.port;
  }

  async #close(): Promise<void> {
    this.registry.close();
    await Promise.all(this.clients.map((client) => client.close()));
  }

  /** Ends the hub; its databases and store stay. */
  async stop(): Promise<void> {
    for (const member of this.#members.splice(0)) member.close();
    this.hub.close();
    await this.#close();
  }

  async restart(options: Partial<HubOptions> = {}): Promise<void> {
    await this.stop();
    await this.start(options);
    this.transactions = 0;
  }

  async down(): Promise<void> {
    await this.stop();
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  token(cluster: string, wish: { ttlMs?: number; replace?: boolean; allow?: readonly string[] } = {}): string {
    return createToken(this.registry.authority, {
      cluster,
      hub: this.address,
      expiresMs: Date.now() + (wish.ttlMs ?? 60_000),
      replace: wish.replace ?? false,
      allowedPrefixes: wish.allow ?? [],
    });
  }

  async redeem(text: string, key: string, chassis: readonly string[] = []): Promise<LinkIdentity> {
    const { ca } = readToken(text) as TokenClaims;
    return { ...(await joinHub(this.address, ca, text, await createRequest(key, 'whoever'), chassis)), key };
  }

  /** The member asks for another name; its sessions from now on are by that name. */
  async rename(before: string, name: string, chassis: readonly string[] = []): Promise<LinkIdentity> {
    const identity = await this.redeem(this.token(name), this.identity(before).key, chassis);
    this.#identities.delete(before);
    this.#identities.set(name, identity);
    return identity;
  }

  identity(cluster: string): LinkIdentity {
    const identity = this.#identities.get(cluster);
    if (identity === undefined) throw new Error(`${cluster} has not joined here`);
    return identity;
  }

  /** A session of the cluster, which joins the first time. */
  async member(cluster: string, wish: { allow?: readonly string[] } = {}): Promise<TestMember> {
    const known = this.#identities.get(cluster);
    const isMember = this.registry.member(cluster) !== undefined;
    const identity =
      known !== undefined && isMember ? known : await this.redeem(this.token(cluster, wish), await createKey());
    this.#identities.set(cluster, identity);
    return this.session(identity);
  }

  /** Whether or not the hub still knows the key. */
  session(identity: LinkIdentity): TestMember {
    const member = new TestMember(this.address, identity).open();
    this.#members.push(member);
    return member;
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get southbound(): OvsdbClient {
    return this.clients[1] as OvsdbClient;
  }

  rows(table: string): Row[] {
    const database = table === 'Transit_Switch' ? 0 : 1;
    return [...(this.clients[database]?.cache.table(table).rows.values() ?? [])];
  }

  column(table: string, column: string): string[] {
    return this.rows(table)
      .map((row) => {
        const value = row[column];
        return typeof value === 'string' ? value : JSON.stringify(value);
      })
      .sort();
  }

  /** Resolves when a database's change has made it so. */
  async until(condition: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(patienceMs);
    while (!condition()) {
      const tick = new EventTarget();
      const unsubscribe = this.clients.map((client) => client.subscribe(() => tick.dispatchEvent(new Event('change'))));
      const timer = setTimeout(() => tick.dispatchEvent(new Event('change')), 50);
      await once(tick, 'change', { signal: deadline });
      clearTimeout(timer);
      for (const stop of unsubscribe) stop();
    }
  }

  /** A zone with plain ovn-ic: a gateway, a port on `ts`, a route. */
  async foreignZone(name: string, options: { octet: number; route: string; address: string }): Promise<void> {
    const { octet, route, address } = options;
    await this.southbound.transact([
      { op: 'insert', table: 'Availability_Zone', row: { name }, uuidName: 'az' },
      {
        op: 'insert',
        table: 'Encap',
        row: { type: 'geneve', ip: `172.30.0.${octet}`, gateway_name: `gw-${name}` },
        uuidName: 'encap',
      },
      {
        op: 'insert',
        table: 'Gateway',
        row: {
          name: `gw-${name}`,
          hostname: name,
          availability_zone: { named: 'az' },
          encaps: [{ named: 'encap' }],
        },
      },
      {
        op: 'insert',
        table: 'Port_Binding',
        row: {
          logical_port: `ts-${name}`,
          transit_switch: 'ts',
          availability_zone: { named: 'az' },
          tunnel_key: octet,
          gateway: `gw-${name}`,
          address: `00:00:00:00:00:01 ${address}/27`,
        },
      },
      {
        op: 'insert',
        table: 'Route',
        row: {
          transit_switch: 'ts',
          availability_zone: { named: 'az' },
          route_table: '',
          ip_prefix: route,
          nexthop: address,
          origin: 'connected',
        },
      },
    ]);
  }
}
