/** Answers every request with a line of text, as a process of its own in a network namespace. Arguments: address, port. */
import { createServer } from 'node:http';

const text = 'here\n';
const [address, port] = process.argv.slice(2);

createServer((_request, response) => {
  response.writeHead(200, { 'content-length': text.length, connection: 'close' }).end(text);
}).listen(Number(port), address, 4096);

process.stdin.on('data', () => undefined);
process.stdin.on('end', () => process.exit());
