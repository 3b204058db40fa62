/** The certificates of a cluster's API server: one authority and one server certificate, made anew for each lab. */
import 'reflect-metadata';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const lifetimeMs = 365 * 24 * 3600 * 1000;

/** Writes `ca.crt`, `apiserver.{crt,key}` and `service-account.{key,pub}` into a directory. */
export async function writePki(dir: string, addresses: readonly string[]): Promise<void> {
  const validity = { notBefore: new Date(Date.now() - 3600_000), notAfter: new Date(Date.now() + lifetimeMs) };
  const authorityKeys = await makeKeys();
  const authority = await X509CertificateGenerator.createSelfSigned({
    ...validity,
    serialNumber: '01',
    name: 'CN=lab authority',
    keys: authorityKeys,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
  });
  const serverKeys = await makeKeys();
  const server = await X509CertificateGenerator.create({
    ...validity,
    serialNumber: '02',
    subject: 'CN=kube-apiserver',
    issuer: authority.subject,
    publicKey: serverKeys.publicKey,
    signingKey: authorityKeys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([
        ...addresses.map((value) => ({ type: 'ip' as const, value })),
        ...['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'].map((value) => ({
          type: 'dns' as const,
          value,
        })),
      ]),
    ],
  });
  writeFileSync(join(dir, 'ca.crt'), authority.toString('pem'));
  writeFileSync(join(dir, 'apiserver.crt'), server.toString('pem'));
  writeFileSync(join(dir, 'apiserver.key'), await pemOf(serverKeys.privateKey), { mode: 0o600 });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(join(dir, 'service-account.key'), privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
  writeFileSync(join(dir, 'service-account.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
}

function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const body = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key))
    .toString('base64')
    .replace(/(.{64})/g, '$1\n');
  return `-----BEGIN PRIVATE KEY-----\n${body.trimEnd()}\n-----END PRIVATE KEY-----\n`;
}
