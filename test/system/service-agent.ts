/** A program in a network namespace that serves, and asks Services; it runs as long as the test. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inNetns } from '../lab/run.ts';

const script = join(import.meta.dirname, 'echo.ts');

export interface AgentRequest {
  readonly id: number;
  /**
   * `health` reads a health check. `keep` opens a connection that stays open, and `check` counts those that still answer. `socket` asks by a UDP
   * socket that stays open, and `again` asks by all of them: a line for each answer.
   */
  readonly verb: 'TCP' | 'UDP' | 'health' | 'keep' | 'check' | 'socket' | 'again';
  readonly host: string;
  readonly port: number;
  /** After which an end is `silent`, or counts as dead. */
  readonly patienceMs?: number;
}

export class Agent {
  /** `ADDRESS PORT SOURCE`: the server and the client's address as it saw it; or `refused`, or `silent`. */
  readonly #waiting = new Map<number, (answer: string) => void>();
  readonly #child: ChildProcess;
  #next = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Serves at the addresses and ports, and connections that stay open at port `kept`. @throws Error if it cannot */
  static async start(
    netns: string,
    addresses: readonly string[] = [],
    ports: readonly number[] = [],
    kept = 0,
  ): Promise<Agent> {
    const argv = [process.execPath, script, 'agent', addresses.join(), ports.join(), String(kept)];
    const [program = '', ...args] = inNetns(netns, argv);
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const agent = new Agent(child);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once('exit', (code) => {
      reject(new Error(`the agent in ${netns} ended with ${String(code)}`));
      for (const answer of agent.#waiting.values()) answer('the agent has ended');
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') return resolve();
      const { id, answer } = JSON.parse(line) as { id: number; answer: string };
      agent.#waiting.get(id)?.(answer);
      agent.#waiting.delete(id);
    });
    await promise;
    return agent;
  }

  ask(verb: AgentRequest['verb'], host = '', port = 0, patienceMs?: number): Promise<string> {
    const id = (this.#next += 1);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.set(id, resolve);
    this.#child.stdin?.write(`${JSON.stringify({ id, verb, host, port, patienceMs })}\n`);
    return promise;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
