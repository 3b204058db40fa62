/**
 * What of a member's state the hub takes. In: its wish, what it has, what others have. Out: its record and what was
 * refused, with the holder's name. Pure. First owner keeps: only what nobody else holds is given.
 */
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Attachment, Gateway, MemberState, PathEnd, Rejection } from '../../link/messages.ts';
import type { Others } from '../state/holdings.ts';
import {
  logicalPortOf,
  type AllocatedPort,
  type AttachmentRecord,
  type MemberRecord,
  type Network,
  type NetworkPath,
  type PortRecord,
} from '../state/record.ts';
import { allocatePort } from './allocation.ts';
import { admitPrefixes, type Limits } from './prefixes.ts';

export interface AdmissionFacts {
  readonly cluster: string;
  /** The name it first joined with: that of its ports and of its HubMember. */
  readonly handle: string;
  readonly own: MemberRecord | undefined;
  readonly limits: Limits;
  readonly others: Others;
  /** Those it takes part in. */
  readonly networks: ReadonlyMap<string, Network>;
  /** All there are. */
  readonly transits: readonly Pick<Network, 'name' | 'cidrs'>[];
  /** Ports recorded for it besides those of `own`. */
  readonly recorded: readonly AllocatedPort[];
  /** Whether somebody may have a port that the hub does not know of. */
  readonly hasUnknownPorts: boolean;
}

export interface Admission {
  readonly record: MemberRecord;
  readonly rejections: readonly Rejection[];
}

export function admit(wish: MemberState, facts: AdmissionFacts): Admission {
  const rejections: Rejection[] = [];
  const gateways = admitGateways(wish.gateways, facts.others, rejections);
  const attachments: AttachmentRecord[] = [];
  let room = facts.limits.maxPrefixes;
  for (const attachment of wish.attachments) {
    const network = facts.networks.get(attachment.transitSwitch);
    if (network === undefined || attachments.some((one) => one.network === network.name)) continue;
    const record = admitAttachment(attachment, network, { ...facts, gateways, room }, rejections);
    if (record === undefined) continue;
    room -= record.prefixes.length;
    attachments.push(record);
  }
  attachments.sort((a, b) => (a.network < b.network ? -1 : 1));
  return { record: { name: facts.cluster, handle: facts.handle, gateways, attachments }, rejections };
}

/** A wish that asks for what the record holds. */
export function wishOf({ gateways, attachments }: MemberRecord): MemberState {
  const wishes = attachments.map(({ network, vpc, routerId, prefixes, ports }) => ({
    transitSwitch: network,
    vpc,
    routerId,
    prefixes,
    ends: ports.map(({ index, gateways: order, holder, draining }) => ({ index, gateways: order, holder, draining })),
    held: [],
    cidrs: [],
    paths: 0,
    clusters: [],
  }));
  return { revision: 0, gateways, attachments: wishes, unreachable: [] };
}

interface AttachmentFacts extends AdmissionFacts {
  readonly gateways: readonly Gateway[];
  readonly room: number;
}

function admitAttachment(
  wish: Attachment,
  network: Network,
  facts: AttachmentFacts,
  rejections: Rejection[],
): AttachmentRecord | undefined {
  const own = facts.own?.attachments.find((one) => one.network === network.name);
  const ports: PortRecord[] = [];
  for (const path of network.switches) {
    const claimed = [...(own?.ports ?? []), ...facts.recorded, ...wish.held];
    const has = own?.ports.some((port) => port.switch === path.switch) === true;
    // What goes is not given anew.
    if (path.retiring && !has) continue;
    const port = admitPort(path, claimed, facts);
    if ('code' in port) rejections.push(port);
    else ports.push({ ...port, ...endOf(wish.ends, path.index, facts.gateways) });
  }
  // Without a port it has no part in it, and its prefixes could not be reached.
  if (ports.length === 0) return undefined;
  const admitted = admitPrefixes(wish.prefixes, {
    cluster: facts.cluster,
    handle: facts.handle,
    network,
    transits: facts.transits,
    others: facts.others,
    limits: facts.limits,
    own: new Set((own?.prefixes ?? []).map(({ cidr }) => cidr)),
    room: facts.room,
  });
  rejections.push(...admitted.rejections);
  const { vpc, routerId } = wish;
  return { network: network.name, vpc, routerId, prefixes: admitted.prefixes, ports };
}

