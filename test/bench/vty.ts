/** A daemon of FRR by its own socket: vtysh would take longer to start than a route to arrive. One command at a time. */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export class Vty {
  readonly #socket: Socket;
  #answer: (text: string) => void = () => undefined;

  constructor(dir: string, daemon = 'bgpd') {
    const chunks: string[] = [];
    this.#socket = connect(join(dir, `${daemon}.vty`)).setEncoding('latin1');
    this.#socket.on('data', (chunk: string) => {
      chunks.push(chunk);
      // Three zeros and a status end every answer, but for their own in two chunks.
      const end = chunk.length < 4 ? chunks.slice(-4).join('') : chunk;
      if (end.at(-4) !== '\0' || end.at(-3) !== '\0' || end.at(-2) !== '\0') return;
      this.#answer(chunks.splice(0).join('').slice(0, -4));
    });
  }

  async ask(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#socket.once('error', reject);
      this.#answer = (text) => {
        this.#socket.off('error', reject);
        resolve(text);
      };
      this.#socket.write(`${command}\0`);
    });
  }

  async json(command: string): Promise<unknown> {
    return JSON.parse((await this.ask(`${command} json`)) || '{}');
  }

  /**
   * Asks until a prefix has the next hop, or has it no more; then the time, by performance.now().
   * @param everyMs 0 asks again as soon as there is an answer
   */
  async until(prefix: string, nextHop: string, isThere = true, everyMs = 1): Promise<number> {
    for (const end = performance.now() + 15_000; ;) {
      const text = await this.ask(`show bgp ${prefix.includes(':') ? 'ipv6' : 'ipv4'} unicast ${prefix} json`);
      if (text.includes(`"${nextHop}"`) === isThere) return performance.now();
      if (performance.now() > end) throw new Error(`waited 15 s for ${prefix} at the router: ${text}`);
      if (everyMs > 0) await pause(everyMs);
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}
