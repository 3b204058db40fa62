/**
 * A client in a pod, as a process of its own in a network namespace. Each line of its input is a question, answered by one line: JSON both.
 *   { address, port, name }: connects every ten milliseconds until `name` answers
 *   { address, port }: connects until nothing answers
 * The answer has the time by the machine's monotonic clock, in milliseconds.
 */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { nowMs } from './measurement.ts';

const everyMs = 10;
const silenceMs = 300;

export interface Question {
  readonly address: string;
  readonly port: number;
  readonly name?: string;
}

export interface Answer {
  readonly atMs: number;
}

/** The name that answers; empty where nothing does. */
function nameAt({ address, port }: Question): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    let name = '';
    socket.setTimeout(silenceMs, () => socket.destroy());
    socket.setEncoding('latin1').on('data', (text: string) => {
      name = text;
      socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(name));
  });
}

/** Further connections are opened while earlier ones wait: packets to an address that is not served yet get no answer at all. */
function untilNamed(question: Question): Promise<number> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      void nameAt(question).then((name) => {
        if (name !== question.name) return;
        clearInterval(timer);
        resolve(nowMs());
      });
    }, everyMs);
  });
}

async function untilSilent(question: Question): Promise<number> {
  while ((await nameAt(question)) !== '') await pause(everyMs);
  return nowMs();
}

for await (const line of createInterface(process.stdin)) {
  const question = JSON.parse(line) as Question;
  const atMs = await (question.name === undefined ? untilSilent(question) : untilNamed(question));
  process.stdout.write(`${JSON.stringify({ atMs } satisfies Answer)}\n`);
}
process.exit();
