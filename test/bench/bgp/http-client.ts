/**
 * Requests at an even rate, each on a connection of its own, whether those before were answered or not; as a process of its own
 * in a network namespace. Each line on its input is answered with the results of the requests since the previous line, as JSON.
 * Arguments: address, port, requests a second.
 */
import { connect } from 'node:net';

const [address = '', port, rate] = process.argv.slice(2);
/** A request that has no answer by then has failed. */
const patienceMs = 2000;
const perMs = Number(rate) / 1000;
const request = `GET / HTTP/1.1\r\nHost: ${address}\r\nConnection: close\r\n\r\n`;

interface Tally {
  since: number;
  answered: number;
  slowestMs: number;
  failures: Record<string, number>;
}

const newTally = (): Tally => ({ since: performance.now(), answered: 0, slowestMs: 0, failures: {} });
let tally = newTally();

function ask(): void {
  const started = performance.now();
  const socket = connect({ host: address, port: Number(port) });
  let head = '';
  let problem: string | undefined;
  socket.setTimeout(patienceMs);
  socket.on('connect', () => socket.write(request));
  socket.setEncoding('latin1').on('data', (text: string) => {
    head += text;
  });
  socket.on('timeout', () => {
    problem = 'no answer';
    socket.destroy();
  });
  socket.on('error', ({ message }) => {
    problem = message.replace(/ \d.*$/, '');
  });
  socket.on('close', () => {
    const isAnswered = problem === undefined && head.startsWith('HTTP/1.1 200') && head.endsWith('here\n');
    if (isAnswered) tally.answered += 1;
    else tally.failures[problem ?? 'cut short'] = (tally.failures[problem ?? 'cut short'] ?? 0) + 1;
    tally.slowestMs = Math.max(tally.slowestMs, performance.now() - started);
  });
}

let due = performance.now();
setInterval(() => {
  for (const now = performance.now(); due <= now; due += 1 / perMs) ask();
}, 1);

process.stdin.on('data', () => {
  const { since, ...rest } = tally;
  tally = newTally();
  process.stdout.write(`${JSON.stringify({ ...rest, seconds: (performance.now() - since) / 1000 })}\n`);
});
process.stdin.on('end', () => process.exit());
