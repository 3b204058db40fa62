/**
 * Reads the facts about the membership from Secrets. Keys never leave this file: only dates, names and fingerprints do.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { readToken, type TokenClaims } from '../../lib/pki/join-token.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { decodeSecret } from '../../lib/kube/secret-data.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import type { Identity } from '../model/snapshot.ts';

export const identitySecret = 'isthmus-interconnect-identity';
export const authoritySecret = 'isthmus-hub-authority';

/** One value of a Secret as text; undefined if the key does not exist. */
export function secretValue(raw: RawObject, key: string): string | undefined {
  return decodeSecret(raw['data'])[key];
}

/** SHA-256 of a certificate in hexadecimal, as join tokens carry it. */
export function fingerprint(pem: string): string {
  return createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
}

export function readIdentity(raw: RawObject): Identity | Problem | undefined {
  const [pem, ca] = [secretValue(raw, 'tls.crt'), secretValue(raw, 'ca.crt')];
  if (pem === undefined || ca === undefined) return undefined;
  try {
    const certificate = new X509Certificate(pem);
    return {
      cluster: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? '',
      notBeforeMs: certificate.validFromDate.getTime(),
      notAfterMs: certificate.validToDate.getTime(),
      authority: fingerprint(ca),
    };
  } catch (error) {
    return unreadable(raw.metadata.name, error);
  }
}

export function readJoinToken(raw: RawObject, key: string): TokenClaims | Problem | undefined {
  const token = secretValue(raw, key);
  return token === undefined ? undefined : readToken(token);
}

export function readAuthority(raw: RawObject): string | Problem {
  const pem = secretValue(raw, 'tls.crt');
  if (pem === undefined)
    return {
      code: 'SecretUnreadable',
      message: `Secret ${raw.metadata.name} has no key tls.crt: restore it from a backup`,
    };
  try {
    return fingerprint(pem);
  } catch (error) {
    return unreadable(raw.metadata.name, error);
  }
}

function unreadable(name: string, error: unknown): Problem {
  const why = error instanceof Error ? error.message : String(error);
  return { code: 'SecretUnreadable', message: `Secret ${name} holds no certificate that can be read: ${why}` };
}
