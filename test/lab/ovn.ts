/** OVN and OVS processes of a lab: database servers, ovn-northd, and the processes of a node. */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Installation, installation, ovnProgram, schemaFile, type SchemaName } from 'ovsdb-client/testing';
import { type Component, socketAnswers, startAndWait, startComponent, stateOf } from './component.ts';
import {
  type ClusterLayout,
  type HubDatabase,
  hubDatabaseServers,
  type HubLayout,
  type Lab,
  type NodeLayout,
} from './layout.ts';
import { configureNodeAddress } from './network.ts';
import { run, tryRun } from './run.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

// The log file is ours (component.ts captures standard error), so OVS writes to the console only.
const logging = [
  '-vsyslog:off',
  '-vfile:off',
  '-vconsole:info',
  '-vPATTERN:console:%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m',
];

const clients = [
  'ovn-nbctl',
  'ovn-sbctl',
  'ovn-trace',
  'ovn-appctl',
  'ovn-ic-nbctl',
  'ovn-ic-sbctl',
  'ovs-vsctl',
  'ovs-ofctl',
  'ovs-appctl',
  'ovsdb-client',
  'ovsdb-tool',
];

interface Database {
  readonly dir: string;
  readonly netns?: string;
  /** The component's name; database and sockets are named after it by default. */
  readonly name: string;
  readonly schema: SchemaName;
  readonly from: Installation;
  readonly file?: string;
  readonly socket?: string;
  readonly tcpPort?: number;
  /** Of a raft: all its servers, this one among them. */
  readonly raft?: readonly RaftServer[];
}

interface RaftServer {
  readonly name: string;
  /** Address for the other servers. */
  readonly address: string;
}

async function startDatabase(db: Database): Promise<void> {
  const file = join(db.dir, db.file ?? `${db.name}.db`);
  const socket = join(db.dir, db.socket ?? `${db.name}.sock`);
  if (!existsSync(file)) await createDatabase(db, file);
  const argv = [
    ovnProgram('ovsdb-server', db.from),
    file,
    `--remote=punix:${socket}`,
    `--unixctl=${join(db.dir, `${db.name}.ctl`)}`,
    ...logging,
  ];
  if (db.tcpPort !== undefined) argv.push(`--remote=ptcp:${String(db.tcpPort)}:0.0.0.0`);
  const netns = db.netns === undefined ? {} : { netns: db.netns };
  await startAndWait({ dir: db.dir, name: db.name, ...netns, argv, env: runDirs(db.dir) }, socketAnswers(socket));
}

async function createDatabase({ dir, name, schema, from, raft }: Database, file: string): Promise<void> {
  const [tool, definition] = [ovnProgram('ovsdb-tool', from), schemaFile(schema, from)];
  const own = raft?.find((server) => server.name === name);
  if (raft === undefined || own === undefined) {
    await run([tool, 'create', file, definition]);
    return;
  }
  const others = raft.filter((server) => server !== own);
  // If another server has the database, this server joins it; if none has, the first server creates it.
  const isThere = others.some((server) => existsSync(join(dir, `${server.name}.db`)));
  if (!isThere && own === raft[0]) {
    await run([tool, 'create-cluster', file, definition, own.address]);
    return;
  }
  const database = (await run([tool, 'schema-name', definition])).trim();
  await run([tool, 'join-cluster', file, database, own.address, ...others.map(({ address }) => address)]);
}

/** `bin/`: the programs that belong to a place's servers, whatever release those are of. */
function linkPrograms(dir: string, from: Installation): void {
  const folders = from.programs === undefined ? (process.env['PATH'] ?? '').split(delimiter) : [from.programs];
  mkdirSync(join(dir, 'bin'), { recursive: true });
  for (const name of clients) {
    const program = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
    const link = join(dir, 'bin', name);
    if (program !== undefined && !existsSync(link)) symlinkSync(program, link);
  }
}

/** One run directory per host, so that several OVS and OVN live on one machine. */
function runDirs(dir: string): Record<string, string> {
  return {
    OVS_RUNDIR: dir,
    OVS_DBDIR: dir,
    OVS_SYSCONFDIR: dir,
    OVS_LOGDIR: dir,
    OVN_RUNDIR: dir,
    OVN_DBDIR: dir,
    OVN_SYSCONFDIR: dir,
  };
}

/** Starts NB, SB and ovn-northd of a cluster; ready when both databases answer. */
export async function startCentral(cluster: ClusterLayout): Promise<void> {
  const { dir, netns } = cluster;
  const from = installation(cluster.ovn);
  linkPrograms(dir, from);
  await Promise.all([
    startDatabase({ dir, netns, from, name: 'nb', schema: 'ovn-nb', tcpPort: 6641 }),
    startDatabase({ dir, netns, from, name: 'sb', schema: 'ovn-sb', tcpPort: 6642 }),
  ]);
  await startComponent({
    dir,
    name: 'northd',
    netns,
    env: runDirs(dir),
    argv: [
      ovnProgram('ovn-northd', from),
      `--ovnnb-db=unix:${dir}/nb.sock`,
      `--ovnsb-db=unix:${dir}/sb.sock`,
      `--unixctl=${dir}/northd.ctl`,
      ...logging,
    ],
  });
}

/**
 * Starts the interconnect databases, creates those without a file, and waits until they are writable.
 * The servers of a raft talk to each other on loopback addresses, `127.0.0.<number>`.
 */
