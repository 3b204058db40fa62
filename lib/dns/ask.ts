/** Asks a DNS server about the addresses of a name. Each question has a socket of its own, so that neither its port nor its id can be guessed, and only the server is heard. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { familyOf } from '../net/ip.ts';
import { encodeQuestion, MalformedMessage, parseAnswer, type Answer, type Question } from './message.ts';

export interface DnsServer {
  readonly address: string;
  readonly port: number;
}

export interface AskOptions {
  readonly server: DnsServer;
  readonly question: Question;
  readonly signal: AbortSignal;
  /** How long each try waits for an answer. */
  readonly patienceMs?: number;
  readonly tries?: number;
}

type Reply = Answer | 'truncated';

function failed(reason: string): Answer {
  return { kind: 'failed', reason };
}

function read(bytes: Buffer, id: number, question: Question): Reply | undefined {
  try {
    return parseAnswer(bytes, id, question);
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    return failed(`a malformed answer: ${error.message}`);
  }
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** @param start begins to ask; it returns how to end that */
async function within(
  { signal, patienceMs = 1000 }: AskOptions,
  start: (resolve: (reply: Reply) => void) => () => void,
): Promise<Reply | undefined> {
  const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
  const giveUp = (): void => resolve(undefined);
  const timer = setTimeout(giveUp, patienceMs);
  signal.addEventListener('abort', giveUp, { once: true });
  const end = start(resolve);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    end();
  }
}

function byDatagram(options: AskOptions): Promise<Reply | undefined> {
  const { server, question } = options;
  return within(options, (resolve) => {
    const id = randomInt(0x1_0000);
    const socket = createSocket(familyOf(server.address) === 4 ? 'udp4' : 'udp6');
    socket.on('error', (error) => resolve(failed(codeOf(error))));
    socket.on('message', (bytes) => {
      const reply = read(bytes, id, question);
      if (reply !== undefined) resolve(reply);
    });
    // Without a callback, an error is an event, too.
    socket.once('connect', () => {
      socket.send(encodeQuestion(id, question), (error) => error && resolve(failed(codeOf(error))));
    });
    socket.connect(server.port, server.address);
    return () => socket.close();
  });
}

/** For answers that do not fit into a datagram. */
function byStream(options: AskOptions): Promise<Reply | undefined> {
  const { server, question } = options;
  return within(options, (resolve) => {
    const id = randomInt(0x1_0000);
    const socket = connect({ host: server.address, port: server.port });
    const length = Buffer.alloc(2);
    let received = Buffer.alloc(0);
    socket.on('error', (error) => resolve(failed(codeOf(error))));
    socket.on('close', () => resolve(failed('the connection was closed')));
    socket.on('connect', () => {
      const message = encodeQuestion(id, question);
      length.writeUInt16BE(message.length);
      socket.write(Buffer.concat([length, message]));
    });
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE()) return;
      const reply = read(received.subarray(2, 2 + received.readUInt16BE()), id, question);
      resolve(reply === undefined || reply === 'truncated' ? failed('an answer to another question') : reply);
    });
    return () => socket.destroy();
  });
}

/** What the server answers; `failed` if it does not. */
export async function askDns(options: AskOptions): Promise<Answer> {
  const { port } = options.server;
  // Sockets throw for such a port, which a hand-written EndpointSlice may have.
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return failed(`${port} is no port`);
  const { signal, patienceMs = 1000, tries = 3 } = options;
  for (let attempt = 0; attempt < tries && !signal.aborted; attempt += 1) {
    const reply = await byDatagram(options);
    if (reply === undefined) continue;
    if (reply !== 'truncated') return reply;
    const whole = await byStream(options);
    return whole === undefined || whole === 'truncated' ? failed('no answer by TCP') : whole;
  }
  return failed(`no answer within ${(tries * patienceMs) / 1000} s`);
}
