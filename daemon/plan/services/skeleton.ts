/**
 * The rules of the nftables table of Services. They are the same on every node and for all Services; all that differs is in elements of sets
 * and maps.
 *
 * A key of a virtual address is `address . protocol . port`. A NodePort has the address 0.0.0.0 or ::, and its rules look only at addresses
 * of the node. Names end in the IP family. Only the first packet of a connection passes the chains of type nat.
 */
import { nodeInterface } from '../../../lib/api/names.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { replyPorts } from '../../../lib/services/reply-ports.ts';
import { anyAddress, parsePickChain, pickChainName, type PickChain } from '../../model/service-table.ts';

const families = [4, 6] as const;
const transports = ['tcp', 'udp', 'sctp'] as const;
/** The translation of this table precedes that of other programs, such as kube-proxy: of two translations, the first counts. */
const natPriority = { destination: -105, source: 95 } as const;
/** Before and after the translation of this table. */
const filterPriority = { early: -110, late: -90 } as const;
/** After all translation of sources. */
const learnPriority = 200;
/** Maximum number of clients whose endpoint is recorded; any other client gets a random endpoint each time. */
const affinityLimit = 1 << 18;

const header = { 4: 'ip', 6: 'ip6' } as const;
/** Source ports of the node's own connections whose address is kept: never those of `replyPorts`. */
const ownPorts = `1024-${replyPorts.first - 1}`;
const destination = 'meta l4proto . th dport';

function keyOf(family: Family, isNodePort: boolean): string {
  return `${header[family]} daddr${isNodePort ? ` & ${anyAddress[family]}` : ''} . ${destination}`;
}

/** The key before the translation. A rule must match the protocol first: otherwise nft cannot read the port. */
function originalKeyOf(family: Family, isNodePort: boolean): string {
  const address = `ct original ${header[family]} daddr${isNodePort ? ` & ${anyAddress[family]}` : ''}`;
  return `${address} . meta l4proto . ct original proto-dst`;
}

/** Rules for addresses of Services and for NodePorts, of both families. */
function forKeys(render: (key: string, family: Family) => string): readonly string[] {
  return families.flatMap((family) => [
    render(keyOf(family, false), family),
    `${header[family]} daddr @node-addresses${family} ${render(keyOf(family, true), family)}`,
  ]);
}

function forOriginalKeys(transport: string, render: (key: string, family: Family) => string): readonly string[] {
  return families.flatMap((family) => [
    `meta l4proto ${transport} ${render(originalKeyOf(family, false), family)}`,
    `meta l4proto ${transport} ct original ${header[family]} daddr @node-addresses${family} ${render(originalKeyOf(family, true), family)}`,
  ]);
}

function forFamilies(render: (ip: 'ip' | 'ip6', family: Family) => string): readonly string[] {
  return families.map((family) => render(header[family], family));
}

function chain(name: string, ...rules: readonly string[]): readonly string[] {
  return [`chain ${name} {`, ...rules.map((rule) => `  ${rule}`), '}'];
}

function hook(type: 'nat' | 'filter', at: string, priority: number): string {
  return `type ${type} hook ${at} priority ${priority}; policy accept;`;
}

