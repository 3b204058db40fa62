/**
 * A cluster of one node and many Services: API server, northbound database and the controller of ScaleBed, OVN, Open vSwitch and the daemon
 * as it ships. Everything is in a network namespace of this process, which is a process of its own.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { schemaFile } from 'ovsdb-client/testing';
import { exec, TestNode } from '../../../daemon/testing.ts';
import { frugalProcess, node24 } from '../../lab/rooms.ts';
import { tryRun } from '../../lab/run.ts';
import { cpuSecondsWithChildren } from '../processes.ts';
import { ScaleBed } from '../scale-bed.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

export const nodeName = 'n1';
export const table = ['inet', 'isthmus-services'] as const;
/** A process that used at most this much CPU in that time is idle. */
const idleMs = 1000;
const idleSeconds = 0.03;

export class ServiceScaleBed {
  readonly scale: ScaleBed;
  readonly node: TestNode;

  private constructor(scale: ScaleBed, node: TestNode) {
    this.scale = scale;
    this.node = node;
  }

  /** Without OVN: `startOvn` follows where it is needed. */
  static async open(): Promise<ServiceScaleBed> {
    const node = new TestNode();
    node.enterNamespace();
    return new ServiceScaleBed(await ScaleBed.open(), node);
  }

  async close(): Promise<void> {
    await this.node.stop();
    await this.scale.close();
  }

  /** northd on the northbound database of the controller, a southbound database, Open vSwitch and ovn-controller. */
  async startOvn(): Promise<void> {
    const { node } = this;
    const path = (name: string): string => join(node.dir, name);
    mkdirSync(path('run'));
    for (const [name, schema] of [
      ['sb', 'ovn-sb'],
      ['db', 'vswitch'],
    ] as const) {
      exec('ovsdb-tool', 'create', path(`${name}.conf`), schemaFile(schema));
      const flags = [`--remote=punix:${path(`${name}.sock`)}`, `--unixctl=${path(`${name}.ctl`)}`];
      node.start(name, 'ovsdb-server', path(`${name}.conf`), ...flags);
    }
    const databases = [`--ovnnb-db=${this.scale.bed.server.remote}`, `--ovnsb-db=${node.remote('sb')}`];
    node.start('northd', 'ovn-northd', ...databases, `--unixctl=${path('northd.ctl')}`);
    // northd creates this row, and an ovn-controller that comes before it ends with SIGSEGV.
    exec('ovn-sbctl', '--timeout=60', `--db=${node.remote('sb')}`, 'wait-until', 'SB_Global', '.');
    await node.startOvs();
  }

  /** Starts the daemon as it ships. */
  startDaemon(services: 'on' | 'off'): number {
    const { node, scale } = this;
    const flags = {
      kubeconfig: scale.bed.api.kubeconfig,
      node: nodeName,
      ovs: node.remote('db'),
      sb: node.remote('sb'),
      socket: join(node.dir, 'daemon.sock'),
      'datapath-type': 'netdev',
      'encap-ip': '172.30.9.11',
      'metrics-address': '127.0.0.1:0',
      'ovs-rundir': join(node.dir, 'run'),
      services,
    };
    const argv = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
    node.start('daemon', node24, ...frugalProcess.flags, join(scale.dir, 'shipped/daemon.mjs'), ...argv);
    return node.pid('daemon');
  }

  /** CPU that the process and its children use from now on until `isDone` and until it is idle, in seconds. */
  async cpuUntil(pid: number, isDone: () => Promise<boolean>): Promise<number> {
    const before = cpuSecondsWithChildren(pid);
    await eventually(`process ${String(pid)}`, async () => (await isDone()) || notYet('not done'), 300_000, 100);
    return (await untilIdle(pid)) - before;
  }

  /** Whether the node serves this address by our table. */
  async isServed(address: string): Promise<boolean> {
    const element = `{ ${address} . 6 . 80 }`;
    return (await tryRun(['nft', 'get', 'element', ...table, 'services4', element])).code === 0;
  }
}

/** Waits until the process and its children are idle. @returns the CPU that they have used, in seconds */
export async function untilIdle(pid: number): Promise<number> {
  for (let before = cpuSecondsWithChildren(pid); ;) {
    await pause(idleMs);
    const now = cpuSecondsWithChildren(pid);
    if (now - before <= idleSeconds) return now;
    before = now;
  }
}
