import assert from 'node:assert/strict';
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';
import * as x509 from '@peculiar/x509';
import { createAuthority, issueWithKey, splitPem, type KeyAndCertificate } from '../../lib/pki/certificate.ts';
import { bundleOf, isAuthorityDue, joinPem, signerOf, withGiven } from './authorities.ts';

const hour = 60 * 60 * 1000;
const year = 365 * 24 * hour;

test('a single authority signs at once; a second one signs only after all nodes can know it', async () => {
  const first = await createAuthority('test', 0);
  assert.equal(signerOf([first], 0), first);
  const second = await createAuthority('test', 7 * year);
  const set = [second, first];
  assert.equal(signerOf(set, 7 * year + hour / 2), first);
  assert.equal(signerOf(set, 7 * year + hour), second);
  assert.deepEqual(
    splitPem(bundleOf(set, 7 * year)),
    set.map(({ certificate }) => certificate.trim()),
  );
  assert.deepEqual(splitPem(bundleOf(set, 11 * year)), [second.certificate.trim()], 'one that ran out is not trusted');
  assert.equal(signerOf([first], 11 * year), undefined);
});

test('a new authority is due after two thirds of the lifetime of the present one', async () => {
  const authority = await createAuthority('test', 0);
  assert.equal(isAuthorityDue([], 0), true);
  assert.equal(isAuthorityDue([authority], 6 * year), false);
  assert.equal(isAuthorityDue([authority], 7 * year), true);
});

test('a set of keys and certificates reads back from its Secret unchanged', async () => {
  const parts = await Promise.all([createAuthority('a', 0), createAuthority('b', 0)]);
  for (const field of ['key', 'certificate'] as const) {
    const texts = parts.map((part) => part[field].trim());
    assert.deepEqual(splitPem(joinPem(texts)), texts);
  }
  assert.deepEqual(splitPem('nothing'), []);
});

test('an authority from the administrator becomes the newest, unless it is not a valid authority', async () => {
  const [first, given] = await Promise.all([createAuthority('a', 0), createAuthority('b', 0)]);
  const set = withGiven([first], given, 0);
  assert.deepEqual(set, [given, first]);
  const own = [given, first];
  assert.equal(withGiven(own, given, 0), own);

  const leaf = await issueWithKey(given, { name: 'c', usages: ['client'], dnsNames: [], days: 30 }, 0);
  assert.equal(withGiven([], { ...given, key: first.key }, 0), 'tls.key is not the key of tls.crt');
  assert.equal(withGiven([], { key: '', certificate: '' }, 0), 'tls.key is not the key of tls.crt');
  assert.equal(withGiven([], leaf, 0), 'its certificate is not one of a CA');
  assert.equal(withGiven([], given, 11 * year), 'its certificate has expired');

  const rsa = await ca('CN=rsa', rsa2048);
  assert.equal(withGiven([], rsa, Date.now()), 'its key is not ECDSA P-256');
  const root = await ca('CN=root', p256);
  const intermediate = await ca('CN=intermediate', p256, root);
  assert.equal(withGiven([], intermediate, Date.now()), 'its certificate is not self-signed');
  const other = await ca('CN=root', p256);
  assert.equal(withGiven([root], other, Date.now()), 'it has the name of the authority before it, and another key');
  assert.deepEqual(withGiven([intermediate], root, Date.now()), [root, intermediate]);
});

const p256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const rsa2048 = {
  name: 'RSASSA-PKCS1-v1_5',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: 'SHA-256',
};

/** A CA in the form that other programs create. @param by the CA that signs it; itself by default */
async function ca(name: string, algorithm: typeof p256 | typeof rsa2048, by?: KeyAndCertificate) {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const pkcs8 = by && Buffer.from(splitPem(by.key)[0]?.replaceAll(/-----[A-Z ]+-----|\s/g, '') ?? '', 'base64');
  const signingKey = pkcs8 ? await webcrypto.subtle.importKey('pkcs8', pkcs8, p256, true, ['sign']) : keys.privateKey;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: '01',
    subject: name,
    issuer: by === undefined ? name : new x509.X509Certificate(by.certificate).subject,
    notBefore: new Date(),
    notAfter: new Date(Date.now() + year),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { key, certificate: certificate.toString('pem') };
}
