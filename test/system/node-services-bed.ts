/** Echo servers and clients in the namespaces of a test node, and the networks between them. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { exec, type TestNode } from '../../daemon/testing.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const script = join(import.meta.dirname, 'echo.ts');

/** What a client got: `<name of the server> <address of the client as the server saw it>`, or `refused`, or `silent`. */
export type Answer = string;

export class ServiceBed {
  readonly #servers = new Map<string, ChildProcess>();

  /** Answers TCP and UDP at `address:port` with its name; `namespace` undefined: on the node itself. */
  async serve(name: string, address: string, port: number, namespace: string | undefined): Promise<void> {
    const child = this.#spawn(namespace, 'serve', address, `${port}`, name);
    this.#servers.set(name, child);
    let output = '';
    child.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()));
    await eventually(`server ${name}`, () => output.includes('ready'));
  }

  async stop(name: string): Promise<void> {
    const child = this.#servers.get(name);
    this.#servers.delete(name);
    if (child === undefined) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Connects once, from the namespace, or from the node itself where undefined. */
  async ask(namespace: string | undefined, address: string, port: number, ...more: readonly string[]): Promise<Answer> {
    return (await this.askTimes(1, namespace, address, port, ...more))[0] ?? 'silent';
  }

  /** Connects so many times, one after the other. `more`: `udp`, and the source address. */
  async askTimes(
    times: number,
    namespace: string | undefined,
    address: string,
    port: number,
    ...more: readonly string[]
  ): Promise<readonly Answer[]> {
    const child = this.#spawn(namespace, 'ask', address, `${port}`, `${times}`, ...more);
    let output = '';
    child.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()));
    await once(child, 'close');
    return output.trim().split('\n');
  }

  async close(): Promise<void> {
    for (const name of this.#servers.keys()) await this.stop(name);
  }

  #spawn(namespace: string | undefined, ...args: readonly string[]): ChildProcess {
    const command = [process.execPath, script, ...args];
    const [program = '', ...rest] = namespace === undefined ? command : ['ip', 'netns', 'exec', namespace, ...command];
    return spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  }
}

/** A namespace of pods behind `ovn0`, with all their addresses and without a switch. Returns its name. */
export function addPods(node: TestNode): string {
  const pods = node.addNamespace('pods');
  exec('ip', 'link', 'add', 'ovn0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pods);
  exec('ip', 'link', 'set', 'ovn0', 'up');
  for (const address of ['100.64.0.2/16', '100.64.0.9/32', 'fd00:64::2/64', 'fd00:64::9/128'])
    exec('ip', 'addr', 'add', address, 'dev', 'ovn0', ...(address.includes(':') ? ['nodad'] : []));
  const inPods = (...args: readonly string[]): string => exec('ip', '-n', pods, ...args);
  inPods('link', 'set', 'eth0', 'up');
  inPods('addr', 'add', '100.64.0.1/16', 'dev', 'eth0');
  inPods('addr', 'add', 'fd00:64::1/64', 'dev', 'eth0', 'nodad');
  for (const number of [2, 3, 4, 5]) {
    inPods('addr', 'add', `10.16.0.${number}/32`, 'dev', 'lo');
    inPods('addr', 'add', `fd00:10::${number}/128`, 'dev', 'lo');
  }
  inPods('route', 'add', 'default', 'via', '100.64.0.2');
  inPods('-6', 'route', 'add', 'default', 'via', 'fd00:64::2');
  exec('ip', 'route', 'add', '10.16.0.0/16', 'via', '100.64.0.1', 'dev', 'ovn0', 'src', '100.64.0.2');
  exec('ip', '-6', 'route', 'add', 'fd00:10::/64', 'via', 'fd00:64::1', 'dev', 'ovn0', 'src', 'fd00:64::2');
  for (const setting of ['net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1']) exec('sysctl', '-qw', setting);
  return pods;
}

/** Default routes between the node and the host outside: Services are beyond them, as everything that nothing knows. */
export function addDefaultRoutes(node: TestNode): void {
  const outside = (...args: readonly string[]): string => exec('ip', '-n', node.outside, ...args);
  exec('ip', 'addr', 'add', 'fd00:9::11/64', 'dev', 'up0', 'nodad');
  outside('addr', 'add', 'fd00:9::1/64', 'dev', 'eth0', 'nodad');
  exec('ip', 'route', 'add', 'default', 'via', '172.30.9.1');
  exec('ip', '-6', 'route', 'add', 'default', 'via', 'fd00:9::1');
  outside('route', 'add', 'default', 'via', '172.30.9.11');
  outside('-6', 'route', 'add', 'default', 'via', 'fd00:9::11');
  // The host outside is the next hop of the default route, too. Redirects would use up the rate at which the node may answer it.
  for (const link of ['all', 'up0']) exec('sysctl', '-qw', `net.ipv4.conf.${link}.send_redirects=0`);
}
