/** For tests: a real northbound database, a mirror of it, and targets on it. Needs ovsdb-server on the PATH. */
import { openOvsdb, type Operation, type OvsdbClient, type Row } from 'ovsdb-client';
import { schemaFile, startOvsdbServer, type TestServer } from '../ovsdb/src/testing.ts';
import { openOvsdbTarget, type OvsdbTarget, type OvsdbTargetOptions } from './ovsdb-target.ts';
import type { Problem } from './problem.ts';

const schema = schemaFile('ovn-nb');
const tables = [
  'ACL',
  'Address_Set',
  'DHCP_Options',
  'Logical_Router',
  'Logical_Router_Policy',
  'Logical_Router_Port',
  'Logical_Router_Static_Route',
  'Logical_Switch',
  'Logical_Switch_Port',
  'NAT',
  'NB_Global',
  'Port_Group',
] as const;
const roots = ['Address_Set', 'DHCP_Options', 'Logical_Router', 'Logical_Switch', 'NB_Global', 'Port_Group'];

export class NorthboundBed {
  readonly client: OvsdbClient;
  readonly problems = new Map<string, Problem | undefined>();
  /** Operations of each transaction since the last reset. */
  readonly transactions: number[] = [];
  readonly #server: TestServer;
  #target: OvsdbTarget | undefined;

  static async start(): Promise<NorthboundBed> {
    const server = await startOvsdbServer({ schema });
    const monitor = Object.fromEntries(tables.map((table) => [table, undefined]));
    const client = await openOvsdb({ remotes: [server.remote], database: 'OVN_Northbound', monitor });
    return new NorthboundBed(server, client);
  }

  constructor(server: TestServer, client: OvsdbClient) {
    this.#server = server;
    this.client = client;
  }

  /** A new target without plans, which replaces the former one. */
  open(options: Partial<OvsdbTargetOptions> = {}): OvsdbTarget {
    this.#target?.close();
    const logger = { info: () => undefined, warn: () => undefined };
    this.#target = openOvsdbTarget({
      client: this.client,
      room: 'room',
      logger,
      batchDelayMs: 0,
      onTransaction: ({ operations }) => this.transactions.push(operations),
      ...options,
    });
    this.#target.onResult((owner, problem) => this.problems.set(owner, problem));
    return this.#target;
  }

  /** Empties the database and opens a target. */
  async reset(): Promise<OvsdbTarget> {
    this.#target?.close();
    await this.client.transact(roots.map((table) => ({ op: 'delete', table, where: [] })));
    this.problems.clear();
    this.transactions.length = 0;
    return this.open();
  }

  async write(...operations: Operation[]): Promise<void> {
    await this.client.transact(operations);
  }

  rows(table: string): readonly Row[] {
    return [...this.client.cache.table(table).rows.values()];
  }

  named(table: string, name: string): Row | undefined {
    return this.rows(table).find((row) => row['name'] === name);
  }

  /** Names of the ports that a row holds. */
  ports(table: string, name: string): readonly string[] {
    const held = (this.named(table, name)?.['ports'] ?? []) as readonly string[];
    const ports = this.client.cache.table('Logical_Switch_Port').rows;
    return held.map((uuid) => (ports.get(uuid)?.['name'] ?? '') as string).sort();
  }

  async stop(): Promise<void> {
    this.#target?.close();
    await this.client.close();
    await this.#server.stop();
  }
}
