/**
 * Decides which parts of a member's state the hub accepts. In: its request, its record, and the holdings of others. Out: its
 * record; rejections, with the holder's name, are added to `refusals`. The first owner keeps its holdings: a member gets only
 * things that no other member holds.
 */
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import { learnedOrigin } from '../../../lib/route-policy/policy.ts';
import type {
  Attachment,
  Encap,
  EncryptionWish,
  Gateway,
  MemberState,
  PathEnd,
  Rejection,
} from '../../model/messages.ts';
import type { Others } from '../model/holdings.ts';
import {
  clusterName,
  logicalPortOf,
  type AllocatedPort,
  type AttachmentRecord,
  type MemberRecord,
  type Network,
  type NetworkPath,
  type PortRecord,
} from '../model/record.ts';
import { allocatePort } from './allocation.ts';
import { isLegible, legible } from './legible.ts';
import { admitPrefixes, type Limits } from './prefixes.ts';
import { admitWireGuard } from './wireguard.ts';
import type { Refusals } from './refusals.ts';

/** Limits, so that one member cannot fill the databases and the memory of the hub. */
const mostGateways = 64;
const mostEncaps = 8;
const mostOptions = 16;

export interface AdmissionFacts {
  readonly cluster: string;
  /** The name under which it first joined, which its ports and its HubMember have. */
  readonly handle: string;
  readonly own: MemberRecord | undefined;
  readonly limits: Limits;
  readonly others: Others;
  /** Networks that it takes part in. */
  readonly networks: ReadonlyMap<string, Network>;
  /** All networks. */
  readonly transits: readonly Pick<Network, 'name' | 'cidrs'>[];
  /** Ports that were recorded for it, besides those of `own`. */
  readonly recorded: readonly AllocatedPort[];
  /** Whether a member may have a port that the hub does not know of. */
  readonly hasUnknownPorts: boolean;
  /** Network of the addresses within encrypted tunnels. */
  readonly tunnelCidr: string;
}

export function admit(request: MemberState, facts: AdmissionFacts, refusals: Refusals): MemberRecord {
  const gateways = admitGateways(request.gateways, facts.others, refusals);
  const keyed = admitWireGuard(gateways, request.gateways, facts, refusals);
  const encryption = admitEncryption(request.encryption);
  const attachments: AttachmentRecord[] = [];
  let room = facts.limits.maxPrefixes;
  for (const attachment of request.attachments) {
    const network = facts.networks.get(attachment.transitSwitch);
    if (network === undefined || attachments.some((one) => one.network === network.name)) continue;
    const record = admitAttachment(attachment, network, { ...facts, gateways, room }, refusals);
    if (record === undefined) continue;
    room -= record.prefixes.length;
    attachments.push(record);
  }
  attachments.sort((a, b) => (a.network < b.network ? -1 : 1));
  return {
    name: facts.cluster,
    handle: facts.handle,
    gateways: keyed,
    attachments,
    ...(encryption === undefined ? {} : { encryption }),
  };
}

