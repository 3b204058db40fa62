/**
 * The lab for tests and the demo: runs programs in its places and waits with a reason. The lab is the one that LAB
 * names; it must be up. Nothing here changes the lab by itself.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { installation, ovnProgram } from 'ovsdb-client/testing';
import { openAdmin } from '../control-plane.ts';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { componentsIn, killComponent, pidOf, stateOf } from '../component.ts';
import { directoriesOf, healLab } from '../heal.ts';
import { type ClusterLayout, type Lab, labName, openLayout, podNetns, type RouterLayout } from '../layout.ts';
import { vtysh } from '../router.ts';
import { inNetns, run, type RunResult, tryRun } from '../run.ts';
import { tool } from '../tools.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

/** Longer than any --timeout of a caller, so that kubectl itself reports the condition it waited for. */
const kubectlTimeoutMs = 150_000;
const captureTimeoutMs = 120_000;

/** Round-trip times in milliseconds. */
export interface RoundTrip {
  readonly minMs: number;
  readonly avgMs: number;
}

/** Opens the lab named LAB, or the one given. @throws Error if it is not up. */
export function openLab(name: string = labName()): LabHandle {
  return new LabHandle(openLayout(name));
}

export class LabHandle {
  readonly layout: Lab;

  constructor(layout: Lab) {
    this.layout = layout;
  }

  cluster(name: string): ClusterLayout {
    return found(this.layout.clusters, name, 'cluster');
  }

  router(name: string): RouterLayout {
    return found(this.layout.routers, name, 'router');
  }

  /** The network namespace of a cluster's control plane, of a node (`n1`), or of a pod (`demo/web-1`). */
  ns(cluster: string, place?: string): string {
    const layout = this.cluster(cluster);
    if (place === undefined) return layout.netns;
    const [namespace = '', pod] = place.split('/');
    return pod === undefined
      ? found(layout.nodes, place, 'node').netns
      : podNetns(this.layout, cluster, namespace, pod);
  }

  /** Runs a program in a namespace that `ns` gave. @throws Error unless it exits with 0. */
  exec(netns: string, argv: readonly string[], timeoutMs = 60_000): Promise<string> {
    return run(argv, { netns, timeoutMs });
  }