function admitPort(
  path: NetworkPath,
  claimed: readonly AllocatedPort[],
  { cluster, handle, others, hasUnknownPorts }: AdmissionFacts,
): AllocatedPort | Rejection {
  const logicalPort = logicalPortOf(path.switch, handle);
  const about = { kind: 'member', value: cluster, transitSwitch: path.network } as const;
  const holder = others.port(logicalPort);
  if (holder !== undefined) {
    const message = `port ${logicalPort} belongs to ${holder} already; choose another cluster name`;
    return { ...about, code: 'ClusterNameTaken', message, holder };
  }
  const port = allocatePort(path, claimed, others, hasUnknownPorts ? 'highest' : 'lowest');
  if (port !== undefined) return port;
  const message = `no free address on path ${path.switch} (${path.cidrs.join(',')}) of transit switch ${path.network}; a member has to leave first`;
  return { ...about, code: 'TransitExhausted', message, holder: '' };
}

/** Only gateways that were taken count: the others' chassis are not in the databases. */
function endOf(
  ends: readonly PathEnd[],
  index: number,
  admitted: readonly Gateway[],
): Omit<PortRecord, keyof AllocatedPort> {
  const end = ends.find((one) => one.index === index);
  const isAdmitted = (name: string): boolean => admitted.some(({ chassis }) => chassis === name);
  const gateways = [...new Set(end?.gateways ?? [])].filter(isAdmitted);
  const holder = end !== undefined && isAdmitted(end.holder) ? end.holder : '';
  return { index, gateways, holder, draining: end?.draining === true };
}

function admitGateways(wished: readonly Gateway[], others: Others, rejections: Rejection[]): readonly Gateway[] {
  const admitted = new Map<string, Gateway>();
  const ownEncaps = new Set<string>();
  for (const gateway of wished) {
    const refused = refuseGateway(gateway, others, admitted, ownEncaps);
    if (refused !== undefined) {
      rejections.push(refused);
      continue;
    }
    const encaps = gateway.encaps.map((encap) => ({ ...encap, ip: canonicalIp(encap.ip) ?? encap.ip }));
    for (const { type, ip } of encaps) ownEncaps.add(`${type}/${ip}`);
    admitted.set(gateway.chassis, { ...gateway, encaps: encaps.sort((a, b) => (a.ip < b.ip ? -1 : 1)) });
  }
  return [...admitted.values()].sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

function refuseGateway(
  { chassis, encaps }: Gateway,
  others: Others,
  admitted: ReadonlyMap<string, Gateway>,
  ownEncaps: ReadonlySet<string>,
): Rejection | undefined {
  const no = (code: string, message: string, holder = ''): Rejection => ({
    kind: 'gateway',
    value: chassis,
    code,
    message,
    holder,
    transitSwitch: '',
  });
  const holder = others.chassis(chassis);
  if (holder !== undefined)
    return no(
      'DuplicateChassis',
      `chassis ${chassis} is a gateway of ${holder} already; give its Open vSwitch another system-id`,
      holder,
    );
  if (!/^[^\s,"]+$/.test(chassis) || admitted.has(chassis))
    return no('GatewayInvalid', `gateway "${chassis}" has no usable name of its own`);
  if (encaps.length === 0) return no('GatewayInvalid', `gateway ${chassis} has no tunnel address`);
  for (const { type, ip } of encaps) {
    const address = canonicalIp(ip);
    if (type !== 'geneve' || address === undefined)
      return no(
        'EncapUnsupported',
        `gateway ${chassis}: tunnel "${type}" to "${ip}"; only geneve to an IP address is supported`,
      );
    const other = others.encap(`${type}/${address}`);
    if (other !== undefined)
      return no('DuplicateEncap', `gateway ${chassis}: tunnel address ${address} is used by ${other} already`, other);
    if (ownEncaps.has(`${type}/${address}`))
      return no(
        'DuplicateEncap',
        `gateway ${chassis}: tunnel address ${address} is used by another gateway of this cluster`,
      );
  }
  return undefined;
}

function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}
