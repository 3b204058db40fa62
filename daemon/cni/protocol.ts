/**
 * What the shim (daemon/shim/shim.c) and this daemon say to each other on the unix socket.
 * In: one request per connection, the runtime's CNI_* environment and stdin, length-prefixed. Out: the exit
 * status and stdout for the shim to hand on. The shim is a separate binary that may be older or newer than
 * the daemon for the length of an upgrade: change the magic when the layout changes.
 */

export const magic = 'isthmus1';
export const defaultSocket = '/run/isthmus/daemon.sock';
/** CNI specification versions that results and errors are shaped for. */
export const supportedVersions = ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;
export type CniVersion = (typeof supportedVersions)[number];
/** Errors are told in this one where the request names none that can be read. */
export const fallbackVersion = '1.0.0' satisfies CniVersion;

/** Whether what the specification brought with `since` is known to a request of `version`. */
export function hasSince(version: CniVersion, since: CniVersion): boolean {
  return supportedVersions.indexOf(version) >= supportedVersions.indexOf(since);
}

const maxRequestBytes = 8 << 20;

export interface ShimRequest {
  /** CNI_COMMAND, CNI_CONTAINERID … */
  readonly environment: ReadonlyMap<string, string>;
  readonly stdin: string;
}

export interface ShimAnswer {
  readonly exitStatus: number;
  readonly stdout: string;
}

/** The peer does not speak this protocol; the connection is of no use any more. */
export class MalformedRequest extends Error {
  readonly code = 'MalformedRequest';
}

/**
 * Reads one request from the bytes received so far.
 * @returns undefined while bytes are missing. @throws MalformedRequest
 */
export function decodeRequest(bytes: Buffer): ShimRequest | undefined {
  if (bytes.length > maxRequestBytes) throw new MalformedRequest(`request of more than ${maxRequestBytes} bytes`);
  const start = bytes.subarray(0, magic.length).toString('latin1');
  if (!magic.startsWith(start))
    throw new MalformedRequest(`request starts with ${JSON.stringify(start)}, not ${magic}`);
  const reader = new Reader(bytes, magic.length);
  const environment = new Map<string, string>();
  for (let remaining = reader.u32() ?? 0; remaining > 0; remaining--) {
    const entry = reader.text();
    if (entry === undefined) return undefined;
    const equals = entry.indexOf('=');
    environment.set(entry.slice(0, equals), entry.slice(equals + 1));
  }
  const stdin = reader.text();
  return stdin === undefined ? undefined : { environment, stdin };
}

export function encodeRequest(request: ShimRequest): Buffer {
  const entries = [...request.environment].map(([name, value]) => prefixed(`${name}=${value}`));
  return Buffer.concat([Buffer.from(magic, 'latin1'), u32(entries.length), ...entries, prefixed(request.stdin)]);
}

export function encodeAnswer(answer: ShimAnswer): Buffer {
  return Buffer.concat([u32(answer.exitStatus), prefixed(answer.stdout)]);
}

/** @returns undefined while bytes are missing. */
export function decodeAnswer(bytes: Buffer): ShimAnswer | undefined {
  const reader = new Reader(bytes, 0);
  const exitStatus = reader.u32();
  const stdout = reader.text();
  return exitStatus === undefined || stdout === undefined ? undefined : { exitStatus, stdout };
}

class Reader {
  readonly #bytes: Buffer;
  #offset: number;

  constructor(bytes: Buffer, offset: number) {
    this.#bytes = bytes;
    this.#offset = offset;
  }

  u32(): number | undefined {
    if (this.#bytes.length < this.#offset + 4) return undefined;
    this.#offset += 4;
    return this.#bytes.readUInt32BE(this.#offset - 4);
  }

  text(): string | undefined {
    const length = this.u32();
    if (length === undefined || this.#bytes.length < this.#offset + length) return undefined;
    this.#offset += length;
    return this.#bytes.toString('utf8', this.#offset - length, this.#offset);
  }
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function prefixed(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([u32(bytes.length), bytes]);
}
