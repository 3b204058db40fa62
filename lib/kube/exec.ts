/**
 * Runs a program in a container, as `kubectl exec` does without standard input. In: a pod, a container, the program and its arguments, which no shell reads. Out:
 * what it printed, and its exit code. Rule: every error is a KubeApiError, a KubeUnreachable or the signal's reason. The protocol is `v4.channel.k8s.io` of
 * Kubernetes over WebSocket (RFC 6455): each message begins with the number of a channel.
 */
import { randomBytes } from 'node:crypto';
import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { loadEndpoint, type Credentials } from './config.ts';
import { KubeApiError, KubeUnreachable } from './errors.ts';
import type { KubeOptions } from './client.ts';
import { objectPath, pods } from './resources.ts';
import { parseStatus } from './transport.ts';
import { closeFrame, FrameReader, pongFrame, type Message } from './websocket.ts';

export interface PodCommand {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** The program, then its arguments. */
  readonly command: readonly string[];
  readonly signal: AbortSignal;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

export type Exec = (command: PodCommand) => Promise<CommandResult>;

const protocol = 'v4.channel.k8s.io';
const channels = { stdout: 1, stderr: 2, status: 3 } as const;
/** Of all output, in bytes. */
const mostOutput = 16 * 1024 * 1024;

/** The configuration is read with each command. */
export function openExec({ kubeconfig, userAgent }: Pick<KubeOptions, 'kubeconfig' | 'userAgent'>): Exec {
  return async (command) => {
    command.signal.throwIfAborted();
    const { server, readCredentials } = await loadEndpoint(kubeconfig, process.env);
    const { headers, tls } = await readCredentials();
    const path = server.pathname.replace(/\/$/, '') + pathOf(command);
    const socket = await connect(server, {
      path,
      headers: { ...headers, 'user-agent': userAgent },
      tls,
      signal: command.signal,
    });
    try {
      return await resultOf(socket, path, command.signal);
    } finally {
      socket.destroy();
    }
  };
}

function pathOf({ namespace, pod, container, command }: PodCommand): string {
  const query = new URLSearchParams({ container, stdout: 'true', stderr: 'true' });
  for (const word of command) query.append('command', word);
  return `${objectPath(pods, { namespace, name: pod })}/exec?${query.toString()}`;
}

interface Upgrade extends Credentials {
  readonly path: string;
  readonly signal: AbortSignal;
}

function connect(
  { protocol: scheme, hostname, port }: URL,
  { path, headers: own, tls, signal }: Upgrade,
): Promise<Duplex> {
  const send = scheme === 'https:' ? tlsRequest : plainRequest;
  const where = { host: hostname.replace(/^\[|\]$/g, ''), ...(port !== '' && { port }) };
  return new Promise((resolve, reject) => {
    const request = send({
      ...tls,
      ...where,
      path,
      signal,
      // A connection of its own: it ends with the command.
      agent: false,
      headers: {
        ...own,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
        'sec-websocket-protocol': protocol,
      },
    });
    request.on('upgrade', ({ headers }, socket, head) => {
      if (headers['sec-websocket-protocol'] !== protocol) {
        socket.destroy();
        reject(new KubeUnreachable(`GET ${path}: the API server does not speak ${protocol}`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    const fail = (error: unknown): void => reject(signal.aborted ? asError(signal.reason) : unreachable(path, error));
    request.on('response', (response) => void refusal(path, response).then(reject, fail));
    request.on('error', fail);
    request.end();
  });
}

async function refusal(path: string, response: IncomingMessage): Promise<KubeApiError> {
  let body = '';
  response.setEncoding('utf8');
  for await (const chunk of response) body += String(chunk);
  const { statusCode = 0 } = response;
  const { reason = '', message = body.slice(0, 200) } = parseStatus(body);
  return new KubeApiError(statusCode, reason, `GET ${path}: ${statusCode} ${message}`.trimEnd());
}

function unreachable(path: string, cause: unknown): KubeUnreachable {
  return new KubeUnreachable(`GET ${path}: no answer from the API server`, cause);
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

async function resultOf(socket: Duplex, path: string, signal: AbortSignal): Promise<CommandResult> {
  const output = new Output(path);
  const reader = new FrameReader(mostOutput);
  const onAbort = (): void => void socket.destroy(asError(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const chunk of socket)
      for (const message of reader.read(chunk as Buffer)) {
        if (message.kind === 'ping') socket.write(pongFrame(message.payload));
        else if (message.kind === 'close') socket.end(closeFrame());
        else output.take(message);
        if (output.exitCode !== undefined) return output.result(output.exitCode);
      }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof KubeUnreachable || error instanceof KubeApiError ? error : unreachable(path, error);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  throw unreachable(path, new Error('the connection ended before the command did'));
}

/** What a command has printed so far. */
class Output {
  readonly #path: string;
  readonly #texts: { readonly stdout: Buffer[]; readonly stderr: Buffer[] } = { stdout: [], stderr: [] };
  #size = 0;
  /** Undefined while the command runs. */
  exitCode: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws KubeApiError if the command did not start, KubeUnreachable if it prints too much */
  take({ payload }: Message): void {
    const [channel] = payload;
    const rest = payload.subarray(1);
    this.#size += rest.length;
    if (this.#size > mostOutput) throw new KubeUnreachable(`GET ${this.#path}: the command prints too much`);
    if (channel === channels.stdout) this.#texts.stdout.push(rest);
    else if (channel === channels.stderr) this.#texts.stderr.push(rest);
    else if (channel === channels.status) this.exitCode = exitCodeOf(this.#path, rest.toString());
  }

  result(exitCode: number): CommandResult {
    const text = (parts: readonly Buffer[]): string => Buffer.concat(parts).toString();
    return { stdout: text(this.#texts.stdout), stderr: text(this.#texts.stderr), exitCode };
  }
}

interface ExecStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** @throws KubeApiError if the command did not start */
function exitCodeOf(path: string, text: string): number {
  let status: ExecStatus;
  try {
    status = JSON.parse(text) as ExecStatus;
  } catch (error) {
    throw unreachable(path, error);
  }
  if (status.status === 'Success') return 0;
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (status.reason === 'NonZeroExitCode' && code !== undefined && /^\d+$/.test(code)) return Number(code);
  throw new KubeApiError(
    status.code ?? 500,
    status.reason ?? '',
    `GET ${path}: ${status.message ?? text.slice(0, 200)}`,
  );
}
