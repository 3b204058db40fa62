/** The private key of this node: a file that only root can read, made once. It leaves this process for WireGuard alone. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Refusal } from './refusal.ts';

export interface KeyPair {
  /** Base64 of 32 bytes, as is the public key. */
  readonly privateKey: string;
  readonly publicKey: string;
  /** A MAC address that follows from the private key, so that nobody else knows it. */
  readonly mac: string;
}

/** PKCS #8 of an X25519 key, up to its 32 bytes (RFC 8410). */
const prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** @throws Refusal if the file has no key, a system error if it cannot be read or written */
export function ensureKey(file: string): KeyPair {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
    chmodSync(file, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    text = makeKey(file);
  }
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== 32)
    throw new Refusal('KeyInvalid', `${file} is not base64 of 32 bytes; delete it, and the daemon makes another key`);
  const key = createPrivateKey({ key: Buffer.concat([prefix, bytes]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const digest = createHash('sha256').update('isthmus bridge').update(bytes).digest();
  const mac = macOf(digest);
  return { privateKey: bytes.toString('base64'), publicKey: Buffer.from(x, 'base64url').toString('base64'), mac };
}

export function randomMac(): string {
  return macOf(randomBytes(6));
}

/** Of one interface, and of no vendor. */
function macOf(bytes: Buffer): string {
  const [first = 0, ...rest] = bytes.subarray(0, 6);
  return Buffer.from([(first & 0xfc) | 0x02, ...rest])
    .toString('hex')
    .replaceAll(/(..)(?!$)/g, '$1:');
}

/** Written whole or not at all, also if the node loses its power. */
function makeKey(file: string): string {
  const { d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  const text = Buffer.from(d, 'base64url').toString('base64');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.new`;
  rmSync(next, { force: true });
  writeFileSync(next, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
  renameSync(next, file);
  return text;
}
