// Routes and extended communities of EVPN in the words of events.
import { addressBytes } from './address.ts';
import { assignedByAddress, type AssignedNumber, assignedText } from './assigned-numbers.ts';
import { type EvpnPrefix, evpnPrefix } from './evpn.ts';
import { encapsulationOf, type ExtendedCommunities } from './extended-communities.ts';
import { canonicalPrefix } from './nlri.ts';

export interface EvpnPrefixMessage {
  readonly rd?: {
    readonly two_octet_asn?: { readonly admin: number; readonly assigned: number } | null;
    readonly ip_address?: { readonly admin: string; readonly assigned: number } | null;
    readonly four_octet_asn?: { readonly admin: number; readonly assigned: number } | null;
  } | null;
  readonly ethernet_tag: number;
  readonly ip_prefix: string;
  readonly ip_prefix_len: number;
  readonly gw_address: string;
  readonly label: number;
}

interface AsSpecificMessage {
  readonly is_transitive: boolean;
  readonly sub_type: number;
  readonly asn: number;
  readonly local_admin: number;
}

export interface ExtendedCommunityMessage {
  readonly two_octet_as_specific?: AsSpecificMessage | null;
  readonly four_octet_as_specific?: AsSpecificMessage | null;
  readonly ipv4_address_specific?:
    | (Omit<AsSpecificMessage, 'asn'> & {
        readonly address: string;
      })
    | null;
  readonly encap?: { readonly tunnel_type: number } | null;
  readonly router_mac?: { readonly mac: string } | null;
}

const routeTargetSubType = 2;

/** The route in a message; undefined for an undefined type of distinguisher. */
export function evpnOfMessage(
  message: EvpnPrefixMessage,
): { readonly prefix: string; readonly evpn: EvpnPrefix } | undefined {
  const { two_octet_asn: two, ip_address: address, four_octet_asn: four } = message.rd ?? {};
  const rd: AssignedNumber | undefined = two
    ? { form: 0, assigner: two.admin, number: two.assigned }
    : four
      ? { form: 2, assigner: four.admin, number: four.assigned }
      : address
        ? assignedByAddress(address.admin, address.assigned)
        : undefined;
  if (!rd) return undefined;
  return {
    prefix: canonicalPrefix(`${message.ip_prefix}/${message.ip_prefix_len}`),
    evpn: evpnPrefix(assignedText(rd), message.ethernet_tag, message.label, addressBytes(message.gw_address)),
  };
}

/** Decodes the extended communities that this package knows. */
export function extendedCommunitiesOfMessages(messages: readonly ExtendedCommunityMessage[]): ExtendedCommunities {
  const routeTargets = messages.flatMap((message) => routeTargetOf(message) ?? []);
  const others = messages.map(({ encap, router_mac: mac }): ExtendedCommunities => {
    if (mac) return { routerMac: mac.mac };
    return encap ? encapsulationOf(encap.tunnel_type) : {};
  });
  return Object.assign(routeTargets.length > 0 ? { routeTargets } : {}, ...others) as ExtendedCommunities;
}

function routeTargetOf(message: ExtendedCommunityMessage): string | undefined {
  const { two_octet_as_specific: two, four_octet_as_specific: four, ipv4_address_specific: address } = message;
  const target = [two, four, address].find((each) => each?.is_transitive && each.sub_type === routeTargetSubType);
  if (!target) return undefined;
  if (two) return assignedText({ form: 0, assigner: two.asn, number: two.local_admin });
  if (four) return assignedText({ form: 2, assigner: four.asn, number: four.local_admin });
  return address ? assignedText(assignedByAddress(address.address, address.local_admin)) : undefined;
}
