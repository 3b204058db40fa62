/** An echo server for UDP and TCP on one port. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The kernel spreads flows over the sockets; their buffers hold packets that arrive while this process has no CPU. */
const sockets = 16;

/** Resolves when all sockets listen; they stay open until the process exits. */
export async function startEcho(port: number): Promise<void> {
  await Promise.all(Array.from({ length: sockets }, () => echoUdp(port)));
  const server = createServer((connection) => {
    connection.setNoDelay(true).on('error', () => connection.destroy());
    connection.pipe(connection);
  });
  server.listen(port);
  await once(server, 'listening');
}

async function echoUdp(port: number): Promise<void> {
  const socket = createSocket({ type: 'udp4', reusePort: true });
  // A missing return route is part of the measurement and does not end it.
  const ignore = (): void => undefined;
  socket.on('message', (message, from) => socket.send(message, from.port, from.address, ignore));
  socket.bind(port);
  await once(socket, 'listening');
  socket.setRecvBufferSize(4 << 20);
}
