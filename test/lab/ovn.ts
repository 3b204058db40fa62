/** OVN and OVS processes of a lab: database servers, ovn-northd, and what runs on a node. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Component, fileExists, startAndWait, startComponent } from './component.ts';
import type { ClusterLayout, HubLayout, Lab, NodeLayout } from './layout.ts';
import { configureNodeAddress } from './network.ts';
import { run, tryRun, waitFor } from './run.ts';

// The log file is ours (component.ts captures standard error), so OVS writes to the console only.
const logging = [
  '-vsyslog:off',
  '-vfile:off',
  '-vconsole:info',
  '-vPATTERN:console:%D{%Y-%m-%dT%H:%M:%S.###Z}|%05N|%c%T|%p|%m',
];

interface Database {
  readonly dir: string;
  readonly netns: string;
  /** The component's name; database and sockets are named after it unless said otherwise. */
  readonly name: string;
  readonly schema: string;
  readonly file?: string;
  readonly socket?: string;
  readonly tcpPort?: number;
}

async function startDatabase(db: Database): Promise<void> {
  const file = join(db.dir, db.file ?? `${db.name}.db`);
  const socket = join(db.dir, db.socket ?? `${db.name}.sock`);
  if (!existsSync(file)) await run(['ovsdb-tool', 'create', file, db.schema]);
  const argv = [
    'ovsdb-server',
    file,
    `--remote=punix:${socket}`,
    `--unixctl=${join(db.dir, `${db.name}.ctl`)}`,
    ...logging,
  ];
  if (db.tcpPort !== undefined) argv.push(`--remote=ptcp:${String(db.tcpPort)}:0.0.0.0`);
  await startAndWait({ dir: db.dir, name: db.name, netns: db.netns, argv, env: runDirs(db.dir) }, fileExists(socket));
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
  await Promise.all([
    startDatabase({ dir, netns, name: 'nb', schema: '/usr/share/ovn/ovn-nb.ovsschema', tcpPort: 6641 }),
    startDatabase({ dir, netns, name: 'sb', schema: '/usr/share/ovn/ovn-sb.ovsschema', tcpPort: 6642 }),
  ]);
  await startComponent({
    dir,
    name: 'northd',
    netns,
    env: runDirs(dir),
    argv: [
      'ovn-northd',
      `--ovnnb-db=unix:${dir}/nb.sock`,
      `--ovnsb-db=unix:${dir}/sb.sock`,
      `--unixctl=${dir}/northd.ctl`,
      ...logging,
    ],
  });
}

/** Starts the databases between clusters. */
export async function startInterconnectDatabases(hub: HubLayout): Promise<void> {
  const { dir, netns } = hub;
  await Promise.all([
    startDatabase({ dir, netns, name: 'icnb', schema: '/usr/share/ovn/ovn-ic-nb.ovsschema' }),
    startDatabase({ dir, netns, name: 'icsb', schema: '/usr/share/ovn/ovn-ic-sb.ovsschema' }),
  ]);
}

/** Starts a node's OVS with the node's address on br-phys, and ovn-controller, which waits until the daemon says where SB is. */
export async function startNode(lab: Lab, node: NodeLayout): Promise<void> {
  const { dir, netns } = node;
  await startDatabase({
    dir,
    netns,
    name: 'ovsdb-server',
    schema: '/usr/share/openvswitch/vswitch.ovsschema',
    file: 'conf.db',
    socket: 'db.sock',
  });
  await run([
    'ovs-vsctl',
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
    // ovn-controller may be there before the daemon, and makes br-int if nobody did: in this kernel only the userspace datapath works.
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
    // OVN 23.03 knows no --unixctl here: the control socket is ovn-controller.<pid>.ctl in the run directory.
    argv: ['ovn-controller', `unix:${dir}/db.sock`, ...logging],
  });
}

function vswitchd(node: NodeLayout): Component {
  const { dir, netns } = node;
  return {
    dir,
    name: 'ovs-vswitchd',
    netns,
    env: runDirs(dir),
    argv: ['ovs-vswitchd', `unix:${dir}/db.sock`, '--disable-system', `--unixctl=${dir}/ovs-vswitchd.ctl`, ...logging],
  };
}

/** Waits until ovs-vswitchd has made the device that carries the node's address. */
export async function waitForBridge(node: NodeLayout): Promise<void> {
  await waitFor(
    `br-phys of ${node.netns}`,
    async () => (await tryRun(['ip', '-n', node.netns, 'link', 'show', 'br-phys'])).code === 0 || 'no such device',
    15_000,
    60,
  );
}
