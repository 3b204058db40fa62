/** Ports of loopback for servers of tests and labs that have to know theirs before they listen. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that the kernel gives to connections: none of them takes one of these between two starts of a server. */
const [first, end] = [15_000, 32_000] as const;

/** Distinct unused ports, chosen at random so that parallel tests get different ports. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = randomInt(first, end);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
