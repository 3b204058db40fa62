import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openOvsdb, type OvsdbClient, type Row } from 'ovsdb-client';
import { schemaFile, startOvsdbServer, type TestServer } from '../../lib/ovsdb/src/testing.ts';
import { createKey, createRequest } from '../link/certificate.ts';
import { joinHub, openHubLink, type HubLink, type HubSession, type LinkIdentity } from '../link/client.ts';
import type { HubUpdate, Member, MemberState, Rejection } from '../link/messages.ts';
import type { HubRefused } from '../link/protocol.ts';
import { createToken, readToken, type TokenClaims } from '../../lib/api/join-token.ts';
import { startHub, type Hub } from './hub.ts';
import { HubStateError, initState, Registry } from './state/registry.ts';
import { icNorthboundMonitor, icSouthboundMonitor } from './watch/databases.ts';

const log = { info: () => undefined, warn: () => undefined };

/** A member as the hub knows it: joins, says what it has, keeps what it was told. */
class TestMember {
  readonly #link: HubLink;
  #session: HubSession | undefined;
  #revision = 0;
  #wake = (): void => undefined;
  last: HubUpdate | undefined;
  readonly members = new Map<string, Member>();
  ended: HubRefused | undefined;

  constructor(address: string, identity: LinkIdentity) {
    this.#link = openHubLink(address, identity);
  }

  open(): this {
    this.#session = this.#link.session({
      onUpdate: (update) => {
        if (update.full) this.members.clear();
        for (const member of update.members) this.members.set(member.name, member);
        for (const name of update.removed) this.members.delete(name);
        this.last = update;
        this.#wake();
      },
      onEnd: (error) => {
        this.ended = error as HubRefused;
        this.#wake();
      },
    });
    return this;
  }

  async say(prefixes: readonly string[], chassis: string, ip: string): Promise<readonly Rejection[]> {
    const revision = ++this.#revision;
    const gateways: MemberState['gateways'] = [
      { chassis, hostname: `host-${chassis}`, encaps: [{ type: 'geneve', ip, options: { csum: 'true' } }] },
    ];
    this.#session?.send({ revision, gateways, activeGateway: chassis, prefixes, routerId: 'router' });
    await this.until(() => this.last?.revision === revision);
    return this.last?.rejections ?? [];
  }

  async until(condition: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(5000);
    while (!condition()) {
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        const told = `last: ${JSON.stringify(this.last)}, ended: ${this.ended?.message}`;
        deadline.addEventListener('abort', () => reject(new Error(`not told in time; ${told}`)), { once: true });
      });
    }
  }

  leave(): Promise<void> {
    return this.#link.leave();
  }
  close(): void {
    this.#session?.end();
    this.#link.close();
  }
}

