import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { end, type Namespace } from './namespace.ts';

/** Lets programs in a namespace reach a port of our own loopback at the same port of an address of theirs. @returns ends it */
export async function lendPort(
  namespace: Pick<Namespace, 'prefix'>,
  port: number,
  address = '127.0.0.1',
): Promise<() => Promise<void>> {
  // A socket belongs to the namespace it was opened in, whoever has it then.
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
