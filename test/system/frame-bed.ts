/** Sends raw frames from one network namespace and observes them in others, with frames.c. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { exec } from '../../daemon/testing.ts';
import { marker, tagged } from './frames.ts';
import type { Frames } from './pod-frames.ts';
import { eventually } from '../../lib/testing-eventually.ts';

/** An interface in a namespace. */
export interface Place {
  readonly netns: string;
  /** `eth0` by default. */
  readonly device?: string;
  /** The VLAN of the frames: sent frames get its tag, and received frames lose it. */
  readonly vlan?: number;
}

const bothAddresses = 24;

/** Removes the VLAN tag, if the frame has it. */
function withoutTag(frame: string, vlan: number): string {
  const tag = `8100${vlan.toString(16).padStart(4, '0')}`;
  if (!frame.startsWith(tag, bothAddresses)) return frame;
  return `${frame.slice(0, bothAddresses)}${frame.slice(bothAddresses + tag.length)}`;
}

/** The frames that arrive at an interface. */
export class Watcher {
  readonly frames: string[] = [];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async open(program: string, { netns, device = 'eth0', vlan }: Place): Promise<Watcher> {
    const child = spawn('ip', ['netns', 'exec', netns, program, 'watch', device], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const watcher = new Watcher(child);
    const ready = Promise.withResolvers<void>();
    createInterface(child.stdout).on('line', (line) =>
      line === 'ready' ? ready.resolve() : watcher.frames.push(vlan === undefined ? line : withoutTag(line, vlan)),
    );
    await ready.promise;
    return watcher;
  }

  has(frame: Buffer): boolean {
    return this.frames.includes(frame.toString('hex'));
  }

  async close(): Promise<void> {
    this.#child.kill();
    await once(this.#child, 'close');
  }
}

export class FrameBed {
  readonly #program: string;
  readonly #watchers: Watcher[] = [];
  #markers = 0;

  /** @param dir where the program is built */
  constructor(dir: string) {
    this.#program = join(dir, 'frames');
    exec('cc', '-static', '-Os', '-o', this.#program, join(import.meta.dirname, 'frames.c'));
  }

  async watch(place: Place): Promise<Watcher> {
    const watcher = await Watcher.open(this.#program, place);
    this.#watchers.push(watcher);
    return watcher;
  }

  send({ netns, device = 'eth0', vlan }: Place, ...all: readonly Buffer[]): void {
    const sent = vlan === undefined ? all : all.map((frame) => tagged(frame, [0x8100, vlan]));
    const input = sent.map((frame) => `${frame.toString('hex')}\n`).join('');
    execFileSync('ip', ['netns', 'exec', netns, this.#program, 'send', device], {
      input,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
  }

  /** The names whose frames all arrive; resolves when a marker, sent after them, has arrived. */
  async arriving(from: Place, mac: string, at: Watcher, all: Frames): Promise<readonly string[]> {
    const mark = this.#mark(mac);
    at.frames.length = 0;
    this.send(from, ...Object.values(all).flat(), mark);
    await eventually('the marker', () => at.has(mark));
    return Object.keys(all).filter((name) => [all[name]!].flat().every((frame) => at.has(frame)));
  }

  /** Resolves when frames pass, which they do not while flows are missing. */
  async untilPassing(from: Place, mac: string, at: Watcher): Promise<void> {
    const mark = this.#mark(mac);
    await eventually('a frame passes', () => {
      this.send(from, mark);
      return at.has(mark);
    });
  }

  #mark(mac: string): Buffer {
    return marker(mac, `marker ${++this.#markers}`);
  }

  async close(): Promise<void> {
    await Promise.all(this.#watchers.map((watcher) => watcher.close()));
  }
}
