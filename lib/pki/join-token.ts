/**
 * Join tokens: a line of text with which one cluster can join one hub once. A token is signed by the hub's authority, which the hub
 * keeps in the Secret `isthmus-hub-authority` (keys `tls.key`, `tls.crt`). Every client that may read the Secret can create tokens.
 */
import { createHash, createPrivateKey, randomBytes, sign, verify, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { Problem } from '../desired/problem.ts';

const prefix = 'isthmus1';

/** Both PEM. */
export interface TokenAuthority {
  readonly key: string;
  readonly certificate: string;
}

const claims = z.object({
  /** Name of the token in the hub's records. */
  id: z.string().regex(/^[0-9a-f]{16}$/),
  cluster: z.string().min(1),
  /** `host:port` of the hub. */
  hub: z.string().min(1),
  /** SHA-256 of the authority's certificate. */
  ca: z.string().regex(/^[0-9a-f]{64}$/),
  expiresMs: z.int(),
  /** The cluster's present membership, if it has one, ends when this token is redeemed. */
  replace: z.boolean().default(false),
  /** The hub accepts only prefixes within these from the cluster; all if empty. */
  allowedPrefixes: z.array(z.string()).default([]),
});
export type TokenClaims = z.infer<typeof claims>;

export interface TokenWish {
  readonly cluster: string;
  readonly hub: string;
  readonly expiresMs: number;
  readonly replace: boolean;
  readonly allowedPrefixes?: readonly string[];
}

export function createToken(authority: TokenAuthority, wish: TokenWish): string {
  const body: TokenClaims = {
    ...wish,
    allowedPrefixes: [...(wish.allowedPrefixes ?? [])],
    id: randomBytes(8).toString('hex'),
    ca: createHash('sha256').update(new X509Certificate(authority.certificate).raw).digest('hex'),
  };
  const text = Buffer.from(JSON.stringify(body)).toString('base64url');
  const signature = sign('sha256', Buffer.from(`${prefix}.${text}`), createPrivateKey(authority.key));
  return `${prefix}.${text}.${signature.toString('base64url')}`;
}

/** The content of a token, unverified: enough for a member to find the hub and to verify its identity. */
export function readToken(token: string): TokenClaims | Problem {
  const malformed: Problem = {
    code: 'TokenMalformed',
    message: 'this is no join token; paste the whole line that `isthmus ic token` printed',
  };
  const [head, body, signature, rest] = token.trim().split('.');
  if (head !== prefix || body === undefined || signature === undefined || rest !== undefined) return malformed;
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
  } catch {
    return malformed;
  }
  const parsed = claims.safeParse(json);
  return parsed.success ? parsed.data : malformed;
}

/** The content of a token, if this authority signed it. The caller checks the expiry. */
export function verifyToken(authority: Pick<TokenAuthority, 'certificate'>, token: string): TokenClaims | Problem {
  const read = readToken(token);
  if ('code' in read) return read;
  const [head, body, signature] = token.trim().split('.');
  const { publicKey } = new X509Certificate(authority.certificate);
  const isOurs = verify('sha256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature ?? '', 'base64url'));
  if (isOurs) return read;
  return {
    code: 'TokenForeign',
    message: `the token for ${read.cluster} was not made by this hub; make one with \`isthmus ic token\` on the hub that listens here`,
  };
}