describe('the hub on real IC databases', () => {
  let servers: readonly TestServer[];
  let directory: string;
  let clients: OvsdbClient[] = [];
  let hub: Hub;
  let registry: Registry;
  let port = 0;
  let transactions = 0;
  const identities = new Map<string, LinkIdentity>();

  const startAll = async (): Promise<void> => {
    const open = (server: TestServer | undefined, database: string, monitor: Record<string, undefined>) =>
      openOvsdb({ remotes: [server?.remote ?? ''], database, monitor });
    const northbound = await open(servers[0], 'OVN_IC_Northbound', icNorthboundMonitor);
    const southbound = await open(servers[1], 'OVN_IC_Southbound', icSouthboundMonitor);
    clients = [northbound, southbound];
    for (const client of clients) client.subscribe(() => (transactions += 1));
    registry = await Registry.open(directory);
    hub = await startHub({
      northbound,
      southbound,
      registry,
      listen: `127.0.0.1:${port}`,
      transitCidr: '100.100.0.0/29',
      now: Date.now,
      graceMs: 100,
      log,
    });
    port = hub.port;
  };
  const stopAll = async (): Promise<void> => {
    hub.close();
    await Promise.all(clients.map((client) => client.close()));
  };
  const rows = (table: string): Row[] => [...(clients[1]?.cache.table(table).rows.values() ?? [])];
  const names = (table: string, column: string): string[] =>
    rows(table)
      .map((row) => String(row[column]))
      .sort();
  const address = (): string => `127.0.0.1:${port}`;
  const token = (cluster: string, options: { ttlMs?: number; replace?: boolean } = {}): string =>
    createToken(registry.authority, {
      cluster,
      hub: address(),
      expiresMs: Date.now() + (options.ttlMs ?? 60_000),
      replace: options.replace ?? false,
    });
  const redeem = async (text: string, key: string): Promise<LinkIdentity> => {
    const { ca } = readToken(text) as TokenClaims;
    return { ...(await joinHub(address(), ca, text, await createRequest(key, 'whoever'))), key };
  };
  const join_ = async (cluster: string): Promise<TestMember> => {
    const known = identities.get(cluster);
    const identity = known ?? (await redeem(token(cluster), await createKey()));
    identities.set(cluster, identity);
    return new TestMember(address(), identity).open();
  };
  const isRefused = (code: string) => (error: HubRefused) => {
    assert.equal(error.code, code);
    return true;
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hub-'));
    servers = await Promise.all(
      (['nb', 'sb'] as const).map((name) => startOvsdbServer({ schema: schemaFile(`ovn-ic-${name}`) })),
    );
    await initState(directory, '127.0.0.1', Date.now());
    await startAll();
  });
  after(async () => {
    await stopAll();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(directory, { recursive: true });
  });

  it('gives each member a port of its own and tells the others', async () => {
    const [east, west] = [await join_('east'), await join_('west')];
    assert.deepEqual(await east.say(['10.16.0.0/16'], 'a1', '172.30.0.11'), []);
    assert.deepEqual(await west.say(['10.17.0.0/16'], 'b1', '172.30.0.21'), []);
    await east.until(() => east.members.get('west')?.routes.length === 1);
    assert.deepEqual(structuredClone(east.members.get('west')?.routes), [
      { transitSwitch: 'ts', prefix: '10.17.0.0/16', nexthop: '100.100.0.2', origin: 'connected' },
    ]);
    assert.equal(east.last?.switches.length, 1);
    assert.deepEqual(names('Port_Binding', 'address'), [
      '0a:58:64:64:00:01 100.100.0.1/29',
      '0a:58:64:64:00:02 100.100.0.2/29',
    ]);
    assert.deepEqual(names('Port_Binding', 'tunnel_key'), ['1', '2']);
    assert.deepEqual(names('Datapath_Binding', 'tunnel_key'), ['16711681']);
    assert.deepEqual(names('Gateway', 'name'), ['a1', 'b1']);
    assert.deepEqual(names('Encap', 'gateway_name'), ['a1', 'b1']);
    assert.equal(clients[0]?.cache.table('Transit_Switch').rows.size, 1);
    west.close();
    await east.until(() => east.members.get('west')?.connected === false);
    assert.ok((east.members.get('west')?.lastSeenMs ?? 0) > Date.now() - 10_000);
    assert.equal(rows('Route').length, 2, 'rows outlive the session');
    east.close();
  });

  it('refuses what another member holds, names it, and gives it once it is free', async () => {
    const [east, west] = [await join_('east'), await join_('west')];
    await east.say(['10.16.0.0/16'], 'a1', '172.30.0.11');
    const rejections = await west.say(
      ['10.16.128.0/17', '10.17.0.0/16', '100.100.0.0/30', 'fd00::/64', 'x'],
      'b1',
      '172.30.0.11',
    );
    assert.deepEqual(
      rejections.map(({ kind, value, code, holder }) => [kind, value, code, holder]),
      [
        ['gateway', 'b1', 'DuplicateEncap', 'east'],
        ['prefix', '10.16.128.0/17', 'PrefixOverlap', 'east'],
        ['prefix', '100.100.0.0/30', 'PrefixOverlap', ''],
        ['prefix', 'fd00::/64', 'FamilyUnsupported', ''],
        ['prefix', 'x', 'PrefixInvalid', ''],
      ],
    );
    assert.deepEqual(names('Route', 'ip_prefix'), ['10.16.0.0/16', '10.17.0.0/16']);
    assert.deepEqual(names('Gateway', 'name'), ['a1'], 'a gateway that clashes is not written');
    const duplicate = await west.say(['10.17.0.0/16'], 'a1', '172.30.0.21');
    assert.deepEqual(
      duplicate.map(({ code, holder }) => [code, holder]),
      [['DuplicateChassis', 'east']],
    );
    await west.say(['10.16.128.0/17'], 'b1', '172.30.0.21');
    await east.say(['10.16.0.0/17'], 'a1', '172.30.0.11');
    await west.until(() => west.last?.rejections.length === 0);
    assert.deepEqual(names('Route', 'ip_prefix'), ['10.16.0.0/17', '10.16.128.0/17']);
    east.close();
    west.close();
  });

  it('writes nothing when it starts again and its members come back', async () => {
    const east = await join_('east');
    await east.say(['10.16.0.0/17'], 'a1', '172.30.0.11');
    east.close();
    const before = JSON.stringify(
      ['Port_Binding', 'Route', 'Gateway', 'Encap', 'Availability_Zone'].map((table) => names(table, '_uuid')),
    );
    await stopAll();
    await startAll();
    transactions = 0;
    const again = await join_('east');
    assert.deepEqual(await again.say(['10.16.0.0/17'], 'a1', '172.30.0.11'), []);
    assert.equal(again.members.get('west')?.connected, true, 'a member is known from its rows');
    await again.until(() => again.members.get('west')?.connected === false);
    assert.equal(transactions, 0);
    assert.equal(
      JSON.stringify(
        ['Port_Binding', 'Route', 'Gateway', 'Encap', 'Availability_Zone'].map((table) => names(table, '_uuid')),
      ),
      before,
    );
    again.close();
  });

  it('redeems a token once: again for the same key, never for another', async () => {
    const [key, other] = [await createKey(), await createKey()];
    const text = token('south');
    await redeem(text, key);
    await redeem(text, key);
    await assert.rejects(redeem(text, other), isRefused('TokenRedeemed'));
    await assert.rejects(redeem(token('south'), other), isRefused('ClusterNameTaken'));
    await assert.rejects(redeem(token('north', { ttlMs: -1 }), other), isRefused('TokenExpired'));
    const old = new TestMember(address(), await redeem(text, key)).open();
    await redeem(token('south', { replace: true }), other);
    await assert.rejects(redeem(text, key), isRefused('TokenSpent'));
    await old.leave();
    assert.ok(registry.member('south'), 'the key that was replaced takes nothing away by leaving');
    old.close();
    const late = new TestMember(address(), { ...(await redeem(token('gone'), key)) }).open();
    await late.leave();
    await late.until(() => late.ended !== undefined);
    assert.equal(late.ended?.code, 'NotAMember');
    late.close();
  });

  it('leaves the rows of zones with their own ovn-ic alone, shows them, and keeps their names and prefixes', async () => {
    const client = clients[1] as OvsdbClient;
    await client.transact([
      { op: 'insert', table: 'Availability_Zone', row: { name: 'openstack' }, uuidName: 'az' },
      {
        op: 'insert',
        table: 'Encap',
        row: { type: 'geneve', ip: '172.30.0.99', gateway_name: 'f1' },
        uuidName: 'encap',
      },
      {
        op: 'insert',
        table: 'Gateway',
        row: { name: 'f1', hostname: 'f1', availability_zone: { named: 'az' }, encaps: [{ named: 'encap' }] },
      },
      {
        op: 'insert',
        table: 'Port_Binding',
        row: {
          logical_port: 'ts-openstack',
          transit_switch: 'ts',
          availability_zone: { named: 'az' },
          tunnel_key: 3,
          gateway: 'f1',
          address: '00:00:00:00:00:01 100.100.0.3/29',
        },
      },
      {
        op: 'insert',
        table: 'Route',
        row: {
          transit_switch: 'ts',
          availability_zone: { named: 'az' },
          route_table: '',
          ip_prefix: '10.20.0.1/16',
          nexthop: '100.100.0.3',
          origin: 'connected',
        },
      },
    ]);
    const east = await join_('east');
    const rejections = await east.say(['10.20.1.0/24'], 'a1', '172.30.0.11');
    assert.deepEqual(
      rejections.map(({ code, holder }) => [code, holder]),
      [['PrefixOverlap', 'openstack']],
    );
    assert.equal(east.members.get('openstack')?.routes[0]?.prefix, '10.20.0.0/16');
    assert.equal(east.members.get('openstack')?.foreign, true);
    await assert.rejects(redeem(token('openstack'), await createKey()), isRefused('ClusterNameTaken'));
    const third = await join_('third');
    await third.say(['10.30.0.0/16'], 'c1', '172.30.0.31');
    assert.deepEqual(names('Port_Binding', 'tunnel_key'), ['1', '2', '3', '4']);
    for (const member of [east, third]) member.close();
  });

  it('removes every row of a member that leaves, and no other', async () => {
    const [east, third] = [await join_('east'), await join_('third')];
    await east.say(['10.16.0.0/16'], 'a1', '172.30.0.11');
    await third.leave();
    await east.until(() => !east.members.has('third'));
    await third.leave().catch((error: HubRefused) => assert.fail(`leaving twice: ${error.message}`));
    await (await join_('west')).leave();
    await east.leave();
    for (const table of ['Availability_Zone', 'Gateway', 'Encap', 'Port_Binding', 'Route'])
      assert.equal(rows(table).length, 1, `${table} of the foreign zone`);
    assert.equal(registry.member('east'), undefined);
    for (const member of [east, third]) member.close();
  });

  it('refuses to start with another transit network than members have addresses of', async () => {
    const [northbound, southbound] = clients as [OvsdbClient, OvsdbClient];
    const start = startHub({
      northbound,
      southbound,
      registry,
      listen: '127.0.0.1:0',
      transitCidr: '100.101.0.0/16',
      now: Date.now,
      log,
    });
    await assert.rejects(start, HubStateError);
  });
});
