/** CoreDNS of a cluster as the guide configures it, with names of imports only; and the time until it answers a name. */
import { spawn, type ChildProcess } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { toolsFolder } from '../../../lib/kube/testing.ts';
import { eventually } from '../../../lib/testing-eventually.ts';
import { freePort } from '../processes.ts';
import { namespace, type Cluster, type McsBed } from './bed.ts';

const everyMs = 5;
const patienceMs = 60_000;

export class Names {
  readonly #dir: string;
  readonly #child: ChildProcess;
  readonly #resolver: Resolver;

  private constructor(dir: string, child: ChildProcess, resolver: Resolver) {
    this.#dir = dir;
    this.#child = child;
    this.#resolver = resolver;
  }

  static async open(bed: McsBed, cluster: Cluster): Promise<Names> {
    const dir = mkdtempSync(join(tmpdir(), 'bench-mcs-'));
    const port = await freePort();
    const kubeconfig = join(bed.lab.cluster(cluster).dir, 'kubeconfig');
    const plugin = `kubernetes cluster.local clusterset.local {\n multicluster clusterset.local\n kubeconfig ${kubeconfig}\n }`;
    writeFileSync(join(dir, 'Corefile'), `.:${port} {\n ${plugin}\n}\n`);
    const child = spawn(join(toolsFolder(), 'coredns'), ['-conf', join(dir, 'Corefile')], { stdio: 'ignore' });
    const resolver = new Resolver({ timeout: 500, tries: 1 });
    resolver.setServers([`127.0.0.1:${port}`]);
    const names = new Names(dir, child, resolver);
    // It says that a name does not exist once it has read the API.
    await eventually('CoreDNS', async () => (await names.#codeOf('none')) === 'ENOTFOUND', patienceMs);
    return names;
  }

  /** Until the name of an import has an address; returns it. */
  async untilAddress(service: string): Promise<string> {
    const ends = performance.now() + patienceMs;
    while (performance.now() < ends) {
      const [address] = await this.#resolver.resolve4(this.#fullName(service)).catch(() => []);
      if (address !== undefined) return address;
      await pause(everyMs);
    }
    throw new Error(`no address for the name of ${service}`);
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await ended;
    rmSync(this.#dir, { recursive: true });
  }

  #fullName(service: string): string {
    return `${service}.${namespace}.svc.clusterset.local`;
  }

  async #codeOf(service: string): Promise<string> {
    const error: unknown = await this.#resolver.resolve4(this.#fullName(service)).catch((reason: unknown) => reason);
    return (error as { code?: string }).code ?? '';
  }
}
