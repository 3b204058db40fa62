import { connect, type Socket } from 'node:net';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';

/** Commands on an FRR daemon's own socket, which answers within 1 ms; vtysh takes 40 ms per command. */
export class Vty {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #tail: Promise<unknown> = Promise.resolve();
  #answered: ((answer: string | Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('close', () => this.#answered?.(new Error('the daemon closed its vty')));
    socket.on('error', () => {});
  }

  /** Waits until the daemon listens. */
  static async open(path: string): Promise<Vty> {
    const vty = new Vty(await eventuallyPasses(() => opened(path), undefined, 10));
    await vty.command('enable');
    return vty;
  }

  /** The answer to a command. @throws if the daemon refuses the command or does not answer in time */
  async command(line: string): Promise<string> {
    const turn = this.#tail.then(() => this.#ask(line));
    this.#tail = turn.catch(() => {});
    return turn;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #ask(line: string): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string | Error>();
    this.#answered = resolve;
    const timer = setTimeout(() => resolve(new Error(`no answer to '${line}'`)), 60_000);
    this.#socket.write(`${line}\0`);
    const answer = await promise;
    clearTimeout(timer);
    this.#answered = undefined;
    if (typeof answer === 'string') return answer;
    throw answer;
  }

  /** An answer ends with three NUL bytes and a status code. */
  #onData(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    const at = this.#received.length - 4;
    if (at < 0 || this.#received.readUIntBE(at, 3) !== 0) return;
    const [text, code] = [this.#received.toString('utf8', 0, at), this.#received[at + 3] ?? 0];
    this.#received = Buffer.alloc(0);
    this.#answered?.(code > 1 ? new Error(`vty answered ${code}: ${text}`) : text);
  }
}

function opened(path: string): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect(path);
  socket.once('connect', () => resolve(socket));
  socket.once('error', reject);
  return promise;
}
