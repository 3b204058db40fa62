/** For tests: a network on real northbound and southbound databases, without northd, and other clusters. */
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import { openOvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { ownEntries } from '../plan/own-keys.ts';
import { schemaFile, startOvsdbServer, type TestServer } from '../../lib/ovsdb/src/testing.ts';
import type { Member } from '../model/messages.ts';
import { routesAtOnce } from '../model/routes-at-once.ts';
import { noPolicies } from '../../lib/route-policy/compile.ts';
import { noEdges } from '../model/edges.ts';
import { gateway, local, network, port, route } from '../model/testing.ts';
import {
  isGrouped,
  northboundIndexes,
  northboundMonitor,
  readNextHops,
  readRoutedPrefixes,
  readRemoteGateways,
  southboundIndexes,
  southboundKeyOf,
  southboundMonitor,
  southboundOwnerOf,
} from '../watch/databases.ts';
import { RemoteClusters, type NetworkInput } from '../settle/remote-clusters.ts';
import { Network } from './network.ts';

const logger = { info: () => undefined, warn: () => undefined };

export class NetworkBed {
  readonly #servers: readonly TestServer[];
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  /** Transactions since the last reset. */
  transactions = 0;
  network!: Network;
  remotes!: RemoteClusters;
  #close: (() => void) | undefined;
  #untilApplied: (() => Promise<unknown>) | undefined;

  static async start(): Promise<NetworkBed> {
    const servers = await Promise.all(
      (['ovn-nb', 'ovn-sb'] as const).map((name) => startOvsdbServer({ schema: schemaFile(name) })),
    );
    const [nb, sb] = servers as [TestServer, TestServer];
    const northbound = await openOvsdb({
      remotes: [nb.remote],
      database: 'OVN_Northbound',
      monitor: northboundMonitor,
      indexes: northboundIndexes,
    });
    const southbound = await openOvsdb({
      remotes: [sb.remote],
      database: 'OVN_Southbound',
      monitor: southboundMonitor,
      indexes: southboundIndexes,
    });
    await northbound.transact([
      { op: 'insert', table: 'NB_Global', row: {} },
      { op: 'insert', table: 'Logical_Router', row: { name: 'ovn-cluster' } },
    ]);
    const bed = new NetworkBed(servers, northbound, southbound);
    bed.restart();
    return bed;
  }

  constructor(servers: readonly TestServer[], northbound: OvsdbClient, southbound: OvsdbClient) {
    this.#servers = servers;
    this.northbound = northbound;
    this.southbound = southbound;
  }

  /** A process that remembers nothing, on the same databases. */
  restart(): void {
    this.#close?.();
    const common = { room: 'interconnect', logger, onTransaction: () => (this.transactions += 1), batchDelayMs: 0 };
    const northbound = openOvsdbTarget({
      ...common,
      client: this.northbound,
      ownEntries,
      instalments: { tables: ['Logical_Router_Static_Route'], rows: routesAtOnce },
    });
    const southbound = openOvsdbTarget({
      ...common,
      client: this.southbound,
      keyOf: southboundKeyOf,
      ownerOf: southboundOwnerOf,
    });
    this.remotes = new RemoteClusters();
    this.network = new Network({ northbound, southbound }, this.remotes);
    this.#untilApplied = () => Promise.all([northbound.untilApplied(), southbound.untilApplied()]);
    this.#close = () => {
      northbound.close();
      southbound.close();
    };
  }

  async untilApplied(): Promise<void> {
    await this.#untilApplied?.();
  }

  /** Settles and applies, as a round does. */
  apply(input: NetworkInput, dirty: ReadonlySet<string> | 'all'): void {
    const changes = this.remotes.settle(input, dirty);
    this.network.apply(input, changes);
    if (changes.isComplete && !this.network.isSealed) this.network.seal();
  }

  input(members: readonly Member[], fields: Partial<NetworkInput> = {}): NetworkInput {
    const one = network();
    return {
      local,
      gateways: ['a1', 'a2'],
      networks: new Map([[one.name, one]]),
      members: new Map(members.map((member) => [member.name, member])),
      expected: new Set(),
      policies: noPolicies,
      edges: noEdges,
      aggregates: new Map(),
      tunnel: () => 'up',
      carried: (cluster) => readNextHops(this.northbound.cache).get(cluster),
      routed: (cluster) => readRoutedPrefixes(this.northbound.cache).get(cluster),
      written: (handle) => readRemoteGateways(this.southbound.cache).get(handle) ?? [],
      isGrouped: (chassis) => isGrouped(this.southbound.cache, chassis),
      time: { nowMs: 0, holdDownMs: 5000 },
      ...fields,
    };
  }

  count(side: 'northbound' | 'southbound', table: string): number {
    return this[side].cache.table(table).rows.size;
  }

  async stop(): Promise<void> {
    this.#close?.();
    await Promise.all([this.northbound.close(), this.southbound.close()]);
    await Promise.all(this.#servers.map((server) => server.stop()));
  }
}

/** A cluster like the worked example, with other numbers. */
export function clusterOf(index: number, { routes = 1, isForeign = false } = {}): Member {
  const name = `c${index}`;
  const [high, low] = [Math.floor(index / 250), (index % 250) + 2];
  const host = `${16 + high}.${low}`;
  const prefixes = Array.from(
    { length: routes },
    (_, at) => `${20 + Math.floor(index / 250)}.${index % 250}.${at}.0/24`,
  );
  const nextHops = [
    { switch: 'ts', address: `100.100.${host}` },
    { switch: 'ts1', address: `100.100.${48 + high}.${low}` },
  ];
  const gateways = [gateway(`${name}-1`, `172.31.${high}.${low}`)];
  const paths = isForeign ? [0] : [0, 1];
  return {
    name,
    foreign: isForeign,
    connected: true,
    lastSeenMs: 0,
    gateways,
    ports: paths.map((path) => ({
      ...port(name, 2, path),
      mac: `0a:58:${path}0:${high.toString(16).padStart(2, '0')}:${low.toString(16).padStart(2, '0')}:01`,
      networks: [`${nextHops[path]?.address}/19`],
      tunnelKey: index + 2,
      gateways: [`${name}-1`],
      holder: `${name}-1`,
    })),
    routes: prefixes.map((prefix) => route(prefix, { nextHops: nextHops.slice(0, paths.length), via: [name] })),
  };
}
