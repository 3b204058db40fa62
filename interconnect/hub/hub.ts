/**
 * The running hub, wired in the order the data flows: databases and registry → records → admission → rows → sessions.
 *
 * In: clients of IC-NB and IC-SB, the registry, the sessions that wait. Out: the only writer of both databases for our
 * members; zones that run plain ovn-ic keep writing their own rows. Called by main.ts and by tests. A restart reads all rows
 * back: if the databases agree, it writes nothing.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { openOvsdbTarget, type OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Desired } from '../../lib/desired/row.ts';
import { integerOf, textOf } from '../../lib/ovn/columns.ts';
import type { HubCalls } from '../link/server.ts';
import { routesAtOnce } from '../model/routes-at-once.ts';
import type { HubEndpoint } from './apply/endpoint.ts';
import { Enrolment } from './apply/enrolment.ts';
import { HubMembers, type HubTimes } from './apply/hub-members.ts';
import { openNetworks } from './apply/open-networks.ts';
import type { Registry } from './apply/registry.ts';
import { handleOfOwner, memberOwner } from './model/owners.ts';
import type { Networks } from './settle/networks.ts';
import { Zones } from './state/zones.ts';
import type { HubFigures } from './status/metrics.ts';
import { hubRoom, icKeyOf, readForeignSwitch, readMembers } from './watch/databases.ts';
import { ForeignZones } from './watch/foreign.ts';
import { DatabaseLiveness, type LivenessTimes } from './watch/liveness.ts';

const defaultTimes: HubTimes = { graceMs: 10_000, startGraceMs: 20_000, staleAfterMs: 600_000, retireMs: 5000 };

export const defaultTunnelCidr = '100.126.0.0/16';

export interface HubOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  readonly registry: Registry;
  /** Where members wait until the hub answers them. It is closed with the hub. */
  readonly endpoint: HubEndpoint;
  /** Of the hub's own network: one per IP family. */
  readonly transitCidrs: readonly string[];
  readonly paths: number;
  /** Network of the addresses within encrypted tunnels. */
  readonly tunnelCidr?: string;
  readonly times?: Partial<HubTimes>;
  readonly livenessTimes?: LivenessTimes;
  readonly now: () => number;
  readonly log: HubLog;
}

export interface HubLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Figures change while it runs. */
export interface Hub extends HubFigures {
  readonly port: number;
  close(): void;
}

/**
 * @throws HubStateError when the transit CIDRs cannot be used with what the databases hold, StoreUnavailable when the
 * store went away since it was opened
 */
export async function startHub(options: HubOptions): Promise<Hub> {
  const { northbound, southbound, registry, endpoint, now, log } = options;
  await registry.complete();

  const records = readMembers(southbound.cache);
  const zones = new Zones(registry, records.values());

  const { switches, rows } = openTargets(options, zones);
  const networks = openNetworks({ ...options, switches, rows, records });
  const foreign = new ForeignZones({
    southbound: southbound.cache,
    isMember: (name) => zones.isTaken(name),
    networkOf: (pathSwitch) => networks.path(pathSwitch)?.network,
  });
  const liveness = new DatabaseLiveness({
    northbound,
    southbound,
    now,
    log,
    ...(options.livenessTimes === undefined ? {} : { times: options.livenessTimes }),
    onChange: () => {
      // Until the hub has started, the members wait at the endpoint.
      endpoint.silent(liveness.silent);
      members.databasesChanged();
    },
  });
  const members = new HubMembers(
    {
      registry,
      networks,
      target: memberRows(rows, zones),
      untilApplied: async () => {
        await Promise.all([rows.untilApplied(), switches.untilApplied()]);
      },
      tunnelCidr: options.tunnelCidr ?? defaultTunnelCidr,
      isForeignSwitch: (name) => readForeignSwitch(northbound.cache, name) !== undefined,
      readForeign: (name) => foreign.read(name),
      silentDatabases: () => liveness.silent,
      report: (name, report) => registry.report(name, report),
      times: { ...defaultTimes, ...options.times },
      now,
      log,
    },
    records,
  );
  rows.onResult((owner, problem) => {
    const name = registry.nameOf(handleOfOwner(owner) ?? '');
    if (name !== undefined) members.result(name, problem);
  });
  members.foreignChanged(foreign.names());
  const enrolment = new Enrolment({
    registry,
    isForeign: (name) => foreign.has(name),
    refuseRename: (before, name, chassis) => members.refuseRename(before, name, chassis),
    renameMember: (before, name) => liveness.answered(members.rename(before, name)),
    removeMember: async (name) => {
      await liveness.answered(members.remove(name));
      zones.forget(name);
    },
    endSession: (name, problem) => members.endSession(name, problem),
    now,
    log,
  });

  // Changes during the rest of the start must not be missed.
  const unfollow = [
    followChanges(southbound, networks, foreign, members),
    registry.subscribe((cluster, change) => {
      if (change === 'limits') members.limitsChanged(cluster);
      else if (change === 'ended') void enrolment.ended(cluster);
      else void enrolment.resume();
    }),
  ];
  switches.seal();
  rows.seal();
  await Promise.all([rows.untilApplied(), switches.untilApplied()]);
  // Rows of members that the registry does not know are gone with this; their names are free again.
  for (const [handle, { name }] of records) if (registry.nameOf(handle) === undefined) zones.forget(name);
  await enrolment.resume();
  endpoint.handOver(callsOf(enrolment, members));
  const parts = [endpoint, enrolment, liveness, members, switches, rows];
  return runningHub({ members, endpoint, liveness }, () => {
    for (const stop of unfollow) stop();
    for (const part of parts) part.close();
  });
}

