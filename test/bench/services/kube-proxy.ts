/** kube-proxy in nftables mode, as a process of its own beside which ours is measured. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inNetns, run, tryRun } from '../../lab/run.ts';
import { toolsFolder } from '../../../lib/kube/testing.ts';
import { freePort } from '../processes.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

export interface KubeProxyOptions {
  /** For its configuration and its log. */
  readonly dir: string;
  readonly kubeconfig: string;
  readonly node: string;
  /** Network namespace; that of this process by default. */
  readonly netns?: string;
  /** `host:port` of its /healthz; a free one of loopback by default. */
  readonly health?: string;
}

/** A table of ten thousand Services takes it a minute and more. */
const syncTimeoutMs = 240_000;

export class KubeProxy {
  readonly #child: ChildProcess;
  readonly #netns: string | undefined;
  readonly #metrics: string;

  private constructor(child: ChildProcess, netns: string | undefined, metrics: string) {
    this.#child = child;
    this.#netns = netns;
    this.#metrics = metrics;
  }

  /** Resolves when the process runs; its rules may come later. */
  static async start({ dir, kubeconfig, node, netns, health: ownHealth }: KubeProxyOptions): Promise<KubeProxy> {
    const [metrics, health] = [await freePort(), await freePort()].map((port) => `127.0.0.1:${String(port)}`);
    const config = {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'nftables',
      clientConnection: { kubeconfig },
      hostnameOverride: node,
      metricsBindAddress: metrics,
      healthzBindAddress: ownHealth ?? health,
      // Clients in pods are translated on the node, and their answers come back to it.
      nftables: { masqueradeAll: true },
      oomScoreAdj: 0,
      // Their kernel settings can be written in the first network namespace only.
      conntrack: { maxPerCore: 0, min: 0 },
    };
    const file = join(dir, 'kube-proxy.json');
    writeFileSync(file, JSON.stringify(config));
    const [program = '', ...args] = inNetns(netns, [join(toolsFolder(), 'kube-proxy'), '--config', file]);
    const log = openSync(join(dir, 'kube-proxy.log'), 'a');
    const child = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    return new KubeProxy(child, netns, metrics ?? '');
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Number of its rounds that are done. */
  async rounds(): Promise<number> {
    if (this.#child.exitCode !== null) throw new Error('kube-proxy ended; see its log');
    const { code, stdout } = await tryRun(['curl', '-s', '-m', '5', `http://${this.#metrics}/metrics`], this.#place);
    const counted = /^kubeproxy_sync_proxy_rules_duration_seconds_count\S* (\S+)$/m.exec(stdout)?.[1];
    return code === 0 ? Number(counted ?? 0) : 0;
  }

  async untilRounds(count: number): Promise<void> {
    await eventually(
      `round ${String(count)} of kube-proxy`,
      async () => {
        const done = await this.rounds();
        return done >= count || notYet(`${String(done)} are done`);
      },
      syncTimeoutMs,
    );
  }

  /** Ends it and removes its tables. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await once(this.#child, 'exit');
    }
    for (const family of ['ip', 'ip6'])
      if ((await run(['nft', 'list', 'tables', family], this.#place)).includes('kube-proxy'))
        await run(['nft', 'delete', 'table', family, 'kube-proxy'], this.#place);
  }

  get #place(): { readonly netns?: string } {
    return this.#netns === undefined ? {} : { netns: this.#netns };
  }
}
