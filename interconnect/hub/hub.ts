/**
 * The running hub, wired in the data's way: databases → records → admission → rows → sessions.
 *
 * In: clients of IC-NB and IC-SB, the registry, an address to listen on. Out: the only writer of both databases for
 * our members; zones that run plain ovn-ic keep writing their own rows. Called by main.ts and by tests. A restart
 * reads everything back: against databases that agree it writes nothing.
 */
import type { OvsdbClient } from 'ovsdb-client';
import { openOvsdbTarget, type OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { cidrSize, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { issueHub, validityOf } from '../link/certificate.ts';
import { serveHub } from '../link/server.ts';
import { textOf } from '../watch/row.ts';
import { Enrolment } from './apply/enrolment.ts';
import { firstGlobalKey, lastGlobalKey, lowestFree } from './plan/allocation.ts';
import { memberOwner, networkOwner, planDatapath, planSwitch } from './plan/rows.ts';
import type { TransitNetwork } from './state/record.ts';
import { HubStateError, type Registry } from './state/registry.ts';
import { Roster } from './state/roster.ts';
import { hubRoom, icKeyOf, readForeign, readMembers, readNetwork } from './watch/databases.ts';

const endpointCheckMs = 60 * 60 * 1000;
/** The one transit switch; named as Kube-OVN's first. */
const networkName = 'ts';

export interface HubOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  readonly registry: Registry;
  readonly listen: string;
  readonly transitCidr: string;
  readonly now: () => number;
  /** How long a member may be away before the others are told. Default 10 s. */
  readonly graceMs?: number;
  readonly log: HubLog;
}

export interface HubLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface Hub {
  readonly port: number;
  readonly sessions: number;
  readonly members: number;
  close(): void;
}

/** @throws HubStateError when the transit CIDR cannot be used with what the databases hold */
export async function startHub(options: HubOptions): Promise<Hub> {
  const { northbound, southbound, registry, now, log } = options;
  const records = readMembers(southbound.cache, networkName);
  // Without a state directory members could not come back, but their rows are still ours to keep and to give on.
  const isMember = (name: string): boolean => registry.member(name) !== undefined || records.has(name);
  const zoneOwner = (table: string, name: string): string | undefined =>
    table === 'Availability_Zone' && isMember(name) ? memberOwner(name) : undefined;
  const switches = openOvsdbTarget({ client: northbound, room: hubRoom, logger: log });
  const target = openOvsdbTarget({
    client: southbound,
    room: hubRoom,
    logger: log,
    keyOf: icKeyOf,
    ownerOf: (table, row) => zoneOwner(table, textOf(row, 'name')),
  });
  const network = keepNetwork(options, switches, target);
  const roster = new Roster({ network, target, now, graceMs: options.graceMs ?? 10_000, log }, records);
  target.onResult((owner, problem) => {
    if (owner.startsWith(memberOwner(''))) roster.result(owner.slice(memberOwner('').length), problem);
  });
  const foreign = () => readForeign(southbound.cache, isMember);
  roster.setForeign(foreign());
  const unsubscribe = southbound.subscribe(() => roster.setForeign(foreign()));
  switches.seal();
  target.seal();
  const enrolment = new Enrolment({
    registry,
    isForeign: (name) => foreign().some((member) => member.name === name),
    removeMember: (name) => roster.remove(name),
    now,
    log,
  });
  await enrolment.resume();
  const endpoint = await openEndpoint(options, enrolment, roster);
  return {
    port: endpoint.port,
    get sessions() {
      return roster.sessions;
    },
    get members() {
      return roster.members;
    },
    close: () => {
      unsubscribe();
      roster.close();
      endpoint.close();
      switches.close();
      target.close();
    },
  };
}

/** Makes the transit switch and its datapath; yields to a datapath that a foreign zone made first. */
function keepNetwork(options: HubOptions, switches: OvsdbTarget, target: OvsdbTarget): () => TransitNetwork {
  const read = () => readNetwork(options.northbound.cache, options.southbound.cache, networkName);
  const cidr = checkCidr(options.transitCidr, read().cidr);
  const free = lowestFree(firstGlobalKey, lastGlobalKey, read().usedKeys);
  let network: TransitNetwork = { name: networkName, cidr, tunnelKey: read().tunnelKey ?? free ?? firstGlobalKey };
  switches.set(networkOwner, planSwitch(network));
  const follow = (): void => {
    const { isForeign, tunnelKey } = read();
    if (tunnelKey !== undefined && tunnelKey !== network.tunnelKey) network = { ...network, tunnelKey };
    if (isForeign) target.drop(networkOwner);
    else target.set(networkOwner, planDatapath(network));
  };
  follow();
  options.southbound.subscribe((changes) => {
    if (changes.some(({ table }) => table === 'Datapath_Binding')) follow();
  });
  return () => network;
}

function checkCidr(wanted: string, found: string | undefined): string {
  const cidr = parseCidr(wanted);
  if (cidr === undefined || cidrSize(cidr) < 4n)
    throw new HubStateError(
      `--transit-cidr ${wanted} is no network with room for two members; write for example 100.100.0.0/16`,
    );
  const text = formatCidr(cidr);
  if (found !== undefined && found !== text)
    throw new HubStateError(
      `transit switch ${networkName} has ${found}, --transit-cidr says ${text}; members keep their addresses: start with ${found}, or let all members leave and delete the switch`,
    );
  return text;
}

async function openEndpoint(
  options: HubOptions,
  enrolment: Enrolment,
  roster: Roster,
): Promise<{ port: number; close(): void }> {
  const { registry, now, log } = options;
  let endpoint = await issueHub(registry.authority, now());
  const server = await serveHub({
    listen: options.listen,
    authority: registry.authority.certificate,
    endpoint,
    calls: {
      join: (token, request) => enrolment.join(token, request),
      renew: (caller, request) => enrolment.renew(caller, request),
      leave: (caller) => enrolment.leave(caller),
      session: (session) => {
        const problem = enrolment.refuseCaller(session.caller);
        if (problem === undefined) roster.open(session);
        else session.refuse(problem);
      },
    },
  });
  const renew = async (): Promise<void> => {
    const { notBeforeMs, notAfterMs } = validityOf(endpoint.certificate);
    if (now() < notBeforeMs + ((notAfterMs - notBeforeMs) * 2) / 3) return;
    endpoint = await issueHub(registry.authority, now());
    server.renewEndpoint(endpoint);
    log.info({}, 'renewed the certificate of the endpoint');
  };
  const timer = setInterval(() => void renew(), endpointCheckMs);
  return {
    port: server.port,
    close: () => {
      clearInterval(timer);
      server.close();
    },
  };
}
