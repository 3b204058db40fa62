/** Further neighbours of the node, each in a network namespace on a link of its own: BIRD, and one that counts. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inNetns, run } from '../../lab/run.ts';
import { end } from '../../system/bgp-lab.ts';
import { node24 } from '../../lab/rooms.ts';

const bird = '/usr/sbin/bird';

/** A process in a namespace that has one link to the node. */
export class Neighbor {
  readonly asn: number;
  /** Its address, and the node's on the same link. */
  readonly address: string;
  readonly nodeAddress: string;
  readonly #netns: string;
  #child: ChildProcess | undefined;

  private constructor(nodeNetns: string, at: number) {
    this.#netns = `${nodeNetns}-${at}`;
    this.asn = 65_100 + at;
    this.address = `172.31.${at}.1`;
    this.nodeAddress = `172.31.${at}.11`;
  }

  /** @param start gives the command that runs there */
  static async open(
    nodeNetns: string,
    at: number,
    start: (neighbor: Neighbor) => readonly string[],
  ): Promise<Neighbor> {
    const neighbor = new Neighbor(nodeNetns, at);
    const netns = neighbor.#netns;
    const device = `peer${at}`;
    await run(['ip', 'netns', 'add', netns]);
    await run(['ip', 'link', 'add', device, 'netns', nodeNetns, 'type', 'veth', 'peer', 'name', 'n1', 'netns', netns]);
    for (const [where, link, address] of [
      [nodeNetns, device, neighbor.nodeAddress],
      [netns, 'n1', neighbor.address],
    ] as const) {
      await run(['ip', '-n', where, 'addr', 'add', `${address}/24`, 'dev', link]);
      await run(['ip', '-n', where, 'link', 'set', link, 'up']);
    }
    const [command = '', ...args] = inNetns(netns, start(neighbor));
    neighbor.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    return neighbor;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** The line it answers with. */
  async ask(): Promise<string> {
    const answer = once(this.#child?.stdout ?? process.stdin, 'data');
    this.#child?.stdin?.write('\n');
    return String((await answer)[0]).trim();
  }

  async close(): Promise<void> {
    if (this.#child) await end(this.#child);
    await run(['ip', 'netns', 'del', this.#netns]);
  }
}

/** Why there can be no BIRD here, if so. */
export function birdMissing(): string | false {
  return existsSync(bird) ? false : `BIRD is not installed (${bird}, package bird2)`;
}

/** BIRD 2, which takes all routes and gives them to its kernel. */
export async function openBird(nodeNetns: string): Promise<Neighbor> {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-bird-'));
  const neighbor = await Neighbor.open(nodeNetns, 3, (self) => {
    writeFileSync(join(dir, 'bird.conf'), renderBird(self));
    return [bird, '-f', '-c', join(dir, 'bird.conf'), '-s', join(dir, 'bird.ctl'), '-P', join(dir, 'bird.pid')];
  });
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  return neighbor;
}

function renderBird({ address, nodeAddress, asn }: Neighbor): string {
  return [
    `router id ${address};`,
    'protocol device { scan time 1; }',
    'protocol kernel { ipv4 { import none; export all; }; }',
    'protocol bgp node {',
    `  local ${address} as ${asn};`,
    `  neighbor ${nodeAddress} as 65001;`,
    '  connect delay time 1;',
    '  connect retry time 1;',
    '  error wait time 1, 2;',
    '  ipv4 { import all; export none; };',
    '}',
    '',
  ].join('\n');
}

export interface Heard {
  readonly announced: number;
  readonly withdrawn: number;
  readonly updates: number;
  readonly sessions: number;
}

/** One that counts the prefixes it is told. */
export class Listener {
  readonly neighbor: Neighbor;

  private constructor(neighbor: Neighbor) {
    this.neighbor = neighbor;
  }

  static async open(nodeNetns: string): Promise<Listener> {
    const program = join(import.meta.dirname, 'listener.ts');
    return new Listener(
      await Neighbor.open(nodeNetns, 4, ({ asn, address }) => [node24, program, String(asn), address]),
    );
  }

  async heard(): Promise<Heard> {
    const [announced = 0, withdrawn = 0, updates = 0, sessions = 0] = (await this.neighbor.ask())
      .split(' ')
      .map(Number);
    return { announced, withdrawn, updates, sessions };
  }

  close(): Promise<void> {
    return this.neighbor.close();
  }
}