/** The request for exactly the holdings of the record. */
export function requestOf({ gateways, attachments, encryption }: MemberRecord): MemberState {
  const requests = attachments.map(({ network, vpc, routerId, prefixes, ports }) => ({
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
  const wish = encryption === undefined ? {} : { encryption };
  return {
    revision: 0,
    gateways,
    attachments: requests,
    unreachable: [],
    tellsExports: true,
    tellsPaths: true,
    tellsPods: true,
    ...wish,
  };
}

interface AttachmentFacts extends AdmissionFacts {
  readonly gateways: readonly Gateway[];
  readonly room: number;
}

function admitAttachment(
  request: Attachment,
  network: Network,
  facts: AttachmentFacts,
  refusals: Refusals,
): AttachmentRecord | undefined {
  const own = facts.own?.attachments.find((one) => one.network === network.name);
  const ports: PortRecord[] = [];
  for (const path of network.switches) {
    const claimed = [...(own?.ports ?? []), ...facts.recorded, ...request.held];
    const has = own?.ports.some((port) => port.switch === path.switch) === true;
    // A retiring path gets no new ports.
    if (path.retiring && !has) continue;
    const port = admitPort(path, claimed, facts);
    if ('code' in port) refusals.add(port);
    else ports.push({ ...port, ...endOf(request.ends, path.index, facts.gateways) });
  }
  // Without a port the member does not participate: its prefixes could not be reached.
  if (ports.length === 0) return undefined;
  const prefixFacts = {
    cluster: facts.cluster,
    handle: facts.handle,
    network,
    transits: facts.transits,
    others: facts.others,
    limits: facts.limits,
    own: new Set((own?.prefixes ?? []).flatMap(({ cidr, origin }) => (origin === learnedOrigin ? [] : [cidr]))),
    room: facts.room,
  };
  const { vpc, routerId } = request;
  return {
    network: network.name,
    vpc,
    routerId,
    prefixes: admitPrefixes(request.prefixes, prefixFacts, refusals),
    ports,
  };
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
  const message = `no free address on path ${path.switch} (${path.cidrs.join(',')}) of transit switch ${path.network}; a member must leave first`;
  return { ...about, code: 'TransitExhausted', message, holder: '' };
}

/** Only accepted gateways count: the chassis of the others are not in the databases. */
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

function admitGateways(requested: readonly Gateway[], others: Others, refusals: Refusals): readonly Gateway[] {
  const admitted = new Map<string, Gateway>();
  const ownEncaps = new Set<string>();
  for (const gateway of requested) {
    const refused = refuseGateway(gateway, others, admitted, ownEncaps);
    if (refused !== undefined) {
      refusals.add(refused);
      continue;
    }
    const encaps = gateway.encaps.map((encap) => ({ ...encap, ip: canonicalIp(encap.ip) ?? encap.ip }));
    for (const { type, ip } of encaps) ownEncaps.add(`${type}/${ip}`);
    // The hostname is informative only.
    const hostname = legible(gateway.hostname);
    encaps.sort((a, b) => (a.ip < b.ip ? -1 : 1));
    admitted.set(gateway.chassis, { chassis: gateway.chassis, hostname, encaps });
  }
  return [...admitted.values()].sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

const modes: ReadonlySet<string> = new Set(['off', 'preferred', 'required']);
const mostWishes = 1000;

/** A mode of a later release is the strictest. */
function admitEncryption(wish: EncryptionWish | null | undefined): EncryptionWish | undefined {
  if (wish == null) return undefined;
  const known = (mode: string): EncryptionWish['mode'] =>
    modes.has(mode) ? (mode as EncryptionWish['mode']) : 'required';
  const clusters = Object.entries(wish.clusters)
    .filter(([name]) => clusterName.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, mostWishes)
    .map(([name, mode]) => [name, known(mode)] as const);
  return { mode: known(wish.mode), clusters: Object.fromEntries(clusters) };
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
      `chassis ${chassis} is a gateway of ${holder} already; set another system-id in its Open vSwitch`,
      holder,
    );
  if (!/^[^\s,"]+$/.test(chassis) || !isLegible(chassis) || admitted.has(chassis))
    return no('GatewayInvalid', `gateway "${chassis}" has no usable name of its own`);
  if (admitted.size >= mostGateways)
    return no('TooManyGateways', `a cluster has ${mostGateways} gateways at most, so ${chassis} is refused`);
  if (encaps.length === 0) return no('GatewayInvalid', `gateway ${chassis} has no tunnel address`);
  if (encaps.length > mostEncaps)
    return no(
      'GatewayInvalid',
      `gateway ${chassis} has ${encaps.length} tunnel addresses; at most ${mostEncaps} are allowed`,
    );
  if (!encaps.every(hasLegibleOptions)) {
    const message = `gateway ${chassis}: a tunnel has at most ${mostOptions} options, in plain text without control characters and of normal length; correct its Open vSwitch`;
    return no('GatewayInvalid', message);
  }
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

function hasLegibleOptions({ options }: Encap): boolean {
  const entries = Object.entries(options);
  return entries.length <= mostOptions && entries.flat().every(isLegible);
}

function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}
