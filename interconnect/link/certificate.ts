/**
 * Keys and certificates of the hub and its members: ECDSA P-256, PEM in and out.
 *
 * In: key material read from a file or Secret, the time by parameter. Out: PEM texts. Called by the hub (authority)
 * and by the agent (its key and requests). Nothing is stored here, and a member's name comes from the hub's own
 * records, never from the request it signs.
 */
import 'reflect-metadata';
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  webcrypto,
  X509Certificate as NodeCertificate,
} from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const day = 24 * 60 * 60 * 1000;
/** Certificates are valid from a little before now: clocks of two clusters differ. */
const backdateMs = 60 * 60 * 1000;
const clientAuth = '1.3.6.1.5.5.7.3.2';
const serverAuth = '1.3.6.1.5.5.7.3.1';

export const memberDays = 90;
export const hubDays = 90;
const authorityDays = 3650;

export interface KeyAndCertificate {
  readonly key: string;
  readonly certificate: string;
}

/** A new private key, PKCS #8 PEM. */
export async function createKey(): Promise<string> {
  const pair = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey), 'PRIVATE KEY');
}

/** A certificate request for the key, PEM. The name in it is a courtesy: the hub does not read it. */
export async function createRequest(key: string, name: string): Promise<string> {
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [name] }],
    keys: await keyPair(key),
    signingAlgorithm: algorithm,
  });
  return request.toString('pem');
}

/** SHA-256 of the public key (hex) of a certificate in PEM or DER. */
export function keyFingerprint(certificate: string | Buffer): string {
  return hashOf(new NodeCertificate(certificate).publicKey.export({ type: 'spki', format: 'der' }));
}

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export function validityOf(certificate: string): Validity {
  const { validFromDate, validToDate } = new NodeCertificate(certificate);
  return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
}

/** The name a member's certificate was issued to. */
export function commonNameOf(certificate: string): string | undefined {
  return new x509.X509Certificate(certificate).subjectName.getField('CN')[0];
}

/** A new authority: the root of trust of one hub. */
export async function createAuthority(nowMs: number): Promise<KeyAndCertificate> {
  const key = await createKey();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [`isthmus hub ${randomBytes(4).toString('hex')}`] }],
    notBefore: new Date(nowMs - backdateMs),
    notAfter: new Date(nowMs + authorityDays * day),
    keys: await keyPair(key),
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return { key, certificate: certificate.toString('pem') };
}

/** The request of a member after its signature was checked. */
export interface VerifiedRequest {
  readonly publicKey: x509.PublicKey;
  readonly fingerprint: string;
}

/** Undefined where the text is no request or is not signed by the key it carries. */
export async function verifyRequest(pem: string): Promise<VerifiedRequest | undefined> {
  try {
    const request = new x509.Pkcs10CertificateRequest(pem);
    if (!(await request.verify())) return undefined;
    return { publicKey: request.publicKey, fingerprint: hashOf(Buffer.from(request.publicKey.rawData)) };
  } catch {
    // The parser throws whatever its ASN.1 layer throws; every one of them means that this is no request.
    return undefined;
  }
}

/** A certificate for a member's key, signed by the authority. */
export async function issueMember(
  authority: KeyAndCertificate,
  publicKey: x509.PublicKey,
  cluster: string,
  nowMs: number,
): Promise<string> {
  return await issue(authority, { publicKey, name: cluster, usage: clientAuth, dnsNames: [], days: memberDays }, nowMs);
}

/**
 * The name in every hub's certificate. Members know their hub by its authority, which certifies one endpoint only; a
 * constant name lets the hub be reached by any address, also through NAT and by bare IP.
 */
export const hubName = 'hub.isthmus.network';

/** A key and certificate for the hub's own endpoint, followed by the authority's certificate, which joiners pin. */
export async function issueHub(authority: KeyAndCertificate, nowMs: number): Promise<KeyAndCertificate> {
  const key = await createKey();
  const { publicKey } = await keyPair(key);
  const wanted = { publicKey, name: hubName, usage: serverAuth, dnsNames: [hubName], days: hubDays };
  const certificate = await issue(authority, wanted, nowMs);
  return { key, certificate: `${certificate}\n${authority.certificate}\n` };
}

interface Issue {
  readonly publicKey: x509.PublicKey | webcrypto.CryptoKey;
  readonly name: string;
  readonly usage: string;
  readonly dnsNames: readonly string[];
  readonly days: number;
}

async function issue(authority: KeyAndCertificate, wanted: Issue, nowMs: number): Promise<string> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: [{ CN: [wanted.name] }],
    issuer: issuer.subjectName,
    notBefore: new Date(nowMs - backdateMs),
    notAfter: new Date(nowMs + wanted.days * day),
    publicKey: wanted.publicKey,
    signingKey: (await keyPair(authority.key)).privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([wanted.usage]),
      ...wanted.dnsNames.map((value) => new x509.SubjectAlternativeNameExtension([{ type: 'dns', value }])),
    ],
  });
  return certificate.toString('pem');
}

async function keyPair(pem: string): Promise<webcrypto.CryptoKeyPair> {
  const key = createPrivateKey(pem);
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return {
    privateKey: await webcrypto.subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']),
    publicKey: await webcrypto.subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
}

/** Positive and without a leading zero byte, as DER wants it. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

function hashOf(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
