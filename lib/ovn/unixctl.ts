/** Calls of Open vSwitch's and OVN's programs over their control sockets, as ovs-appctl(8) makes them: JSON-RPC 1.0, one call a connection. */
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

/** Sockets of a program, by file name; those that killed processes left are among them. @throws a system error of the folder */
export async function controlSockets(program: string, folder: string): Promise<readonly string[]> {
  const isSocket = new RegExp(`^${program}(\\.\\d+)?\\.ctl$`);
  return (await readdir(folder)).filter((name) => isSocket.test(name)).map((name) => join(folder, name));
}

/** The program's answer. @throws Error with the program's message if it refuses, a system error if it does not listen, or a timeout */
export function callProgram(
  socketPath: string,
  method: string,
  params: readonly string[],
  timeoutMs: number,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    let text = '';
    const timer = setTimeout(() => socket.destroy(new Error(`${method}: no answer within ${timeoutMs} ms`)), timeoutMs);
    socket.setEncoding('utf8');
    socket.once('connect', () => socket.write(JSON.stringify({ method, params, id: 0 })));
    socket.on('data', (chunk: string) => {
      text += chunk;
      const answer = parseAnswer(text);
      if (answer === undefined) return;
      if (answer.error == null) resolve(answer.result ?? '');
      else reject(new Error(`${method}: ${answer.error.trim()}`));
      socket.destroy();
    });
    socket.on('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error(`${method}: the connection ended before an answer`));
    });
  });
}

/**
 * Calls a program through all its sockets in a folder, because sockets of killed processes do not answer. @throws the error of one socket if
 * there are sockets and none answers; a system error of the folder
 */
export async function callAll(
  program: string,
  folder: string,
  method: string,
  params: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const sockets = await controlSockets(program, folder);
  const outcomes = await Promise.allSettled(sockets.map((socket) => callProgram(socket, method, params, timeoutMs)));
  const failed = outcomes.every(({ status }) => status === 'rejected') ? outcomes[0] : undefined;
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Undefined while it is not whole. */
function parseAnswer(text: string): { readonly result?: string; readonly error?: string | null } | undefined {
  try {
    return JSON.parse(text) as { result?: string; error?: string | null };
  } catch {
    return undefined;
  }
}
