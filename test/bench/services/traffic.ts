/**
 * One end of connections between pods, as a process of its own in a network namespace; answers are JSON lines. Times are milliseconds of the
 * machine's monotonic clock, which all processes share.
 *   serve PORT NAME: answers each connection to this port and to the next one with its name; the client closes it, and so does not use its
 *     port again for a minute, in which datapaths remember the connection
 *   ask ADDRESS PORT COUNT: opens COUNT connections; prints the names that answered
 *   poll ADDRESS PORT EVERY_MS: connects every EVERY_MS; prints a line when another name answers
 *   request ADDRESS PORT RATE: opens RATE connections a second until its input ends; prints their number and the failed ones
 *   loop ADDRESS PORT COUNT PARALLEL: opens COUNT connections, PARALLEL at a time; prints the total and the median time
 *   clients ADDRESS PORT FIRST COUNT PARALLEL: opens a connection from each of COUNT addresses from FIRST on; prints the number of lost ones
 */
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import { median } from '../row.ts';

/** Shorter than the first retransmission of TCP: a connection that lost its first packet has failed. */
const connectTimeoutMs = 900;
/** TCP retransmits after one second, then after two more. */
const retransmitTimeoutMs = 5000;
const backlog = 4096;

export interface Requests {
  readonly sent: number;
  /** When each of the failed ones began. */
  readonly failedMs: readonly number[];
}

export interface Loop {
  /** Of all, by their number. */
  readonly eachMs: number;
  readonly medianMs: number;
}

const [mode, target = '', portText = '', ...rest] = process.argv.slice(2);
const [first = 0, second = 0, third = 0] = rest.map(Number);

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const printLine = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** The name that answers; empty where the connection fails. */
function answerOf({
  localAddress,
  timeoutMs = connectTimeoutMs,
}: { localAddress?: string; timeoutMs?: number } = {}): Promise<string> {
  return new Promise((resolve) => {
    const from = localAddress === undefined ? {} : { localAddress };
    const socket = connect({ host: target, port: Number(portText), ...from });
    let name = '';
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.setEncoding('latin1').on('data', (text: string) => {
      name = text;
      socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(name));
  });
}

function untilInputEnds(): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.on('end', resolve).resume();
  });
}

/** Runs `work` at an even rate, whether earlier ones have ended or not. */
function atRate(perSecond: number, work: () => void): NodeJS.Timeout {
  let due = performance.now();
  return setInterval(() => {
    for (const now = performance.now(); due <= now; due += 1000 / perSecond) work();
  }, 1);
}

function serveName(): Promise<void> {
  for (const port of [Number(target), Number(target) + 1])
    createServer((socket) => socket.on('error', () => undefined).write(portText)).listen({ port, host: '::', backlog });
  printLine({ ready: true });
  return untilInputEnds();
}

async function printAnswers(): Promise<void> {
  const names = new Set<string>();
  for (let left = first; left > 0; left -= 1) names.add(await answerOf());
  printLine([...names]);
}

async function pollAnswers(): Promise<void> {
  let last = '';
  const timer = atRate(1000 / first, () => {
    void answerOf().then((name) => {
      if (name === '' || name === last) return;
      last = name;
      printLine({ name, atMs: nowMs() });
    });
  });
  await untilInputEnds();
  clearInterval(timer);
}

async function sendRequests(): Promise<void> {
  let sent = 0;
  const failedMs: number[] = [];
  const timer = atRate(first, () => {
    const begunMs = nowMs();
    sent += 1;
    void answerOf({ timeoutMs: retransmitTimeoutMs }).then((name) => name === '' && failedMs.push(begunMs));
  });
  await untilInputEnds();
  clearInterval(timer);
  await pause(retransmitTimeoutMs + 100);
  printLine({ sent, failedMs } satisfies Requests);
}

async function timeConnections(): Promise<void> {
  const times: number[] = [];
  const begun = performance.now();
  let left = first;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const started = performance.now();
      if ((await answerOf({ timeoutMs: retransmitTimeoutMs })) === '')
        throw new Error(`a connection to ${target} failed`);
      times.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: second }, worker));
  printLine({ eachMs: (performance.now() - begun) / first, medianMs: median(times) } satisfies Loop);
}

async function connectClients(): Promise<void> {
  const from = parseIp(rest[0] ?? '');
  if (from === undefined) throw new Error(`${rest[0] ?? ''} is not an address`);
  let [next, lost] = [0, 0];
  const worker = async (): Promise<void> => {
    while (next < second) {
      const value = from.value + BigInt(next++);
      if ((await answerOf({ localAddress: formatIp({ ...from, value }) })) === '') lost += 1;
    }
  };
  await Promise.all(Array.from({ length: third }, worker));
  printLine({ lost });
}

const modes: Readonly<Record<string, () => Promise<void>>> = {
  serve: serveName,
  ask: printAnswers,
  poll: pollAnswers,
  request: sendRequests,
  loop: timeConnections,
  clients: connectClients,
};
const run = modes[mode ?? ''];
if (run === undefined) throw new Error(`usage: traffic.ts ${Object.keys(modes).join('|')} …`);
await run();
process.exit();
