/**
 * Many small flows between two places, and their losses. In: `echo --port P` answers by UDP and TCP;
 * `run --to ADDRESS --port P [--udp N] [--tcp M] [--interval MS]` sends one message a flow each interval, until its
 * standard input ends. Out: one JSON line `{"ready":true}` once every flow has been answered, then one line, a FlowReport.
 * UDP flows have source ports of their own, so that they spread over equal paths; a TCP connection is one flow.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startEcho } from './flows/echo.ts';
import { reportOf } from './flows/report.ts';
import { TcpFlows } from './flows/tcp.ts';
import { UdpFlows } from './flows/udp.ts';

/** How long the last answers may take. */
const graceMs = 1000;
const readyTimeoutMs = 30_000;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    to: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '7007' },
    udp: { type: 'string', default: '100' },
    tcp: { type: 'string', default: '0' },
    interval: { type: 'string', default: '20' },
  },
});

function inputEnds(): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.on('end', resolve).on('error', resolve).resume();
  });
}

function printLine(line: object): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(line)}\n`, () => resolve()));
}

async function measure(ended: Promise<void>): Promise<void> {
  const port = Number(values.port);
  const intervalMs = Number(values.interval);
  const udp = await UdpFlows.open({ address: values.to, port, count: Number(values.udp), intervalMs });
  const tcp = await TcpFlows.open({ address: values.to, port, count: Number(values.tcp), intervalMs });
  const deadline = performance.now() + readyTimeoutMs;
  while (!udp.isAnswered() || !tcp.isAnswered()) {
    if (performance.now() > deadline)
      throw new Error(`${values.to}: not every flow was answered in ${readyTimeoutMs} ms`);
    await pause(intervalMs);
  }
  // Losses before the first answer do not count: addresses were still being resolved.
  udp.begin();
  tcp.begin();
  await printLine({ ready: true });
  await ended;
  udp.stopSending();
  tcp.stopSending();
  await pause(graceMs);
  const originMs = performance.timeOrigin;
  await printLine(reportOf(intervalMs, udp.results(), tcp.results(), { stallMs: udp.stallMs, originMs }));
}

const ended = inputEnds();
if (positionals[0] === 'echo') {
  await startEcho(Number(values.port));
  await printLine({ ready: true });
  await ended;
} else if (positionals[0] === 'run') await measure(ended);
else throw new Error('usage: flows.ts echo|run --to ADDRESS --port P [--udp N] [--tcp M] [--interval MS]');
process.exit();
