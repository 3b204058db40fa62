/**
 * The programs that test pods run, and what their output means. In: addresses, output. Out: arguments, results. Pure. Rule: only `ping` and busybox are
 * needed, with options that every release of them has, and no shell.
 */
import { familyOf } from '../../../lib/net/ip.ts';
import type { Probed, ProgramResult, TestPod } from '../../model/test-traffic.ts';

export const testPort = 8080;
const pings = 3;
/** Of one connection, in seconds. */
const longestSeconds = 5;

/** What a test pod answers on its port, so that an answer of another pod with the same address is not taken for its own. */
export function answerOf(
  run: string,
  { cluster, namespace, name }: Pick<TestPod, 'cluster' | 'namespace' | 'name'>,
): string {
  return `${run}/${cluster}/${namespace}/${name}`;
}

export function serveCommand(answer: string): readonly string[] {
  return ['busybox', 'nc', '-ll', '-p', String(testPort), '-e', 'busybox', 'echo', answer];
}

export function pingCommand(address: string): readonly string[] {
  // Without -w: iputils would send more than -c while some are unanswered.
  return ['ping', '-q', '-c', String(pings), '-W', '1', address];
}

export function connectCommand(address: string): readonly string[] {
  return ['busybox', 'nc', '-w', String(longestSeconds), address, String(testPort)];
}

/** The dot at the end keeps the search domains of the pod out. */
export function lookupCommand(name: string): readonly string[] {
  return ['busybox', 'nslookup', `${name}.`];
}

/** iputils and busybox word it alike, except for one word. */
const counts = /(\d+) packets transmitted, (\d+) (?:packets )?received/;
const times = /= [\d.]+\/([\d.]+)\//;

export function pinged({ stdout, stderr, exitCode }: ProgramResult): Probed {
  const [, sent, received] = counts.exec(stdout) ?? [];
  if (sent === undefined || received === undefined)
    return { isWell: false, said: failure('ping', stdout + stderr, exitCode) };
  const rtt = times.exec(stdout)?.[1];
  const said = `${received} of ${sent} pings answered${rtt === undefined ? '' : `, ${rtt} ms`}`;
  return { isWell: Number(received) > 0 && received === sent, said };
}

export function connected({ stdout, stderr, exitCode }: ProgramResult, wanted: string): Probed {
  const answer = stdout.trim();
  if (answer === wanted) return { isWell: true, said: 'connected' };
  if (answer !== '') return { isWell: false, said: `something else answers there: ${shorten(answer)}` };
  return { isWell: false, said: failure('no answer', stderr, exitCode) };
}

/** Whether the name has one of these addresses. */
export function resolved({ stdout, stderr, exitCode }: ProgramResult, addresses: readonly string[]): Probed {
  // The server's own address has a port behind it, or stands before the first name.
  const found = stdout
    .slice(Math.max(0, stdout.indexOf('Name:')))
    .matchAll(/^Address[^:\n]*:\s*(\S+)/gm)
    .map(([, address = '']) => address)
    .toArray();
  const isRight = stdout.includes('Name:') && found.length > 0 && found.every((one) => addresses.includes(one));
  if (isRight) return { isWell: true, said: found.join(', ') };
  if (stdout.includes('Name:'))
    return { isWell: false, said: `it is ${found.join(', ')}, and not ${addresses.join(', ')}` };
  return { isWell: false, said: failure('no answer of DNS', stdout + stderr, exitCode) };
}

function failure(what: string, output: string, exitCode: number): string {
  const last = output.trim().split('\n').at(-1)?.trim() ?? '';
  return `${what}: ${last === '' ? `exit code ${String(exitCode)}` : shorten(last)}`;
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/** `10.16.0.5 on n1 → 10.17.0.6 on n3`. */
export function wayOf(from: TestPod, to: TestPod, address: string): string {
  const own = from.addresses.find((one) => familyOf(one) === familyOf(address)) ?? '';
  return `${own} on ${from.node} → ${address} on ${to.node}`;
}
