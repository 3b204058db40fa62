/**
 * `serve ADDRESS PORT NAME`: answers connections and datagrams with its name and the client's address.
 * `ask ADDRESS PORT TIMES [udp] [SOURCE]`: prints a line for each answer, `refused`, or `silent`.
 * `agent ADDRESSES PORTS KEPT`: serves at all addresses and ports (lists with commas) under the name `ADDRESS PORT`, serves connections that stay
 * open at port KEPT, and asks what each line of its input says (see service-agent.ts), many at once.
 */
import { createSocket, type BindOptions, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { AgentRequest } from './service-agent.ts';

/** Silence of a dropped packet: longer than the first retransmission of TCP. */
const defaultPatienceMs = 1500;
/** Above those of NodePorts. */
const [firstSource, lastSource] = [33_000, 65_000];
/** Below those of NodePorts. */
const firstKept = 20_000;
let lastUsed = firstSource;
/** The same where the machine is busy with many connections. */
const keptPatienceMs = 20_000;

const [mode = '', address = '', portText = '', ...rest] = process.argv.slice(2);
const plain = (remote: string | undefined): string => (remote ?? '').replace(/^::ffff:/, '');
const listOf = (text: string): readonly string[] => text.split(',').filter((one) => one !== '');

switch (mode) {
  case 'serve':
    await serve(address, Number(portText), rest[0] ?? '');
    process.stdout.write('ready\n');
    break;
  case 'ask':
    await askTimes();
    break;
  case 'agent':
    await beAgent();
    break;
  default:
    throw new Error(`no mode ${mode}`);
}

async function serve(host: string, port: number, name: string): Promise<void> {
  const server = createServer((socket) =>
    socket.on('error', () => undefined).end(`${name} ${plain(socket.remoteAddress)}`),
  );
  server.listen(port, host);
  const datagrams = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  // An answer may have no way back.
  datagrams.on('message', (_, from) =>
    datagrams.send(`${name} ${plain(from.address)}`, from.port, from.address, () => undefined),
  );
  datagrams.bind(port, host);
  await Promise.all([once(server, 'listening'), once(datagrams, 'listening')]);
}

async function askTimes(): Promise<void> {
  const isUdp = rest.includes('udp');
  const source = rest.find((word, at) => at > 0 && word !== 'udp');
  const local = source === undefined ? {} : { address: source };
  const ask = isUdp ? askByDatagram : askByConnection;
  for (let left = Number(rest[0]); left > 0; left -= 1)
    process.stdout.write(`${await ask(address, Number(portText), local)}\n`);
}

/** @param local the source, where it is not the kernel's choice */
async function askByConnection(
  host: string,
  port: number,
  local: BindOptions = {},
  patienceMs = defaultPatienceMs,
): Promise<string> {
  const { address: localAddress, port: localPort } = local;
  const options = { ...(localAddress === undefined ? {} : { localAddress }), ...(localPort ? { localPort } : {}) };
  const socket = connect({ host, port, ...options });
  const timer = setTimeout(() => socket.destroy(new Error('silent')), patienceMs);
  try {
    return await text(socket);
  } catch (error) {
    return codeOf(error) === 'ECONNREFUSED' ? 'refused' : 'silent';
  } finally {
    clearTimeout(timer);
  }
}

async function askByDatagram(
  host: string,
  port: number,
  local: BindOptions = {},
  patienceMs = defaultPatienceMs,
): Promise<string> {
  const socket = await openSocket(host, port, local);
  const answer = await askBySocket(socket, patienceMs);
  socket.close();
  return answer;
}

async function openSocket(host: string, port: number, local: BindOptions): Promise<DatagramSocket> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.bind(local);
  // A connected socket learns of a refusal.
  socket.connect(port, host);
  await once(socket, 'connect');
  return socket;
}

async function askBySocket(socket: DatagramSocket, patienceMs: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve('silent'), patienceMs);
  // A packet that the node drops where it is sent is an error, too.
  const fail = (error: unknown): void => {
    if (codeOf(error) === 'ECONNREFUSED') resolve('refused');
  };
  socket.removeAllListeners('message').removeAllListeners('error');
  socket.on('message', (message) => resolve(message.toString().trim()));
  socket.on('error', fail);
  socket.send('?\n', fail);
  const answer = await promise;
  clearTimeout(timer);
  return answer;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/**
 * Each question has a source port of its own. With those that the kernel chooses, which come again, the userspace datapath of Open vSwitch 3.1 may end
 * with an assertion about its connections (`conn_update_state`).
 */
function nextSource(): number {
  lastUsed = lastUsed >= lastSource ? firstSource : lastUsed + 1;
  return lastUsed;
}

async function beAgent(): Promise<void> {
  const hosts = listOf(address);
  await Promise.all(
    hosts.flatMap((host) => listOf(portText).map((port) => serve(host, Number(port), `${host} ${port}`))),
  );
  for (const host of hosts)
    await once(
      createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(Number(rest[0]), host),
      'listening',
    );
  process.stdout.write('ready\n');
  const kept: Kept = { connections: [], sockets: [] };
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as AgentRequest;
    void obey(request, kept).then((answer) => process.stdout.write(`${JSON.stringify({ id: request.id, answer })}\n`));
  }
}

/** What stays open. */
interface Kept {
  readonly connections: Socket[];
  readonly sockets: DatagramSocket[];
}

async function obey(request: AgentRequest, { connections, sockets }: Kept): Promise<string> {
  const { verb, host, port, patienceMs = defaultPatienceMs } = request;
  switch (verb) {
    case 'TCP':
      return askByConnection(host, port, { port: nextSource() }, patienceMs);
    case 'UDP':
      return askByDatagram(host, port, { port: nextSource() }, patienceMs);
    case 'health':
      return askHealth(host, port);
    case 'keep': {
      const socket = connect({ host, port, localPort: firstKept + connections.length });
      // Its end is seen by the next check.
      socket.on('error', () => undefined);
      connections.push(socket);
      return isAlive(socket);
    }
    case 'check': {
      const states = await Promise.all(connections.map((socket) => isAlive(socket, request.patienceMs)));
      return String(states.filter((state) => state === 'alive').length);
    }
    case 'socket': {
      const socket = await openSocket(host, port, { port: nextSource() });
      sockets.push(socket);
      return askBySocket(socket, patienceMs);
    }
    case 'again':
      return (await Promise.all(sockets.map((socket) => askBySocket(socket, patienceMs)))).join('\n');
  }
}

/** Whether the other end still answers. */
async function isAlive(socket: Socket, patienceMs = keptPatienceMs): Promise<string> {
  socket.write('?');
  try {
    await once(socket, 'data', { signal: AbortSignal.timeout(patienceMs) });
    return 'alive';
  } catch {
    return 'dead';
  }
}

async function askHealth(host: string, port: number): Promise<string> {
  try {
    const response = await fetch(`http://${host}:${port}/healthz`, { signal: AbortSignal.timeout(defaultPatienceMs) });
    const { localEndpoints } = (await response.json()) as { readonly localEndpoints: number };
    return `${response.status} ${localEndpoints}`;
  } catch (error) {
    return String(error);
  }
}