  kubectl(cluster: string, args: readonly string[], input?: string): Promise<string> {
    return run(this.#kubectl(cluster, args), { timeoutMs: kubectlTimeoutMs, input: input ?? '' });
  }

  /** Like `kubectl`, for commands that are expected to fail. */
  tryKubectl(cluster: string, args: readonly string[], input?: string): Promise<RunResult> {
    return tryRun(this.#kubectl(cluster, args), { timeoutMs: kubectlTimeoutMs, input: input ?? '' });
  }

  #kubectl(cluster: string, args: readonly string[]): string[] {
    return [
      tool('kubectl'),
      `--kubeconfig=${join(this.cluster(cluster).dir, 'kubeconfig')}`,
      '--request-timeout=120s',
      ...args,
    ];
  }

  /** A client with all rights; to be closed by the caller. */
  kube(cluster: string): KubeClient {
    return openAdmin(this.cluster(cluster));
  }

  nbctl(cluster: string, args: readonly string[]): Promise<string> {
    return run([this.#ovn(cluster, 'ovn-nbctl'), `--db=unix:${this.cluster(cluster).dir}/nb.sock`, ...args]);
  }

  sbctl(cluster: string, args: readonly string[]): Promise<string> {
    return run([this.#ovn(cluster, 'ovn-sbctl'), `--db=unix:${this.cluster(cluster).dir}/sb.sock`, ...args]);
  }

  /** On a node's Open vSwitch. */
  vsctl(cluster: string, node: string, args: readonly string[]): Promise<string> {
    const { dir } = found(this.cluster(cluster).nodes, node, 'node');
    return run([this.#ovn(cluster, 'ovs-vsctl'), `--db=unix:${dir}/db.sock`, ...args]);
  }

  /** The datapath flows of a node, one per line, including wildcarded fields. */
  datapathFlows(cluster: string, node: string): Promise<string> {
    const { dir } = found(this.cluster(cluster).nodes, node, 'node');
    return run([this.#ovn(cluster, 'ovs-appctl'), '-t', `${dir}/ovs-vswitchd.ctl`, 'dpctl/dump-flows', '-m']);
  }

  #ovn(cluster: string, program: string): string {
    return ovnProgram(program, installation(this.cluster(cluster).ovn));
  }

  vtysh(router: string, command: string): Promise<string> {
    return vtysh(this.router(router), command);
  }

  /** An address of a pod, as its own interface has it. @throws Error if it has none. */
  async addressOf(cluster: string, pod: string, family: 4 | 6 = 4): Promise<string> {
    const show = ['-j', `-${String(family)}`, 'addr', 'show', 'dev', 'eth0', 'scope', 'global'];
    const shown = JSON.parse(await run(['ip', '-n', this.ns(cluster, pod), ...show])) as {
      addr_info: { local: string }[];
    }[];
    const address = shown[0]?.addr_info[0]?.local;
    if (address === undefined) throw new Error(`${cluster} ${pod}: eth0 has no IPv${String(family)} address`);
    return address;
  }

  /** Waits for the first answer, then measures over `count` more. @throws Error if none comes in time or one of those is lost. */
  async ping(netns: string, address: string, { count = 5, timeoutMs = 60_000 } = {}): Promise<RoundTrip> {
    await eventually(
      `an answer from ${address} to ${netns}`,
      async () =>
        (await tryRun(['ping', '-n', '-c', '1', '-W', '1', address], { netns })).code === 0 || notYet('no echo reply'),
      timeoutMs,
    );
    const text = await run(['ping', '-n', '-q', '-c', String(count), '-i', '0.2', '-W', '20', address], { netns });
    const received = Number(/(\d+) received/.exec(text)?.[1]);
    if (received !== count)
      throw new Error(`${netns} → ${address}: ${String(received)} of ${String(count)} echo replies`);
    const times = /= ([\d.]+)\/([\d.]+)\//.exec(text);
    return { minMs: Number(times?.[1]), avgMs: Number(times?.[2]) };
  }

  /** Whether one echo request is answered within a second. */
  async answers(netns: string, address: string): Promise<boolean> {
    return (await tryRun(['ping', '-n', '-c', '1', '-W', '1', address], { netns })).code === 0;
  }

  /** The first packet on a device that matches a tcpdump filter, in tcpdump's format. `send` runs after the capture has started. */
  async firstPacket(netns: string, device: string, filter: string, send: () => Promise<unknown>): Promise<string> {
    const argv = ['tcpdump', '--immediate-mode', '-enli', device, '-c', '1', filter];
    const [command = '', ...args] = inNetns(netns, argv);
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: captureTimeoutMs });
    const seen = text(child.stdout);
    const listening = new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk: Buffer) => chunk.includes('listening') && resolve());
      child.once('close', () => resolve());
    });
    await listening;
    await send();
    return seen;
  }

  /** The body that a pod's port 8080 answers over TCP: the pod's name. */
  async fetchName(netns: string, address: string): Promise<string> {
    const answer = await run(
      [
        'socat',
        '-T30',
        '-',
        `${address.includes(':') ? `TCP6:[${address}]` : `TCP:${address}`}:8080,connect-timeout=30`,
      ],
      {
        netns,
        input: 'GET / HTTP/1.0\r\n\r\n',
      },
    );
    return answer.split('\r\n\r\n')[1]?.trim() ?? '';
  }

  /** The pid of a process, by place (`east`, `east/n1`, `hub`, `tor`) and component (`daemon`). @throws Error if it is dead. */
  pid(place: string, component: string): number {
    const pid = pidOf({ dir: join(this.layout.dir, place), name: component });
    if (pid === undefined) throw new Error(`${place}/${component} is dead`);
    return pid;
  }

  /** SIGKILL, and waits for the end. */
  kill(place: string, component: string): Promise<void> {
    return killComponent({ dir: join(this.layout.dir, place), name: component });
  }

  /** Waits until a process with another pid runs: labd has started it again. */
  async waitForRestart(place: string, component: string, oldPid: number, timeoutMs = 60_000): Promise<void> {
    const at = { dir: join(this.layout.dir, place), name: component };
    await eventually(
      `${place}/${component} to run again`,
      () => (stateOf(at) === 'running' && pidOf(at) !== oldPid) || notYet(stateOf(at)),
      timeoutMs,
    );
  }

  /** Everything a process has logged. */
  log(place: string, component: string): string {
    return readFileSync(join(this.layout.dir, place, `${component}.log`), 'utf8');
  }

  heal(): Promise<string[]> {
    return healLab(this.layout);
  }

  /** Processes that are not running, as `place/component`. */
  notRunning(): string[] {
    return directoriesOf(this.layout)
      .flatMap(componentsIn)
      .filter((component) => stateOf(component) !== 'running')
      .map((component) => `${component.dir.slice(this.layout.dir.length + 1)}/${component.name}`);
  }
}

function found<T extends { readonly name: string }>(list: readonly T[], name: string, kind: string): T {
  const item = list.find((candidate) => candidate.name === name);
  if (item === undefined)
    throw new Error(`the lab has no ${kind} ${name}; it has ${list.map((candidate) => candidate.name).join(', ')}`);
  return item;
}
