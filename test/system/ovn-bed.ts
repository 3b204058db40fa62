/**
 * Stock OVN in network namespaces, without the kernel module: central, nodes and one pod for a cluster. Used by
 * interconnect-bed.ts. The names of namespaces begin with the bed's prefix; every daemon has a pid file in its folder.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ovnEnvironment, schemaFile, type SchemaName } from 'ovsdb-client/testing';
import { letGo } from '../lab/run.ts';

export interface ClusterPlan {
  readonly name: string;
  /** The second octet of the pod network and the middle of the underlay addresses. */
  readonly octet: number;
  readonly gateways: readonly string[];
  readonly nodes: readonly string[];
  /** The node of the pod. */
  readonly podNode: string;
  /** No Kubernetes and no agent: a zone with plain ovn-ic. */
  readonly isForeign?: boolean;
}

/** Runs a command; the first argument is split at spaces, the others are passed unchanged. */
export function words(command: string, ...argv: string[]): string {
  const [program = '', ...rest] = command.split(' ');
  const argvs = [...rest, ...argv];
  return execFileSync(program, argvs, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: ovnEnvironment() });
}

export class OvnBed {
  readonly dir: string;
  readonly prefix: string;

  constructor(dir: string, prefix: string) {
    this.dir = dir;
    this.prefix = prefix;
  }

  /** Runs a command in a network namespace of the bed. */
  in(name: string, command: string, ...argv: string[]): string {
    return words(`ip netns exec ${this.prefix}-${name} ${command}`, ...argv);
  }
  nb(cluster: string, ...argv: string[]): string {
    return words(`ovn-nbctl --db=unix:${this.dir}/${cluster}/nb.sock`, ...argv);
  }

  underlay(): void {
    words(`ip netns add ${this.prefix}-net`);
    this.in('net', 'ip link add br0 type bridge');
    this.in('net', 'ip link set br0 up');
  }

  cluster(plan: ClusterPlan): void {
    const { name, octet, nodes } = plan;
    mkdirSync(join(this.dir, name));
    this.#uplink(name);
    this.in(name, `ip addr add 172.30.0.${octet}0/24 dev up0`);
    this.database(name, 'nb', 'ovn-nb');
    this.database(name, 'sb', 'ovn-sb', name);
    const at = `${this.dir}/${name}`;
    words(`ovn-northd --ovnnb-db=unix:${at}/nb.sock --ovnsb-db=unix:${at}/sb.sock ${files(at, 'northd')} --detach`);
    for (const [index, node] of nodes.entries())
      this.#node(node, `172.30.0.${octet}${index + 1}`, `172.30.0.${octet}0`);
    this.#routers(plan);
    this.#pod(plan);
  }

  database(where: string, name: string, schema: SchemaName, space?: string): void {
    const at = `${this.dir}/${where}`;
    words(`ovsdb-tool create ${at}/${name}.db ${schemaFile(schema)}`);
    const command = `ovsdb-server ${at}/${name}.db --remote=punix:${at}/${name}.sock ${files(at, name)} --detach`;
    if (space === undefined) words(command);
    else this.in(space, `${command} --remote=ptcp:6642:0.0.0.0`);
  }

  startOvs(node: string): void {
    const dir = `${this.dir}/${node}`;
    this.#ovs(node, `ovs-vswitchd unix:${dir}/db.sock --disable-system ${files(dir, 'vswitchd')}`);
    // BFD detects a failure after 300 ms: a busy machine must not look like a dead gateway.
    letGo(Number(readFileSync(`${dir}/vswitchd.pid`, 'utf8')), 'first');
  }

  /** Attaches a zone to the transit switch `ts` like the administrator of a plain ovn-ic. */
  startForeign({ name }: ClusterPlan): void {
    this.nb(name, 'set', 'NB_Global', '.', `name=${name}`, 'options:ic-route-adv=true', 'options:ic-route-learn=true');
    const [at, hub] = [`${this.dir}/${name}`, `${this.dir}/hub`];
    const ic = `--ic-nb-db=unix:${hub}/icnb.sock --ic-sb-db=unix:${hub}/icsb.sock`;
    words(`ovn-ic ${ic} --ovnnb-db=unix:${at}/nb.sock --ovnsb-db=unix:${at}/sb.sock ${files(at, 'ovn-ic')} --detach`);
  }

  attachForeign({ name, octet, gateways }: ClusterPlan, address: string): void {
    const port = `ts-${name}`;
    this.nb(name, 'lrp-add', 'ovn-cluster', 'ovn-cluster-ts', `00:00:00:00:${octet}:fe`, address);
    this.#routerPort(name, 'ts', port, 'ovn-cluster-ts');
    for (const gateway of gateways) this.nb(name, 'lrp-set-gateway-chassis', 'ovn-cluster-ts', gateway);
  }

