/**
 * The private keys of this node: files that only root can read. They leave this process for WireGuard alone. `<file>` has the key in use;
 * `<file>.next` the one that is to replace it, during a rotation; `<file>.json` what must outlive both.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { Refusal } from './refusal.ts';

export interface KeyPair {
  /** Base64 of 32 bytes, as is the public key. */
  readonly privateKey: string;
  readonly publicKey: string;
  /** Unix milliseconds. */
  readonly madeMs: number;
}

export interface Keys {
  readonly current: KeyPair;
  readonly next: KeyPair | undefined;
  /** A MAC address that follows from the first private key, so that nobody else knows it, and that no rotation changes. */
  readonly mac: string;
  /** The last request for a rotation that was begun or needed none. */
  readonly request: string;
  /** Unix milliseconds of the first start of a daemon that could replace keys: those of an earlier release are not all replaced after an upgrade. */
  readonly sinceMs: number;
  /** When the next key was first announced to others, Unix milliseconds. */
  readonly announcedMs: number | undefined;
}

/** PKCS #8 of an X25519 key, up to its 32 bytes (RFC 8410). */
const prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const recordShape = z.object({
  mac: z.string(),
  request: z.string(),
  sinceMs: z.number(),
  announced: z.object({ publicKey: z.string(), ms: z.number() }).optional(),
});

/**
 * Makes a key if there is none; it needs no rotation that was requested before.
 * @throws Refusal if a file has something else, a system error if it cannot be read or written
 */
export function openKeys(file: string, request: string): Keys {
  const found = readKey(file);
  if (found === undefined) {
    const made = makeKey(file);
    const { madeMs: sinceMs } = made;
    return record(file, {
      current: made,
      next: undefined,
      mac: macOfKey(made),
      request,
      sinceMs,
      announcedMs: undefined,
    });
  }
  const next = readKey(nextOf(file));
  const known = readRecord(`${file}.json`);
  if (known === undefined) {
    const fresh = { request: '', sinceMs: Date.now(), announcedMs: undefined };
    const keys = { current: found, next, mac: macOfKey(found), ...fresh };
    try {
      return record(file, keys);
    } catch (error) {
      // A disk that is full ends no tunnels: the next start writes it.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      return keys;
    }
  }
  const { mac, request: begun, sinceMs, announced } = known;
  const announcedMs = next !== undefined && announced?.publicKey === next.publicKey ? announced.ms : undefined;
  return { current: found, next, mac, request: begun, sinceMs, announcedMs };
}

/** Begins a rotation, or notes that the one that has begun is what was requested. */
export function beginRotation(file: string, keys: Keys, request: string): Keys {
  // The key first: a rotation that was requested and not noted is asked for again, one that was noted and not begun is not.
  const next = keys.next ?? makeKey(nextOf(file));
  return record(file, { ...keys, next, request });
}

/** Notes that the next key was announced to others. */
export function noteAnnounced(file: string, keys: Keys, nowMs: number): Keys {
  return record(file, { ...keys, announcedMs: nowMs });
}

/** The next key takes the place of the other one, which is gone. */
export function endRotation(file: string, keys: Keys): Keys {
  if (keys.next === undefined) return keys;
  renameSync(nextOf(file), file);
  return { ...keys, current: keys.next, next: undefined, announcedMs: undefined };
}

export function removeKeys(file: string): void {
  for (const one of [file, nextOf(file), `${file}.json`]) rmSync(one, { force: true });
}

export function randomMac(): string {
  return macOf(randomBytes(6));
}

function nextOf(file: string): string {
  return `${file}.next`;
}

function readKey(file: string): KeyPair | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim();
    chmodSync(file, 0o600);
    return pairOf(file, text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

function pairOf(file: string, text: string): KeyPair {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== 32)
    throw new Refusal('KeyInvalid', `${file} is not base64 of 32 bytes; delete it, and the daemon makes another key`);
  const key = createPrivateKey({ key: Buffer.concat([prefix, bytes]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url').toString('base64');
  return { privateKey: bytes.toString('base64'), publicKey, madeMs: Math.floor(statSync(file).mtimeMs) };
}

/** Undefined for one that cannot be read: the MAC address follows from the key then. */
function readRecord(file: string): z.infer<typeof recordShape> | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
  try {
    return recordShape.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function record(file: string, keys: Keys): Keys {
  const { mac, request, sinceMs, next, announcedMs } = keys;
  const announced =
    next === undefined || announcedMs === undefined
      ? {}
      : { announced: { publicKey: next.publicKey, ms: announcedMs } };
  writeWhole(`${file}.json`, JSON.stringify({ mac, request, sinceMs, ...announced }));
  return keys;
}

function macOfKey({ privateKey }: KeyPair): string {
  return macOf(createHash('sha256').update('isthmus bridge').update(Buffer.from(privateKey, 'base64')).digest());
}

/** Of one interface, and of no vendor. */
function macOf(bytes: Buffer): string {
  const [first = 0, ...rest] = bytes.subarray(0, 6);
  return Buffer.from([(first & 0xfc) | 0x02, ...rest])
    .toString('hex')
    .replaceAll(/(..)(?!$)/g, '$1:');
}

function makeKey(file: string): KeyPair {
  const { d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  const text = Buffer.from(d, 'base64url').toString('base64');
  writeWhole(file, text);
  return pairOf(file, text);
}

/** Written whole or not at all, also if the node loses its power. */
function writeWhole(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.new`;
  rmSync(next, { force: true });
  writeFileSync(next, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
  renameSync(next, file);
}
