/** The side of a kubelet in `kubectl exec` over WebSocket, for tests: a server answers each command by a function. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { CommandResult } from './exec.ts';

/** One frame of a server. */
export function serverFrame(payload: Buffer, { opcode = 2, isFinal = true } = {}): Buffer {
  const { length } = payload;
  const head =
    length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 255] : [127, 0, 0, 0, 0, ...uint32(length)];
  return Buffer.concat([Buffer.from([(isFinal ? 0x80 : 0) | opcode, ...head]), payload]);
}

function uint32(value: number): readonly number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}

/** A message on a channel: 1 for standard output, 2 for standard error, 3 for the status. */
export function channelMessage(channel: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);
}

export function statusOf(exitCode: number): string {
  if (exitCode === 0) return JSON.stringify({ status: 'Success' });
  const causes = [{ reason: 'ExitCode', message: String(exitCode) }];
  return JSON.stringify({ status: 'Failure', reason: 'NonZeroExitCode', details: { causes } });
}

export function acceptUpgrade({ headers }: IncomingMessage, socket: Duplex): void {
  const key = `${headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash('sha1').update(key).digest('base64');
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    'Sec-WebSocket-Protocol: v4.channel.k8s.io',
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

/** Answers each upgrade. `command`: the program and its arguments; `path`: without the query. */
export function serveExec(
  server: Pick<Server, 'on'>,
  run: (command: readonly string[], path: string) => Promise<CommandResult>,
): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy());
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://none');
    acceptUpgrade(request, socket);
    void run(searchParams.getAll('command'), pathname).then(({ stdout, stderr, exitCode }) => {
      socket.write(serverFrame(channelMessage(1, stdout)));
      socket.write(serverFrame(channelMessage(2, stderr)));
      socket.write(serverFrame(channelMessage(3, statusOf(exitCode))));
      socket.end(serverFrame(Buffer.from([0x03, 0xe8]), { opcode: 8 }));
    });
  });
}
