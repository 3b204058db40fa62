import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { end, type Namespace } from './namespace.ts';

/** Forwards a port of an address in a network namespace to the same port of the test's loopback address. @returns a function that ends it */
export async function lendPort(
  namespace: Pick<Namespace, 'prefix'>,
  port: number,
  address = '127.0.0.1',
): Promise<() => Promise<void>> {
  // A socket stays in the namespace in which it was opened, even when another process receives it.
  const listen = `const server = require('node:net').createServer(); server.listen(${port}, '${address}', () => process.send('there', server, () => server.close()));`;
  const [program, ...argv] = [...namespace.prefix, process.execPath, '-e', listen];
  const child = spawn(program, argv, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [, server] = (await once(child, 'message')) as [string, Server];
  const sockets = new Set<Socket>();
  server.on('connection', (inside: Socket) => {
    const outside = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => sockets.delete(from) && to.destroy());
      from.pipe(to);
    }
  });
  return async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await end(child);
  };
}
