/** The bundled speaker, as it ships, in a process of its own, with its output and metrics. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { node24 } from '../../lab/rooms.ts';
import { freePort } from '../processes.ts';

/** Where speakers look for passwords. */
export const passwordSecret = { namespace: 'kube-system', name: 'isthmus-bgp-passwords' } as const;

export interface SpeakerOptions {
  /** The folder of the bundled programs. */
  readonly programs: string;
  readonly kubeconfig: string;
  readonly node: string;
  readonly gobgpd: string;
  /** gobgpd's. */
  readonly log: string;
  readonly netstat: string;
  /** Flags of Node.js. */
  readonly flags: readonly string[];
}

export class SpeakerProcess {
  readonly #child: ChildProcess;
  readonly #port: number;
  /** By performance.now(). */
  readonly startedAt: number = performance.now();
  #log = '';

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#port = port;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-20_000);
    });
    child.once('exit', (code) => {
      if (code !== null && code !== 0) process.stderr.write(`the speaker ended with ${code}:\n${this.#log}`);
    });
  }

  static async start(options: SpeakerOptions): Promise<SpeakerProcess> {
    const port = await freePort();
    const named = {
      kubeconfig: options.kubeconfig,
      node: options.node,
      gobgpd: options.gobgpd,
      'gobgpd-log': options.log,
      'password-secrets': passwordSecret.name,
      netstat: options.netstat,
      'metrics-address': `127.0.0.1:${port}`,
      'proto-dir': join(options.programs, 'proto/gobgp'),
    };
    const args = Object.entries(named).flatMap(([name, value]) => [`--${name}`, value]);
    const child = spawn(node24, [...options.flags, join(options.programs, 'speaker.mjs'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    return new SpeakerProcess(child, port);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The end of its output. */
  get log(): string {
    return this.#log;
  }

  /** Whether it has read the cluster's objects and is connected to gobgpd. */
  async isReady(): Promise<boolean> {
    if (this.#isOver) throw new Error(`the speaker ended:\n${this.#log}`);
    return fetch(`http://127.0.0.1:${this.#port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** The sum of a metric's series that have these labels. */
  async metric(name: string, labels = ''): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#port}/metrics`)).text();
    const lines = text.split('\n').filter((line) => new RegExp(`^${name}[{ ]`).test(line) && line.includes(labels));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** `SIGTERM` ends it in order. */
  async end(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    if (this.#isOver) return;
    const over = once(this.#child, 'exit');
    this.#child.kill(signal);
    if (signal === 'SIGTERM') this.thaw();
    await over;
  }

  get #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