function setsOf(family: Family): readonly string[] {
  const ip = header[family];
  const key = `${ip} daddr . ${destination}`;
  const endpoint = `${ip} daddr . th dport`;
  const slots = `typeof ${key} . numgen random mod 65535 : ${endpoint};`;
  return [
    `set own-pods${family} { typeof ${ip} saddr; }`,
    `set pods${family} { typeof ${ip} saddr; flags interval; }`,
    `set internal-addresses${family} { typeof ${ip} saddr; }`,
    `set other-nodes${family} { typeof ${ip} saddr; }`,
    `set node-addresses${family} { typeof ${ip} daddr; }`,
    `set cluster-ips${family} { typeof ${ip} daddr; }`,
    `set service-cidrs${family} { typeof ${ip} daddr; flags interval; }`,
    `map own-sources${family} { typeof oifname : ${ip} saddr; }`,
    `map service-sources${family} { typeof oifname : ${ip} saddr; }`,
    `map services${family} { typeof ${key} : verdict; }`,
    `map slots${family} { ${slots} }`,
    `map outside${family} { typeof ${key} : verdict; }`,
    `map local-slots${family} { ${slots} }`,
    `map refused${family} { typeof ${key} : verdict; }`,
    `map outside-refused${family} { typeof ${key} : verdict; }`,
    `set frontends${family} { typeof ${key}; }`,
    `set kept${family} { typeof ${key}; }`,
    `set node-local${family} { typeof ${key}; }`,
    `set ranged${family} { typeof ${key}; }`,
    `set ranges${family} { typeof ${key} . ${ip} saddr; flags interval; }`,
    `map sticky${family} { typeof ${key} : verdict; }`,
    `set sticky-endpoints${family} { typeof ${key} . ${endpoint}; }`,
    `map affinity${family} { typeof ${ip} saddr . ${key} : ${endpoint}; size ${affinityLimit}; flags dynamic,timeout; }`,
  ];
}

/** One chain of each kind, whose listing by nft shows how the others must look. */
function samples(): readonly PickChain[] {
  const [kinds, lists] = [
    [false, true],
    ['all', 'local'],
  ] as const;
  return families.flatMap((family) =>
    lists.flatMap((list) =>
      kinds.flatMap((isNodePort) => kinds.map((isSticky) => ({ family, list, isNodePort, isSticky, width: 1 }))),
    ),
  );
}

/** A chain for a number of endpoints; undefined for the name of another chain. */
export function renderNamedChain(name: string): string | undefined {
  const pick = parsePickChain(name);
  return pick === undefined ? undefined : renderPickChain(pick).join('\n');
}

function renderPickChain(pick: PickChain): readonly string[] {
  const { family, list, isNodePort, isSticky } = pick;
  const ip = header[family];
  const slots = list === 'all' ? `slots${family}` : `local-slots${family}`;
  const translate = `dnat ${ip} to ${keyOf(family, isNodePort)} . numgen random mod`;
  return chain(
    pickChainName(pick),
    ...(isSticky ? [`dnat ${ip} to ${ip} saddr . ${keyOf(family, false)} map @affinity${family}`] : []),
    `${translate} ${pick.width} map @${slots}`,
    // The map may lose an endpoint between the choice of the chain and this lookup. Number 0 exists as long as there is an endpoint.
    `${translate} 1 map @${slots}`,
  );
}

function keepAddress(sources: string, ports: string): readonly string[] {
  const protocols = `meta l4proto { ${transports.join(', ')} }`;
  return forFamilies(
    (ip, family) => `${ip} saddr @${sources}${family} ${protocols} snat ${ip} to ${ip} saddr : ${ports}`,
  );
}