export async function startInterconnectDatabases(hub: HubLayout): Promise<void> {
  linkPrograms(hub.dir, installation(hub.ovn));
  await Promise.all([startInterconnectDatabase(hub, 'icnb'), startInterconnectDatabase(hub, 'icsb')]);
}

const interconnectSchemas = {
  icnb: { schema: 'ovn-ic-nb', database: 'OVN_IC_Northbound', raftPort: 6647 },
  icsb: { schema: 'ovn-ic-sb', database: 'OVN_IC_Southbound', raftPort: 6648 },
} as const;

async function startInterconnectDatabase(hub: HubLayout, which: HubDatabase): Promise<void> {
  const servers = interconnectServers(hub, which);
  for (const server of servers) if (stateOf(server) === 'dead') await startDatabase(server);
  if (servers.length > 1) await Promise.all(servers.map((server) => untilMember(server, which)));
}

function interconnectServers(hub: HubLayout, which: HubDatabase): Database[] {
  const { dir, netns } = hub;
  const { schema, raftPort } = interconnectSchemas[which];
  const from = installation(hub.ovn);
  const servers = hubDatabaseServers(hub, which).map((name, at) => ({
    name,
    address: `tcp:127.0.0.${String(at + 1)}:${String(raftPort)}`,
  }));
  const raft = servers.length > 1 ? { raft: servers } : {};
  return servers.map(({ name }) => ({ dir, netns, from, name, schema, ...raft }));
}

async function untilMember({ dir, name, from }: Database, which: HubDatabase): Promise<void> {
  const { database } = interconnectSchemas[which];
  const argv = [ovnProgram('ovn-appctl', from), '-t', join(dir, `${name}.ctl`), 'cluster/status', database];
  await eventually(`${name} to take part in ${database}`, async () => {
    const { stdout, stderr } = await tryRun(argv);
    const isMember = stdout.includes('Status: cluster member') && !stdout.includes('Leader: unknown');
    return isMember || notYet(stdout || stderr);
  });
}

/** Recreates the file of an interconnect database if it was deleted; does nothing for other components. */
export async function remakeDatabase(hub: HubLayout, component: string): Promise<void> {
  const servers = (['icnb', 'icsb'] as const).flatMap((which) => interconnectServers(hub, which));
  const server = servers.find(({ name }) => name === component);
  const file = join(hub.dir, `${component}.db`);
  if (server !== undefined && !existsSync(file)) await createDatabase(server, file);
}

/** Starts a node's OVS with the node's address on br-phys, and ovn-controller, which waits until the daemon says where SB is. */
export async function startNode(lab: Lab, node: NodeLayout): Promise<void> {
  const { dir, netns } = node;
  const from = installation(node.ovn);
  await startLocalDatabase(node);
  await run([
    ovnProgram('ovs-vsctl', from),
    `--db=unix:${dir}/db.sock`,
    '--no-wait',
    'init',
    '--',
    'add-br',
    'br-phys',
    '--',
    'set',
    'bridge',
    'br-phys',
    'datapath_type=netdev',
    '--',
    'add-port',
    'br-phys',
    'up0',
    '--',
    'set',
    'open',
    '.',
    `external_ids:system-id=${node.netns}`,
    `external_ids:hostname=${node.name}`,
    // ovn-controller may start before the daemon, and creates br-int if it is missing: in this kernel only the userspace datapath works.
    'external_ids:ovn-bridge-datapath-type=netdev',
  ]);
  await startComponent(vswitchd(node));
  await waitForBridge(node);
  await configureNodeAddress(lab, node);
  await startComponent({
    dir,
    name: 'ovn-controller',
    netns,
    env: runDirs(dir),
    // When a gateway is lost the next one forwards once this has seen it: on a node of its own it waits for no other cluster.
    goes: 'second',
    // OVN 23.03 knows no --unixctl here: the control socket is ovn-controller.<pid>.ctl in the run directory.
    argv: [ovnProgram('ovn-controller', from), `unix:${dir}/db.sock`, ...logging],
  });
}

/** The fields of a node that an Open vSwitch of the lab needs. */
type SwitchPlace = Pick<NodeLayout, 'dir' | 'netns' | 'ovn'>;

/** The database of an Open vSwitch, `db.sock`. */
export async function startLocalDatabase({ dir, netns, ovn }: SwitchPlace): Promise<void> {
  const place = { dir, netns, from: installation(ovn), file: 'conf.db', socket: 'db.sock' };
  await startDatabase({ ...place, name: 'ovsdb-server', schema: 'vswitch' });
}

export function vswitchd(node: SwitchPlace): Component {
  const { dir, netns } = node;
  return {
    dir,
    name: 'ovs-vswitchd',
    netns,
    env: runDirs(dir),
    // In user space it forwards all packets of the node, and shares its cores with every process of every cluster here.
    goes: 'first',
    argv: [
      ovnProgram('ovs-vswitchd', installation(node.ovn)),
      `unix:${dir}/db.sock`,
      '--disable-system',
      `--unixctl=${dir}/ovs-vswitchd.ctl`,
      ...logging,
    ],
  };
}

/** Waits until ovs-vswitchd has made the device that carries the node's address. */
export async function waitForBridge(node: NodeLayout): Promise<void> {
  await eventually(
    `br-phys of ${node.netns}`,
    async () =>
      (await tryRun(['ip', '-n', node.netns, 'link', 'show', 'br-phys'])).code === 0 || notYet('no such device'),
    undefined,
    60,
  );
}
