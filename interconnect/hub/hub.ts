/**
 * The running hub, wired in the data's way: databases and registry → records → admission → rows → sessions.
 *
 * In: clients of IC-NB and IC-SB, the registry, the sessions that wait. Out: the only writer of both databases for
 * our members; zones that run plain ovn-ic keep writing their own rows. Called by main.ts and by tests. A restart
 * reads everything back: against databases that agree it writes nothing.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { openOvsdbTarget, type OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Desired } from '../../lib/desired/row.ts';
import type { HubCalls } from '../link/server.ts';
import { integerOf, textOf } from '../../lib/ovn/columns.ts';
import { Enrolment } from './apply/enrolment.ts';
import type { Lobby } from './apply/endpoint.ts';
import { openNetworks } from './apply/open-networks.ts';
import { handleOfOwner, memberOwner } from './model/owners.ts';
import type { Networks } from './settle/networks.ts';
import type { MemberRecord } from './model/record.ts';
import type { Registry } from './apply/registry.ts';
import { Roster, type RosterTimes } from './apply/hub-members.ts';
import { hubRoom, icKeyOf, readForeignSwitch, readMembers } from './watch/databases.ts';
import { ForeignZones } from './watch/foreign.ts';
import { Silence, type SilenceTimes } from './watch/liveness.ts';

const defaultTimes: RosterTimes = { graceMs: 10_000, startGraceMs: 20_000, staleAfterMs: 600_000, retireMs: 5000 };

export interface HubOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  readonly registry: Registry;
  /** Where members wait until the hub answers them. It is closed with the hub. */
  readonly lobby: Lobby;
  /** Of the hub's own network: one per IP family. */
  readonly transitCidrs: readonly string[];
  readonly paths: number;
  readonly times?: Partial<RosterTimes>;
  readonly silenceTimes?: SilenceTimes;
  readonly now: () => number;
  readonly log: HubLog;
}

export interface HubLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Figures change while it runs. */
export interface Hub {
  readonly port: number;
  readonly sessions: number;
  readonly members: number;
  readonly rejections: number;
  readonly foreignZones: number;
  /** Databases that do not answer. */
  readonly silentDatabases: number;
  /** Unix milliseconds. */
  readonly endpointNotAfterMs: number;
  close(): void;
}

/**
 * @throws HubStateError when the transit CIDRs cannot be used with what the databases hold, StoreUnavailable when the
 * store went away since it was opened
 */
export async function startHub(options: HubOptions): Promise<Hub> {
  const { northbound, southbound, registry, now, log } = options;
  await registry.complete();
  const records = readMembers(southbound.cache);
  const zones = new Zones(registry, records.values());
  const switches = openOvsdbTarget({ client: northbound, room: hubRoom, logger: log });
  const rows = openOvsdbTarget({
    client: southbound,
    room: hubRoom,
    logger: log,
    keyOf: icKeyOf,
    ownerOf: (table, row) => (table === 'Availability_Zone' ? zones.ownerOf(textOf(row, 'name')) : undefined),
  });
  const networks = openNetworks({ ...options, switches, rows, records });
  const foreign = new ForeignZones({
    southbound: southbound.cache,
    isMember: (name) => zones.isTaken(name),
    networkOf: (pathSwitch) => networks.path(pathSwitch)?.network,
  });
  const silence = new Silence({
    northbound,
    southbound,
    now,
    log,
    ...(options.silenceTimes === undefined ? {} : { times: options.silenceTimes }),
    onChange: () => {
      // Until the hub has started, the members wait in the lobby.
      options.lobby.silent(silence.silent);
      roster.databasesChanged();
    },
  });
  const roster = openRoster({ options, networks, foreign, zones, switches, rows, silence }, records);
  roster.foreignChanged(foreign.names());
  const enrolment = new Enrolment({
    registry,
    isForeign: (name) => foreign.has(name),
    refuseRename: (before, name, chassis) => roster.refuseRename(before, name, chassis),
    renameMember: (before, name) => silence.answered(roster.rename(before, name)),
    removeMember: async (name) => {
      await silence.answered(roster.remove(name));
      zones.forget(name);
    },
    endSession: (name, problem) => roster.endSession(name, problem),
    now,
    log,
  });
  // From here on: what changes while the start goes on must not be missed.
  const unfollow = [
    followChanges(southbound, networks, foreign, roster),
    registry.subscribe((cluster, change) => {
      if (change === 'limits') roster.limitsChanged(cluster);
      else if (change === 'ended') void enrolment.ended(cluster);
      else void enrolment.resume();
    }),
  ];
  switches.seal();
  rows.seal();
  await Promise.all([rows.untilApplied(), switches.untilApplied()]);
  // Rows of those that the registry does not know are gone with this; their names are free again.
  for (const [handle, { name }] of records) if (registry.nameOf(handle) === undefined) zones.forget(name);
  await enrolment.resume();
  const { lobby } = options;
  lobby.handOver(callsOf(enrolment, roster));
  const parts = [lobby, enrolment, silence, roster, switches, rows];
  return runningHub({ roster, lobby, silence }, () => {
    for (const stop of unfollow) stop();
    for (const part of parts) part.close();
  });
}

