/**
 * A pod's sandbox, as a container runtime makes it: a network namespace, the CNI shim run with the arguments and the
 * input a runtime passes, and a small listener inside. Each sandbox is a file, so that a new labd neither forgets one
 * nor adds it twice.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Component, killComponent, startComponent, stateOf, writeWhole } from '../component.ts';
import { checkout, type ClusterLayout, type Lab, type NodeLayout, podNetns } from '../layout.ts';
import { deleteNamespaces } from '../network.ts';
import { cniSocket } from '../rooms.ts';
import { run, tryRun } from '../run.ts';
import type { Pod } from './pod.ts';

const shim = join(checkout, 'daemon/shim/isthmus-cni');
const cniTimeoutMs = 60_000;
const networkConfig = { cniVersion: '1.0.0', name: 'isthmus', type: 'isthmus' };

export interface Sandbox {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
  readonly netns: string;
  /** Of the sandbox; on a node with a containerd it is known once that has made it. */
  readonly containerId: string;
  /** Result of ADD; absent while ADD runs, or after a crash during ADD. */
  readonly result?: CniResult;
}
export interface CniResult {
  readonly ips?: readonly { readonly address: string }[];
  readonly [field: string]: unknown;
}

/** The plugin refused; `code` is CNI's, the message is its own. */
export class CniError extends Error {
  readonly code: number;
  constructor(message: string, code: number) {
    super(message);
    this.name = 'CniError';
    this.code = code;
  }
}

function fileOf(cluster: ClusterLayout, sandbox: Pick<Sandbox, 'namespace' | 'pod'>, suffix: string): string {
  return join(cluster.dir, 'pods', `${sandbox.namespace}.${sandbox.pod}.${suffix}`);
}

/** The sandboxes that an earlier labd left, by pod key. */
export function readSandboxes(cluster: ClusterLayout): Map<string, Sandbox> {
  const dir = join(cluster.dir, 'pods');
  mkdirSync(dir, { recursive: true });
  const found = new Map<string, Sandbox>();
  for (const file of readdirSync(dir).filter((name) => name.endsWith('.sandbox.json'))) {
    const sandbox = JSON.parse(readFileSync(join(dir, file), 'utf8')) as Sandbox;
    found.set(`${sandbox.namespace}/${sandbox.pod}`, sandbox);
  }
  return found;
}

/** Records a sandbox before its creation: after this, a crash is followed by DEL. */
export function planSandbox(lab: Lab, cluster: ClusterLayout, pod: Pod, node: string): Sandbox {
  const sandbox: Sandbox = {
    namespace: pod.namespace,
    pod: pod.name,
    uid: pod.uid,
    node,
    netns: podNetns(lab, cluster.name, pod.namespace, pod.name),
    containerId: randomBytes(32).toString('hex'),
  };
  if (existsSync(`/run/netns/${sandbox.netns}`))
    throw new Error(`network namespace ${sandbox.netns} exists: another pod's name gives the same`);
  recordSandbox(cluster, sandbox);
  return sandbox;
}

/** Makes the namespace and runs ADD. @throws CniError as the plugin answers; the sandbox has to be removed then. */
export async function createSandbox(node: NodeLayout, sandbox: Sandbox): Promise<Sandbox> {
  await run(['ip', 'netns', 'add', sandbox.netns]);
  await run(['ip', '-n', sandbox.netns, 'link', 'set', 'lo', 'up']);
  const result = JSON.parse(await callPlugin('ADD', node, sandbox)) as CniResult;
  return { ...sandbox, result };
}

/** Records a sandbox as it is now. */
export function recordSandbox(cluster: ClusterLayout, sandbox: Sandbox): void {
  writeWhole(fileOf(cluster, sandbox, 'sandbox.json'), JSON.stringify(sandbox));
}

/** Ends the listener and runs DEL. @throws CniError while the plugin cannot clean up; to be tried again. */
export async function removeSandbox(
  cluster: ClusterLayout,
  node: NodeLayout | undefined,
  sandbox: Sandbox,
): Promise<void> {
  await killComponent(listener(cluster, sandbox));
  if (node) await callPlugin('DEL', node, sandbox);
}

/** Removes all traces of a sandbox whose network is gone. */
export async function forgetSandbox(cluster: ClusterLayout, sandbox: Sandbox): Promise<void> {
  if (existsSync(`/run/netns/${sandbox.netns}`)) await deleteNamespaces([sandbox.netns]);
  for (const suffix of ['http', 'sed', 'pid', 'log', 'cmd.json', 'sandbox.json'])
    rmSync(fileOf(cluster, sandbox, suffix), { force: true });
}

async function callPlugin(command: 'ADD' | 'DEL', node: NodeLayout, sandbox: Sandbox): Promise<string> {
  const { namespace, pod, containerId, uid } = sandbox;
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: containerId,
    CNI_NETNS: `/var/run/netns/${sandbox.netns}`,
    CNI_IFNAME: 'eth0',
    CNI_PATH: dirname(shim),
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=${pod};K8S_POD_INFRA_CONTAINER_ID=${containerId};K8S_POD_UID=${uid}`,
    ISTHMUS_SOCKET: cniSocket(node),
  };
  const config = command === 'DEL' && sandbox.result ? { ...networkConfig, prevResult: sandbox.result } : networkConfig;
  const answer = await tryRun([shim], { env, input: JSON.stringify(config), timeoutMs: cniTimeoutMs });
  if (answer.code === 0) return answer.stdout;
  throw errorFrom(command, answer.stdout, answer.stderr);
}

function errorFrom(command: string, stdout: string, stderr: string): CniError {
  try {
    const { code, msg, details } = JSON.parse(stdout) as { code?: number; msg?: string; details?: string };
    return new CniError(
      `plugin type="isthmus" failed (${command}): ${msg ?? ''}${details ? `; ${details}` : ''}`,
      code ?? 999,
    );
  } catch {
    return new CniError(
      `plugin type="isthmus" failed (${command}) without an error in JSON: ${stdout}${stderr}`.trim(),
      999,
    );
  }
}

export function addressesOf(sandbox: Sandbox): string[] {
  return (sandbox.result?.ips ?? []).map(({ address }) => address.replace(/\/\d+$/, ''));
}

/** Port 8080 of every pod answers any HTTP request with the pod's name, so that TCP can be tried. */
function listener(cluster: ClusterLayout, sandbox: Sandbox): Component {
  return {
    dir: join(cluster.dir, 'pods'),
    name: `${sandbox.namespace}.${sandbox.pod}`,
    netns: sandbox.netns,
    argv: [
      'socat',
      'TCP6-LISTEN:8080,ipv6only=0,fork,reuseaddr,backlog=128',
      `EXEC:sed -unf ${fileOf(cluster, sandbox, 'sed')}`,
    ],
  };
}

/** Starts the listener unless it runs. */
export async function ensureListener(cluster: ClusterLayout, sandbox: Sandbox): Promise<void> {
  if (stateOf(listener(cluster, sandbox)) !== 'dead') return;
  const body = `${sandbox.pod}\n`;
  const head = `HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${String(body.length)}\r\nConnection: close\r\n\r\n`;
  writeFileSync(fileOf(cluster, sandbox, 'http'), head + body);
  // The request is read to its blank line: closing with some of it unread would reset the connection under the answer.
  writeFileSync(fileOf(cluster, sandbox, 'sed'), `/^\\r*$/{\nr ${fileOf(cluster, sandbox, 'http')}\nq\n}\n`);
  await startComponent(listener(cluster, sandbox));
}