export function planSkeleton(): string {
  const sources = transports.flatMap((transport) =>
    chain(
      `translated-${transport}`,
      ...forOriginalKeys(transport, (key, family) => `${key} @kept${family} goto keep`),
      ...forOriginalKeys(transport, (key, family) => `${key} @frontends${family} goto own-address`),
    ),
  );
  const learning = transports.flatMap((transport) =>
    chain(
      `learn-${transport}`,
      ...forOriginalKeys(
        transport,
        (key, family) =>
          `${key} . ${header[family]} daddr . ${transport} dport @sticky-endpoints${family} ${key} vmap @sticky${family}`,
      ),
    ),
  );
  const clusterAddresses = [
    ...forFamilies((ip, family) => `${ip} daddr @cluster-ips${family} goto refuse`),
    ...forFamilies((ip, family) => `${ip} daddr @service-cidrs${family} drop`),
  ];
  const toTransports = (name: string): readonly string[] =>
    transports.map((transport) => `meta l4proto ${transport} goto ${name}-${transport}`);
  return [
    ...families.flatMap(setsOf),
    ...chain('refuse', 'meta l4proto tcp reject with tcp reset', 'reject'),
    ...samples().flatMap(renderPickChain),
    ...chain('services', ...forKeys((key, family) => `${key} vmap @services${family}`)),
    ...chain('outside', ...forKeys((key, family) => `${key} vmap @outside${family}`), 'goto services'),
    // A NodePort of another node is an address outside of the cluster for a pod; any other address was the pod's own node's to translate.
    ...chain(
      'other-pods',
      ...families.map((family) => `${keyOf(family, false)} vmap @services${family}`),
      'goto outside',
    ),
    ...chain(
      'prerouting',
      hook('nat', 'prerouting', natPriority.destination),
      ...forFamilies((ip, family) => `${ip} saddr @own-pods${family} goto services`),
      'fib saddr type local goto services',
      ...forFamilies((ip, family) => `${ip} saddr @pods${family} goto other-pods`),
      'goto outside',
    ),
    ...chain('output', hook('nat', 'output', natPriority.destination), 'goto services'),
    ...chain(
      'own-address',
      ...forFamilies(
        (ip, family) => `fib saddr type local snat ${ip} to oifname map @own-sources${family} fully-random`,
      ),
      'fib saddr type local accept',
      ...forFamilies((ip, family) => `snat ${ip} to oifname map @service-sources${family} fully-random`),
      'masquerade fully-random',
    ),
    ...chain(
      'keep',
      ...forFamilies((ip, family) => `${ip} saddr @pods${family} goto own-address`),
      // OVN sends replies to an address of a node to that node: its own connection needs no other address, and that of another node a port by which
      // OVN sends its replies here.
      ...keepAddress('internal-addresses', ownPorts),
      'fib saddr type local goto own-address',
      ...keepAddress('other-nodes', `${replyPorts.first}-${replyPorts.last}`),
    ),
    ...sources,
    ...chain(
      'postrouting',
      hook('nat', 'postrouting', natPriority.source),
      'ct status & dnat == 0 accept',
      ...toTransports('translated'),
    ),
    ...learning,
    ...chain('learn', 'ct state != new accept', 'ct status & dnat == 0 accept', ...toTransports('learn')),
    ...chain('learn-postrouting', hook('filter', 'postrouting', learnPriority), 'goto learn'),
    ...chain('learn-input', hook('filter', 'input', learnPriority), 'goto learn'),
    ...chain(
      'ranges',
      ...forFamilies(
        (ip, family) =>
          `${keyOf(family, false)} @ranged${family} ${keyOf(family, false)} . ${ip} saddr != @ranges${family} drop`,
      ),
    ),
    ...chain(
      'early',
      hook('filter', 'prerouting', filterPriority.early),
      'ct state established,related accept',
      ...forFamilies((_, family) => `iifname "${nodeInterface}" ${keyOf(family, false)} @node-local${family} drop`),
      'goto ranges',
    ),
    ...chain(
      'early-output',
      hook('filter', 'output', filterPriority.early),
      'ct state established,related accept',
      'goto ranges',
    ),
    ...chain('cluster-addresses', ...clusterAddresses),
    ...chain(
      'untranslated',
      // Untracked: the node itself has the address, as that of the cluster's DNS where the node has a cache of it.
      'ct state established,related,untracked accept',
      // An endpoint on this node may have the port of a NodePort that refuses its own clients.
      'ct status & dnat != 0 goto cluster-addresses',
      ...forKeys((key, family) => `${key} vmap @refused${family}`),
      ...clusterAddresses,
      ...forFamilies((ip, family) => `${ip} saddr @own-pods${family} accept`),
      'fib saddr type local accept',
      ...forKeys((key, family) => `${key} vmap @outside-refused${family}`),
    ),
    ...['input', 'forward', 'output'].flatMap((at) =>
      chain(`untranslated-${at}`, hook('filter', at, filterPriority.late), 'goto untranslated'),
    ),
    '',
  ].join('\n');
}