/** Which availability zones are our members': the table has no external_ids to say so. */
class Zones {
  readonly #registry: Registry;
  /** Name → handle. Also of members that are no more, and former names: their rows are ours to take away. */
  readonly #handles: Map<string, string>;

  constructor(registry: Registry, records: Iterable<MemberRecord>) {
    this.#registry = registry;
    this.#handles = new Map(Array.from(records, ({ name, handle }) => [name, handle]));
  }

  /** A zone of this name is no foreign one. Ports of a member have its handle in their names, whatever it is called. */
  isTaken(name: string): boolean {
    return this.#handleOf(name) !== undefined || this.#registry.nameOf(name) !== undefined;
  }

  ownerOf(name: string): string | undefined {
    const handle = this.#handleOf(name);
    return handle === undefined ? undefined : memberOwner(handle);
  }

  add(name: string, handle: string): void {
    this.#handles.set(name, handle);
  }

  /** With it go its former names. */
  forget(name: string): void {
    const handle = this.#handles.get(name);
    for (const [one, its] of this.#handles) if (its === handle) this.#handles.delete(one);
  }

  #handleOf(name: string): string | undefined {
    const isMember = this.#registry.member(name) !== undefined;
    return isMember ? this.#registry.handle(name) : this.#handles.get(name);
  }
}

interface Parts {
  readonly options: HubOptions;
  readonly networks: Networks;
  readonly foreign: ForeignZones;
  readonly zones: Zones;
  readonly switches: OvsdbTarget;
  readonly rows: OvsdbTarget;
  readonly silence: Silence;
}

function openRoster(
  { options, networks, foreign, zones, switches, rows, silence }: Parts,
  records: ReadonlyMap<string, MemberRecord>,
): Roster {
  const { northbound, registry, now, log } = options;
  const target = {
    set: (owner: string, desired: Desired): void => {
      const handle = handleOfOwner(owner);
      for (const { table, key } of desired.rows)
        if (handle !== undefined && table === 'Availability_Zone') zones.add(key, handle);
      rows.set(owner, desired);
    },
    drop: (owner: string) => rows.drop(owner),
    untilApplied: () => rows.untilApplied(),
  };
  const roster = new Roster(
    {
      registry,
      networks,
      target,
      untilApplied: async () => {
        await Promise.all([rows.untilApplied(), switches.untilApplied()]);
      },
      isForeignSwitch: (name) => readForeignSwitch(northbound.cache, name) !== undefined,
      readForeign: (name) => foreign.read(name),
      silentDatabases: () => silence.silent,
      report: (name, ports, presence) => registry.report(name, ports, presence),
      times: { ...defaultTimes, ...options.times },
      now,
      log,
    },
    records,
  );
  rows.onResult((owner, problem) => {
    const name = registry.nameOf(handleOfOwner(owner) ?? '');
    if (name !== undefined) roster.result(name, problem);
  });
  return roster;
}

function callsOf(enrolment: Enrolment, roster: Roster): HubCalls {
  return {
    join: (token, request, chassis) => enrolment.join(token, request, chassis),
    renew: (caller, request) => enrolment.renew(caller, request),
    leave: (caller) => enrolment.leave(caller),
    session: (session) => {
      const problem = enrolment.refuseCaller(session.caller);
      if (problem === undefined) roster.open(session);
      else session.refuse(problem);
    },
  };
}

interface Running {
  readonly roster: Roster;
  readonly lobby: Lobby;
  readonly silence: Silence;
}

function runningHub({ roster, lobby, silence }: Running, close: () => void): Hub {
  return {
    port: lobby.port,
    get sessions() {
      return roster.sessions;
    },
    get members() {
      return roster.size;
    },
    get rejections() {
      return roster.rejections;
    },
    get foreignZones() {
      return roster.foreignZones;
    },
    get silentDatabases() {
      return silence.silent.length;
    },
    get endpointNotAfterMs() {
      return lobby.notAfterMs;
    },
    close,
  };
}

function followChanges(southbound: OvsdbClient, networks: Networks, foreign: ForeignZones, roster: Roster): () => void {
  return southbound.subscribe((changes) => {
    for (const { table, before, after } of changes) {
      if (table !== 'Datapath_Binding') continue;
      const isSame = before !== undefined && after !== undefined && keyOf(before) === keyOf(after);
      for (const row of isSame ? [] : [before, after])
        if (row !== undefined && networks.follow(textOf(row, 'transit_switch')) !== undefined) roster.datapathChanged();
    }
    roster.foreignChanged(foreign.touched(changes));
  });
}

function keyOf(row: Parameters<typeof textOf>[0]): string {
  return `${textOf(row, 'transit_switch')} ${integerOf(row, 'tunnel_key')}`;
}
