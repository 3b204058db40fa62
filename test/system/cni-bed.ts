/**
 * A node with a daemon and the tools of CNI: cnitool, chainable plugins, configuration lists. Used by test/system/cni*.test.ts
 * only.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestPod } from '../../daemon/testing-cluster.ts';
import { exec, type TestNode } from '../../daemon/testing.ts';
import { toolsFolder } from '../../lib/kube/testing.ts';

export interface ToolAnswer {
  readonly status: number;
  /** The result that `add` printed. */
  readonly result: Result;
  readonly stderr: string;
}

export interface Result {
  readonly cniVersion?: string;
  readonly interfaces?: readonly {
    readonly name: string;
    readonly mac: string;
    readonly mtu?: number;
    readonly sandbox?: string;
  }[];
  readonly ips?: readonly { readonly address: string; readonly version?: string }[];
  readonly [field: string]: unknown;
}

/** The commands of cnitool. */
export type Verb = 'add' | 'check' | 'del' | 'status' | 'gc';

export class CniBed {
  readonly bin: string;
  readonly conf: string;
  readonly #node: TestNode;
  /** Mounted as /var/lib for cnitool, which stores results there. */
  readonly #lib: string;

  constructor(node: TestNode) {
    this.#node = node;
    this.bin = join(node.dir, 'cni/bin');
    this.conf = join(node.dir, 'cni/net.d');
    this.#lib = join(node.dir, 'cni/lib');
    for (const folder of [this.bin, this.conf, this.#lib]) mkdirSync(folder, { recursive: true });
    symlinkSync(join(node.dir, 'isthmus-cni'), join(this.bin, 'isthmus'));
    for (const name of ['portmap', 'bandwidth', 'tuning']) symlinkSync(join(toolsFolder(), name), join(this.bin, name));
  }

  /** Writes a configuration list; returns its name. */
  network(name: string, list: object): string {
    writeFileSync(join(this.conf, `${name}.conflist`), JSON.stringify({ name, ...list }));
    return name;
  }

  /** Runs cnitool. */
  tool(verb: Verb, network: string, pod: TestPod, capabilities: object = {}): ToolAnswer {
    const env = {
      PATH: process.env['PATH'],
      NETCONFPATH: this.conf,
      CNI_PATH: this.bin,
      CNI_ARGS: pod.env['CNI_ARGS'],
      CAP_ARGS: JSON.stringify(capabilities),
      ISTHMUS_SOCKET: join(this.#node.dir, 'daemon.sock'),
    };
    const command = [join(toolsFolder(), 'cnitool'), verb, network, `/var/run/netns/${pod.netns}`];
    const alone = 'mount --bind "$1" /var/lib; shift; exec "$@"';
    const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-ec', alone, 'sh', this.#lib, ...command], {
      env,
      encoding: 'utf8',
    });
    const result = verb === 'add' && status === 0 ? (JSON.parse(stdout) as Result) : {};
    return { status: status ?? -1, result, stderr: stderr + (verb === 'add' && status === 0 ? '' : stdout) };
  }

  /** Deletes the results that libcni cached, like the loss of its folder. */
  forget(): void {
    rmSync(join(this.#lib, 'cni'), { recursive: true });
  }
}

/** All traces of sandboxes on a node: veth ends, ports, interfaces, queues. */
export function traces(node: TestNode): { readonly links: readonly string[]; readonly rows: readonly string[] } {
  const links = exec('ip', '-o', 'link', 'show', 'type', 'veth')
    .split('\n')
    .flatMap((line) => /^\d+: ([0-9a-f]{12}_h)@/.exec(line)?.[1] ?? []);
  const rows = ['port', 'interface', 'qos'].flatMap((table) => {
    const column = table === 'qos' ? '_uuid' : 'name';
    const found = node.vsctl('--bare', `--columns=${column}`, 'find', table, 'external_ids:vendor!=none');
    return found
      .split(/\s+/)
      .flatMap((name) => ((table === 'qos' && name !== '') || name.endsWith('_h') ? [`${table} ${name}`] : []));
  });
  return { links: links.sort(), rows: rows.sort() };
}

export function inPod({ netns }: TestPod, ...command: readonly string[]): string {
  return exec('ip', 'netns', 'exec', netns, ...command);
}

/** Restarts the Open vSwitch database after it was killed. */
export function startDatabase(node: TestNode): void {
  const file = (suffix: string): string => join(node.dir, `db.${suffix}`);
  node.start('db', 'ovsdb-server', file('conf'), `--remote=punix:${file('sock')}`, `--unixctl=${file('ctl')}`);
}
