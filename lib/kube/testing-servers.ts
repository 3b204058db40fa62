/** The processes behind a TestApiServer: etcd and kube-apiserver on free ports of loopback, with everything in one temporary folder. */
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../testing-ports.ts';
import { openKube } from './client.ts';
import { eventually } from '../testing-eventually.ts';

/** What a restart of the API server needs to know. */
export interface Place {
  readonly dir: string;
  readonly kubeconfig: string;
  readonly port: number;
  /** Of kube-apiserver. */
  readonly flags: readonly string[];
}

export interface Servers {
  readonly place: Place;
  readonly etcd: ChildProcess;
  readonly apiServer: ChildProcess;
}

/** A process that this one or the pool started. */
export interface Running {
  /** Ends it as a crash would. */
  readonly end: () => Promise<void>;
  readonly signal: (name: NodeJS.Signals) => void;
}

/** The folder of the pinned Go tools: `ISTHMUS_TOOLS`, else what `make -s tools-path` prints. */
export function toolsFolder(): string {
  return process.env['ISTHMUS_TOOLS'] ?? execFileSync('make', ['-s', 'tools-path'], { encoding: 'utf8' }).trim();
}

/** Starts both and waits until the API server is ready. `flags` are added to its own. */
export async function startServers(flags: readonly string[]): Promise<Servers> {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-kube-'));
  const [etcdPort = 0, peerPort = 0, port = 0] = await freePorts(3);
  const etcd = start('etcd', '/usr/bin/etcd', dir, etcdFlags(dir, etcdPort, peerPort));
  const token = randomBytes(16).toString('hex');
  writeKeys(dir, token);
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, renderKubeconfig(dir, port, token), { mode: 0o600 });
  const place = { dir, kubeconfig, port, flags: [...apiServerFlags(dir, port, etcdPort), ...flags] };
  const servers = { place, etcd, apiServer: startProcess(place) };
  try {
    await untilReady(place, servers.apiServer);
  } catch (error) {
    await endServers(servers);
    throw error;
  }
  return servers;
}

export async function startKubeApiServer(place: Place): Promise<ChildProcess> {
  const child = startProcess(place);
  await untilReady(place, child);
  return child;
}

/** Ends both and removes the folder. */
export async function endServers({ place, etcd, apiServer }: Servers): Promise<void> {
  await end(apiServer);
  await end(etcd);
  rmSync(place.dir, { recursive: true, force: true });
}

export function running(child: ChildProcess): Running {
  return { end: () => end(child), signal: (name) => void child.kill(name) };
}

/** Ends a process as a crash would. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  child.kill('SIGKILL');
  await ended;
}

function startProcess({ dir, flags }: Place): ChildProcess {
  return start('kube-apiserver', join(toolsFolder(), 'kube-apiserver'), dir, flags);
}

function etcdFlags(dir: string, port: number, peerPort: number): string[] {
  const client = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    `--data-dir=${join(dir, 'etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

function apiServerFlags(dir: string, port: number, etcdPort: number): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${dir}`,
    `--token-auth-file=${join(dir, 'tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--disable-admission-plugins=ServiceAccount',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(dir, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(dir, 'sa.key')}`,
    // Of both families, so that few tests need flags of their own, with which the suite's pool has no API server for them.
    '--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112',
    '--endpoint-reconciler-type=none',
    '--allow-privileged=true',
    // One test is no crowd, and without the objects of this feature the server is ready sooner.
    '--enable-priority-and-fairness=false',
    '--profiling=false',
  ];
}

function writeKeys(dir: string, token: string): void {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  writeFileSync(join(dir, 'sa.pub'), publicKey);
  writeFileSync(join(dir, 'sa.key'), privateKey, { mode: 0o600 });
  writeFileSync(join(dir, 'tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 });
}

function renderKubeconfig(dir: string, port: number, token: string): string {
  // The server signs its own certificate and writes the signer behind it.
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority': join(dir, 'apiserver.crt') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  });
}

async function untilReady({ dir, kubeconfig }: Place, server: ChildProcess): Promise<void> {
  const log = (): string => tail(join(dir, 'kube-apiserver.log'));
  const look = async (): Promise<'ended' | 'ready'> => {
    if (server.exitCode !== null) return 'ended';
    // Its certificate is one of the last things it writes: until then this throws.
    const client = openKube({ kubeconfig, userAgent: 'isthmus-test' });
    try {
      await client.request('GET', '/readyz', undefined, { timeoutMs: 2000 });
      return 'ready';
    } finally {
      await client.close();
    }
  };
  const found = await eventually('kube-apiserver', look, 180_000).catch((cause: unknown) => {
    throw new Error(`${(cause as Error).message}: ${log()}`, { cause });
  });
  if (found === 'ended') throw new Error(`kube-apiserver ended: ${log()}`);
}

function tail(file: string): string {
  return readFileSync(file, 'utf8').split('\n').slice(-15).join('\n');
}

function start(name: string, program: string, dir: string, flags: readonly string[]): ChildProcess {
  const log = openSync(join(dir, `${name}.log`), 'a');
  // Servers end with the process that started them.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...flags], {
    cwd: dir,
    // They live for a minute: memory for less garbage collection saves a fifth of their CPU time.
    env: { ...process.env, GOGC: '400' },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  return child;
}
