/**
 * The bed of cli.test.ts: an API server with the chart's CRDs, a hub that only does TLS handshakes, and the program, run in this
 * process or in its own. The bed writes the objects of agents and daemons.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo, Server, Socket } from 'node:net';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { run } from '../../cli/program.ts';
import { createHubAuthority, issueHub } from '../../interconnect/link/certificate.ts';
import type { TokenAuthority } from '../../lib/pki/join-token.ts';
import { openKube } from '../../lib/kube/client.ts';
import { apiVersionOf, interconnectGateways, interconnects, leases, secrets } from '../../lib/kube/resources.ts';
import { startApiServer, type TestApiServer } from '../../lib/kube/testing.ts';
import type { KubeClient, RawObject, Resource } from '../../lib/kube/types.ts';
import { parseYaml } from '../../lib/kube/yaml.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const crds = join(import.meta.dirname, '../../charts/isthmus/crds');
export const program = join(import.meta.dirname, '../../cli/main.ts');
export const namespace = 'kube-system';

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Said {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export const allGood: readonly Said[] = [
  'Ready',
  'Joined',
  'HubReachable',
  'GatewaysReady',
  'RoutesConverged',
  'NoConflicts',
  'CertificateValid',
].map((type) => ({ type, status: 'True', reason: type, message: 'fine' }));

/** The address of a server of this test. */
export function addressOf(server: Server): string {
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that only presents a certificate of this authority, like a hub. */
export async function startHandshake(authority: TokenAuthority, sockets: Set<Socket>): Promise<Server> {
  const endpoint = await issueHub(authority, Date.now());
  const cert = `${endpoint.certificate}\n${authority.certificate}`;
  const server = createTlsServer({ key: endpoint.key, cert, ALPNProtocols: ['h2'] });
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** Runs a command of group `ic` in this process, without the start of another. */
export function runCli(
  argv: readonly string[],
  env: Record<string, string> = { HOME: '/nonexistent' },
): Promise<Outcome> {
  return runProgram(['ic', ...argv], env);
}

/** Runs the program in this process. */
export async function runProgram(argv: readonly string[], env: Record<string, string | undefined>): Promise<Outcome> {
  const said = { out: '', err: '' };
  const code = await run(argv, {
    env,
    out: (text) => (said.out += text),
    note: (text) => (said.err += text),
    readInput: () => Promise.resolve(''),
    ask: () => Promise.resolve(undefined),
    isColoured: false,
    now: Date.now,
    signal: new AbortController().signal,
  });
  return { code, ...said };
}

export class CliBed {
  readonly kube: KubeClient;
  readonly authority: TokenAuthority;
  /** The sockets of all servers of the test, which `stop` closes. */
  readonly sockets: Set<Socket>;
  readonly hub: string;
  readonly #server: TestApiServer;
  readonly #hub: Server;

  static async start(served: readonly Resource[]): Promise<CliBed> {
    const server = await startApiServer();
    const kube = openKube({ kubeconfig: server.kubeconfig, userAgent: 'isthmus-test' });
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    for (const file of readdirSync(crds))
      await kube.request('POST', definitions, parseYaml(readFileSync(join(crds, file), 'utf8')));
    for (const resource of served) await untilServed(kube, resource);
    const authority = await createHubAuthority(Date.now());
    const sockets = new Set<Socket>();
    return new CliBed(server, kube, authority, sockets, await startHandshake(authority, sockets));
  }

  constructor(server: TestApiServer, kube: KubeClient, authority: TokenAuthority, sockets: Set<Socket>, hub: Server) {
    this.#server = server;
    this.#hub = hub;
    this.kube = kube;
    this.authority = authority;
    this.sockets = sockets;
    this.hub = addressOf(hub);
  }

  get dir(): string {
    return this.#server.dir;
  }

  get environment(): Record<string, string | undefined> {
    return { PATH: process.env['PATH'], HOME: '/nonexistent', KUBECONFIG: this.#server.kubeconfig };
  }

  /** A kubeconfig of the admin that impersonates another user. */
  kubeconfigAs(user: string): string {
    const config = JSON.parse(readFileSync(this.#server.kubeconfig, 'utf8')) as { users: { user: object }[] };
    for (const one of config.users) Object.assign(one.user, { as: user });
    const file = join(this.dir, `as-${user}.json`);
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#hub.close();
    await this.kube.close();
    await this.#server.stop();
  }

  run(argv: readonly string[], kubeconfig: string = this.#server.kubeconfig): Promise<Outcome> {
    return runCli(argv, { HOME: '/nonexistent', KUBECONFIG: kubeconfig });
  }

  async spawn(argv: readonly string[], input = ''): Promise<Outcome> {
    const child = spawn(process.execPath, [program, 'ic', ...argv], { env: this.environment, stdio: 'pipe' });
    child.stdin.end(input);
    const [out, err] = await Promise.all([readAll(child.stdout), readAll(child.stderr), once(child, 'exit')]);
    return { code: child.exitCode, out, err };
  }

  async put(
    resource: Resource,
    name: string,
    spec: object,
    status?: object,
    metadata: object = {},
  ): Promise<RawObject> {
    const { kind } = resource;
    const apiVersion = apiVersionOf(resource);
    const made = await this.kube.create(resource, { apiVersion, kind, metadata: { name, ...metadata }, spec });
    if (status !== undefined) await this.kube.patch(resource, { name }, 'merge', { status }, { subresource: 'status' });
    return made;
  }

  async putSecret(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    await this.kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData });
  }

  /** Creates or renews the agent's lease. */
  async renewLease(): Promise<void> {
    const metadata = { name: 'isthmus-interconnect', namespace };
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: 'agent-0', leaseDurationSeconds: 600, renewTime };
    await this.kube.patch(leases, metadata, 'apply', {
      apiVersion: apiVersionOf(leases),
      kind: 'Lease',
      metadata,
      spec,
    });
  }

  /** Writes the agent's conditions of the Interconnect. */
  async tell(...conditions: readonly Said[]): Promise<void> {
    const body = { status: { conditions } };
    await this.kube.patch(interconnects, { name: 'default' }, 'merge', body, { subresource: 'status' });
  }

  async isDrained(name: string): Promise<boolean> {
    const { spec } = await this.kube.get(interconnectGateways, { name });
    return (spec as { drain?: boolean } | undefined)?.drain === true;
  }
}

async function untilServed(kube: KubeClient, resource: Resource): Promise<void> {
  await eventually(`${resource.plural} served`, () => kube.list(resource));
}
