/**
 * The protocol between the shim (daemon/shim/shim.c) and this daemon on the unix socket. The shim sends one request per connection: the
 * CNI_* environment of the runtime and stdin, length-prefixed. The daemon answers with the exit status and stdout, which the shim passes
 * on. The shim is a binary of its own, and may be older or newer than the daemon during an upgrade: change the magic when the layout
 * changes.
 */

export const magic = 'isthmus1';
export const defaultSocket = '/run/isthmus/daemon.sock';
/** Versions of the CNI specification that results and errors can be rendered in. */
export const supportedVersions = ['0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;
export type CniVersion = (typeof supportedVersions)[number];
/** The version of errors if the request names none that can be read. */
export const fallbackVersion = '1.0.0' satisfies CniVersion;

/** Whether a request of `version` knows a feature that the specification has since `since`. */
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

/** The peer does not speak this protocol; the connection must be closed. */
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