  #routerPort(cluster: string, logicalSwitch: string, port: string, peer: string): void {
    const set = ['--', 'lsp-set-type', port, 'router', '--', 'lsp-set-addresses', port, 'router'];
    this.nb(cluster, 'lsp-add', logicalSwitch, port, ...set, '--', 'lsp-set-options', port, `router-port=${peer}`);
  }

  #uplink(name: string): void {
    const space = `${this.prefix}-${name}`;
    words(`ip netns add ${space}`);
    this.in(name, 'ip link set lo up');
    words(`ip link add up0 netns ${space} type veth peer name v-${name} netns ${this.prefix}-net`);
    this.in('net', `ip link set v-${name} master br0 up`);
    // Otherwise the userspace datapath receives packets with incomplete checksums.
    this.in(name, 'ethtool -K up0 tx off');
    this.in(name, 'ip link set up0 up');
  }

  #node(name: string, address: string, southbound: string): void {
    const dir = `${this.dir}/${name}`;
    mkdirSync(dir);
    this.#uplink(name);
    words(`ovsdb-tool create ${dir}/conf.db ${schemaFile('vswitch')}`);
    this.#ovs(name, `ovsdb-server ${dir}/conf.db --remote=punix:${dir}/db.sock ${files(dir, 'ovsdb')}`);
    const vsctl = `ovs-vsctl --db=unix:${dir}/db.sock`;
    words(`${vsctl} --no-wait init`);
    this.startOvs(name);
    const ids = {
      'system-id': name,
      hostname: name,
      'ovn-remote': `tcp:${southbound}:6642`,
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': address,
      'ovn-is-interconn': 'true',
    };
    for (const bridge of ['br-phys', 'br-int'])
      words(`${vsctl} add-br ${bridge} -- set bridge ${bridge} datapath_type=netdev`);
    const settings = Object.entries(ids).map(([key, value]) => `external_ids:${key}="${value}"`);
    words(`${vsctl} add-port br-phys up0 -- set open .`, ...settings);
    this.in(name, `ip addr add ${address}/24 dev br-phys`);
    this.in(name, 'ip link set br-phys up');
    this.#ovs(name, `ovn-controller unix:${dir}/db.sock --pidfile=${dir}/ovn-controller.pid`);
  }

  #ovs(name: string, command: string): void {
    const dir = join(this.dir, name);
    const env = { ...ovnEnvironment(), OVS_RUNDIR: dir, OVS_DBDIR: dir, OVS_SYSCONFDIR: dir, OVN_RUNDIR: dir };
    const log = `--log-file=${dir}/${command.split(' ')[0]}.log`;
    const argv = ['netns', 'exec', `${this.prefix}-${name}`, ...command.split(' '), log, '--detach'];
    execFileSync('ip', argv, { env, stdio: 'ignore' });
  }

  #routers({ name, octet }: ClusterPlan): void {
    const mac = `00:00:00:00:${octet}`;
    this.nb(name, 'lr-add', 'ovn-cluster', '--', 'ls-add', 'ovn-default');
    this.nb(name, 'lrp-add', 'ovn-cluster', 'ovn-cluster-ovn-default', `${mac}:01`, `10.${octet}.0.1/16`);
    this.#routerPort(name, 'ovn-default', 'ovn-default-ovn-cluster', 'ovn-cluster-ovn-default');
    this.nb(name, 'lsp-add', 'ovn-default', 'p', '--', 'lsp-set-addresses', 'p', `${mac}:11 10.${octet}.0.11`);
  }

  #pod({ name, octet, podNode }: ClusterPlan): void {
    const pod = `p${name}`;
    words(`ip netns add ${this.prefix}-${pod}`);
    words(`ip link add eth0 netns ${this.prefix}-${pod} type veth peer name h-${pod} netns ${this.prefix}-${podNode}`);
    this.in(pod, `ip link set eth0 address 00:00:00:00:${octet}:11 mtu 1400`);
    this.in(pod, 'ethtool -K eth0 tx off');
    this.in(pod, 'ip link set eth0 up');
    this.in(pod, `ip addr add 10.${octet}.0.11/16 dev eth0`);
    this.in(pod, `ip route add default via 10.${octet}.0.1`);
    this.in(podNode, `ip link set h-${pod} up`);
    const vsctl = `ovs-vsctl --db=unix:${this.dir}/${podNode}/db.sock add-port br-int h-${pod}`;
    words(`${vsctl} -- set interface h-${pod} external_ids:iface-id=p`);
  }
}

/** The flags for a daemon's pid file, log and control socket. */
function files(dir: string, name: string): string {
  return `--pidfile=${dir}/${name}.pid --log-file=${dir}/${name}.log --unixctl=${dir}/${name}.ctl`;
}