function openTargets({ northbound, southbound, log }: HubOptions, zones: Zones) {
  const common = { room: hubRoom, logger: log };
  const zoneOwner = (name: string): string | undefined => {
    const handle = zones.handleOf(name);
    return handle === undefined ? undefined : memberOwner(handle);
  };
  return {
    switches: openOvsdbTarget({ ...common, client: northbound }),
    rows: openOvsdbTarget({
      ...common,
      client: southbound,
      instalments: { tables: ['Route'], rows: routesAtOnce },
      keyOf: icKeyOf,
      ownerOf: (table, row) => (table === 'Availability_Zone' ? zoneOwner(textOf(row, 'name')) : undefined),
    }),
  };
}

/** The target of members' rows, which notes the member of each availability zone before it is written. */
function memberRows(rows: OvsdbTarget, zones: Zones) {
  return {
    set: (owner: string, desired: Desired): void => {
      const handle = handleOfOwner(owner);
      for (const { table, key } of desired.rows)
        if (handle !== undefined && table === 'Availability_Zone') zones.add(key, handle);
      rows.set(owner, desired);
    },
    drop: (owner: string) => rows.drop(owner),
    untilApplied: () => rows.untilApplied(),
  };
}

function callsOf(enrolment: Enrolment, members: HubMembers): HubCalls {
  return {
    join: (token, request, chassis) => enrolment.join(token, request, chassis),
    renew: (caller, request) => enrolment.renew(caller, request),
    leave: (caller) => enrolment.leave(caller),
    session: (session) => {
      const problem = enrolment.refuseCaller(session.caller);
      if (problem === undefined) members.open(session);
      else session.refuse(problem);
    },
  };
}

interface Running {
  readonly members: HubMembers;
  readonly endpoint: HubEndpoint;
  readonly liveness: DatabaseLiveness;
}

function runningHub({ members, endpoint, liveness }: Running, close: () => void): Hub {
  return {
    port: endpoint.port,
    get sessions() {
      return members.sessions;
    },
    get members() {
      return members.size;
    },
    get rejections() {
      return members.rejections;
    },
    get exports() {
      return members.exports;
    },
    get exportedEndpoints() {
      return members.exportedEndpoints;
    },
    get podSets() {
      return members.podSets;
    },
    get podAddresses() {
      return members.podAddresses;
    },
    get foreignZones() {
      return members.foreignZones;
    },
    get silentDatabases() {
      return liveness.silent.length;
    },
    get endpointNotAfterMs() {
      return endpoint.notAfterMs;
    },
    close,
  };
}

function followChanges(
  southbound: OvsdbClient,
  networks: Networks,
  foreign: ForeignZones,
  members: HubMembers,
): () => void {
  return southbound.subscribe((changes) => {
    for (const { table, before, after } of changes) {
      if (table !== 'Datapath_Binding') continue;
      const isSame = before !== undefined && after !== undefined && keyOf(before) === keyOf(after);
      for (const row of isSame ? [] : [before, after])
        if (row !== undefined && networks.follow(textOf(row, 'transit_switch')) !== undefined)
          members.datapathChanged();
    }
    members.foreignChanged(foreign.touched(changes));
  });
}

function keyOf(row: Parameters<typeof textOf>[0]): string {
  return `${textOf(row, 'transit_switch')} ${integerOf(row, 'tunnel_key')}`;
}
