/**
 * Which tunnels to other clusters are encrypted. In: the wishes of both clusters, addresses that the hub allocated, and what the
 * daemons of this cluster report. Out: the mode of each pair of clusters, and the gateways of the other one with the address that
 * tunnels to them have. Pure, except that `OwnEncryption` remembers that all gateways were guarded once.
 */
import type { GatewayWireGuard } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { cidrContains, cidrsOverlap, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import type { EncryptionMode, EncryptionWish, Gateway, Member } from '../model/messages.ts';
import type { LocalView } from '../model/local.ts';
import type { HubTunnels } from '../state/hub-view.ts';
import type { AcceptedGateways } from './accepted-gateways.ts';

/** The part of this cluster in encryption. */
export interface EncryptionFacts {
  readonly wish: EncryptionWish;
  /** Network of the addresses within tunnels; empty if the hub has none. */
  readonly cidr: string;
  /** Tunnels to addresses within that network are encrypted or go nowhere, and some gateway of this cluster has such an address. */
  readonly isReady: boolean;
  /** Why the network of the hub cannot be used here: `cidr` is empty then. */
  readonly problem?: Problem | undefined;
}

export const noEncryption: EncryptionFacts = { wish: { mode: 'off', clusters: {} }, cidr: '', isReady: false };

export function wishOf({ mode, clusters }: InterconnectSpec['encryption']): EncryptionWish {
  return { mode, clusters: Object.fromEntries(clusters.map((one) => [one.name, one.mode])) };
}

const strictness: readonly EncryptionMode[] = ['off', 'preferred', 'required'];

export function wishToward({ mode, clusters }: EncryptionWish, cluster: string): EncryptionMode {
  return clusters[cluster] ?? mode;
}

/** The stricter wish of the two counts. A cluster that has said nothing wishes nothing. */
export function modeOf(
  wish: EncryptionWish,
  { name, encryption }: Pick<Member, 'name' | 'encryption'>,
): EncryptionMode {
  const other = encryption === undefined || encryption === '' ? 'off' : encryption;
  const rank = Math.max(strictness.indexOf(wishToward(wish, name)), strictness.indexOf(other));
  return strictness[rank] ?? 'required';
}

/** Whether gateways of this cluster need keys. */
export function isWanted(wish: EncryptionWish, members: Iterable<Member>): boolean {
  if (wish.mode !== 'off' || Object.values(wish.clusters).some((mode) => mode !== 'off')) return true;
  for (const member of members) if (modeOf(wish, member) !== 'off') return true;
  return false;
}

/** Gives the gateways of an encrypted pair their addresses within tunnels, and refuses those that could only be reached in the clear. */
export function encryptGateways(accepted: AcceptedGateways, member: Member, facts: EncryptionFacts): AcceptedGateways {
  const mode = modeOf(facts.wish, member);
  if (mode === 'off') return accepted;
  const refused = new Map(accepted.refused);
  const encrypted = new Set<string>();
  const gateways = accepted.gateways.flatMap((gateway): readonly Gateway[] => {
    const address = tunnelAddressOf(gateway, facts.cidr);
    if (facts.isReady && address !== undefined) {
      encrypted.add(gateway.chassis);
      const [first] = gateway.encaps;
      return [{ ...gateway, encaps: [{ type: 'geneve', ip: address, options: first?.options ?? {} }] }];
    }
    if (mode !== 'required') return [gateway];
    refused.set(gateway.chassis, keyProblem(gateway.chassis, member, facts));
    return [];
  });
  return { gateways, refused, mode, encrypted };
}

/** Undefined without a key, or with an address outside of the network, which no daemon sends to WireGuard. */
export function tunnelAddressOf({ wireGuard }: Gateway, cidr: string): string | undefined {
  const [network, ip] = [parseCidr(cidr), parseIp(wireGuard?.address ?? '')];
  return network !== undefined && ip !== undefined && cidrContains(network, ip) ? wireGuard?.address : undefined;
}

/** Why a tunnel to a gateway is not encrypted. */
export function keyProblem(
  chassis: string,
  { name, foreign }: Member,
  { cidr, isReady, problem }: EncryptionFacts,
): Problem {
  if (problem !== undefined) return problem;
  if (cidr === '')
    return { code: 'HubTooOld', message: 'the hub carries no keys of gateways: upgrade it before encryption is used' };
  if (foreign)
    return { code: 'PeerHasNoKey', message: `${name} runs plain ovn-ic, which has no encryption; set its mode to off` };
  if (!isReady) {
    const message = 'no gateway of this cluster has WireGuard yet: see status.wireGuard of the InterconnectGateways';
    return { code: 'NoOwnKey', message };
  }
  const message = `gateway ${chassis} of ${name} has no WireGuard key: upgrade ${name}, and see its InterconnectGateways`;
  return { code: 'PeerHasNoKey', message };
}

/** Daemons drop packets of pods and nodes for addresses within tunnels, so that none of these may have one. */
function overlapOf(text: string, { vpcs, nodeAddresses }: OwnEncryptionInput['local']): Problem | undefined {
  const cidr = parseCidr(text);
  if (cidr === undefined) return undefined;
  const ranges = [...vpcs.values()].flatMap((vpc) => vpc.ranges);
  const owner =
    ranges.find((range) => cidrsOverlap(range.cidr, cidr))?.name ??
    nodeAddresses.find(({ ip }) => cidrContains(cidr, ip))?.node;
  if (owner === undefined) return undefined;
  const message = `the network of addresses within tunnels, ${text}, overlaps ${owner} of this cluster: set another one with hub.tunnelCIDR in the cluster of the hub`;
  return { code: 'TunnelCIDROverlap', message };
}

export interface OwnEncryptionInput {
  readonly wish: EncryptionWish;
  readonly members: Iterable<Member>;
  readonly hub: Pick<HubTunnels, 'cidr' | 'addresses'>;
  readonly local: Pick<LocalView, 'vpcs' | 'nodeAddresses'>;
  /** Chassis of this cluster that others have tunnels to. */
  readonly published: readonly string[];
  readonly reportOf: (chassis: string) => GatewayWireGuard | undefined;
  /** Whether tunnels were encrypted when this process began. */
  readonly wasEncrypted: (cidr: string) => boolean;
}

/**
 * Existing gateways must be guarded before the first tunnel gets an address within tunnels; a gateway that comes later is guarded before
 * its ovn-controller makes tunnels to other clusters (the daemon holds back `ovn-is-interconn`).
 */
export class OwnEncryption {
  #isGuarded = false;
  #facts = noEncryption;
  #isWanted = false;

  get facts(): EncryptionFacts {
    return this.#facts;
  }

  get isWanted(): boolean {
    return this.#isWanted;
  }

  settle({
    wish,
    members,
    hub: offered,
    local,
    published,
    reportOf,
    wasEncrypted,
  }: OwnEncryptionInput): EncryptionFacts {
    this.#isWanted = isWanted(wish, members);
    const problem = this.#isWanted ? overlapOf(offered.cidr, local) : undefined;
    const hub = problem === undefined ? offered : { cidr: '', addresses: {} };
    const isEachGuarded = published.length > 0 && published.every((chassis) => reportOf(chassis)?.guarded === true);
    this.#isGuarded = this.#isWanted && hub.cidr !== '' && (this.#isGuarded || isEachGuarded || wasEncrypted(hub.cidr));
    const isReady = this.#isGuarded && published.some((chassis) => hub.addresses[chassis] !== undefined);
    const facts = { wish, cidr: hub.cidr, isReady, ...(problem === undefined ? {} : { problem }) };
    if (JSON.stringify(facts) !== JSON.stringify(this.#facts)) this.#facts = facts;
    return this.#facts;
  }

  reset(): void {
    this.#isGuarded = false;
    this.#isWanted = false;
    this.#facts = noEncryption;
  }
}
