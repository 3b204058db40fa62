/**
 * `serve ADDRESS PORT NAME`: answers connections and datagrams with its name and the client's address.
 * `ask ADDRESS PORT TIMES [udp] [SOURCE]`: prints a line for each answer, `refused`, or `silent`.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';

/** Silence of a dropped packet: longer than the first retransmission of TCP. */
const patienceMs = 1500;

const [mode, address = '', portText = '', ...rest] = process.argv.slice(2);
const port = Number(portText);
const plain = (remote: string | undefined): string => (remote ?? '').replace(/^::ffff:/, '');

if (mode === 'serve') {
  const name = rest[0] ?? '';
  const server = createServer((socket) =>
    socket.on('error', () => undefined).end(`${name} ${plain(socket.remoteAddress)}`),
  );
  server.listen(port, address);
  const datagrams = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  datagrams.on('message', (_, from) => datagrams.send(`${name} ${plain(from.address)}`, from.port, from.address));
  datagrams.bind(port, address);
  await Promise.all([once(server, 'listening'), once(datagrams, 'listening')]);
  process.stdout.write('ready\n');
} else {
  const isUdp = rest.includes('udp');
  const source = rest.find((word, at) => at > 0 && word !== 'udp');
  for (let left = Number(rest[0]); left > 0; left -= 1)
    process.stdout.write(`${await (isUdp ? askByDatagram(source) : askByConnection(source))}\n`);
}

async function askByConnection(localAddress: string | undefined): Promise<string> {
  const socket = connect({ host: address, port, ...(localAddress === undefined ? {} : { localAddress }) });
  const timer = setTimeout(() => socket.destroy(new Error('silent')), patienceMs);
  try {
    return await text(socket);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'silent';
  } finally {
    clearTimeout(timer);
  }
}

async function askByDatagram(localAddress: string | undefined): Promise<string> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  if (localAddress !== undefined) socket.bind(0, localAddress);
  // A connected socket learns of a refusal.
  socket.connect(port, address);
  await once(socket, 'connect');
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.on('message', (message) => resolve(message.toString()));
  socket.on('error', () => resolve('refused'));
  const timer = setTimeout(() => resolve('silent'), patienceMs);
  // A packet that the node rejects itself is refused where it is sent.
  socket.send('?', (error) => error !== null && resolve('refused'));
  const answer = await promise;
  clearTimeout(timer);
  socket.close();
  return answer;
}
