/**
 * Symbols of a match, of OVN 23.03 and 25.03, whose logical fields differ in some rarely used bits. A `field` can be
 * compared by bits, a `nominal` field only for equality. A `boolean` is a predicate that can be negated; a `protocol`
 * is a predicate that cannot, because it stands for an equality of a nominal field.
 */
export type SymbolLevel = 'field' | 'nominal' | 'boolean' | 'protocol' | 'string';

export interface MatchSymbol {
  readonly name: string;
  /** Bits; 0 for strings. */
  readonly width: number;
  readonly level: SymbolLevel;
}

const groups: readonly (readonly [level: SymbolLevel, width: number, names: string])[] = [
  ['string', 0, 'inport outport'],
  ['protocol', 1, 'ip ip4 ip6 icmp icmp4 icmp6 igmp arp rarp tcp udp sctp nd nd_ns nd_ns_mcast nd_na nd_rs nd_ra'],
  ['protocol', 1, 'mldv1 mldv2'],
  ['boolean', 1, 'eth.bcast eth.mcastv6 vlan.present ip4.src_mcast ip4.mcast ip.is_frag ip.later_frag ip.first_frag'],
  ['boolean', 1, 'ip6.mcast ip6.mcast_rsvd ip6.mcast_all_nodes ip6.mcast_all_rtrs ip6.mcast_sol_node ip6.mcast_flood'],
  ['nominal', 16, 'eth.type arp.op rarp.op'],
  ['nominal', 8, 'ip.proto ip.ttl icmp4.type icmp4.code icmp6.type icmp6.code'],
  ['nominal', 6, 'ip.dscp'],
  ['nominal', 2, 'ip.ecn'],
  ['field', 1, 'eth.mcast ct.trk ct.new ct.est ct.rel ct.rpl ct.inv ct.dnat ct.snat'],
  ['field', 1, 'flags.loopback flags.force_snat_for_dnat flags.force_snat_for_lb flags.skip_snat_for_lb'],
  ['field', 1, 'flags.use_snat_zone flags.localnet flags.icmp_snat flags.tunnel_rx'],
  ['field', 1, 'ct_mark.blocked ct_mark.natted ct_mark.skip_snat ct_mark.force_snat ct_mark.allow_established'],
  ['field', 1, 'ct_label.blocked ct_label.natted ct_label.skip_snat ct_label.force_snat'],
  ['field', 2, 'ip.frag ct_mark.obs_stage'],
  ['field', 3, 'vlan.pcp'],
  ['field', 8, 'ct_mark.obs_collector_id'],
  ['field', 12, 'vlan.vid tcp.flags'],
  ['field', 16, 'tcp.src tcp.dst udp.src udp.dst sctp.src sctp.dst vlan.tci'],
  ['field', 16, 'ct_mark.ecmp_reply_port ct_label.ecmp_reply_port'],
  ['field', 20, 'ip6.label'],
  ['field', 32, 'ip4.src ip4.dst arp.spa arp.tpa rarp.spa rarp.tpa pkt.mark flags ct_mark ct_state'],
  ['field', 32, 'ct_label.label ct_label.obs_point_id reg0 reg1 reg2 reg3 reg4 reg5 reg6 reg7 reg8 reg9'],
  ['field', 48, 'eth.src eth.dst arp.sha arp.tha rarp.sha rarp.tha nd.sll nd.tll ct_label.ecmp_reply_eth'],
  ['field', 64, 'xreg0 xreg1 xreg2 xreg3 xreg4'],
  ['field', 96, 'ct_label.obs_unused'],
  ['field', 128, 'ip6.src ip6.dst nd.target ct_label xxreg0 xxreg1'],
];

export const symbols: ReadonlyMap<string, MatchSymbol> = new Map(
  groups.flatMap(([level, width, names]) => names.split(' ').map((name) => [name, { name, width, level }] as const)),
);

/** OVN accepts these fields in a match and then crashes on a null pointer: they exist only to be set by OVN's own actions. */
export const settableOnly: ReadonlySet<string> = new Set(['icmp4.frag_mtu', 'icmp6.frag_mtu']);

/** Names from iptables, tcpdump or other languages that users may write. */
const foreignWords: ReadonlyMap<string, string> = new Map([
  ['and', 'write "&&"'],
  ['or', 'write "||"'],
  ['not', 'write "!", with parentheses around what it negates'],
  ['true', 'write 1'],
  ['false', 'write 0'],
  ['any', 'write 1'],
  ['ip.src', 'did you mean ip4.src or ip6.src?'],
  ['ip.dst', 'did you mean ip4.dst or ip6.dst?'],
  ['icmp.type', 'did you mean icmp4.type or icmp6.type?'],
  ['icmp.code', 'did you mean icmp4.code or icmp6.code?'],
  ['ipv4', 'did you mean ip4?'],
  ['ipv6', 'did you mean ip6?'],
  ['icmpv6', 'did you mean icmp6?'],
  ['ip4.proto', 'did you mean ip.proto?'],
  ['ip6.proto', 'did you mean ip.proto?'],
  ['dport', 'did you mean tcp.dst or udp.dst?'],
  ['sport', 'did you mean tcp.src or udp.src?'],
  ['is_chassis_resident', 'write is_chassis_resident("port")'],
  ...['tcp', 'udp', 'sctp'].flatMap((protocol): [string, string][] => [
    [`${protocol}.dport`, `did you mean ${protocol}.dst?`],
    [`${protocol}.sport`, `did you mean ${protocol}.src?`],
    [`${protocol}.port`, `did you mean ${protocol}.dst or ${protocol}.src?`],
  ]),
]);

/** Edit distance of two names; swapped neighbours count as one edit. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const changed = (last[j - 1] ?? 0) + (isSame ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (beforeLast[j - 2] ?? Infinity) + 1 : Infinity;
      row.push(Math.min(changed, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}

/** Suggestion for an unknown name; undefined if no known name is similar. */
export function suggestionFor(name: string): string | undefined {
  const lower = name.toLowerCase();
  const foreign = foreignWords.get(lower);
  if (foreign !== undefined) return foreign;
  if (lower.length > 32) return undefined;
  let best: string | undefined;
  let bestDistance = lower.length <= 3 ? 2 : 3;
  for (const known of symbols.keys()) {
    const edits = distance(lower, known);
    if (edits < bestDistance) [best, bestDistance] = [known, edits];
  }
  return best === undefined ? undefined : `did you mean ${best}?`;
}
