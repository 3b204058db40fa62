/** A neighbour of the node that counts the prefixes it receives: `listener.ts` in its own network namespace. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { node24 } from '../../lab/rooms.ts';
import { connect, Namespace } from '../../system/bgp/namespace.ts';

export interface Heard {
  readonly announced: number;
  readonly withdrawn: number;
  readonly updates: number;
  readonly sessions: number;
}

export class CountingNeighbor {
  readonly asn = 65_109;
  readonly address = '172.31.9.201';
  readonly #namespace: Namespace;
  readonly #child: ChildProcess;

  private constructor(namespace: Namespace) {
    this.#namespace = namespace;
    const program = join(import.meta.dirname, 'listener.ts');
    const [command, ...args] = [...namespace.prefix, node24, program, String(this.asn), this.address];
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  /** @param node the namespace of the node, which gets a link to it */
  static async open(node: Namespace): Promise<CountingNeighbor> {
    const namespace = await Namespace.open('counting');
    connect(
      { namespace: node, device: 'counting', addresses: ['172.31.9.11/24'] },
      { namespace, device: 'node', addresses: ['172.31.9.201/24'] },
    );
    return new CountingNeighbor(namespace);
  }

  async heard(): Promise<Heard> {
    if (!this.#child.stdin || !this.#child.stdout) throw new Error('the listener was started without pipes');
    const answer = once(this.#child.stdout, 'data');
    this.#child.stdin.write('\n');
    const [announced = 0, withdrawn = 0, updates = 0, sessions = 0] = String((await answer)[0])
      .split(' ')
      .map(Number);
    return { announced, withdrawn, updates, sessions };
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.#namespace.close();
  }
}
