/** The certificates of a cluster's API server: one authority and one server certificate, made anew for each lab. */
import 'reflect-metadata';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const lifetimeMs = 365 * 24 * 3600 * 1000;

/** Writes `ca.crt`, `apiserver.{crt,key}`, `kubelet-client.{crt,key}` and `service-account.{key,pub}` into a directory. */
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
  const write = async (file: string, serialNumber: string, subject: string, extensions: Extension[]): Promise<void> => {
    const { publicKey, privateKey } = await makeKeys();
    const issuer = { issuer: authority.subject, signingKey: authorityKeys.privateKey, signingAlgorithm: algorithm };
    const named = { ...validity, ...issuer, serialNumber, subject, publicKey, extensions };
    const certificate = await X509CertificateGenerator.create(named);
    writeFileSync(join(dir, `${file}.crt`), certificate.toString('pem'));
    writeFileSync(join(dir, `${file}.key`), await pemOf(privateKey), { mode: 0o600 });
  };
  await write('apiserver', '02', 'CN=kube-apiserver', [
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension([
      ...addresses.map((value) => ({ type: 'ip' as const, value })),
      ...['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'].map((value) => ({
        type: 'dns' as const,
        value,
      })),
    ]),
  ]);
  // By this the API server may do anything at kubelets.
  const client = new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]);
  await write('kubelet-client', '03', 'CN=kube-apiserver, O=system:masters', [client]);
  writeFileSync(join(dir, 'ca.crt'), authority.toString('pem'));
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
